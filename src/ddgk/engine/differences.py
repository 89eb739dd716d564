"""Sums of absolute differences between the rows of two matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.compiling import compiled

COLUMNS, ROWS = 64, 128  # a block of so many stays in the first-level cache
AT_ONCE = 4  # columns, for which a sum is fetched and put away once


def sums_of_differences(
    left: NDArray[np.float64], right: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return sum_k |left[i, k] - right[j, k]|, (n, m); without `right`, of all pairs of rows.

    Differences are taken in float32 and added up in it over 64 columns at most, then in float64;
    the order of the sums is that of the columns, whatever the machine.
    """
    narrow = _whole(left)
    if right is None:
        found = np.zeros((len(left), len(left)))
        _add_differences(narrow, np.ascontiguousarray(narrow.T), found, True)
        lower = np.tril(found, -1)
        return lower + lower.T
    found = np.zeros((len(left), len(right)))
    _add_differences(narrow, np.ascontiguousarray(_whole(right).T), found, False)
    return found


def _whole(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return rows in float32, filled up with columns of zeros to a multiple of `AT_ONCE`."""
    n_rows, n_columns = rows.shape
    filled = np.zeros((n_rows, -(-n_columns // AT_ONCE) * AT_ONCE), dtype=np.float32)
    filled[:, :n_columns] = rows
    return filled


@compiled
def _add_differences(
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    found: NDArray[np.float64],
    mirrored: bool,
) -> None:
    """Add to what was found; right: transposed, (n_columns, m), so that rows lie side by side.

    As many sums grow at once as a block has rows: that is what a processor has lanes for. mirrored:
    both are the same, and entries above the diagonal may be left out.
    """
    n_columns, n_right = right.shape
    sums = np.empty(ROWS, dtype=np.float32)
    block = np.zeros((COLUMNS, ROWS), dtype=np.float32)
    for start in range(0, n_right, ROWS):
        size = min(ROWS, n_right - start)
        for first in range(0, n_columns, COLUMNS):
            count = min(COLUMNS, n_columns - first)
            block[:count, :size] = right[first : first + count, start : start + size]
            for i in range(start if mirrored else 0, len(left)):
                sums[:] = 0
                for k in range(0, count, AT_ONCE):
                    mine = left[i, first + k : first + k + AT_ONCE]
                    a, b, c, d = mine[0], mine[1], mine[2], mine[3]
                    for j in range(ROWS):
                        total = sums[j] + abs(a - block[k, j])
                        total += abs(b - block[k + 1, j])
                        total += abs(c - block[k + 2, j])
                        sums[j] = total + abs(d - block[k + 3, j])
                for j in range(size):
                    found[i, start + j] += sums[j]
