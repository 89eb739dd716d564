"""Shared by all figures: style, colours, text and saving."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Hashable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from ddgk.errors import MissingExtraError, ParameterError
from ddgk.graphs.graph import label_key
from ddgk.plain import visible
from ddgk.store import write_atomically

SUFFIXES = (".svg", ".png", ".pdf")

INK = "#222222"
FAINT = "#8a8f98"
SHEET = "#f3f4f6"
UNLABELLED = "#5b8db8"
OTHER = "#bbbbbb"

# Okabe and Ito's colours, which keep apart for colour-blind readers too; black is left to text.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")

_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "ddgk",  # the same figure is the same file
    "text.parse_math": False,  # names and labels are text, whatever dollar signs they have
}


def style() -> Any:
    """Return a context with the settings under which figures are drawn and saved."""
    return _matplotlib().rc_context(_STYLE)


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of a size in inches, without a window."""
    _matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), facecolor="white")


def check_path(path: str | PathLike[str] | None) -> None:
    """Check that a file name ends in a known format, before anything is drawn."""
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        raise ParameterError(
            f"{str(path)!r}: a figure's name must end in one of {', '.join(SUFFIXES)}"
        )


def save(figure: Any, path: str | PathLike[str] | None) -> Any:
    """Write the figure in the format its ending names, if there is a path; return the figure."""
    if path is None:
        return figure
    kind = Path(path).suffix.lower().lstrip(".")
    content = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    figure.savefig(content, format=kind, dpi=150, metadata=undated)
    write_atomically(Path(path), content.getvalue())
    return figure


def assign_colours(values: Iterable[Hashable]) -> dict[Hashable, str]:
    """Assign a colour to every value, in a fixed order; the rarest share grey if there are many.

    >>> assign_colours("abba")
    {'a': '#0072B2', 'b': '#E69F00'}
    """
    counts = Counter(values)
    frequent = sorted(counts, key=lambda value: (-counts[value], label_key(value)))
    most = len(PALETTE)
    chosen = sorted(frequent[:most], key=_natural)
    colours = dict(zip(chosen, PALETTE, strict=False))
    return colours | dict.fromkeys(frequent[most:], OTHER)


def shorten(text: object, most: int = 24) -> str:
    r"""Return text that fits, cut in the middle, with hidden characters as escapes.

    >>> shorten("a-rather-long-name-of-a-graph", 11), shorten("a\x00b")
    ('a-rat…graph', 'a\\x00b')
    """
    return visible(text, most)


def add_legend(axes: Any, colours: dict[Hashable, str], **place: Any) -> None:
    """Add a legend of the colours; values that share grey are one entry."""
    from matplotlib.lines import Line2D

    shown = {shorten(value, 16): colour for value, colour in colours.items() if colour != OTHER}
    if OTHER in colours.values():
        shown["other"] = OTHER
    handles = [
        Line2D([], [], marker="o", linestyle="", markersize=7, color=colour, label=text)
        for text, colour in shown.items()
    ]
    axes.legend(handles=handles, frameon=False, fontsize=9, borderpad=0, **place)


def _natural(value: Hashable) -> tuple[int, float, str]:
    """Sort numbers by size, everything else by text."""
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, label_key(value)


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'ddgk[plots]'") from error
    return matplotlib
