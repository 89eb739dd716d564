"""Documents tell the truth: their code runs and prints what they show; their links lead somewhere.

A python block may be followed by a text block, which is what it prints. Figures that a page shows
are files that its code writes to `figures/`, where it writes there. ``python tests/test_docs.py
PAGE...`` runs pages, writes the output into them and keeps the figures.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from html.parser import HTMLParser
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    page
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if page.name != "CODE_OF_CONDUCT.md"
)
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n?```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
RUNNING = [page for page in PAGES if "```python\n" in page.read_text()]
NOTEBOOKS = [ROOT / "docs" / "get_started.md", *sorted((ROOT / "docs" / "howto").glob("*.md"))]
EXTRAS = {
    "rdkit": "rdkit",
    "matplotlib": "plots",
    "fsspec": "memory://",
    "pandas": 'transform="pandas"',
}
CHECKER, FLAGS = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(page: Path) -> list[tuple[re.Match[str], str]]:
    """Run the blocks of a page one after the other; return what each prints."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    found = []
    for block in BLOCK.finditer(page.read_text()):
        printed = io.StringIO()
        first = page.read_text()[: block.start()].count("\n") + 1
        code = "\n" * first + block["code"]
        with contextlib.redirect_stdout(printed):
            if block["code"].startswith(">>>"):
                examples = doctest.DocTestParser().get_doctest(
                    block["code"], namespace, page.name, str(page), first
                )
                doctest.DocTestRunner(optionflags=FLAGS).run(examples, clear_globs=False)
            else:
                exec(compile(code, str(page), "exec"), namespace)
        found.append((block, printed.getvalue()))
    return found


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_on_the_page_prints_what_it_shows(page, tmp_path, monkeypatch):
    for library, sign in EXTRAS.items():
        if sign in page.read_text():
            pytest.importorskip(library, reason="the page shows what an extra does")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "figures").mkdir()
    for block, printed in run(page):
        shown = block["output"] or ""
        assert CHECKER.check_output(shown, printed, FLAGS), (
            f"{page.name} prints\n{printed}\nand shows\n{shown}\nafter\n{block['code']}\n"
            f"`python tests/test_docs.py {page.relative_to(ROOT)}` writes the output"
        )
    made = {path.name for path in (tmp_path / "figures").iterdir()}
    shown = set(re.findall(r"\]\((?:\.\./)?figures/([\w.-]+)\)", page.read_text()))
    assert not made or made == shown, "the page shows other figures than its code makes"


def test_pages_are_checked():
    names = {page.name for page in RUNNING}
    assert {"README.md", "get_started.md", "method.md", "molecules.md", "pictures.md"} <= names


def test_a_wrong_output_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    [(block, printed)] = run(page)
    assert (block["output"], printed) == ("3\n", "2\n")
    assert not CHECKER.check_output(block["output"], printed, FLAGS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\((?!https?://|mailto:)([^)#\s]*)#?([^)\s]*)\)", text):
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page):
    homes = (ROOT, ROOT / "src" / "ddgk", ROOT / "docs")
    for name in re.findall(r"`(?:python )?((?:\w+/)+\w+\.(?:py|md))\b", page.read_text()):
        assert any((home / name).exists() for home in homes), f"{page.name} names {name}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings]
    return {re.sub(r"[\s]+", "-", heading.strip()) for heading in plain}


def test_every_page_is_on_the_site():
    listed = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert str(page.relative_to(ROOT / "docs")) in listed, f"mkdocs.yml lacks {page.name}"


def test_every_public_name_is_in_the_reference():
    import ddgk

    pages = "\n".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    documented = set(re.findall(r"^::: ([\w.]+)", pages, flags=re.MULTILINE))
    for name in ddgk.__all__:
        listed = f"ddgk.{name}" in documented
        inside = any(other.startswith(f"ddgk.{name}.") for other in documented)
        assert listed or inside, f"the reference lacks ddgk.{name}"


class Links(HTMLParser):
    """The addresses that a built page names, what it fetches from elsewhere, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: set[str] = set()
        self.fetched: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        named = {found[name] for name in ("href", "src") if found.get(name)}
        if tag in ("script", "link", "img", "iframe"):
            self.fetched |= {address for address in named if urlsplit(address).netloc}
        self.addresses |= named


def dead_links(site: Path) -> list[str]:
    """Return the links of a built site that lead to no file, or to no anchor of a page."""
    pages = {page: Links(page) for page in site.rglob("*.html")}
    dead = []
    for page, links in pages.items():
        home = site if page.name == "404.html" else page.parent
        for address in sorted(links.addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path).removeprefix("/" if home == site else "")
            file = Path(os.path.normpath(home / path)) if path else page
            lost = not file.is_file()
            if file in pages and parts.fragment:
                lost = unquote(parts.fragment) not in pages[file].anchors
            if lost:
                dead.append(f"{page.relative_to(site)}: {address}")
    return dead


def test_dead_links_are_found(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="deep/page.html#there">1</a><a href="#here">2</a><h1 id="here">3</h1>'
        '<a href="nowhere.ipynb">4</a><img src="https://example.org/a.png">'
    )
    (tmp_path / "deep" / "page.html").write_text('<a href="../index.html#gone">5</a><p id="there">')
    assert sorted(dead_links(tmp_path)) == [
        "deep/page.html: ../index.html#gone",
        "index.html: nowhere.ipynb",
    ]
    assert Links(tmp_path / "index.html").fetched == {"https://example.org/a.png"}


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    """Every link and anchor leads somewhere, and nothing is fetched when reading."""
    pytest.importorskip("mkdocs", reason="the site needs the extra docs")
    pytest.importorskip("mkdocstrings", reason="the site needs the extra docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    found = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    site = tmp_path / "site"
    assert not dead_links(site)
    assert not {address for page in site.rglob("*.html") for address in Links(page).fetched}
    assert (site / "search" / "search_index.js").is_file()  # search in pages opened as files


def test_the_results_page_is_on_the_site():
    hooks = load_hooks()
    page = SimpleNamespace(file=SimpleNamespace(src_uri="results.md"))
    shown = hooks.on_page_markdown("", page=page)
    assert "MUTAG" in shown
    assert "](results/" not in shown


def load_hooks():
    found = spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    hooks = module_from_spec(found)
    found.loader.exec_module(hooks)
    return hooks


def test_pages_become_notebooks():
    hooks = load_hooks()
    page = ROOT / "docs" / "get_started.md"
    cells = hooks.notebook(page.read_text())["cells"]
    blocks = list(BLOCK.finditer(page.read_text()))
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["source"] for cell in code] == [block["code"].rstrip() for block in blocks]
    assert code[0]["outputs"][0]["text"] == blocks[0]["output"]


@pytest.mark.slow
@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_notebooks_print_what_they_show(page, tmp_path):
    """Run the notebook of a page in a kernel of Jupyter, as a reader does."""
    client = pytest.importorskip("nbclient", reason="notebooks need the extra dev")
    import nbformat

    made = load_hooks().notebook(page.read_text())
    shown = nbformat.validator.normalize(made)[1]
    cells = nbformat.from_dict(shown)
    resources = {"metadata": {"path": str(tmp_path)}}
    done = client.NotebookClient(cells, timeout=300, resources=resources).execute()
    for before, after in zip(made["cells"], done.cells, strict=True):
        if before["cell_type"] == "code":
            wanted, printed = (
                "".join(part["text"] for part in cell["outputs"] if part.get("name") == "stdout")
                for cell in (before, after)
            )
            assert CHECKER.check_output(wanted, printed, FLAGS), after["source"]


def write(page: Path) -> None:
    """Run a page and put what it prints after each block."""
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("figures").mkdir()
        found = run(page)
        for figure in Path("figures").iterdir():
            keep(figure)
    for block, printed in reversed(found):
        if block["code"].startswith(">>>"):
            continue
        if CHECKER.check_output(block["output"] or "", printed, FLAGS):
            continue
        printed = printed.replace(folder, "...")
        output = f"\n```text\n{printed}```\n" if printed else ""
        text = (
            text[: block.start()] + f"```python\n{block['code']}```\n{output}" + text[block.end() :]
        )
    page.write_text(text)


def keep(figure: Path) -> None:
    """Copy a figure to the documents, with 160 colours, so that it is a third as large."""
    from PIL import Image

    with Image.open(figure) as image:
        fewer = image.convert("RGB").quantize(160)
    fewer.save(ROOT / "docs" / "figures" / figure.name, optimize=True)


if __name__ == "__main__":
    warnings.simplefilter("error")
    missing = [name for name in EXTRAS if find_spec(name) is None]
    if missing:
        sys.stderr.write(f"missing: {', '.join(missing)}\n")
    for given in sys.argv[1:]:
        write(Path(os.path.abspath(given)))
