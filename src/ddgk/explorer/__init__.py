"""The explorer: a page with a map of graphs, as one file or with a local server."""

from ddgk.explorer.atlas import Atlas, make_atlas
from ddgk.explorer.page import render_page

__all__ = ["Atlas", "make_atlas", "render_page"]
