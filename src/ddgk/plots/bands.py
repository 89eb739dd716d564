"""Accuracy against the share of sources, with bands: the paper's figure of dimension sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ddgk.errors import ParameterError
from ddgk.plots.canvas import FAINT, PALETTE, check_path, new_figure, save, style


def bands(
    shares: Sequence[float],
    accuracies: Mapping[str, ArrayLike],
    *,
    title: str | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw a line per way of choosing sources, in a band of one standard deviation over seeds.

    Parameters
    ----------
    shares : sequence of float
        Shares of the sources, ascending, in (0, 1].
    accuracies : mapping of str to array-like of shape (n_shares, n_seeds)
    title : str, optional
    path : str or path, optional
        Where to save it; .svg, .png or .pdf.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import ddgk.plots
    >>> figure = ddgk.plots.bands([0.1, 1.0], {"random": [[0.7, 0.8], [0.9, 0.9]]})
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['random']
    """
    check_path(path)
    at = np.asarray(shares, dtype=np.float64)
    if at.ndim != 1 or not len(at) or (at <= 0).any() or (np.diff(at) <= 0).any():
        raise ParameterError(f"shares must ascend from above 0, not {shares!r}")
    lines = {name: np.asarray(values, dtype=np.float64) for name, values in accuracies.items()}
    for name, values in lines.items():
        if values.ndim != 2 or len(values) != len(at) or not np.isfinite(values).all():
            raise ParameterError(
                f"accuracies of {name!r} must be finite, a row for each of the {len(at)} shares, "
                f"not of shape {values.shape}"
            )
    with style():
        figure = new_figure(7.2, 4.6)
        axes = figure.add_axes((0.11, 0.14, 0.86, 0.74))
        for place, (name, values) in enumerate(lines.items()):
            colour = PALETTE[place % len(PALETTE)]
            mean, spread = 100 * values.mean(axis=1), 100 * values.std(axis=1)
            axes.fill_between(at, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
            axes.plot(at, mean, color=colour, marker="o", markersize=4.5, lw=1.8, label=name)
        axes.set_xscale("log")
        axes.set_xticks(at, [f"{share:.0%}" for share in at])
        axes.minorticks_off()
        axes.grid(axis="y", color=FAINT, alpha=0.25, lw=0.7)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.set_xlabel("share of the sources")
        axes.set_ylabel("accuracy, %")
        axes.legend(frameon=False, loc="lower right", title="sources")
        said = title or "Accuracy against the share of sources"
        figure.text(0.11, 0.94, said, fontsize=13, fontweight="bold")
        return save(figure, path)
