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
LARGE = 400.0  # discs, in square points, that stand for many nodes


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


def add_legend(axes: Any, entries: list[Any], **place: Any) -> Any:
    """Add a legend, and return it."""
    return axes.legend(handles=entries, frameon=False, fontsize=9, borderpad=0, **place)


def add_scale(figure: Any, drawn: Any, box: tuple[float, ...], **how: Any) -> Any:
    """Add the scale of a colour map in a box of the figure; return its axes."""
    axes = figure.add_axes(box)
    figure.colorbar(drawn, cax=axes, **how).outline.set_visible(False)
    axes.tick_params(labelsize=8, length=2)
    return axes


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'ddgk[plots]'") from error
    return matplotlib


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
    lines = LineCollection(
        list(ends),
        colors=colours,
        linewidths=widths,
        linestyles=styles,
        zorder=zorder,
        capstyle="round",
        gid="edges",
    )
    axes.add_collection(lines)
    if graph.edge_labels is not None and bonds is None and graph.n_edges <= MOST_NAMED_EDGES:
        for (x, y), label in zip(ends.mean(axis=1), graph.edge_labels, strict=True):
            axes.text(
                x,
                y,
                visible(label, 4),
                fontsize=6.5,
                color="#374151",
                ha="center",
                va="center",
                zorder=zorder + 0.1,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
            )
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
    rims: Any = "white"
    faces_given = colours
    if hollow is not None:
        rims = [c if empty else "white" for c, empty in zip(colours, hollow, strict=True)]
        faces_given = ["white" if empty else c for c, empty in zip(colours, hollow, strict=True)]
    discs = axes.scatter(
        *places.T,
        s=size,
        c=faces_given,
        edgecolors=rims,
        linewidths=0.8 if hollow is None else np.where(hollow, 1.6, 0.8),
        zorder=3,
        gid="nodes",
        **how,
    )
    names = [str(name) for name in graph.node_names]
    longest = max(map(len, names))
    if graph.n_nodes > MOST_NAMED_NODES:
        return discs
    inside = longest <= 3
    if not inside and graph.n_nodes > MOST_NAMED_NODES // 2:
        return discs
    discs.update_scalarmappable()  # numbers become colours now, so that names can be set off
    faces = discs.get_facecolor()
    sizes = np.broadcast_to(np.asarray(size, dtype=np.float64), (graph.n_nodes,))
    for place, (position, name) in enumerate(zip(places, names, strict=True)):
        face = faces[place] if len(faces) > 1 else faces[0]
        largest = 8.5 if sizes[place] <= LARGE else 12.0
        letter = float(np.clip(0.46 * np.sqrt(sizes[place]), 3.5, largest)) if inside else 7.0
        axes.annotate(
            visible(name, 12),
            position,
            xytext=(0, -0.1 * letter) if inside else (0, -np.sqrt(sizes[place]) / 2 - 1),
            textcoords="offset points",
            ha="center",
            va="center_baseline" if inside else "top",
            fontsize=letter,
            color=_readable_on(face) if inside else INK,
            zorder=4,
        )
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
