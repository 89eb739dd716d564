"""The flat arrays that kernels read and write, by name and shape, and the memory that holds them.

"lanes" counts as LANES adjacent numbers. With eight pairs in the lanes, a row is one node of eight
targets; with a single pair, a row is eight nodes of its target. Units are nodes here.

All arrays that a group of pairs writes lie in two flat buffers, one after the other. A thread
reuses its buffers for one group after another, so they stay in the cache, and Python, which only
one thread can run at a time, passes two arrays in place of thirty.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.fused.compiling import compiled, inlined
from ddgk.engine.fused.lanes import LANES

CACHE_LINE = 64  # bytes


def aligned(*shape: int, precision: Any) -> NDArray[Any]:
    """Return a flat array of zeros for that shape that starts at a cache line.

    A vector then never straddles two lines, which would halve the speed of products.
    """
    size = prod(shape) * np.dtype(precision).itemsize
    memory = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(precision)


def flat(array: Any, precision: Any) -> NDArray[Any]:
    """Copy an array into a flat, aligned one."""
    values = np.asarray(array)
    result = aligned(values.size, precision=precision)
    result[:] = values.reshape(-1)
    return result


class Compressed(NamedTuple):
    """A sparse matrix by rows: columns places[starts[i]:starts[i + 1]] of row i."""

    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    values: NDArray[Any]


class Sizes(NamedTuple):
    """The sizes of a group; K is the number of factors of the scores, Y = F M^T."""

    rows: int  # of target nodes
    n_nodes: int  # n_t
    n_source: int  # n_s
    dimension: int  # d
    width: int  # h
    depth: int  # L
    n_factors: int  # K
    n_reverse: int  # columns of the reverse attention: n_s, and 1 for r if it is free
    n_attributes: int
    block: int  # rows that pass through the encoder together


class Settings(NamedTuple):
    """What is trained, and how."""

    alone: bool  # a single pair, eight nodes in the lanes
    tied: bool
    bends: bool  # tanh on the scores
    low_rank: bool  # F = (X_L | 1) in place of (Z | 1)
    trains_labels: bool  # some coefficient is not 0
    rate: float
    smoothing: float


class PackedSource(NamedTuple):
    """A frozen encoder, as numbers that all lanes share."""

    table: NDArray[Any]  # E, (n_s, d)
    network: NDArray[Any]  # W_1, b_1, ...
    output: NDArray[Any]  # W_o, (h, n_s)
    output_bias: NDArray[Any]  # b_o, (n_s)
    lift: NDArray[Any]  # (K, n_reverse): M = (reverse attention) lift^T, where low rank
    by_label: Compressed  # Q_u of all attributes, label by label
    by_unit: Compressed  # the same node by node


class PackedTarget(NamedTuple):
    """Eight targets, or a single one."""

    matrix: NDArray[Any]  # B, (rows, n_t) lanes; single: empty
    entries: Compressed  # B row by row; eight targets: empty
    structure_factors: NDArray[Any]  # weight / size of the structure loss, (rows) lanes
    label_factors: NDArray[Any]  # weight / size of the attribute losses, (rows) lanes
    weights: NDArray[Any]  # nodes that each row represents, (rows) lanes
    column_weights: NDArray[Any]  # the same as columns, (n_t) lanes
    scales: NDArray[np.float64]  # divisors of the two losses, (2) lanes
    neighbours: NDArray[Any]  # Q_s, (rows, labels of the target) lanes
    nodes: NDArray[Any]  # w C, (n_t, labels of the target) lanes; single: empty
    by_label: Compressed  # w C label by label; eight targets: empty
    by_node: Compressed  # the same node by node
    reverse_starts: NDArray[np.int64]  # first label of each attribute, (n_attributes + 1)


class PackedLabels(NamedTuple):
    """What joins target and source labels, and what all pairs share about attributes."""

    observed: NDArray[Any]  # Q_u of the target at labels of the source, (rows, labels) lanes
    missing: NDArray[Any]  # mass of Q_u on labels the source lacks, (rows, n_attributes) lanes
    attention_starts: NDArray[np.int64]  # (n_attributes + 1)
    widths: NDArray[np.int64]  # k of each attribute
    coefficients: NDArray[np.float64]  # c_f


class Schedule(NamedTuple):
    """What is recorded: shares[step, checkpoint] of the losses before each step."""

    last: int
    records: NDArray[np.bool_]  # (last + 1): whether any checkpoint needs the step
    shares: NDArray[np.float64]  # (last + 1, n_checkpoints)
    cost_shares: NDArray[np.float64]  # (last + 1): of the costs of entries; 0 without detail
    detail: bool  # whether the costs of entries are wanted


LINE = 16  # numbers: arrays start at a cache line, in float64 at every second one


class State(NamedTuple):
    """What trains."""

    scores: NDArray[Any]  # A, (rows, n_s) lanes
    attention: NDArray[Any]  # P
    scores_mean: NDArray[Any]
    scores_square: NDArray[Any]
    reverse: NDArray[Any]  # (R^T | r), (rows, n_s + 1) lanes; tied: empty
    reverse_mean: NDArray[Any]
    reverse_square: NDArray[Any]


class Findings(NamedTuple):
    """What is returned, in float64."""

    terms: NDArray[np.float64]  # (n_checkpoints, n_terms, rows) lanes
    costs: NDArray[np.float64]  # (2, rows, n_t) lanes, or empty
    sums: NDArray[np.float64]  # terms summed over units, (n_checkpoints, n_terms) lanes
    step: NDArray[np.float64]  # terms of one step, (n_terms, rows) lanes


class Scratch(NamedTuple):
    """Memory for one step; nothing here outlives it."""

    hidden: NDArray[Any]  # X_0 ... X_L of a block, (L + 1, block, wide) lanes
    hidden_slopes: NDArray[Any]
    predicted: NDArray[Any]  # Z of a block, (block, K) lanes
    predicted_slopes: NDArray[Any]
    nodes: NDArray[Any]  # M, (rows, K) lanes
    nodes_slopes: NDArray[Any]
    numbers: NDArray[Any]  # M as numbers, (LANES rows, K); eight pairs: empty
    numbers_slopes: NDArray[Any]
    inputs_slopes: NDArray[Any]  # dL/dX_0, (rows, d) lanes
    attention_slopes: NDArray[Any]  # dL/dP, (rows, n_s) lanes or a block: see `holds_slopes`
    reverse_slopes: NDArray[Any]  # (rows, n_reverse) lanes; tied: empty
    scores: NDArray[Any]  # Y of a block, (block, n_t) lanes
    sigmoids: NDArray[Any]  # S of a block
    matrix: NDArray[Any]  # B of a block; eight pairs: empty
    counts: NDArray[Any]  # labels around units, (block, labels of the target) lanes
    labels: NDArray[Any]  # P Q_u, (block, labels of the source) lanes


class Workspace:
    """The two buffers of a thread: one of the chosen precision, one of float64."""

    def __init__(self, precision: Any) -> None:
        self.narrow = aligned(0, precision=precision)
        self.wide = aligned(0, precision=np.float64)

    def of_size(self, narrow: int, wide: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return both with at least that many numbers; their content is arbitrary."""
        if narrow > len(self.narrow):
            self.narrow = self.narrow[:0].copy()  # freed before the larger one is allocated
            self.narrow = aligned(narrow, precision=self.narrow.dtype)
        if wide > len(self.wide):
            self.wide = self.wide[:0].copy()
            self.wide = aligned(wide, precision=np.float64)
        return self.narrow, self.wide


def holds_slopes(settings: Settings) -> bool:
    """Return whether dL/dP of all rows is held at once, and not of a block."""
    return settings.tied and not settings.low_rank


def state_places(sizes: Sizes, settings: Settings) -> tuple[int, int]:
    """Return the length of A and of each of the three arrays of the reverse attention."""
    scores = -(-sizes.rows * sizes.n_source * LANES // LINE) * LINE
    if settings.tied:
        return scores, 0
    return scores, -(-sizes.rows * sizes.n_reverse * LANES // LINE) * LINE


def state_length(sizes: Sizes, settings: Settings) -> int:
    """Return how many numbers `make_state` takes."""
    scores, reverse = state_places(sizes, settings)
    return 4 * scores + 3 * reverse


def findings_places(sizes: Sizes, n_checkpoints: int, detail: bool) -> tuple[int, int, int, int]:
    """Return where costs, sums and the terms of one step begin, and the end."""
    n_terms = 2 + 2 * sizes.n_attributes
    costs = n_checkpoints * n_terms * sizes.rows * LANES
    sums = costs + (2 * sizes.rows * sizes.n_nodes * LANES if detail else 0)
    step = sums + n_checkpoints * n_terms * LANES
    return costs, sums, step, step + n_terms * sizes.rows * LANES


def length_needed(sizes: Sizes, settings: Settings, n_labels: tuple[int, int]) -> int:
    """Return how many numbers `make_state` and `make_scratch` take at most."""
    wide = max(sizes.dimension, sizes.width) + 1
    by_block = 2 * (sizes.depth + 1) * wide + 2 * sizes.n_factors + 3 * sizes.n_nodes
    by_block += sum(n_labels) + sizes.n_source
    by_row = 4 * sizes.n_factors + (0 if settings.tied else sizes.n_reverse) + sizes.dimension
    if holds_slopes(settings):
        by_row += sizes.n_source
    lanes = sizes.block * by_block + sizes.rows * by_row
    return state_length(sizes, settings) + LANES * lanes + 20 * LINE


_state_places, _findings_places = inlined(state_places), inlined(findings_places)
_holds_slopes = inlined(holds_slopes)


@inlined
def first_held(first: int, settings: Any) -> int:
    """Return the first row that dL/dP holds while the block from row `first` on is trained."""
    return 0 if _holds_slopes(settings) else first


@compiled
def make_state(narrow: Any, sizes: Any, settings: Any) -> Any:
    """Return what trains, at the beginning of the buffer."""
    scores, reverse = _state_places(sizes, settings)
    at = 4 * scores
    return State(
        narrow[:scores],
        narrow[scores : 2 * scores],
        narrow[2 * scores : 3 * scores],
        narrow[3 * scores : at],
        narrow[at : at + reverse],
        narrow[at + reverse : at + 2 * reverse],
        narrow[at + 2 * reverse : at + 3 * reverse],
    )


@compiled
def make_findings(wide: Any, sizes: Any, n_checkpoints: int, detail: bool) -> Any:
    """Return the results and memory for the terms of one step, all 0."""
    costs, sums, step, end = _findings_places(sizes, n_checkpoints, detail)
    wide[:end] = 0
    return Findings(wide[:costs], wide[costs:sums], wide[sums:step], wide[step:end])


@inlined
def _take(narrow: Any, at: int, n_lanes: int) -> Any:
    """Return a part of the buffer, and where the next one may begin."""
    size = n_lanes * LANES
    return narrow[at : at + size], at + -(-size // LINE) * LINE


@compiled
def make_scratch(narrow: Any, sizes: Any, settings: Any, n_labels: Any) -> Any:
    """Return memory for one step, behind the state; n_labels: of the target and of the source."""
    scores, reverse = _state_places(sizes, settings)
    at = 4 * scores + 3 * reverse
    rows, known, block = sizes.rows, sizes.n_factors, sizes.block
    layers = (sizes.depth + 1) * block * (max(sizes.dimension, sizes.width) + 1)
    entries, predictions = block * sizes.n_nodes, 0 if settings.low_rank else block * known
    numbers_rows = rows if settings.alone else 0
    hidden, at = _take(narrow, at, layers)
    hidden_slopes, at = _take(narrow, at, layers)
    predicted, at = _take(narrow, at, predictions)
    predicted_slopes, at = _take(narrow, at, predictions)
    nodes, at = _take(narrow, at, rows * known if settings.low_rank else 0)
    nodes_slopes, at = _take(narrow, at, rows * known)
    numbers, at = _take(narrow, at, numbers_rows * known)
    numbers_slopes, at = _take(narrow, at, numbers_rows * known)
    inputs_slopes, at = _take(narrow, at, rows * sizes.dimension)
    held = rows if _holds_slopes(settings) else block
    attention_slopes, at = _take(narrow, at, held * sizes.n_source)
    lifted = settings.low_rank and not settings.tied
    reverse_slopes, at = _take(narrow, at, rows * sizes.n_reverse if lifted else 0)
    found, at = _take(narrow, at, entries)
    sigmoids, at = _take(narrow, at, entries if sizes.n_attributes > 0 else 0)
    matrix, at = _take(narrow, at, entries if settings.alone else 0)
    matrix[:] = 0  # entries are placed there and cleared again
    counts, at = _take(narrow, at, block * n_labels[0])
    labels, at = _take(narrow, at, block * n_labels[1])
    return Scratch(
        hidden,
        hidden_slopes,
        predicted,
        predicted_slopes,
        nodes,
        nodes_slopes,
        numbers,
        numbers_slopes,
        inputs_slopes,
        attention_slopes,
        reverse_slopes,
        found,
        sigmoids,
        matrix,
        counts,
        labels,
    )
