"""Dendrogram and heat map of distances between graphs, as in the paper's section 5.3."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import ParameterError
from ddgk.plain import visible
from ddgk.plots.canvas import (
    FAINT,
    INK,
    add_legend,
    assign_colours,
    colour_dots,
    new_figure,
    save,
    style,
)

LINKAGES = ("average", "complete", "single", "ward")
MOST_NAMES = 90


def clusters(
    distances: ArrayLike,
    names: Sequence[object],
    classes: Sequence[Hashable] | None = None,
    *,
    tree: ArrayLike | None = None,
    linkage: str = "average",
    title: str | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw a dendrogram of graphs next to the heat map of their distances.

    Parameters
    ----------
    distances : array-like of shape (n_graphs, n_graphs)
        Symmetric with zeros on the diagonal.
    names : sequence
        One per graph.
    classes : sequence of hashables, optional
        Class of each graph; shown as colours, never used to cluster.
    tree : array-like of shape (n_graphs - 1, 4), optional
        Linkage matrix in scipy's form. Default: computed from the distances.
    linkage : {"average", "complete", "single", "ward"}
        How the tree is computed, or was.
    title : str, optional
    path : str or path, optional
        Where to save it; .svg, .png or .pdf.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy, ddgk.plots
    >>> X = numpy.array([[0.0], [0.1], [5.0], [5.1]])
    >>> figure = ddgk.plots.clusters(abs(X - X.T), "abcd", classes=[0, 0, 1, 1])
    >>> sorted(text.get_text() for text in figure.axes[2].get_yticklabels())
    ['a', 'b', 'c', 'd']
    """
    from scipy.cluster.hierarchy import linkage as link
    from scipy.spatial.distance import squareform

    values = _checked(distances, names, classes)
    if linkage not in LINKAGES:
        raise ParameterError(
            f"linkage must be one of {', '.join(map(repr, LINKAGES))}, not {linkage!r}"
        )
    n = len(values)
    if tree is None:
        # The best order of leaves costs O(n^3).
        branches_of = link(squareform(values, checks=False), linkage, optimal_ordering=n <= 500)
    else:
        branches_of = np.asarray(tree, dtype=np.float64)
    side = float(np.clip(0.17 * n, 4.5, 11))
    texts = [visible(name, 22) for name in names]
    with style(path):
        wide = 2.8 + side + 0.085 * max(map(len, texts)) + 1.3 * (classes is not None)
        figure = new_figure(wide, side + 1.4, constrained=True)
        widths = (1.75, 0.14, side)
        branches, strip, heat_map = figure.subplots(1, 3, width_ratios=widths)
        order = _draw_branches(branches, branches_of)
        apart = values[~np.eye(n, dtype=bool)]
        low = float(np.quantile(apart, 0.005))  # from here on colours tell distances apart
        image = heat_map.imshow(
            values[np.ix_(order, order)],
            cmap="YlGnBu_r",
            aspect="auto",
            vmin=low if low < apart.max() else 0.0,
        )
        shown = n <= MOST_NAMES
        heat_map.set_xticks([])
        heat_map.set_yticks(range(n) if shown else [], [texts[i] for i in order] if shown else [])
        heat_map.yaxis.tick_right()
        small = 9 if n <= 40 else 7
        heat_map.tick_params(axis="y", length=0, pad=5, labelsize=small, labelcolor=INK)
        heat_map.spines[:].set_color(FAINT)
        strip.set_axis_off()
        said = visible(title) if title else f"Distances between {n} graphs, {linkage} linkage"
        figure.suptitle(said, x=0.12 / wide, ha="left", fontsize=13, fontweight="bold")
        if classes is not None:
            from matplotlib.colors import to_rgba_array

            colours = assign_colours(classes)
            own = to_rgba_array([colours[classes[i]] for i in order])[:, :3]
            strip.imshow(own[:, None], aspect="auto")
            for text, colour in zip(heat_map.get_yticklabels(), 0.72 * own, strict=False):
                text.set_color(tuple(colour))  # darker, to be readable on white
            place = {"loc": "outside right upper", "handletextpad": 0.1, "borderaxespad": 1.0}
            add_legend(figure, colour_dots(colours), **place)
        how = {"location": "bottom", "shrink": 0.3, "anchor": (0.0, 1.0), "aspect": 20, "pad": 0.01}
        scale = figure.colorbar(image, ax=[branches, strip, heat_map], label="distance", **how)
        scale.outline.set_visible(False)
        scale.ax.tick_params(labelsize=8, length=2)
        return save(figure, path)


def _checked(
    distances: ArrayLike, names: Sequence[object], classes: Sequence[Hashable] | None
) -> NDArray[np.float64]:
    values = np.asarray(distances, dtype=np.float64)
    n = len(values)
    if n < 2 or values.shape != (n, n):
        raise ParameterError(
            f"distances must be a square matrix of at least 2 graphs, not of shape {values.shape}"
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ParameterError("distances must be finite and not negative")
    scale = max(float(values.max()), 1.0)
    if not np.allclose(values, values.T, atol=1e-8 * scale):
        raise ParameterError("distances must be symmetric")
    if (np.diag(values) > 1e-6 * scale).any():
        raise ParameterError("distances must be 0 between a graph and itself")
    for what, given in (("names", names), ("classes", classes)):
        if given is not None and len(given) != n:
            raise ParameterError(f"{n} graphs need as many {what}, not {len(given)}")
    return (values + values.T) / 2


def _draw_branches(axes: Any, tree: NDArray[np.float64]) -> list[int]:
    """Draw the tree with its leaves at the right; return them from above."""
    from scipy.cluster.hierarchy import dendrogram

    how = {"orientation": "left", "no_labels": True, "color_threshold": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of equal graphs the tree has no height
        drawn = dendrogram(tree, ax=axes, above_threshold_color="#4b5563", **how)
    axes.collections[0].set(gid="branches", linewidth=1.1)
    axes.invert_yaxis()
    axes.set_axis_off()
    order: list[int] = drawn["leaves"]
    return order
