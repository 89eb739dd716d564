"""Methods side by side: how accurate, how certain that is, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

from ddgk.errors import ParameterError
from ddgk.plots.canvas import FAINT, PALETTE, check_path, new_figure, save, shorten, style

LEAST_SECONDS = 0.01  # what takes less would stretch the axis for nothing


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
        from matplotlib import ticker

        figure = new_figure(11, 1.6 + 0.36 * max(6, len(methods)))
        left, right = figure.subplots(1, 2)
        figure.subplots_adjust(left=0.28, right=0.97, top=0.88, bottom=0.16, wspace=0.22)
        for place, method in enumerate(methods):
            colour = PALETTE[0] if place == 0 else FAINT
            left.plot([method.low, method.high], [place, place], color=colour, lw=2)
            left.plot(method.accuracy, place, "o", color=colour)
            where = max(method.seconds, LEAST_SECONDS), method.accuracy
            right.plot(*where, "o", color=colour, markersize=13, alpha=0.75)
            right.annotate(
                str(place + 1), where, ha="center", va="center", fontsize=7.5, color="white"
            )
        names = [f"{shorten(m.title, 32)}  {place}" for place, m in enumerate(methods, 1)]
        left.set_yticks(range(len(methods)), names)
        left.invert_yaxis()
        left.set_xlabel("accuracy in percent, 95 % interval")
        right.set_xscale("log")
        right.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        right.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        right.xaxis.set_minor_locator(ticker.NullLocator())
        right.set_xlabel("seconds, describing and classifying")
        right.set_ylabel("accuracy in percent")
        right.margins(0.12)
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        if title is not None:
            figure.suptitle(title)
        return save(figure, path)
