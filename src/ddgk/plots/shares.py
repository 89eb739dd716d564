"""An explanation: the target graph, coloured by what each part adds to the divergence."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from ddgk.explanation import TERMS_IN_WORDS, Explanation
from ddgk.graphs.display import lay_out
from ddgk.plain import visible
from ddgk.plots.canvas import (
    LONGEST,
    add_scale,
    draw_edges,
    draw_nodes,
    new_figure,
    node_size,
    save,
    style,
)


def explanation(
    why: Explanation,
    *,
    term: str | None = None,
    title: str | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw the target with every node and edge coloured by what it adds to the divergence.

    Parameters
    ----------
    why : Explanation
        As `DDGK.explain` returns it.
    term : str, optional
        Colour nodes by this loss term; default: all together. Edges show their share of the
        structure loss, both ways together; with random walks as the target matrix they have none.
    title : str, optional
    path : str or path, optional
        Where to save it; .svg, .png or .pdf.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import ddgk, ddgk.plots, networkx
    >>> model = ddgk.DDGK(n_sources=1, random_state=0).fit([networkx.cycle_graph(6)])
    >>> why = model.explain(networkx.star_graph(5), source=0)
    >>> len(ddgk.plots.explanation(why).axes)  # the graph, and the scales of nodes and edges
    3
    """
    graph = why.target
    nodes = np.array(list(why.by_node(term).values()))
    shared = graph.n_edges > 0 and why.matrix != "neighborhood"
    edges = np.array(list(why.by_edge().values())) if shared else np.zeros(graph.n_edges)
    with style(path):
        figure = new_figure(9.5, 6.2, constrained=True)
        axes = figure.add_subplot()
        places = lay_out(graph)
        size = min(380.0, 1.6 * node_size(graph.n_nodes))
        greys, shades = _colour_map("Greys", 0.25), _shades(edges)
        widths = (1.0 + 4.0 * edges / max(edges.max(initial=0.0), 1e-300)) * np.sqrt(size / 330)
        colours = greys(shades(edges))
        lines = draw_edges(axes, graph, places, size=size, colours=colours, widths=widths)
        lines.set(cmap=greys, norm=shades)
        reds = {"cmap": _colour_map("YlOrRd", 0.12), "norm": _shades(nodes)}
        discs = draw_nodes(axes, graph, places, nodes, size=size, **reds)
        axes.set_aspect("equal")
        axes.margins(0.1)
        axes.set_axis_off()
        add_scale(figure, discs, axes, label="share of a node", shrink=0.5, aspect=15)
        if shared:
            add_scale(figure, lines, axes, label="share of an edge", shrink=0.5, aspect=15)
        names = why.target.name or "target", why.source.name or "the source"
        said = "What tells {} from {}".format(*(visible(name, LONGEST) for name in names))
        said = visible(title) if title else said
        axes.set_title(said, fontsize=13, fontweight="bold", loc="left", pad=24)
        above = {"xytext": (0, 7), "textcoords": "offset points", "xycoords": "axes fraction"}
        axes.annotate(_amount(why, term), (0, 1), color="#555555", **above)
        return save(figure, path)


def _amount(why: Explanation, term: str | None) -> str:
    which = f"mismatch in {TERMS_IN_WORDS[term]}" if term else "all loss terms"
    if why.mirror is not None:
        which += ", this direction"
    places = range(len(why.terms)) if term is None else [why.terms.index(term)]
    loss = float(why.nodes[list(places), -1].sum())
    baseline = float(why.baseline[list(places), -1].sum())
    return (
        f"{which} after {why.checkpoints[-1]} steps: loss {loss:.4g}, baseline {baseline:.4g}, "
        f"divergence {loss - baseline:.4g}"
    )


def _shades(values: np.ndarray[Any, Any]) -> Any:
    """Return a scale from 0, or from what lies below it, to the largest value."""
    from matplotlib.colors import Normalize

    highest = float(values.max()) if len(values) else 1.0
    lowest = min(0.0, float(values.min())) if len(values) else 0.0
    return Normalize(lowest, highest if highest > lowest else lowest + 1.0)


def _colour_map(name: str, start: float) -> Any:
    """Return a colour map without its palest part, which cannot be seen on white."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[name](np.linspace(start, 0.95, 256)))
