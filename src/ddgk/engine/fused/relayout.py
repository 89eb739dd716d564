"""Between lanes and plain numbers, for a pair that comes alone."""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.compiling import compiled
from ddgk.engine.fused.lanes import LANES


@compiled
def numbers_of(lanes: Any, numbers: Any, n_rows: int, n_columns: int) -> None:
    """Write lanes (n_rows, n_columns) as numbers (LANES n_rows, n_columns)."""
    for i in range(n_rows):
        for j in range(n_columns):
            for lane in range(LANES):
                numbers[(i * LANES + lane) * n_columns + j] = lanes[
                    (i * n_columns + j) * LANES + lane
                ]


@compiled
def lanes_of(numbers: Any, lanes: Any, n_rows: int, n_columns: int) -> None:
    """Undo `numbers_of`."""
    for i in range(n_rows):
        for j in range(n_columns):
            for lane in range(LANES):
                lanes[(i * n_columns + j) * LANES + lane] = numbers[
                    (i * LANES + lane) * n_columns + j
                ]


@compiled
def mean_rows(entries: Any, given: Any, out: Any, n_columns: int) -> None:
    """out[i] = sum_k m_ik given[k], rows that stand in lanes, eight side by side.

    entries: m row by row; given, out: rows of n_columns lanes.
    """
    starts, places, values = entries
    for i in range(len(starts) - 1):
        row = i // LANES * n_columns * LANES + i % LANES
        for j in range(n_columns):
            out[row + j * LANES] = 0
        for k in range(starts[i], starts[i + 1]):
            other = places[k] // LANES * n_columns * LANES + places[k] % LANES
            for j in range(n_columns):
                out[row + j * LANES] += values[k] * given[other + j * LANES]


@compiled
def mean_rows_back(entries: Any, slopes: Any, out: Any, n_columns: int) -> None:
    """out[k] += sum_i m_ik slopes[i], as `mean_rows` has them."""
    starts, places, values = entries
    for i in range(len(starts) - 1):
        row = i // LANES * n_columns * LANES + i % LANES
        for k in range(starts[i], starts[i + 1]):
            other = places[k] // LANES * n_columns * LANES + places[k] % LANES
            for j in range(n_columns):
                out[other + j * LANES] += values[k] * slopes[row + j * LANES]


@compiled
def mean_numbers(entries: Any, given: Any, out: Any, n_columns: int) -> None:
    """out[i] = sum_k m_ik given[k], rows of n_columns numbers; out: 0 to begin with."""
    starts, places, values = entries
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            for j in range(n_columns):
                out[i * n_columns + j] += values[k] * given[places[k] * n_columns + j]


@compiled
def mean_numbers_back(entries: Any, slopes: Any, out: Any, n_columns: int) -> None:
    """out[k] += sum_i m_ik slopes[i], as `mean_numbers` has them."""
    starts, places, values = entries
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            for j in range(n_columns):
                out[places[k] * n_columns + j] += values[k] * slopes[i * n_columns + j]


@compiled
def place_relation(
    related: Any, block: Any, first: int, last: int, n_nodes: int, clears: bool
) -> None:
    """Write the nonzero entries of B of some rows into a block of zeros, or clear them again."""
    starts, places, values = related
    for unit in range(first * LANES, min(last * LANES, len(starts) - 1)):
        row = (unit // LANES - first) * n_nodes * LANES + unit % LANES
        for k in range(starts[unit], starts[unit + 1]):
            block[row + places[k] * LANES] = 0 if clears else values[k]


@compiled
def clear(array: Any) -> None:
    """Fill a flat array with zeros."""
    for entry in range(len(array)):
        array[entry] = 0


@compiled
def copy(array: Any, other: Any) -> None:
    """Copy a flat array into another of its length."""
    for entry in range(len(array)):
        other[entry] = array[entry]
