"""Means and differences of accuracies with intervals that allow for overlapping training parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Interval(NamedTuple):
    """A mean and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    def percent(self, *, signed: bool = False) -> str:
        """Return the interval as text, in percent.

        >>> Interval(0.05, -0.01, 0.11).percent(signed=True)
        '+5.0 (-1.0 to +11.0)'
        """
        form = "+.1f" if signed else ".1f"
        mean, low, high = (f"{100 * value:{form}}" for value in self)
        return f"{mean} ({low} to {high})"


def interval(values: ArrayLike, *, test_share: float = 0.1) -> Interval:
    """Return the mean of fold results with its corrected resampled t interval.

    Training parts of different folds overlap, therefore their results are correlated and the plain
    t interval is too narrow. The variance of the mean of J values is (1/J + n_test/n_train) s^2
    (Nadeau and Bengio 2003).

    >>> found = interval([0.1, 0.0, 0.1])
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (0.067, -0.099, 0.232)
    """
    from scipy.stats import t

    given = np.asarray(values, dtype=float)
    if given.ndim != 1 or len(given) < 2:
        raise ValueError(f"an interval needs at least two fold results, not shape {given.shape}")
    variance = (1 / len(given) + test_share / (1 - test_share)) * given.var(ddof=1)
    margin = float(t.ppf(0.975, len(given) - 1) * np.sqrt(variance))
    mean = float(given.mean())
    return Interval(mean, mean - margin, mean + margin)


def paired(first: ArrayLike, second: ArrayLike, *, test_share: float = 0.1) -> Interval:
    """Return by how much the first method leads the second on the same folds.

    Where the second has more repeats than the first (or the reverse), the common ones count.
    """
    left, right = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    common = min(len(left), len(right))
    return interval(left[:common] - right[:common], test_share=test_share)


def lead(first: ArrayLike, second: ArrayLike) -> str:
    """Return by how much the first leads the second, with its interval, as text in percent."""
    return paired(first, second).percent(signed=True)


def seconds(value: float) -> str:
    """Return seconds with two digits."""
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def markdown(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table.

    >>> print(markdown(["a", "b"], [["1", "x"]]))
    | a | b |
    |---|---|
    | 1 | x |
    """
    rows = [heads, *lines]
    text = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([text[0], "|" + "---|" * len(heads), *text[1:]])
