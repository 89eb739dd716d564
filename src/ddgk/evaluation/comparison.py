"""Whether one method is ahead of another, measured on the same folds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ddgk.errors import ParameterError


class Difference(NamedTuple):
    """A mean difference and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


def paired(first: ArrayLike, second: ArrayLike, *, test_share: float = 0.1) -> Difference:
    """Return how far the first is ahead of the second, fold by fold.

    Training parts of different folds overlap, so their accuracies are correlated and the plain t
    interval is too narrow. This is Nadeau and Bengio's corrected resampled t (2003): the variance
    of the mean of J differences is (1/J + n_test/n_train) s^2.

    Parameters
    ----------
    first, second : array-like of shape (n_folds,)
        Accuracies on the same folds, in the same order.
    test_share : float
        Share of the graphs that is tested in each fold.

    Examples
    --------
    >>> ahead = paired([0.9, 0.8, 0.9], [0.8, 0.8, 0.8])
    >>> round(ahead.mean, 3), round(ahead.low, 3), round(ahead.high, 3)
    (0.067, -0.099, 0.232)
    """
    from scipy.stats import t

    left, right = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if left.ndim != 1 or left.shape != right.shape or len(left) < 2:
        raise ParameterError(
            f"paired needs two lists of accuracies on the same folds, at least two; their shapes "
            f"are {left.shape} and {right.shape}"
        )
    if not 0 < test_share < 1:
        raise ParameterError(f"test_share must be between 0 and 1, not {test_share!r}")
    ahead = left - right
    variance = (1 / len(ahead) + test_share / (1 - test_share)) * ahead.var(ddof=1)
    margin = float(t.ppf(0.975, len(ahead) - 1) * np.sqrt(variance))
    mean = float(ahead.mean())
    return Difference(mean, mean - margin, mean + margin)
