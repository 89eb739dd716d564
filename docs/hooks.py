"""What mkdocs does beyond Markdown: the results page, notebooks, search without a server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"^```python\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", flags=re.DOTALL | re.MULTILINE
)
NOTEBOOKS = re.compile(r"^(howto/\w+|get_started)\.md$")


def on_env(env: Any, *, config: Any, **_: Any) -> Any:
    """Search in pages that are opened as files, without the script that the theme would fetch."""
    config.extra["polyfills"] = ["scripts/search_from_file.js"]
    return env


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return what is shown on a page: results from their file, a link to the notebook."""
    if page.file.src_uri == "results.md":
        text = (ROOT / "experiments" / "RESULTS.md").read_text(encoding="utf-8")
        # Links of that file are relative to its folder; tables by set are not on the site.
        text = text.replace("](../docs/", "](")
        return re.sub(r"\[([^\]]+)\]\((?:results|notebook)/[^)]*\)", r"\1", text)
    if NOTEBOOKS.match(page.file.src_uri):
        name = f"{Path(page.file.src_uri).stem}.ipynb"
        return f'{markdown}\n\n<a href="{name}" download>This page as a notebook</a>\n'
    return markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Write the notebooks; pages are tested, so notebooks need not be."""
    pages = Path(config["docs_dir"])
    for page in (*pages.glob("howto/*.md"), pages / "get_started.md"):
        target = Path(config["site_dir"]) / page.relative_to(pages).with_suffix(".ipynb")
        content = notebook(page.read_text(encoding="utf-8"))
        target.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def notebook(markdown: str) -> dict[str, Any]:
    """Return a page as a notebook of format 4 with its outputs."""
    cells: list[dict[str, Any]] = []
    position = 0
    for block in [*BLOCK.finditer(markdown), None]:
        text = markdown[position : None if block is None else block.start()].strip()
        if text:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": text})
        if block is None:
            break
        position = block.end()
        printed = {"name": "stdout", "output_type": "stream", "text": block[2]}
        cells.append(
            {
                "cell_type": "code",
                "execution_count": None,
                "metadata": {},
                "outputs": [printed] if block[2] else [],
                "source": block[1].rstrip(),
            }
        )
    return {
        "cells": cells,
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
