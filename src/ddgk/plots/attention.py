"""The paper's figure of an alignment: two graphs on two sheets, and the attention between them."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment import Alignment, GroupAlignment
from ddgk.errors import ParameterError
from ddgk.graphs.display import PALETTE, bond_orders
from ddgk.plain import visible
from ddgk.plots.canvas import (
    FAINT,
    INK,
    SHEET,
    add_legend,
    colour_dots,
    legend_dot,
    new_figure,
    save,
    style,
    tick_names,
)
from ddgk.plots.scene import DrawnGraph, Scene, lay_out_pair, set_scene

LAYOUTS = ("matched", "own")

Array = NDArray[np.float64]

# Sheets are drawn in perspective: flattened, and leaning to the right.
FLAT, LEAN, MARGIN, HEIGHT = 0.5, 0.15, 0.16, 1.62
REACH = 1 + MARGIN
WIDTH = 2 * (REACH + LEAN * REACH) + 0.04
LOW, HIGH = -0.78, HEIGHT + 0.75

SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])

SOFT = "#555555"
EDGE, LOST = "#6b7280", PALETTE[5]
DASHED: Any = (0, (3, 1.5))
DOTTED: Any = (0, (1, 1.6))
UNSURE = 0.75
MOST_COLUMNS = 5  # of a legend
# Above these numbers text would be too small to read.
MOST_NAMED_NODES = 45
MOST_NAMED_EDGES = 14
WIDER = {1: 1.0, 2: 2.2, 3: 3.2, 4: 1.6}  # bonds by their order; 4 is aromatic
LARGE = 20.0  # width in points of discs that stand for many nodes


def alignment(
    found: Alignment | GroupAlignment,
    *,
    layout: str = "matched",
    title: str | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw which node of the target corresponds to which of the source.

    The target lies above the source. A line joins each target node with its partner; its width is
    the confidence. Dotted lines lead to other nodes with high attention. Edges that the matching
    does not keep are dashed, nodes without a partner are rings. The heat map shows the whole
    attention; frames mark the matching. Colours are labels where there are some, else communities
    of more than 20 nodes.

    Parameters
    ----------
    found : Alignment or GroupAlignment
        As `ddgk.align` or `Alignment.coarsen` returns it. Of graphs of more than 60 nodes
        communities are drawn.
    layout : {"matched", "own"}
        "matched" places every target node, and every column of the heat map, where its partner is.
        "own" draws each graph by itself, in its own node order.
    title : str, optional
        Default: the names of the graphs.
    path : str or path, optional
        Where to save it; .svg, .png or .pdf.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import ddgk, ddgk.plots, networkx
    >>> ring = networkx.cycle_graph(6)
    >>> found = ddgk.align(ring, ring)
    >>> len(ddgk.plots.alignment(found).axes)  # the drawing, the heat map, its scale
    3
    """
    titles = None if title is None else [title]
    return alignments([found], layout=layout, titles=titles, path=path)


def alignments(
    several: Sequence[Alignment | GroupAlignment],
    *,
    layout: str = "matched",
    titles: Sequence[str] | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw several alignments next to each other, with one scale for all heat maps.

    Parameters
    ----------
    several : sequence of Alignment or GroupAlignment
    layout, path
        As for `alignment`.
    titles : sequence of str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    if layout not in LAYOUTS:
        raise ParameterError(f"layout must be one of 'matched', 'own', not {layout!r}")
    if not several:
        raise ParameterError("there is no alignment to draw; give at least one")
    if titles is not None and len(titles) != len(several):
        raise ParameterError(f"{len(several)} alignments need as many titles, not {len(titles)}")
    with style(path):
        scenes = [set_scene(found) for found in several]
        names = [scene.title for scene in scenes] if titles is None else titles
        return save(_draw(scenes, names, matched=layout == "matched"), path)


def _draw(scenes: Sequence[Scene], titles: Sequence[str], *, matched: bool) -> Any:
    """Arrange the figure: a single pair left of its heat map, several above theirs."""
    single = len(scenes) == 1
    if single:
        figure = new_figure(13.0, 7.0)
        margins = {"left": 0.015, "right": 0.93, "top": 0.9, "bottom": 0.1}
        grid = figure.add_gridspec(1, 2, width_ratios=(1.35, 1), wspace=0.13, **margins)
    else:
        figure = new_figure(5.2 * len(scenes) + 0.6, 10.2)
        margins = {"left": 0.045, "right": 0.945, "top": 0.92, "bottom": 0.06}
        grid = figure.add_gridspec(2, len(scenes), hspace=0.16, wspace=0.2, **margins)
    heat_maps = []
    for place, (scene, title) in enumerate(zip(scenes, titles, strict=True)):
        drawing = figure.add_subplot(grid[0, place])
        heat_maps.append(figure.add_subplot(grid[0, 1] if single else grid[1, place]))
        _draw_sheets(drawing, scene, matched)
        image = _draw_heat_map(heat_maps[-1], scene, matched)
        drawing.set_title(visible(title), fontsize=13, fontweight="bold", loc="left", pad=24)
        drawing.annotate(scene.verdict, (0, 1), xytext=(0, 7), color=SOFT,
                         xycoords="axes fraction", textcoords="offset points")  # fmt: skip
    scale = figure.colorbar(image, ax=heat_maps, fraction=0.046 / len(scenes), pad=0.025, aspect=28)
    scale.set_label("attention")
    scale.outline.set_visible(False)
    return figure


def _draw_sheets(axes: Any, scene: Scene, matched: bool) -> None:
    """Draw both sheets and the lines between them."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba_array

    target, source = _place(axes, scene, matched)
    # From below: a sheet, its edges, the lines, the upper sheet that they shine through, its edges.
    layers = ((target, HEIGHT, 2.0), (source, 0.0, 0.0))
    for own, (places, height, order) in zip(scene.drawn, layers, strict=True):
        _draw_sheet(axes, height, own.text, order)
        _draw_edges(axes, own, places, order + 0.5)
        _draw_nodes(axes, own, places)
    pairs, strength, matches = scene.links
    colours = [scene.drawn[0].colours[t] for t in pairs[:, 0].tolist()]
    thick = np.clip(np.sqrt(float(scene.drawn[0].sizes.min()) / 330), 0.35, 1.0)
    axes.add_collection(
        LineCollection(
            list(np.stack([target[pairs[:, 0]], source[pairs[:, 1]]], axis=1)),
            linewidths=np.where(matches, 0.5 + 3.2 * strength * thick, 0.7 + 2.0 * strength),
            linestyles=["solid" if match else DOTTED for match in matches],
            colors=to_rgba_array(colours, np.where(matches, 0.85, 0.6)),
            zorder=1.5,
            capstyle="butt",
            gid="attention",
        )
    )
    axes.set_xlim(-WIDTH / 2, WIDTH / 2)
    axes.set_ylim(LOW, HIGH)
    axes.set_axis_off()
    _explain(axes, scene)


def _draw_edges(axes: Any, own: DrawnGraph, places: Array, zorder: float) -> None:
    """Draw edges as lines, with their labels while there are few.

    Bonds of molecules have no labels, but are as wide as their order.
    """
    from matplotlib.collections import LineCollection

    graph, widths, bonds = own.graph, own.widths, bond_orders(own.graph)
    if widths is None:
        width = 0.5 + 1.1 * np.sqrt(own.sizes.max() / 330)
        widths = width * np.array([WIDER[order] for order in bonds or (1,)])
    ends = places[graph.edges]
    axes.add_collection(
        LineCollection(
            list(ends),
            colors=[EDGE if kept else LOST for kept in own.kept],
            linewidths=widths,
            linestyles=["solid" if kept else DASHED for kept in own.kept],
            zorder=zorder,
            capstyle="round",
            gid="edges",
        )
    )
    if graph.edge_labels is not None and bonds is None and graph.n_edges <= MOST_NAMED_EDGES:
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
        how: dict[str, Any] = {"fontsize": 6.5, "color": "#374151", "zorder": zorder + 0.1}
        for (x, y), label in zip(ends.mean(axis=1), graph.edge_labels, strict=True):
            axes.text(x, y, visible(label, 4), ha="center", va="center", bbox=box, **how)


def _draw_nodes(axes: Any, own: DrawnGraph, places: Array) -> None:
    """Draw nodes as discs, those without a partner as rings, with names while there are few.

    Names stand inside where all are short.
    """
    from matplotlib.colors import to_rgb

    matched = own.matched
    faces = [c if full else "white" for c, full in zip(own.colours, matched, strict=True)]
    rims = ["white" if full else c for c, full in zip(own.colours, matched, strict=True)]
    how = {"edgecolors": rims, "linewidths": np.where(matched, 0.8, 1.6), "zorder": 3}
    axes.scatter(*places.T, s=own.sizes, c=faces, gid="nodes", **how)
    names = list(map(str, own.graph.node_names))
    inside = max(map(len, names)) <= 3
    if len(names) > (MOST_NAMED_NODES if inside else MOST_NAMED_NODES // 2):
        return
    for name, place, face, width in zip(names, places, faces, np.sqrt(own.sizes), strict=True):
        text, below = {"va": "top", "fontsize": 7.0, "color": INK}, -width / 2 - 1
        if inside:
            letter = float(np.clip(0.46 * width, 3.5, 8.5 if width <= LARGE else 12.0))
            dark = np.dot(to_rgb(face), (0.299, 0.587, 0.114)) < 0.6
            text = {"va": "center_baseline", "fontsize": letter, "color": "white" if dark else INK}
            below = -0.1 * letter
        offset = {"xytext": (0, below), "textcoords": "offset points"}
        axes.annotate(visible(name, 12), place, ha="center", zorder=4, **offset, **text)


def _draw_heat_map(axes: Any, scene: Scene, matched: bool) -> Any:
    """Draw the attention as a heat map, a row per target node; frames mark the matching."""
    from matplotlib.collections import PolyCollection

    found = scene.found
    order = np.arange(found.source.n_nodes)
    if matched:  # source nodes as their partners stand; those without one come last
        partners = found.pairs[np.argsort(found.pairs[:, 0]), 1]
        order = np.concatenate([partners, np.setdiff1d(order, partners)])
    shown = found.attention[:, order]
    image = axes.imshow(shown, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    centres = np.stack([np.argsort(order)[found.pairs[:, 1]], found.pairs[:, 0]], axis=1)
    axes.add_collection(
        PolyCollection(
            list(centres[:, None, :] + 0.94 * SQUARE / 2),
            facecolors="none",
            edgecolors=PALETTE[1],
            linewidths=1.6 if max(shown.shape) <= 25 else 0.8,
            gid="matching",
        )
    )
    tick_names(axes.yaxis, scene.drawn[0].ticks)
    tick_names(axes.xaxis, [scene.drawn[1].ticks[s] for s in order])
    axes.set_ylabel(f"target {scene.unit}")
    axes.set_xlabel(f"source {scene.unit}")
    axes.spines[:].set_color(FAINT)
    axes.tick_params(length=2, color=FAINT, labelcolor=INK)
    return image


def _place(axes: Any, scene: Scene, matched: bool) -> tuple[Array, Array]:
    """Place all discs on their sheets so that none hides another."""
    box, figure = axes.get_position(), axes.figure
    points = 72 * np.array([box.width * figure.get_figwidth(), box.height * figure.get_figheight()])
    discs = float(max(own.sizes.max() for own in scene.drawn)) ** 0.5 + 1.5
    gaps = discs * np.array([WIDTH, (HIGH - LOW) / FLAT]) / points
    laid_out = lay_out_pair(scene.found, matched=matched, gaps=gaps)
    both = np.concatenate(laid_out)
    low, high = both.min(axis=0), both.max(axis=0)
    # Separated discs may leave the sheet, and long graphs are flat: scale both axes to fit.
    reach = REACH - np.maximum(MARGIN, 0.5 * gaps + 0.04)
    stretch = np.minimum(reach / np.maximum((high - low) / 2, 1e-9), [1.0, 1.8])
    target, source = ((places - (low + high) / 2) * stretch for places in laid_out)
    return _tilt(target, HEIGHT), _tilt(source, 0.0)


def _tilt(places: Array, height: float) -> Array:
    """Lay places on the sheet at a height."""
    x, y = places.T
    return np.stack([x + LEAN * y, FLAT * y + height], axis=1)


def _draw_sheet(axes: Any, height: float, text: str, zorder: float) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Polygon

    sheet = _tilt(REACH * SQUARE, height)
    how: dict[str, Any] = {"facecolor": to_rgba(SHEET, 0.75), "edgecolor": "#dde0e5"}
    axes.add_patch(Polygon(sheet, zorder=zorder, linewidth=0.8, **how))
    # The text stands outside of the sheet, away from the other one, where no line crosses it.
    (x, y), va = (sheet[3] + [0, 0.03], "bottom") if height else (sheet[0] - [0, 0.03], "top")
    axes.text(x, y, text, color=SOFT, fontsize=10, va=va)


def _explain(axes: Any, scene: Scene) -> None:
    """Add the legend of colours, lines and rings below the sheets."""
    from matplotlib.lines import Line2D

    def line(text: str, **how: Any) -> Any:
        return Line2D([], [], label=text, **({"color": FAINT} | how))

    _, strength, matches = scene.links
    lines = []
    if len(strength):
        unsure = strength[matches].min(initial=1.0) < UNSURE
        lines.append(line("match, sure" if unsure else "match", linewidth=3.2))
        if unsure:
            lines.append(line("unsure", linewidth=1.0))
    if not matches.all():
        lines.append(line("attends also", linestyle=DOTTED))
    if not all(own.kept.all() for own in scene.drawn):
        lines.append(line("edge not kept", color=LOST, linestyle=DASHED))
    if not all(own.matched.all() for own in scene.drawn):
        ring = {"color": FAINT, "markerfacecolor": "white", "markeredgewidth": 1.6}
        lines.append(legend_dot("no partner", **ring))
    row = 0
    for entries in filter(None, (lines, colour_dots(scene.legend))):
        place = {"loc": "upper left", "bbox_to_anchor": (0.01, 0.015 - 0.042 * row)}
        gaps = {"columnspacing": 1.1, "handletextpad": 0.4, "handlelength": 1.6}
        axes.add_artist(add_legend(axes, entries, ncols=MOST_COLUMNS, **place, **gaps))
        row += -(-len(entries) // MOST_COLUMNS)
