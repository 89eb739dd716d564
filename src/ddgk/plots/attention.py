"""The paper's figure of an alignment: both graphs, and the attention between them."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from ddgk.alignment import Alignment, GroupAlignment
from ddgk.errors import ParameterError
from ddgk.plain import visible
from ddgk.plots.canvas import check_path, new_figure, save, style
from ddgk.plots.scene import MOST_NODES, Scene, show_groups, show_nodes
from ddgk.plots.sheets import draw_attention, draw_scene

CHOICES = {
    "layout": ("matched", "own"),
    "colours": ("auto", "labels", "communities", "plain"),
    "detail": ("auto", "nodes", "groups"),
}


def alignment(
    found: Alignment | GroupAlignment,
    *,
    layout: str = "matched",
    colours: str = "auto",
    detail: str = "auto",
    title: str | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw which node of the target corresponds to which of the source.

    The target lies above the source. A line joins each target node with its partner; its width is
    the confidence. Dotted lines lead to other nodes with high attention. Edges that the matching
    does not keep are dashed, nodes without a partner are rings. The heat map shows the whole
    attention; frames mark the matching.

    Parameters
    ----------
    found : Alignment or GroupAlignment
        As `ddgk.align` or `Alignment.coarsen` returns it.
    layout : {"matched", "own"}
        "matched" places every target node, and every column of the heat map, where its partner is.
        "own" draws each graph by itself, in its own node order.
    colours : {"auto", "labels", "communities", "plain"}
        What colours show. "auto": labels where there are some, else communities of more than 20
        nodes.
    detail : {"auto", "nodes", "groups"}
        What a disc is. "auto": a node up to 60 nodes, beyond that a community.
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
    return alignments(
        [found], layout=layout, colours=colours, detail=detail, titles=titles, path=path
    )


def alignments(
    several: Sequence[Alignment | GroupAlignment],
    *,
    layout: str = "matched",
    colours: str = "auto",
    detail: str = "auto",
    titles: Sequence[str] | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw several alignments next to each other, with one scale for all heat maps.

    Parameters
    ----------
    several : sequence of Alignment or GroupAlignment
    layout, colours, detail, path
        As for `alignment`.
    titles : sequence of str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    check_path(path)
    given = {"layout": layout, "colours": colours, "detail": detail}
    for name, value in given.items():
        if value not in CHOICES[name]:
            listed = ", ".join(map(repr, CHOICES[name]))
            raise ParameterError(f"{name} must be one of {listed}, not {value!r}")
    if not several:
        raise ParameterError("there is no alignment to draw; give at least one")
    if titles is not None and len(titles) != len(several):
        raise ParameterError(f"{len(several)} alignments need as many titles, not {len(titles)}")
    scenes = [_set_scene(found, colours, detail) for found in several]
    names = [scene.title for scene in scenes] if titles is None else list(titles)
    with style():
        return save(_draw(scenes, names, matched=layout == "matched"), path)


def _set_scene(found: Alignment | GroupAlignment, colours: str, detail: str) -> Scene:
    """Choose between a disc for every node and a disc for every group."""
    if isinstance(found, GroupAlignment):
        return show_nodes(found.nodes, colours) if detail == "nodes" else show_groups(found)
    many = max(found.target.n_nodes, found.source.n_nodes) > MOST_NODES
    if detail == "groups" or (detail == "auto" and many):
        return show_groups(found.coarsen())
    return show_nodes(found, colours)


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
        heat_map = figure.add_subplot(grid[0, 1] if single else grid[1, place])
        box = drawing.get_position()
        inches = box.width * figure.get_figwidth(), box.height * figure.get_figheight()
        draw_scene(drawing, scene, matched=matched, inches=inches)
        image = draw_attention(heat_map, scene, matched=matched)
        drawing.set_title(visible(title), fontsize=13, fontweight="bold", loc="left", pad=24)
        drawing.annotate(
            scene.verdict,
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 7),
            textcoords="offset points",
            color="#555555",
        )
        heat_maps.append(heat_map)
    scale = figure.colorbar(image, ax=heat_maps, fraction=0.046 / len(scenes), pad=0.025, aspect=28)
    scale.set_label("attention")
    scale.outline.set_visible(False)
    return figure
