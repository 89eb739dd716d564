"""The flat arrays that kernels read, by name and shape.

"lanes" counts as LANES adjacent numbers. With eight pairs in the lanes, a row is one node of eight
targets; with a single pair, a row is eight nodes of its target. Units are nodes here.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
