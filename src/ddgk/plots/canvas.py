"""Shared by all figures: style, colours, legends, ticks, saving."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import MissingExtraError, ParameterError
from ddgk.graphs.display import PALETTE, frequent_values
from ddgk.plain import visible
from ddgk.store import write_atomically

SUFFIXES = (".svg", ".png", ".pdf")

INK = "#222222"
FAINT = "#8a8f98"
SHEET = "#f3f4f6"
OTHER = "#bbbbbb"

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

Array = NDArray[np.float64]

MOST_TICKS = 34  # with more, text would be too small to read
LONGEST = 24  # characters of the name of a graph


def style(path: str | PathLike[str] | None = None) -> Any:
    """Return a context with the settings under which figures are drawn and saved.

    path: where the figure will be saved; its ending is checked before anything is drawn.
    """
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        raise ParameterError(
            f"{str(path)!r}: a figure's name must end in one of {', '.join(SUFFIXES)}"
        )
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'ddgk[plots]'") from error
    return rc_context(_STYLE)


def new_figure(width: float, height: float, *, constrained: bool = False) -> Any:
    """Return an empty figure of a size in inches, without a window.

    constrained: whether matplotlib finds space for texts, legends and scales around the axes.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.1, wspace=0.01) if constrained else None
    return Figure(figsize=(width, height), facecolor="white", layout=layout)


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
    chosen, rest = frequent_values(values, len(PALETTE))
    return dict(zip(chosen, PALETTE, strict=False)) | dict.fromkeys(rest, OTHER)


def colour_dots(colours: dict[Hashable, str]) -> list[Any]:
    """Return the entries of a legend of colours; values that share grey are one entry."""
    shown = {visible(value, 16): colour for value, colour in colours.items() if colour != OTHER}
    if OTHER in colours.values():
        shown["other"] = OTHER
    return [legend_dot(text, color=colour) for text, colour in shown.items()]


def legend_dot(text: str, **how: Any) -> Any:
    """Return an entry of a legend that shows a disc."""
    from matplotlib.lines import Line2D

    return Line2D([], [], marker="o", linestyle="", markersize=7, label=text, **how)


def add_legend(where: Any, entries: list[Any], **place: Any) -> Any:
    """Add a legend to axes or a figure, and return it."""
    return where.legend(handles=entries, frameon=False, fontsize=9, borderpad=0, **place)


def node_size(n_nodes: int) -> float:
    """Return the area of a node in square points."""
    return float(np.clip(2900 / n_nodes, 18, 330))


def tick_names(axis: Any, names: Sequence[str]) -> None:
    """Label the ticks of an axis: all while they fit, else every second, fifth, tenth, ..."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 10**9) if len(names) / s <= MOST_TICKS)
    chosen = range(0, len(names), step)
    axis.set_ticks(list(chosen), [visible(names[i], 10) for i in chosen])
    small = 9 if len(chosen) <= 16 else 7
    crowded = axis.axis_name == "x" and max(map(len, names)) * len(chosen) > 45
    axis.set_tick_params(labelsize=small, labelrotation=90 if crowded else 0)
