"""Shared by all figures: style, colours, text, nodes and edges, saving."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import MissingExtraError, ParameterError
from ddgk.graphs import Graph
from ddgk.graphs.display import PALETTE, bond_orders, frequent_values
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

EDGE = "#6b7280"

# Above these numbers text would be too small to read.
MOST_NAMED_NODES = 45
MOST_NAMED_EDGES = 14
MOST_TICKS = 34
LONGEST = 24  # characters of the name of a graph
WIDER = {1: 1.0, 2: 2.2, 3: 3.2, 4: 1.6}  # bonds by their order; 4 is aromatic
LARGE = 20.0  # width in points of discs that stand for many nodes


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

    constrained: whether matplotlib finds room for texts, legends and scales around the axes.
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


def add_scale(figure: Any, drawn: Any, axes: Any, **how: Any) -> None:
    """Add the scale of a colour map at the side of axes."""
    scale = figure.colorbar(drawn, ax=axes, **how)
    scale.outline.set_visible(False)
    scale.ax.tick_params(labelsize=8, length=2)


def node_size(n_nodes: int) -> float:
    """Return the area of a node in square points."""
    return float(np.clip(2900 / n_nodes, 18, 330))


def draw_edges(
    axes: Any,
    graph: Graph,
    places: Array,
    *,
    size: float,
    colours: Any = EDGE,
    widths: Any = None,
    styles: Any = "solid",
    zorder: float = 1.0,
) -> Any:
    """Draw edges as lines below the nodes, with their labels while there are few.

    Bonds of molecules have no labels, but are as wide as their order.
    """
    from matplotlib.collections import LineCollection

    ends = places[graph.edges]
    bonds = bond_orders(graph)
    if widths is None:
        widths = (0.5 + 1.1 * np.sqrt(size / 330)) * np.array([WIDER[k] for k in bonds or (1,)])
    looks = {"colors": colours, "linewidths": widths, "linestyles": styles, "zorder": zorder}
    lines = LineCollection(list(ends), capstyle="round", gid="edges", **looks)
    axes.add_collection(lines)
    if graph.edge_labels is not None and bonds is None and graph.n_edges <= MOST_NAMED_EDGES:
        bbox = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
        how: dict[str, Any] = {"fontsize": 6.5, "color": "#374151", "zorder": zorder + 0.1}
        for (x, y), label in zip(ends.mean(axis=1), graph.edge_labels, strict=True):
            axes.text(x, y, visible(label, 4), ha="center", va="center", bbox=bbox, **how)
    return lines


def draw_nodes(
    axes: Any,
    graph: Graph,
    places: Array,
    colours: Any,
    *,
    size: Any,
    hollow: NDArray[np.bool_] | None = None,
    **how: Any,
) -> Any:
    """Draw nodes as discs, with their names inside while those are short and there are few.

    size: of all, or of each. hollow: which are drawn as rings of their colour, (n_nodes,).
    """
    faces: Any = colours
    rims: Any = "white"
    if hollow is not None:
        rims = [c if empty else "white" for c, empty in zip(colours, hollow, strict=True)]
        faces = ["white" if empty else c for c, empty in zip(colours, hollow, strict=True)]
        how["linewidths"] = np.where(hollow, 1.6, 0.8)
    how = {"edgecolors": rims, "linewidths": 0.8, "zorder": 3, "gid": "nodes"} | how
    discs = axes.scatter(*places.T, s=size, c=faces, **how)
    names = [str(name) for name in graph.node_names]
    inside = max(map(len, names)) <= 3
    if graph.n_nodes > (MOST_NAMED_NODES if inside else MOST_NAMED_NODES // 2):
        return discs
    discs.update_scalarmappable()  # numbers become colours now, so that names can be set off
    shown = np.broadcast_to(discs.get_facecolor(), (graph.n_nodes, 4))
    widths = np.sqrt(np.broadcast_to(np.asarray(size, dtype=np.float64), (graph.n_nodes,)))
    for name, place, face, width in zip(names, places, shown, widths, strict=True):
        letter = float(np.clip(0.46 * width, 3.5, 8.5 if width <= LARGE else 12.0))
        if inside:
            text = {"va": "center_baseline", "fontsize": letter, "color": _readable_on(face)}
        else:
            text = {"va": "top", "fontsize": 7.0, "color": INK}
        below = -0.1 * letter if inside else -width / 2 - 1
        offset = {"xytext": (0, below), "textcoords": "offset points"}
        axes.annotate(visible(name, 12), place, ha="center", zorder=4, **offset, **text)
    return discs


def tick_names(axis: Any, names: Sequence[str]) -> None:
    """Label the ticks of an axis: all while they fit, else every second, fifth, tenth, ..."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 10**9) if len(names) / s <= MOST_TICKS)
    chosen = range(0, len(names), step)
    axis.set_ticks(list(chosen), [visible(names[i], 10) for i in chosen])
    small = 9 if len(chosen) <= 16 else 7
    crowded = axis.axis_name == "x" and max(map(len, names)) * len(chosen) > 45
    axis.set_tick_params(labelsize=small, labelrotation=90 if crowded else 0)


def _readable_on(face: Sequence[float]) -> str:
    """Return white on dark colours and near-black on light ones."""
    red, green, blue = face[:3]
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.6 else INK
