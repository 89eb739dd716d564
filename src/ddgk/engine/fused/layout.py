"""The flat arrays that kernels read and write: names, shapes, memory, and how they are filled.

"lanes" counts as LANES adjacent numbers. With eight pairs in the lanes, a row is one node of eight
targets; with a single pair, a row is eight nodes of its target. Units are nodes here.

All arrays that a group of pairs writes lie in two flat buffers, one after the other. A thread
reuses its buffers for one group after another, so they stay in the cache, and Python, which only
one thread can run at a time, passes two arrays in place of thirty.

A target fills one lane of a group of eight, or all lanes with its own nodes when it is trained as a
single pair. Entries that a target does not fill are 0, have weight 0, and add exact zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.compiling import inner
from ddgk.engine.arrays import EncodedGraph, EncoderWeights, PairTraining, Source
from ddgk.engine.fused.lanes import LANES

CACHE_LINE = 64  # bytes
Integers = NDArray[np.int64]


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
    n_reverse: int  # columns of the reverse attention (R^T | r): n_s + 1
    n_attributes: int
    block: int  # rows that pass through the encoder together


class Settings(NamedTuple):
    """What is trained, and how."""

    alone: bool  # a single pair, eight nodes in the lanes
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


class Packed(NamedTuple):
    """All that a group of pairs reads."""

    sizes: Sizes
    settings: Settings
    source: PackedSource
    target: PackedTarget
    labels: PackedLabels


class Schedule(NamedTuple):
    """What is recorded: the losses before some of the steps."""

    last: int
    checkpoints: NDArray[np.int64]  # (last + 1): which one a step is, or -1
    n_checkpoints: int
    detail: bool  # whether the costs of entries at the last step are wanted


LINE = 16  # numbers: arrays start at a cache line, in float64 at every second one


class State(NamedTuple):
    """What trains."""

    scores: NDArray[Any]  # A, (rows, n_s) lanes
    attention: NDArray[Any]  # P
    scores_mean: NDArray[Any]
    scores_square: NDArray[Any]
    reverse: NDArray[Any]  # (R^T | r), (rows, n_s + 1) lanes
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
    attention_slopes: NDArray[Any]  # dL/dP of a block, (block, n_s) lanes
    reverse_slopes: NDArray[Any]  # (rows, n_reverse) lanes; empty unless low rank
    scores: NDArray[Any]  # Y of a block, (block, n_t) lanes
    sigmoids: NDArray[Any]  # S of a block
    matrix: NDArray[Any]  # B of a block; eight pairs: empty
    counts: NDArray[Any]  # labels around units, (block, labels of the target) lanes
    labels: NDArray[Any]  # P Q_u, (block, labels of the source) lanes


class Memory(NamedTuple):
    """All that a group of pairs writes."""

    state: State
    scratch: Scratch
    findings: Findings


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


@lru_cache(4096)
def memory_places(sizes: Sizes, settings: Settings, n_labels: tuple[int, int]) -> Integers:
    """Return where the arrays of `State` and `Scratch` begin in the buffer, and the end.

    n_labels: of the target and of the source.
    """
    rows, known, block, n_source = sizes.rows, sizes.n_factors, sizes.block, sizes.n_source
    layers = (sizes.depth + 1) * block * (max(sizes.dimension, sizes.width) + 1)
    predictions, factors = 0 if settings.low_rank else block * known, rows * known
    entries = block * sizes.n_nodes
    lanes = {
        "hidden": layers,
        "hidden_slopes": layers,
        "predicted": predictions,
        "predicted_slopes": predictions,
        "nodes": factors if settings.low_rank else 0,
        "nodes_slopes": factors,
        "numbers": factors if settings.alone else 0,
        "numbers_slopes": factors if settings.alone else 0,
        "inputs_slopes": rows * sizes.dimension,
        "attention_slopes": block * n_source,
        "reverse_slopes": rows * sizes.n_reverse if settings.low_rank else 0,
        "scores": entries,
        "sigmoids": entries if sizes.n_attributes else 0,
        "matrix": entries if settings.alone else 0,
        "counts": block * n_labels[0],
        "labels": block * n_labels[1],
    }
    state = 4 * [rows * n_source] + 3 * [rows * sizes.n_reverse]
    lengths = np.array([*state, *(lanes[name] for name in Scratch._fields)], dtype=np.int64)
    return starts_of(-(-lengths * LANES // LINE) * LINE)


def findings_places(sizes: Sizes, schedule: Schedule) -> Integers:
    """Return where the arrays of `Findings` begin, and where the last ends."""
    n_terms = 2 + 2 * sizes.n_attributes
    terms, costs = n_terms * sizes.rows, 2 * sizes.rows * sizes.n_nodes * schedule.detail
    lengths = [schedule.n_checkpoints * terms, costs, schedule.n_checkpoints * n_terms, terms]
    return starts_of(np.array(lengths) * LANES)


@inner
def make_state(narrow: Any, at: Any) -> Any:
    """Return what trains, at the beginning of the buffer; at: see `memory_places`."""
    return State(
        narrow[at[0] : at[1]],
        narrow[at[1] : at[2]],
        narrow[at[2] : at[3]],
        narrow[at[3] : at[4]],
        narrow[at[4] : at[5]],
        narrow[at[5] : at[6]],
        narrow[at[6] : at[7]],
    )


@inner
def make_scratch(narrow: Any, at: Any) -> Any:
    """Return memory for one step, behind the state; at: see `memory_places`."""
    matrix = narrow[at[20] : at[21]]
    matrix[:] = 0  # entries are placed there and cleared again
    return Scratch(
        narrow[at[7] : at[8]],
        narrow[at[8] : at[9]],
        narrow[at[9] : at[10]],
        narrow[at[10] : at[11]],
        narrow[at[11] : at[12]],
        narrow[at[12] : at[13]],
        narrow[at[13] : at[14]],
        narrow[at[14] : at[15]],
        narrow[at[15] : at[16]],
        narrow[at[16] : at[17]],
        narrow[at[17] : at[18]],
        narrow[at[18] : at[19]],
        narrow[at[19] : at[20]],
        matrix,
        narrow[at[21] : at[22]],
        narrow[at[22] : at[23]],
    )


@inner
def make_findings(wide: Any, at: Any) -> Any:
    """Return the results and memory for the terms of one step, all 0."""
    wide[: at[4]] = 0
    return Findings(
        wide[at[0] : at[1]], wide[at[1] : at[2]], wide[at[2] : at[3]], wide[at[3] : at[4]]
    )


def pack_network(weights: EncoderWeights, precision: Any) -> NDArray[Any]:
    """Return W_1, b_1, W_2, b_2, ... one after the other."""
    parts = [np.asarray(part).reshape(-1) for layer in weights.hidden for part in layer]
    return flat(np.concatenate([np.zeros(0), *parts]), precision)


def pack_source(source: Source, labels: Sequence[Integers], precision: Any) -> PackedSource:
    """Lay out an encoder; labels: those its nodes carry, per attribute."""
    weight, bias = source.weights.output
    lift = np.zeros((len(weight) + 1, len(bias) + 1))
    lift[:-1, :-1], lift[-1, :-1], lift[-1, -1] = weight, bias, 1
    carried = [q[:, columns] for q, columns in zip(source.attributes, labels, strict=True)]
    matrix = np.hstack([np.zeros((len(source.weights.table), 0)), *carried])
    return PackedSource(
        table=flat(source.weights.table, precision),
        network=pack_network(source.weights, precision),
        output=flat(weight, precision),
        output_bias=flat(bias, precision),
        lift=flat(lift, precision),
        by_label=compress(matrix.T, precision),
        by_unit=compress(matrix, precision),
    )


def compress(matrix: Any, precision: Any) -> Compressed:
    """Return the nonzero entries of a matrix row by row; of a sparse one the stored entries."""
    if sparse.issparse(matrix):
        rows = sparse.csr_array(matrix)
        starts, places, values = rows.indptr, rows.indices, rows.data
    else:
        at, places = np.nonzero(matrix)
        values = matrix[at, places]
        starts = np.searchsorted(at, np.arange(len(matrix) + 1))
    return Compressed(starts.astype(np.int64), places.astype(np.int64), flat(values, precision))


def source_labels(source: Source) -> list[Integers]:
    """Return the labels that nodes of a source carry, per attribute."""
    return [np.flatnonzero(np.any(q != 0, axis=0)) for q in source.attributes]


def target_labels(graph: EncodedGraph) -> list[Integers]:
    """Return the labels that nodes of a target carry or have around them, per attribute."""
    return [
        np.flatnonzero(np.any(a.nodes != 0, axis=0) | np.any(a.neighbours != 0, axis=0))
        for a in graph.attributes
    ]


def starts_of(widths: Any) -> NDArray[np.int64]:
    """Return where the columns of each attribute start, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


def scales_of(graph: EncodedGraph, training: PairTraining) -> tuple[float, float]:
    """Return the divisors of the structure loss and of the attribute losses."""
    if training.reduction == "sum":
        return 1.0, 1.0
    count = float(graph.unit_weights.sum())
    return count * float(graph.node_weights.sum()), count


def in_rows(matrix: Any, precision: Any) -> NDArray[Any]:
    """Put eight rows of a matrix into the lanes: (n, columns) -> (n / LANES, columns) lanes."""
    values = np.asarray(matrix)
    values = values[:, None] if values.ndim == 1 else values
    n_rows = -(-len(values) // LANES)
    result = aligned(n_rows, values.shape[1], LANES, precision=precision)
    padded = np.zeros((n_rows * LANES, values.shape[1]))
    padded[: len(values)] = values
    shaped = padded.reshape(n_rows, LANES, values.shape[1]).swapaxes(1, 2)
    result.reshape(n_rows, values.shape[1], LANES)[:] = shaped
    return result


def in_lanes(matrices: Sequence[Any], shape: tuple[int, ...], precision: Any) -> NDArray[Any]:
    """Give every matrix a lane: matrices of at most that shape -> (*shape) lanes."""
    result = aligned(*shape, LANES, precision=precision)
    shaped = result.reshape(*shape, LANES)
    for lane, matrix in enumerate(matrices):
        corner: Any = (*(slice(size) for size in matrix.shape), lane)
        shaped[corner] = matrix
    return result


def pack_alone(graph: EncodedGraph, training: PairTraining, precision: Any) -> PackedTarget:
    """Lay out the target of a single pair."""
    structure, label = scales_of(graph, training)
    labels = target_labels(graph)
    around = [a.neighbours[:, c] for a, c in zip(graph.attributes, labels, strict=True)]
    nodes = [a.nodes[:, c] for a, c in zip(graph.attributes, labels, strict=True)]
    weights, empty = graph.unit_weights, np.zeros((len(graph.unit_weights), 0))
    weighted = graph.node_weights[:, None] * np.hstack([empty, *nodes])
    return PackedTarget(
        matrix=aligned(0, precision=precision),
        entries=compress(graph.matrix, precision),
        structure_factors=in_rows(weights / structure, precision),
        label_factors=in_rows(weights / label, precision),
        weights=in_rows(weights, precision),
        column_weights=flat(np.repeat(graph.node_weights, LANES), precision),
        scales=flat(np.repeat([structure, label], LANES), np.float64),
        neighbours=in_rows(np.hstack([empty, *around]), precision),
        nodes=aligned(0, precision=precision),
        by_label=compress(weighted.T, precision),
        by_node=compress(weighted, precision),
        reverse_starts=starts_of([len(columns) for columns in labels]),
    )


def pack_side_by_side(
    graphs: Sequence[EncodedGraph], training: PairTraining, precision: Any
) -> PackedTarget:
    """Lay out up to eight targets, each in a lane of its own."""
    n_nodes = max(len(g.unit_weights) for g in graphs)
    scales = np.array([scales_of(g, training) for g in graphs])
    labels = [target_labels(g) for g in graphs]
    widths = [max(len(own[a]) for own in labels) for a in range(len(graphs[0].attributes))]
    starts = starts_of(widths)
    around, nodes = (
        aligned(n_nodes, int(starts[-1]), LANES, precision=precision) for _ in range(2)
    )
    shape = (-1, int(starts[-1]), LANES)
    for lane, (graph, own) in enumerate(zip(graphs, labels, strict=True)):
        for attribute, start, columns in zip(graph.attributes, starts[:-1], own, strict=True):
            taken = (slice(len(graph.unit_weights)), slice(start, start + len(columns)), lane)
            around.reshape(shape)[taken] = attribute.neighbours[:, columns]
            nodes.reshape(shape)[taken] = graph.node_weights[:, None] * attribute.nodes[:, columns]
    all_scales = np.ones((2, LANES))
    all_scales[:, : len(graphs)] = scales.T

    def by_node(vectors: Sequence[Any]) -> NDArray[Any]:
        return in_lanes(vectors, (n_nodes,), precision)

    weights = [g.unit_weights for g in graphs]
    nothing = compress(np.zeros((0, 0)), precision)
    return PackedTarget(
        matrix=in_lanes([g.dense_matrix() for g in graphs], (n_nodes, n_nodes), precision),
        entries=nothing,
        structure_factors=by_node([w / s for w, (s, _) in zip(weights, scales, strict=True)]),
        label_factors=by_node([w / s for w, (_, s) in zip(weights, scales, strict=True)]),
        weights=by_node(weights),
        column_weights=by_node([g.node_weights for g in graphs]),
        scales=flat(all_scales, np.float64),
        neighbours=around,
        nodes=nodes,
        by_label=nothing,
        by_node=nothing,
        reverse_starts=starts,
    )


def pack_units(graphs: Sequence[EncodedGraph], alone: bool, precision: Any) -> NDArray[Any]:
    """Lay out Q_u of all attributes, (rows, all labels, LANES)."""
    given = [
        np.hstack([np.zeros((len(g.unit_weights), 0)), *(a.units for a in g.attributes)])
        for g in graphs
    ]
    if alone:
        shape = (-(-len(given[0]) // LANES), given[0].shape[1])
        return in_rows(given[0], precision).reshape(*shape, LANES)
    shape = (max(map(len, given)), given[0].shape[1])
    return in_lanes(given, shape, precision).reshape(*shape, LANES)


def pack_labels(
    units: NDArray[Any],
    widths: NDArray[np.int64],
    labels: Sequence[Integers],
    training: PairTraining,
) -> PackedLabels:
    """Split what targets carry into labels of the source and the mass on all others.

    units: as `pack_units` returns it; widths: k of each attribute; labels: of the source.
    """
    begin = starts_of(widths)
    columns = [start + own for start, own in zip(begin[:-1], labels, strict=True)]
    carried = units[:, np.concatenate([np.zeros(0, dtype=np.int64), *columns])]
    lacking = aligned(len(units), len(widths), LANES, precision=units.dtype)
    for place, (own, start, width) in enumerate(zip(columns, begin[:-1], widths, strict=True)):
        others = np.ones(width, dtype=bool)
        others[own - start] = False
        lacking.reshape(len(units), -1, LANES)[:, place] = units[:, start : start + width][
            :, others
        ].sum(axis=1)
    return PackedLabels(
        observed=flat(carried, units.dtype),
        missing=lacking,
        attention_starts=starts_of([len(own) for own in labels]),
        widths=widths,
        coefficients=np.array(training.coefficients[: len(widths)], dtype=np.float64),
    )
