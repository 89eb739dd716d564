"""Embeddings as points: the two directions in which graphs differ most, coloured by family."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import ParameterError
from ddgk.kernel import Statistics
from ddgk.plots.canvas import add_legend, assign_colours, check_path, new_figure, save, style


def projections(
    columns: Mapping[str, ArrayLike],
    families: Sequence[Hashable],
    *,
    title: str | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw the first two principal components of standardised columns, a panel for each mapping.

    Parameters
    ----------
    columns : mapping of str to array-like of shape (n_graphs, n_columns)
        By the title of the panel.
    families : sequence of hashables
        What each graph is known to be; shown as colours, never used to project.
    title : str, optional
    path : str or path, optional
        Where to save it; .svg, .png or .pdf.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import ddgk.plots
    >>> X = [[0.0, 1.0], [0.1, 1.1], [5.0, 2.0], [5.1, 2.2]]
    >>> [axes.get_title() for axes in ddgk.plots.projections({"ours": X}, "aabb").axes]
    ['ours']
    """
    check_path(path)
    if not columns:
        raise ParameterError("there is nothing to project")
    points = {name: _project(name, values, len(families)) for name, values in columns.items()}
    colours = assign_colours(families)
    with style():
        figure = new_figure(0.6 + 4.6 * len(points), 5.3)
        panels = np.atleast_1d(figure.subplots(1, len(points)))
        figure.subplots_adjust(left=0.5 / (0.6 + 4.6 * len(points)), right=0.98, top=0.84,
                               bottom=0.2)  # fmt: skip
        for axes, (name, (places, shares)) in zip(panels, points.items(), strict=True):
            axes.scatter(*places.T, s=34, c=[colours[family] for family in families], alpha=0.8)
            axes.set_title(name, fontsize=11)
            axes.set_xlabel(f"{shares[0]:.0%} of the variance", fontsize=9)
            axes.set_ylabel(f"{shares[1]:.0%}", fontsize=9)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.margins(0.08)
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 0.01), "ncols": len(colours)}
        add_legend(figure, colours, handletextpad=0.1, columnspacing=1.2, **place)
        if title is not None:
            figure.text(0.03, 0.94, title, fontsize=13, fontweight="bold")
        return save(figure, path)


def _project(
    name: str, columns: ArrayLike, n_graphs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two coordinates of every graph, and the shares of the variance in them."""
    values = np.asarray(columns, dtype=np.float64)
    if values.ndim != 2 or len(values) != n_graphs or n_graphs < 2 or values.shape[1] < 2:
        raise ParameterError(
            f"columns of {name!r} must be two or more, a row for each of the {n_graphs} graphs, "
            f"not of shape {values.shape}"
        )
    left, lengths, right = np.linalg.svd(Statistics.of(values).standardise(values), False)
    # Either sign is right; the same one is the same figure.
    signs = np.sign(right[np.arange(2), np.abs(right[:2]).argmax(axis=1)])
    places: NDArray[np.float64] = left[:, :2] * lengths[:2] * signs
    total = float((lengths**2).sum())
    return places, lengths[:2] ** 2 / (total if total > 0 else 1.0)
