"""The node factors M of the scores, from the reverse attention, and their gradient back.

Where the scores have low rank, M = (reverse attention) lift^T, by blocks of rows. A tied reverse
attention is P itself: its blocks are lifted while they are in the cache, forward where P is
computed and back where dL/dP is needed.
"""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.compiling import compiled
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.fused.products import multiply_shared, view


@compiled
def clear(array: Any) -> None:
    """Fill a flat array with zeros."""
    for entry in range(len(array)):
        array[entry] = 0


@compiled
def place_matrix(
    entries: Any, block: Any, first: int, last: int, n_nodes: int, clears: bool
) -> None:
    """Write the nonzero entries of some rows of B into a block of zeros, or clear them again."""
    starts, places, values = entries
    for unit in range(first * LANES, min(last * LANES, len(starts) - 1)):
        row = (unit // LANES - first) * n_nodes * LANES + unit % LANES
        for k in range(starts[unit], starts[unit + 1]):
            block[row + places[k] * LANES] = 0 if clears else values[k]


@compiled
def relayout(lanes: Any, numbers: Any, n_rows: int, n_columns: int, back: bool) -> None:
    """Copy lanes (n_rows, n_columns) to numbers (LANES n_rows, n_columns), or back."""
    for i in range(n_rows):
        for j in range(n_columns):
            for lane in range(LANES):
                packed = (i * n_columns + j) * LANES + lane
                plain = (i * LANES + lane) * n_columns + j
                if back:
                    lanes[packed] = numbers[plain]
                else:
                    numbers[plain] = lanes[packed]


@compiled
def lift_rows(first: int, last: int, sizes: Any, source: Any, reverse: Any, lanes: Any) -> None:
    """M of some rows: their reverse attention times lift^T."""
    known, n_reverse = sizes.n_factors, sizes.n_reverse
    given = view(reverse, first * n_reverse * LANES, n_reverse * LANES, LANES)
    out = view(lanes, first * known * LANES, known * LANES, LANES)
    lift = view(source.lift, 0, 1, n_reverse)
    multiply_shared(given, lift, out, last - first, n_reverse, known, False)


@compiled
def lift_rows_back(rows: Any, sizes: Any, source: Any, lanes: Any, out: Any) -> None:
    """Gradient of the reverse attention of some rows.  rows: (first, last, first in out)."""
    first, last, held = rows
    known, n_reverse = sizes.n_factors, sizes.n_reverse
    given = view(lanes, first * known * LANES, known * LANES, LANES)
    lifted = view(out, (first - held) * n_reverse * LANES, n_reverse * LANES, LANES)
    lift = view(source.lift, 0, n_reverse, 1)
    multiply_shared(given, lift, lifted, last - first, known, n_reverse, False)


@compiled
def find_nodes(
    sizes: Any, settings: Any, source: Any, reverse: Any, lanes: Any, scratch: Any
) -> None:
    """Compute M of every node, as numbers for a single pair.

    reverse: P if tied, else (R^T | r); lanes: where it is lifted to, or the same array.
    """
    if settings.low_rank and not settings.tied:
        for first in range(0, sizes.rows, sizes.block):
            lift_rows(first, min(first + sizes.block, sizes.rows), sizes, source, reverse, lanes)
    if settings.alone:
        relayout(lanes, scratch.numbers, sizes.rows, sizes.n_factors, False)


@compiled
def find_nodes_back(
    sizes: Any, settings: Any, source: Any, scratch: Any, lanes: Any, out: Any
) -> None:
    """Take dL/dM back to the gradient of a free reverse attention.

    lanes: dL/dM in lanes; out: (rows, n_reverse) lanes, the same array where M is not lifted.
    """
    if settings.alone:
        relayout(lanes, scratch.numbers_slopes, sizes.rows, sizes.n_factors, True)
    if settings.low_rank and not settings.tied:
        for first in range(0, sizes.rows, sizes.block):
            rows = (first, min(first + sizes.block, sizes.rows), 0)
            lift_rows_back(rows, sizes, source, lanes, out)
