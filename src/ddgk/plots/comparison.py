"""Methods side by side: how accurate, how certain that is, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

from ddgk.errors import ParameterError
from ddgk.plots.canvas import FAINT, INK, PALETTE, check_path, new_figure, save, shorten, style


class Measured(NamedTuple):
    """A method, its accuracy in percent with an interval, and its seconds."""

    title: str
    accuracy: float
    low: float
    high: float
    seconds: float


def comparison(
    methods: Sequence[Measured],
    *,
    title: str | None = None,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Draw the accuracy of methods with intervals, and beside it accuracy against time.

    Parameters
    ----------
    methods : sequence of Measured
        The first is ours, and stands out.
    title : str, optional
    path : str or path, optional
        Where to save it; .svg, .png or .pdf.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from ddgk.plots.comparison import Measured, comparison
    >>> methods = [Measured("ours", 90, 88, 92, 10.0), Measured("theirs", 85, 82, 88, 0.1)]
    >>> len(comparison(methods).axes)
    2
    """
    check_path(path)
    if not methods:
        raise ParameterError("there is no method to draw")
    with style():
        figure = new_figure(11, 1.6 + 0.36 * max(6, len(methods)))
        left, right = figure.subplots(1, 2, sharey=False)
        figure.subplots_adjust(left=0.2, right=0.97, top=0.86, bottom=0.16, wspace=0.25)
        for place, method in enumerate(methods):
            colour = PALETTE[0] if place == 0 else FAINT
            left.plot([method.low, method.high], [place, place], color=colour, lw=2)
            left.plot(method.accuracy, place, "o", color=colour)
            right.plot(max(method.seconds, 1e-3), method.accuracy, "o", color=colour)
            right.annotate(
                shorten(method.title, 20),
                (max(method.seconds, 1e-3), method.accuracy),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=7,
                color=INK,
            )
        left.set_yticks(range(len(methods)), [shorten(method.title, 30) for method in methods])
        left.invert_yaxis()
        left.set_xlabel("accuracy in percent, 95 % interval")
        right.set_xscale("log")
        right.set_xlabel("seconds, describing and classifying")
        right.set_ylabel("accuracy in percent")
        right.margins(0.15)
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        if title is not None:
            figure.suptitle(title)
        return save(figure, path)
