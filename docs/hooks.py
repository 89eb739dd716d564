"""What mkdocs does beyond Markdown: show the results page that the experiments write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return experiments/RESULTS.md for the page of results, with links that work on the site."""
    if page.file.src_uri != "results.md":
        return markdown
    text = (ROOT / "experiments" / "RESULTS.md").read_text(encoding="utf-8")
    text = text.replace("](../docs/", "](")
    return re.sub(r"\[([^\]]+)\]\((?:results|notebook)/[^)]*\)", r"`experiments/results/\1`", text)
