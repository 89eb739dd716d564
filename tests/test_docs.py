"""Documents tell the truth: their code runs, their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUNNING = [page for page in PAGES if "```python" in page.read_text()]
NEEDED = {"alignment.md": "matplotlib", "runs.md": "fsspec"}  # beyond a core install


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.name)
def test_code_on_the_page_runs(page, tmp_path, monkeypatch):
    """All python blocks of a page, one after the other, in an empty folder."""
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name], reason="the page shows what an extra does")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)


def test_something_is_checked():
    assert {page.name for page in RUNNING} >= {"README.md", "tutorial.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
