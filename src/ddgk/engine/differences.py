"""Sums of absolute differences between the rows of two matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.compiling import compiled

COLUMNS, ROWS = 64, 512  # a block of so many stays in the second-level cache


def sums_of_differences(
    left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sum_k |left[i, k] - right[j, k]|, (n, m).

    Differences are taken in float32 and added up in it over 64 columns at most, then in float64;
    the order of the sums is that of the columns, whatever the machine.
    """
    found = np.zeros((len(left), len(right)))
    narrow = np.ascontiguousarray(left, dtype=np.float32)
    _add_differences(narrow, np.ascontiguousarray(right.T, dtype=np.float32), found)
    return found


@compiled
def _add_differences(
    left: NDArray[np.float32], right: NDArray[np.float32], found: NDArray[np.float64]
) -> None:
    """Add to what was found; right: transposed, (n_columns, m), so that rows lie side by side.

    As many sums grow at once as a block has rows: that is what a processor has lanes for.
    """
    n_columns, n_right = right.shape
    sums = np.empty(ROWS, dtype=np.float32)
    for start in range(0, n_right, ROWS):
        size = min(ROWS, n_right - start)
        for first in range(0, n_columns, COLUMNS):
            last = min(first + COLUMNS, n_columns)
            for i in range(len(left)):
                sums[:] = 0
                for k in range(first, last):
                    value, others = left[i, k], right[k, start : start + size]
                    for j in range(size):
                        sums[j] += abs(value - others[j])
                for j in range(size):
                    found[i, start + j] += sums[j]
