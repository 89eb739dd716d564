"""Relations as pictures: what an encoder is asked to predict, unit by unit."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from ddgk.errors import ParameterError
from ddgk.graphs.graph import Graph, describe
from ddgk.plots.canvas import check_path, new_figure, save, shorten, style
from ddgk.relations import RELATIONS, relate

MOST_UNITS = 500  # beyond, a unit is thinner than a pixel
UNITS = {"edge_to_nodes": "edges", "neighborhood": "beginnings of walks"}


def relations(
    graph: Graph,
    names: Sequence[str] = tuple(RELATIONS),
    *,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw the matrices of relations of one graph side by side, units from top to bottom.

    Parameters
    ----------
    graph : Graph
    names : sequence of str
        Which relations.
    path : str or path, optional
        Where to save it; .svg, .png or .pdf.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import ddgk.datasets, ddgk.plots
    >>> figure = ddgk.plots.relations(ddgk.datasets.barbell(), ["closeness"])
    >>> [axes.get_title() for axes in figure.axes]
    ['closeness']
    """
    check_path(path)
    if not names:
        raise ParameterError(f"name some of {', '.join(RELATIONS)}")
    _check_size(graph, graph.n_nodes, "nodes")  # before a matrix between all of them is built
    found = [relate(graph, name) for name in names]
    _check_size(graph, max(relation.matrix.shape[0] for relation in found), "units in a relation")
    with style():
        figure = new_figure(3.1 * len(names) + 0.4, 4.2)
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        figure.subplots_adjust(left=0.07, right=0.98, top=0.84, bottom=0.12, wspace=0.3)
        for axes, name, relation in zip(panels, names, found, strict=True):
            axes.imshow(relation.dense(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
            axes.set_title(name, fontsize=10)
            axes.set_xlabel("nodes", fontsize=8)
            axes.set_ylabel(UNITS.get(name, "nodes"), fontsize=8)
            axes.tick_params(labelsize=7)
        figure.suptitle(shorten(graph.name or "a graph"), fontsize=11)
        return save(figure, path)


def _check_size(graph: Graph, size: int, what: str) -> None:
    if size > MOST_UNITS:
        raise ParameterError(
            f"{describe(graph.name)}: it has {size} {what}, but a picture shows at most "
            f"{MOST_UNITS}; draw a smaller graph"
        )
