"""Pairs of different sizes in one rectangular batch; results do not depend on its composition.

Sizes are rounded up to a few steps, and every batch of one shape has the same number of lanes, idle
ones included. So torch always sees the same shapes for a pair, whatever else is in the call, and
rounds the same way. Padding has weight 0 and contributes exact zeros.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.arrays import Array

ENTRIES = 1 << 16  # of the largest matrix of a batch, about what stays in the second-level cache
MOST_LANES = 64


def padded_size(size: int) -> int:
    """Round up to a multiple of 8, of 32 above 64, of 128 above 256.

    >>> [padded_size(n) for n in (1, 8, 9, 65, 300)]
    [8, 8, 16, 96, 384]
    """
    step = 8 if size <= 64 else 32 if size <= 256 else 128
    return -(-size // step) * step


def lane_count(*sizes: int) -> int:
    """Return how many pairs of this shape are trained at once: a power of two."""
    largest = max(sizes) ** 2
    return int(min(MOST_LANES, 2 ** int(np.log2(max(1, ENTRIES // largest)))))


def in_lanes(shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Sort positions into batches of one padded shape; the last of a shape may have idle lanes."""
    alike: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for position, shape in enumerate(shapes):
        alike[tuple(map(padded_size, shape))].append(position)
    for shape, positions in alike.items():
        lanes = lane_count(*shape)
        for first in range(0, len(positions), lanes):
            yield shape, positions[first : first + lanes]


def stacked(matrices: Sequence[Array], lanes: int, *shape: int) -> NDArray[np.float64]:
    """Put matrices into the corners of a (lanes, *shape) array of zeros."""
    result = np.zeros((lanes, *shape))
    for lane, matrix in enumerate(matrices):
        corner = tuple(slice(size) for size in matrix.shape)
        result[lane][corner] = matrix
    return result
