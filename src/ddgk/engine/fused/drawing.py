"""Random initial values drawn into the lanes, the same as `ddgk.engine.initialisation` draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddgk.engine.fused.compiling import entrance, inlined
from ddgk.engine.fused.lanes import LANES
from ddgk.hashing import scramble

scramble_word = inlined(scramble)


@inlined
def uniform_number(base: Any, row: int, column: int) -> float:
    """Hash a place of a stream to 53 bits in (0, 1)."""
    word = scramble_word(scramble_word(base + np.uint64(row)) ^ np.uint64(column))
    return (np.float64(word >> np.uint64(11)) + 0.5) * 2.0**-53


@entrance
def draw_into(
    lanes: Any, lane: int, alone: bool, flipped: bool, shape: Any, base: Any, limit: float
) -> None:
    """Draw a matrix uniformly from (-limit, limit) into rows of lanes.

    shape: (units, columns, columns of a row of `lanes`). Entry (row, column) of the matrix is that
    of (unit, column), or of (column, unit) if it is flipped; alone, units fill the lanes in turn.
    """
    n_units, n_columns, width = shape
    for unit in range(n_units):
        row, own = (unit // LANES, unit % LANES) if alone else (unit, lane)
        for column in range(n_columns):
            first, second = (column, unit) if flipped else (unit, column)
            number = uniform_number(base, first, second)
            lanes[(row * width + column) * LANES + own] = limit * (2.0 * number - 1.0)
