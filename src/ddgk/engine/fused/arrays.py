"""What the kernels are given: flat arrays by name, with their shapes.

"lanes" counts as LANES numbers beside each other. With eight pairs in the lanes, a row is a unit
(of eight targets); with one pair alone, a row is eight units of its target.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LINE = 64  # bytes in a line of the cache


def aligned(*shape: int, precision: Any) -> NDArray[Any]:
    """Return a flat array of zeros for that shape that starts at a line of the cache.

    Lanes then never straddle two lines, which would halve the speed of products.
    """
    size = prod(shape) * np.dtype(precision).itemsize
    memory = np.zeros(size + LINE, dtype=np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(precision)


def flat(array: Any, precision: Any) -> NDArray[Any]:
    """Copy an array into a flat, aligned one."""
    values = np.asarray(array)
    result = aligned(values.size, precision=precision)
    result[:] = values.reshape(-1)
    return result


class Entries(NamedTuple):
    """A sparse matrix row by row, or column by column: places[starts[i]:starts[i + 1]]."""

    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    values: NDArray[Any]


class Sizes(NamedTuple):
    """The sizes of a group; K is how many numbers are known of a unit and of a node."""

    rows: int  # of units
    node_rows: int
    attending_rows: int  # of units, or of nodes where these attend
    n_nodes: int  # n_t
    n_source_units: int  # u_s
    n_source_nodes: int  # n_s
    dimension: int  # d
    width: int  # h
    depth: int  # L
    n_known: int  # K
    n_reverse: int  # columns of the reverse attention: n_s, and 1 for r if it is free
    n_families: int
    block: int  # rows that are taken through the encoder together
    size: int  # q: columns of a factor of A; 0: no factors
    n_samples: int  # entries of a unit that are sampled in a step; 0: all are looked at
    n_images: int  # how often attention to regions is read
    n_regions: int


class Settings(NamedTuple):
    """What is trained, and how."""

    alone: bool
    tied: bool
    bends: bool  # tanh on the scores
    low_rank: bool
    lifted: bool  # M is a product with `lift`, and not the reverse attention itself
    spreads: bool  # units attend, and nodes have means of their rows
    gathers: bool  # nodes attend, and units have means of their rows
    trains_labels: bool  # some coefficient is not 0
    trains_sources: bool  # factors of the source's side too
    rate: float
    epsilon: float  # Adam's
    smoothing: float


class SourceArrays(NamedTuple):
    """A frozen encoder, as numbers that all lanes share."""

    table: NDArray[Any]  # E, (u_s, d)
    network: NDArray[Any]  # W_1, b_1, ...
    output: NDArray[Any]  # W_o, (h, n_s)
    output_bias: NDArray[Any]  # b_o, (n_s)
    lift: NDArray[
        Any
    ]  # (K, n_reverse): M = (reverse attention) lift^T, then averaged if it spreads
    by_label: Entries  # Q_u, labels of all families the source has, column by column
    by_unit: Entries  # the same row by row
    regions: NDArray[np.int64]  # (u_s): which region a unit is in; empty where nobody asks


class TargetArrays(NamedTuple):
    """Eight targets, or one alone."""

    relation: NDArray[Any]  # B, (rows, n_t) lanes; one alone: empty
    related: Entries  # B row by row; eight targets: empty
    structure_factors: NDArray[Any]  # unit weight / size of the structure loss, (rows) lanes
    label_factors: NDArray[Any]  # unit weight / size of the label losses, (rows) lanes
    unit_weights: NDArray[Any]  # (rows) lanes
    attending_weights: NDArray[Any]  # (attending_rows) lanes
    column_weights: NDArray[Any]  # node weights, (n_t) lanes
    node_weights: NDArray[Any]  # (node_rows) lanes
    scales: NDArray[np.float64]  # what the two losses are divided by, (2) lanes
    around: NDArray[Any]  # Q_s, (rows, labels of the target) lanes
    contributions: NDArray[Any]  # w C, (n_t, labels of the target) lanes; one alone: empty
    by_label: Entries  # w C column by column; eight targets: empty
    by_node: Entries  # the same row by row
    reverse_starts: NDArray[np.int64]  # which labels belong to which family, (n_families + 1)
    spreads: Entries  # L row by row, or empty
    gathers: Entries  # K row by row, or empty


class LabelArrays(NamedTuple):
    """What joins target and source labels, and what all pairs share about families."""

    observed: NDArray[Any]  # Q_u of the target at labels of the source, (rows, labels) lanes
    missing: NDArray[Any]  # what of Q_u the source has no label for, (rows, n_families) lanes
    attention_starts: NDArray[np.int64]  # (n_families + 1)
    widths: NDArray[np.int64]  # k of each family
    coefficients: NDArray[np.float64]  # c_f


class Plan(NamedTuple):
    """What is reported: shares[step, report] of each step's losses in each report."""

    last: int
    records: NDArray[np.bool_]  # (last + 1): whether any report needs the step
    shares: NDArray[np.float64]  # (last + 1, n_report)
    cost_shares: NDArray[np.float64]  # (last + 1): of the entries' costs; 0 without detail
    detail: bool  # whether the entries' costs are wanted
    images: NDArray[np.int64]  # (last + 1): which image is read before the step; -1: none


class State(NamedTuple):
    """What trains."""

    scores: NDArray[Any]  # A, (attending_rows, u_s) lanes
    attended: NDArray[Any]  # P
    attention: NDArray[Any]  # of units, (rows, u_s) lanes: P itself unless it gathers
    scores_mean: NDArray[Any]  # empty where A is a product of factors
    scores_square: NDArray[Any]
    reverse: NDArray[Any]  # (R^T | r), (node_rows, n_s + 1) lanes; tied: empty
    reverse_mean: NDArray[Any]
    reverse_square: NDArray[Any]


class Factors(NamedTuple):
    """A matrix as a product U V, each with Adam's two sums; all empty where there is none."""

    left: NDArray[Any]  # U, (rows, q) lanes
    left_mean: NDArray[Any]
    left_square: NDArray[Any]
    right: NDArray[Any]  # V, (q, columns) numbers, filled up to whole lanes
    right_mean: NDArray[Any]
    right_square: NDArray[Any]
    left_slopes: NDArray[Any]  # of a block of rows
    right_slopes: NDArray[Any]


class Sampling(NamedTuple):
    """Which entries of a large target are looked at, and room for them; else all empty."""

    starts: NDArray[np.int64]  # where runs of shifts begin, (steps, runs)
    lengths: NDArray[np.int64]  # (runs)
    weights: NDArray[Any]  # how many shifts each of a run stands for, (runs)
    columns: NDArray[Any]  # the same by sample, (n_samples) lanes
    drawn: NDArray[Any]  # and by shift in this step, 0 where it is not drawn, (n_t)
    kept: Entries  # B and the diagonal, row by row
    shifts: NDArray[np.int64]  # (j - i) mod n_t of each kept entry
    across: NDArray[Any]  # M^T in tiles, (n_t / TILE, K, SPAN)
    across_slopes: NDArray[Any]
    nodes: NDArray[Any]  # rows of M and of dL/dM in turn, (n_t, 2, K filled up to whole lanes)
    labels: NDArray[Any]  # C^T in tiles, (n_t / TILE, labels of the target, SPAN)
    facts: NDArray[Any]  # F of a block, (units, as many columns as nodes has)
    facts_slopes: NDArray[Any]
    scores: NDArray[Any]  # of the kept entries of a block: Y, then G
    predicted: NDArray[Any]
    edge_costs: NDArray[Any]
    other_costs: NDArray[Any]
    repeated: NDArray[Any]
    total: NDArray[Any]  # one vector


class Findings(NamedTuple):
    """What comes out, in float64."""

    terms: NDArray[np.float64]  # (n_report, n_channels, rows) lanes
    costs: NDArray[np.float64]  # (2, rows, n_t) lanes, or empty
    channels: NDArray[np.float64]  # terms summed over units, (n_report, n_channels) lanes
    shares: NDArray[np.float64]  # the last of them by source unit, (n_channels, u_s) lanes
    step: NDArray[np.float64]  # terms of one step, (n_channels, rows) lanes
    regional: NDArray[np.float64]  # (n_images, attending_rows, n_regions) lanes


class Scratch(NamedTuple):
    """Room for one step; nothing here outlives it."""

    hidden: NDArray[Any]  # X_0 ... X_L of a block, (L + 1, BLOCK, wide) lanes
    hidden_slopes: NDArray[Any]
    predicted: NDArray[Any]  # Z of a block, (BLOCK, K) lanes
    predicted_slopes: NDArray[Any]
    nodes: NDArray[Any]  # M, (node_rows, K) lanes
    nodes_slopes: NDArray[Any]
    numbers: NDArray[Any]  # M as numbers, (LANES node_rows, K); eight pairs: empty
    numbers_slopes: NDArray[Any]
    means: NDArray[Any]  # the same for nodes where it spreads: (LANES node_rows, K)
    means_slopes: NDArray[Any]
    inputs_slopes: NDArray[Any]  # dL/dX_0, (rows, d) lanes
    attention_slopes: NDArray[Any]  # dL/dP, (rows, u_s) lanes or a block: see `holds_slopes`
    attended_slopes: NDArray[Any]  # of what attends, where it gathers
    reverse_slopes: NDArray[Any]  # (node_rows, n_reverse) lanes; tied: empty
    scores: NDArray[Any]  # Y of a block, (BLOCK, n_t) lanes
    sigmoids: NDArray[Any]  # S of a block
    relation: NDArray[Any]  # B of a block; eight pairs: empty
    around: NDArray[Any]  # counts of labels, (BLOCK, labels of the target) lanes
    labels: NDArray[Any]  # P Q_u, (BLOCK, labels of the source) lanes
