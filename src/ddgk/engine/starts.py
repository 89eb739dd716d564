"""Random starts without a random state: every number is a hash of where it stands.

A pair's start therefore does not depend on what was drawn before it, on threads or on batches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ddgk.hashing import scramble

ATTENTION = 1 << 32  # streams: the layers of an encoder are 0, 1, 2, ...; those of a pair these two
REVERSE = ATTENTION + 1


def glorot(seed: int, stream: int, rows: int, columns: int) -> NDArray[np.float64]:
    """Draw a matrix uniformly from (-limit, limit), limit = sqrt(6 / (rows + columns)).

    Entry (i, j) depends on seed, stream, i, j and the limit only. Returns (rows, columns).
    """
    limit = float(np.sqrt(6.0 / (rows + columns)))
    return limit * (2.0 * uniform(seed, stream, rows, columns) - 1.0)


def uniform(seed: int, stream: int, rows: int, columns: int) -> NDArray[np.float64]:
    """Hash (seed, stream, row, column) to 53 bits in (0, 1). Returns (rows, columns)."""
    base = scramble(scramble(np.array([seed % 2**64], dtype=np.uint64)) ^ np.uint64(stream))
    by_row = scramble(base + np.arange(rows, dtype=np.uint64))
    words = scramble(np.bitwise_xor.outer(by_row, np.arange(columns, dtype=np.uint64)))
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
