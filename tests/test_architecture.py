"""Data climbs one way, importing is light, and the documented path of a graph is the real one."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ddgk"
PAGE = ROOT / "docs" / "design" / "architecture.md"
MAX_MODULES = 25  # that one graph crosses

# A module imports from lower layers only.
LAYERS = [
    ["compiling", "errors", "hashing"],
    ["config"],
    ["engine", "graphs", "kernels", "symmetry", "vectors"],
    [
        "alignment",
        "shares",
        "sliced",
        "explanation",
        "io",
        "plain",
        "store",
    ],
    ["attributes", "embedding", "features", "tables", "traits"],
    ["plots", "targets", "transformer"],
    ["encoder"],
    ["divergence"],
    ["models"],
    ["similarity"],
    ["estimator"],
    ["comparison", "search"],
    ["explorer"],
    ["cli"],
]
# Modules that are one with another.
PARTS = {"comparison_report": "comparison"}
LAYER = {module: place for place, modules in enumerate(LAYERS) for module in modules}


def module_of(path: Path, source: Path = SOURCE) -> str:
    name = path.relative_to(source).parts[0].removesuffix(".py")
    return PARTS.get(name, name)


def imported(path: Path) -> set[str]:
    """Return the modules of ddgk that a file imports, wherever in it."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    found = {name.split(".")[1] for name in names if name.startswith("ddgk.")}
    return {PARTS.get(name, name) for name in found} & set(LAYER)


FILES = sorted(p for p in SOURCE.rglob("*.py") if module_of(p) not in ("__init__", "__main__"))


def test_every_module_has_a_layer():
    assert {module_of(path) for path in FILES} == set(LAYER)


@pytest.mark.parametrize("own", sorted(LAYER))
def test_imports_only_climb(own):
    for path in (path for path in FILES if module_of(path) == own):
        for other in imported(path) - {own}:
            assert LAYER[other] < LAYER[own], f"{path.relative_to(SOURCE)} imports {other}"


def test_a_wrong_import_is_noticed(tmp_path):
    stray = tmp_path / "stray.py"
    stray.write_text("from ddgk.estimator import DDGK\nfrom ddgk import plots\nimport ddgk.cli\n")
    assert imported(stray) == {"estimator", "plots", "cli"}


def test_the_page_lists_every_layer():
    table = PAGE.read_text().split("## One graph")[0]
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", table, flags=re.MULTILINE)
    shown = {name: int(place) for place, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert shown == LAYER


@pytest.mark.parametrize("folder", ["experiments", "benchmarks"])
def test_the_library_does_not_import_its_laboratory(folder):
    for path in FILES:
        assert f"import {folder}" not in path.read_text(encoding="utf-8")


def test_importing_ddgk_is_light():
    """`import ddgk` and the graph type load none of the heavy libraries."""
    heavy = ["torch", "numba", "scipy", "matplotlib", "sklearn", "networkx", "typer"]
    code = (
        "import sys, ddgk; from ddgk.graphs import Graph; dir(ddgk); "
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_public_names_exist():
    import ddgk

    for name in ddgk.__all__:
        assert getattr(ddgk, name) is not None
    assert set(ddgk.__all__) <= set(dir(ddgk))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ddgk.nothing


def test_version_and_licence_have_one_source():
    import tomllib

    import ddgk

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/ddgk/__init__.py"
    assert f"version: {ddgk.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{ddgk.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_extra_named_in_a_message_exists():
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    texts = (path.read_text(encoding="utf-8") for path in FILES)
    named = {name for text in texts for name in re.findall(r"ddgk\[(\w+)\]", text)}
    assert named
    assert named <= set(extras)


def crossed(call: Callable[[], object]) -> set[str]:
    """Return the modules of ddgk whose functions run during a call."""
    found: set[str] = set()

    def note(frame, event, _argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCE)) and frame.f_code.co_name != "<module>":
            name = Path(path).relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
            found.add(name.removesuffix(".__init__"))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found - {"__init__"}


@pytest.mark.parametrize("title", ["One graph through `embed`", "Two graphs through `align`"])
def test_the_documented_path_is_the_real_one(title):
    import networkx

    import ddgk

    graphs = [
        ddgk.Graph(n, [(i, i + 1) for i in range(n - 1)], node_labels=list("CNOS" * n)[:n])
        for n in range(4, 9)
    ]
    if "embed" in title:
        model = ddgk.DDGK(n_sources=2, random_state=0).fit(graphs)
        model.transform(graphs)  # what compiles on first use is not part of the path
        real = crossed(lambda: model.transform(graphs[:2]))
    else:
        pair = networkx.path_graph(7), networkx.cycle_graph(8)
        ddgk.align(*pair)
        real = crossed(lambda: ddgk.align(*pair).matching)
    section = PAGE.read_text().split(f"## {title}")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    assert real <= listed, f"the page lacks {sorted(real - listed)}"
    assert len(real) <= MAX_MODULES
    assert len(listed) <= MAX_MODULES
