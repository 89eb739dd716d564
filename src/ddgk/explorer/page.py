"""Put the page together: one HTML file without any request to elsewhere."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from ddgk.explorer.atlas import Atlas, drawing_values
from ddgk.plain import visible

MAX_DRAWN = 5_000  # graphs whose drawings a page without a server holds
SCRIPTS = ("map.js", "drawing.js", "page.js")


def render_page(atlas: Atlas, *, n_aligned: int = 3, n_jobs: int = 1) -> str:
    """Return a page that works without a server.

    Parameters
    ----------
    atlas : Atlas
    n_aligned : int
        How many of its nearest graphs every graph is aligned with.
    n_jobs : int
        Threads that align.
    """
    values = atlas.map_values()
    values["graphs"] = [drawing_values(graph) for graph in atlas.graphs[:MAX_DRAWN]]
    values["matches"] = atlas.matches(n_aligned, n_jobs=n_jobs)
    return assemble(values, served=False)[0]


def write_page(atlas: Atlas, path: str | os.PathLike[str], **how: int) -> None:
    """Write what `render_page` returns to a file, whole or not at all."""
    from ddgk.store.files import write_atomically

    write_atomically(Path(path), render_page(atlas, **how).encode())


def assemble(values: dict[str, Any], *, served: bool) -> tuple[str, str]:
    """Return the page with its data, and its content security policy.

    The data is JSON, compressed and in base64, so that no name can end the element that holds it;
    the scripts put text into the page only as text.
    """
    style, script = asset("style.css"), "\n".join(map(asset, SCRIPTS))
    script = f'"use strict";\n(() => {{\n{script}\n}})();\n'
    content = json.dumps(values, separators=(",", ":"), allow_nan=False).encode()
    # Without a time stamp, so that the same graphs give the same file.
    data = base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src 'sha256-{_digest(script)}'",
            f"style-src 'sha256-{_digest(style)}'",
            "img-src data: blob:",
            "connect-src 'self'" if served else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    parts = {
        "policy": html.escape(policy),
        "title": html.escape(visible(values["title"], 80)),
        "served": "true" if served else "false",
        "style": style,
        "script": script,
        "data": data,
    }
    # In one pass, so that nothing that is put in is looked at again.
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], asset("page.html"))
    return page, policy


def asset(name: str) -> str:
    """Return a file of the page."""
    return files("ddgk.explorer").joinpath("assets", name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
