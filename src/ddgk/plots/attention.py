"""The paper's figure of a pair: both graphs, and the attention between them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment import Alignment
from ddgk.errors import ParameterError
from ddgk.graphs import Graph
from ddgk.plots.canvas import (
    FAINT,
    INK,
    PALETTE,
    SHEET,
    UNLABELLED,
    add_legend,
    assign_colours,
    check_path,
    new_figure,
    save,
    shorten,
    style,
)
from ddgk.plots.drawing import draw_edges, draw_nodes, node_size, tick_names
from ddgk.plots.layout import lay_out_pair

LAYOUTS = ("matched", "own")

# Graphs lie on sheets seen from the side: flattened, and leaning to the right.
_FLAT, _LEAN, _MARGIN, _HEIGHT = 0.45, 0.15, 0.2, 1.75


def alignment(
    found: Alignment,
    *,
    layout: str = "matched",
    title: str | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw which node of the target attends to which of the source.

    The target lies above the source. From each of its nodes a line runs to the source node it
    attends to most, the wider the more sure. The heat map holds the whole attention; its squares
    mark the one-to-one matching.

    Parameters
    ----------
    found : Alignment
        As `ddgk.align` returns it.
    layout : {"matched", "own"}
        "matched" puts every target node, and every column of the heat map, where its partner is,
        so that alike parts stand alike. "own" draws each graph by itself, in its own node order.
    title : str, optional
        Default: the names of the graphs.
    path : str or path, optional
        Where to save it; .svg, .png or .pdf.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import ddgk, ddgk.plots
    >>> ring = ddgk.datasets.FAMILIES["ring"](6)
    >>> found = ddgk.align(ring, ring, restarts=2)
    >>> len(ddgk.plots.alignment(found).axes)  # the drawing, the heat map, its scale
    3
    """
    return alignments([found], layout=layout, titles=None if title is None else [title], path=path)


def alignments(
    several: Sequence[Alignment],
    *,
    layout: str = "matched",
    titles: Sequence[str] | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw alignments side by side, each as `alignment` does, with one scale for all heat maps.

    Parameters
    ----------
    several : sequence of Alignment
    layout, path
        As for `alignment`.
    titles : sequence of str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    check_path(path)
    if layout not in LAYOUTS:
        raise ParameterError(
            f"layout must be one of {', '.join(map(repr, LAYOUTS))}, not {layout!r}"
        )
    if not several:
        raise ParameterError("there is no alignment to draw; give at least one")
    names = [_default_title(found) for found in several] if titles is None else list(titles)
    if len(names) != len(several):
        raise ParameterError(f"{len(several)} alignments need as many titles, not {len(names)}")
    beside = len(several) == 1
    with style():
        if beside:
            figure = new_figure(12.5, 5.8)
            grid = figure.add_gridspec(
                1, 2, width_ratios=(1.25, 1), left=0.015, right=0.93, top=0.84, bottom=0.12
            )
        else:
            figure = new_figure(5.2 * len(several) + 0.6, 9.6)
            grid = figure.add_gridspec(
                2,
                len(several),
                left=0.045,
                right=0.945,
                top=0.9,
                bottom=0.06,
                hspace=0.12,
                wspace=0.2,
            )
        heat_maps = []
        for place, (found, name) in enumerate(zip(several, names, strict=True)):
            drawing = figure.add_subplot(grid[0, 0] if beside else grid[0, place])
            heat_map = figure.add_subplot(grid[0, 1] if beside else grid[1, place])
            _draw_pair(drawing, found, matched=layout == "matched")
            image = _draw_attention(heat_map, found, matched=layout == "matched")
            drawing.set_title(name, fontsize=13, fontweight="bold", loc="left", pad=24)
            drawing.text(0, 1.015, _verdict(found), transform=drawing.transAxes, color="#555555")
            heat_maps.append(heat_map)
        scale = figure.colorbar(image, ax=heat_maps, fraction=0.046 / len(several), pad=0.025)
        scale.set_label("attention")
        scale.outline.set_visible(False)
        return save(figure, path)


def _default_title(found: Alignment) -> str:
    target, source = (shorten(g.name or what) for g, what in _graphs(found))
    return f"{target} onto {source}"


def _verdict(found: Alignment) -> str:
    confidence = np.mean(list(found.confidence.values()))
    kept = round(found.edge_correctness * found.target.n_edges)
    said = f"{kept} of {found.target.n_edges} edges kept, mean confidence {confidence:.2f}"
    return f"{said}, an isomorphism" if found.is_isomorphism else said


def _graphs(found: Alignment) -> tuple[tuple[Graph, str], tuple[Graph, str]]:
    return (found.target, "target"), (found.source, "source")


def _draw_pair(axes: Any, found: Alignment, *, matched: bool) -> None:
    """Draw both sheets and, between them, the strongest attention of every target node."""
    from matplotlib.collections import LineCollection

    laid_out = lay_out_pair(found, matched=matched)
    # Long graphs lie flat; a little stretching uses the sheet and keeps their nodes apart.
    tallest = max(float(np.abs(places[:, 1]).max()) for places in laid_out)
    stretch = [1.0, min(1.6, 1 / max(tallest, 0.01))]
    target = _tilt(laid_out[0] * stretch, _HEIGHT)
    source = _tilt(laid_out[1] * stretch, 0.0)
    colours, legend = _colours(found)
    size = node_size(max(found.target.n_nodes, found.source.n_nodes))
    for (graph, what), places, own, height in zip(
        _graphs(found), (target, source), colours, (_HEIGHT, 0.0), strict=True
    ):
        _draw_sheet(axes, height, f"{what}: {shorten(graph.name)}" if graph.name else what)
        draw_edges(axes, graph, places, size=size)
        draw_nodes(axes, graph, places, own, size=size)
    chosen = found.attention.argmax(axis=1)
    confidence = found.attention.max(axis=1)
    axes.add_collection(
        LineCollection(
            list(np.stack([target, source[chosen]], axis=1)),
            linewidths=0.4 + 3.0 * confidence * np.sqrt(size / 330),
            colors=[
                (*_rgb(colour), 0.25 + 0.6 * sure)
                for colour, sure in zip(colours[0], confidence, strict=True)
            ],
            zorder=2,
            capstyle="round",
            gid="attention",
        )
    )
    reach = 1 + _MARGIN + _LEAN * (1 + _MARGIN)
    axes.set_xlim(-reach - 0.02, reach + 0.02)
    axes.set_ylim(-0.8, _HEIGHT + 0.75)
    axes.set_axis_off()
    if legend:
        place = {"loc": "lower right", "bbox_to_anchor": (0.93, -0.02), "ncols": 4}
        add_legend(axes, legend, columnspacing=0.9, handletextpad=0.1, **place)


def _tilt(places: NDArray[np.float64], height: float) -> NDArray[np.float64]:
    """Lay places on the sheet at a height."""
    x, y = places.T
    return np.stack([x + _LEAN * y, _FLAT * y + height], axis=1)


def _draw_sheet(axes: Any, height: float, text: str) -> None:
    from matplotlib.patches import Polygon

    reach = 1 + _MARGIN
    corners = np.array([[-reach, -reach], [reach, -reach], [reach, reach], [-reach, reach]])
    sheet = _tilt(corners, height)
    axes.add_patch(Polygon(sheet, facecolor=SHEET, edgecolor="#dde0e5", linewidth=0.8, zorder=0))
    # Outside of the sheet, and on the side away from the other, no line or node runs into it.
    (x, y), va = (sheet[3] + [0, 0.05], "bottom") if height else (sheet[0] - [0, 0.06], "top")
    axes.text(x, y, text, color="#555555", fontsize=10, va=va)


def _colours(found: Alignment) -> tuple[tuple[list[str], list[str]], dict[Hashable, str]]:
    """Return a colour per target and per source node, and what to say about them."""
    labels = [graph.node_labels for graph, _ in _graphs(found)]
    if labels[0] is None and labels[1] is None:
        plain = [UNLABELLED] * found.target.n_nodes, [UNLABELLED] * found.source.n_nodes
        return plain, {}
    known = assign_colours(label for own in labels for label in own or ())
    coloured = tuple(
        [UNLABELLED] * graph.n_nodes if own is None else [known[label] for label in own]
        for (graph, _), own in zip(_graphs(found), labels, strict=True)
    )
    return coloured, known  # type: ignore[return-value]


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def _draw_attention(axes: Any, found: Alignment, *, matched: bool) -> Any:
    """Draw the attention, a row per target node; the squares are the one-to-one matching."""
    order = _by_partner(found) if matched else np.arange(found.source.n_nodes)
    image = axes.imshow(found.attention[:, order], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    place = np.argsort(order)
    pairs = found.pairs
    largest = max(found.attention.shape)
    axes.scatter(
        place[pairs[:, 1]],
        pairs[:, 0],
        s=(150 / largest) ** 2 * 0.9,
        marker="s",
        facecolors="none",
        edgecolors=PALETTE[1],
        linewidths=1.4 if largest <= 25 else 0.8,
    )
    tick_names(axes.yaxis, [str(name) for name in found.target.node_names])
    tick_names(axes.xaxis, [str(found.source.node_names[s]) for s in order])
    axes.set_ylabel("target node")
    axes.set_xlabel("source node")
    for side in axes.spines.values():
        side.set_color(FAINT)
    axes.tick_params(length=2, color=FAINT, labelcolor=INK)
    return image


def _by_partner(found: Alignment) -> NDArray[np.int64]:
    """Order source nodes as their partners stand; those without one come last."""
    partners = found.pairs[np.argsort(found.pairs[:, 0]), 1]
    rest = np.setdiff1d(np.arange(found.source.n_nodes), partners)
    return np.concatenate([partners, rest])
