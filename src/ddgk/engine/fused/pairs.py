"""Training the attention of a group of pairs: all of its steps in one call.

See `docs/design/engine.md`. A step has three parts: the units, block by block, through the encoder,
to the scores and back (`reconstruct_rows`); the reverse attention; the attention, block by block
(`train_rows`).

"lanes" counts as LANES adjacent numbers. With eight pairs in the lanes, a row is one node of eight
targets; with a single pair, a row is eight nodes of its target. Units are nodes here. Entries that
a target does not fill are 0, have weight 0, and add exact zeros.

P attention, E table, X_l hidden layers, Z predictions, Y scores, B target matrix, S = s(Y),
G = dL/dY. F holds the factors of a unit, Y = F M^T: (X_L | 1) where the product has low rank, else
(Z | 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.compiling import inner, lean, once
from ddgk.engine.fused.kernels import (
    add_bias,
    add_missing,
    backward,
    bend,
    clear,
    compare_labels,
    find_nodes,
    find_nodes_back,
    forward_layers,
    gather_labels,
    place_matrix,
    record_costs,
    scatter_labels,
    score,
    score_back,
    set_column,
    softmax,
    structure_slopes,
    train_attention,
    train_reverse,
)
from ddgk.engine.fused.lanes import LANES, fill, fma, sigmoid, store, take, widen
from ddgk.engine.fused.products import (
    multiply,
    multiply_bent,
    multiply_shared,
    multiply_tanh,
    view,
)

Numbers = NDArray[Any]
Integers = NDArray[np.int64]


class Compressed(NamedTuple):
    """A sparse matrix by rows: columns places[starts[i]:starts[i + 1]] of row i."""

    starts: Integers
    places: Integers
    values: Numbers


class Plan(NamedTuple):
    """The sizes of a group, and what is trained, how, and when it is recorded."""

    rows: int  # of target nodes
    n_nodes: int  # n_t
    n_source: int  # n_s
    dimension: int  # d
    width: int  # h
    depth: int  # L
    n_factors: int  # K, the number of factors of the scores, Y = F M^T
    block: int  # rows that pass through the encoder together
    step: int  # numbers from row to row of the hidden layers
    factor_step: int  # and of F
    alone: bool  # a single pair, eight nodes in the lanes
    bends: bool  # tanh on the scores
    low_rank: bool  # F = (X_L | 1) in place of (Z | 1)
    trains_labels: bool  # some coefficient is not 0
    smoothing: float
    last: int  # step
    detail: bool  # whether the costs of entries at the last step are wanted
    checkpoints: Integers  # (last + 1): which one a step is, or -1
    paces: NDArray[np.float64]  # (last, 2): Adam's factors


class PackedSource(NamedTuple):
    """A frozen encoder, as numbers that all lanes share."""

    table: Numbers  # E, (n_s, d)
    network: Numbers  # W_1, b_1, ...
    output: Numbers  # W_o, (h, n_s)
    output_bias: Numbers  # b_o, (n_s)
    lift: Numbers  # (K, n_s + 1): M = (reverse attention) lift^T, where low rank
    by_label: Compressed  # Q_u of all attributes, label by label
    by_unit: Compressed  # the same node by node


class PackedTarget(NamedTuple):
    """Eight targets, or a single one."""

    matrix: Numbers  # B, (rows, n_t) lanes; single: empty
    entries: Compressed  # B row by row; eight targets: empty
    structure_factors: Numbers  # weight / size of the structure loss, (rows) lanes
    label_factors: Numbers  # weight / size of the attribute losses, (rows) lanes
    weights: Numbers  # nodes that each row represents, (rows) lanes
    column_weights: Numbers  # the same as columns, (n_t) lanes
    scales: NDArray[np.float64]  # divisors of the two losses, (2) lanes
    neighbours: Numbers  # Q_s, (rows, labels of the target) lanes
    nodes: Numbers  # w C, (n_t, labels of the target) lanes; single: empty
    by_label: Compressed  # w C label by label; eight targets: empty
    by_node: Compressed  # the same node by node
    starts: Integers  # first label of each attribute, (n_attributes + 1)


class PackedLabels(NamedTuple):
    """What joins target and source labels, and what all pairs share about attributes."""

    observed: Numbers  # Q_u of the target at labels of the source, (rows, labels) lanes
    missing: Numbers  # mass of Q_u on labels the source lacks, (rows, n_attributes) lanes
    starts: Integers  # first of these labels of each attribute, (n_attributes + 1)
    widths: Integers  # k of each attribute
    coefficients: NDArray[np.float64]  # c_f


class Memory(NamedTuple):
    """All that a group of pairs writes; arrays with two names share their numbers."""

    scores: Numbers  # A, (rows, n_s) lanes
    attention: Numbers  # P
    scores_mean: Numbers
    scores_square: Numbers
    reverse: Numbers  # (R^T | r), (rows, n_s + 1) lanes
    reverse_mean: Numbers
    reverse_square: Numbers
    hidden: Numbers  # X_0 ... X_L of a block, (L + 1, block, wide) lanes
    hidden_slopes: Numbers
    factors: Numbers  # F of a block: the end of `hidden` where low rank, else (block, K) lanes
    factors_slopes: Numbers
    nodes: Numbers  # M, (rows, K) lanes: `reverse` unless low rank
    nodes_slopes: Numbers
    numbers: Numbers  # M as numbers, (LANES rows, K), of a single pair; else `nodes`
    numbers_slopes: Numbers
    reverse_slopes: Numbers  # (rows, n_s + 1) lanes: `nodes_slopes` unless low rank
    inputs_slopes: Numbers  # dL/dX_0, (rows, d) lanes
    attention_slopes: Numbers  # dL/dP of a block, (block, n_s) lanes
    predicted: Numbers  # Y of a block, (block, n_t) lanes
    sigmoids: Numbers  # S of a block
    matrix: Numbers  # B of a block, of a single pair; zeros
    counts: Numbers  # labels around units, (block, labels of the target) lanes
    labels: Numbers  # P Q_u, (block, labels of the source) lanes
    terms: NDArray[np.float64]  # (n_checkpoints, n_terms, rows) lanes
    sums: NDArray[np.float64]  # terms summed over units, (n_checkpoints, n_terms) lanes
    costs: NDArray[np.float64]  # (2, rows, n_t) lanes, or empty


@once
def encode_rows(first: int, last: int, plan: Any, source: Any, memory: Any) -> None:
    """X_0 = P E, ..., X_L; Z = X_L W_o + b_o, or its tanh, unless the product has low rank."""
    n_rows, n_source = last - first, plan.n_source
    shape = (plan.dimension, plan.width, plan.depth, plan.step, plan.block)
    weights = view(memory.attention, first * n_source * LANES, n_source * LANES, LANES)
    inputs, table = (
        view(memory.hidden, 0, plan.step, LANES),
        view(source.table, 0, plan.dimension, 1),
    )
    multiply_shared(weights, table, inputs, n_rows, n_source, plan.dimension, False)
    forward_layers(memory.hidden, source.network, n_rows, shape)
    if not plan.low_rank:
        top = view(memory.hidden, plan.depth * plan.block * plan.step, plan.step, LANES)
        weight, out = (
            view(source.output, 0, n_source, 1),
            view(memory.factors, 0, plan.factor_step, LANES),
        )
        if plan.bends:
            bias = view(source.output_bias, 0, 0, 1)
            multiply_tanh(top, weight, bias, out, n_rows, plan.width, n_source)
        else:
            multiply_shared(top, weight, out, n_rows, plan.width, n_source, False)
            add_bias(memory.factors, source.output_bias, n_rows, n_source, plan.factor_step)
    set_column(memory.factors, plan.n_factors - 1, n_rows, plan.factor_step)


@once
def encode_rows_back(first: int, last: int, plan: Any, source: Any, memory: Any) -> None:
    """From dL/dF to dL/dX_0 of some rows."""
    n_rows, n_source = last - first, plan.n_source
    shape = (plan.dimension, plan.width, plan.depth, plan.step, plan.block)
    hidden, slopes = memory.hidden, memory.hidden_slopes
    if plan.bends or plan.low_rank:
        n_bent = plan.n_factors - 1
        bend(memory.factors_slopes, memory.factors, n_rows, n_bent, plan.factor_step)
    if not plan.low_rank:
        top_at = plan.depth * plan.block * plan.step
        after = view(memory.factors_slopes, 0, plan.factor_step, LANES)
        transposed = view(source.output, 0, 1, n_source)
        out = view(slopes, top_at, plan.step, LANES)
        values = view(hidden, top_at, plan.step, LANES)
        multiply_bent(after, transposed, values, out, n_rows, n_source, plan.width)
    backward(hidden, slopes, source.network, n_rows, shape)
    for i in range(n_rows):
        for j in range(plan.dimension):
            at = ((first + i) * plan.dimension + j) * LANES
            store(memory.inputs_slopes, at, take(slopes, i * plan.step + j * LANES))


@once
def label_slopes(
    first: int, last: int, packed: Any, memory: Any, terms: Any, records: bool
) -> None:
    """S = s(Y) and dL/dS of the reverse terms, which replaces Y; their costs, if wanted.

    inferred = rownorm(S C),  C weighted by how many nodes a column stands for
    """
    plan, _, target, labels = packed
    n_rows, n_nodes, n_labels = last - first, plan.n_nodes, target.starts[-1]
    for entry in range(0, n_rows * n_nodes * LANES, LANES):
        store(memory.sigmoids, entry, sigmoid(take(memory.predicted, entry)))
    inferred = view(memory.counts, 0, n_labels * LANES, LANES)
    if plan.alone:
        gather_labels(memory.sigmoids, 0, n_nodes, target.by_label, memory.counts, n_rows)
    else:
        nodes = view(target.nodes, 0, n_labels * LANES, LANES)
        sigmoids = view(memory.sigmoids, 0, n_nodes * LANES, LANES)
        multiply(sigmoids, nodes, inferred, n_rows, n_nodes, n_labels, False)
    step = plan.rows * LANES
    attributes = (target.starts, labels.widths, labels.coefficients)
    how = (plan.smoothing, True, records)
    costs = (terms, 3 * step, 2 * step, target.scales)
    rows, factors = (first, last), target.label_factors
    compare_labels(target.neighbours, memory.counts, attributes, rows, factors, how, costs)
    if plan.alone:
        scatter_labels(memory.counts, n_labels, target.by_node, memory.predicted, n_rows, False)
    else:
        transposed = view(target.nodes, 0, LANES, n_labels * LANES)
        out = view(memory.predicted, 0, n_nodes * LANES, LANES)
        multiply(inferred, transposed, out, n_rows, n_labels, n_nodes, False)


@once
def reconstruct_rows(
    first: int, last: int, packed: Any, memory: Any, terms: Any, record: Any
) -> None:
    """Take the units of some rows forward to Y, record their costs, take the gradient back.

    terms: of one checkpoint; record: (records losses, records costs of entries, trains).
    """
    plan, source, target, labels = packed
    records, details, trains = record
    n_nodes, slopes, rows = plan.n_nodes, memory.predicted, (first, last)
    encode_rows(first, last, plan, source, memory)
    shape = (last - first, plan.n_factors, n_nodes)
    score(memory.factors, plan.factor_step, memory.numbers, slopes, shape, plan.alone)
    matrix, matrix_at = target.matrix, first * n_nodes * LANES
    if plan.alone:
        place_matrix(target.entries, memory.matrix, first, last, n_nodes, False)
        matrix, matrix_at = memory.matrix, 0
    columns, factors = target.column_weights, target.structure_factors
    if records:
        where = (first, last, n_nodes, plan.rows)
        costs = (terms, 0, plan.rows * LANES, target.scales)
        detail = (memory.costs, details)
        record_costs(slopes, matrix, matrix_at, columns, where, costs, detail)
    labelled = len(labels.widths) > 0 and (records or plan.trains_labels)
    if labelled:
        label_slopes(first, last, packed, memory, terms, records)
    sigmoids = memory.sigmoids
    structure_slopes(slopes, sigmoids, labelled, matrix, matrix_at, factors, columns, rows, n_nodes)
    if plan.alone:
        place_matrix(target.entries, memory.matrix, first, last, n_nodes, True)
    if trains:
        given = (memory.factors, memory.numbers)
        wanted = (memory.factors_slopes, memory.numbers_slopes)
        score_back(slopes, given, plan.factor_step, wanted, shape, plan.alone)
        encode_rows_back(first, last, plan, source, memory)


@once
def train_rows(
    first: int, last: int, packed: Any, memory: Any, terms: Any, record: Any, pace: Any
) -> None:
    """Record the attention terms of some rows, take a step of A, and update P.

    dL/dP = dL/dX_0 E^T + the attention terms'.
    """
    plan, source, target, labels = packed
    records, _, trains = record
    rows, n_rows, n_columns, dimension = (first, last), last - first, plan.n_source, plan.dimension
    gradients = memory.attention_slopes
    if trains:
        slopes = view(memory.inputs_slopes, first * dimension * LANES, dimension * LANES, LANES)
        added = view(gradients, 0, n_columns * LANES, LANES)
        transposed = view(source.table, 0, 1, dimension)
        multiply_shared(slopes, transposed, added, n_rows, dimension, n_columns, False)
    if len(labels.widths) > 0 and (records or plan.trains_labels):
        row = first * n_columns * LANES
        gather_labels(memory.attention, row, n_columns, source.by_label, memory.labels, n_rows)
        attributes = (labels.starts, labels.widths, labels.coefficients)
        step = plan.rows * LANES
        how = (plan.smoothing, False, records)
        costs = (terms, 2 * step, 2 * step, target.scales)
        factors = target.label_factors
        compare_labels(labels.observed, memory.labels, attributes, rows, factors, how, costs)
        if trains:
            scatter_labels(
                memory.labels, labels.starts[-1], source.by_unit, gradients, n_rows, True
            )
    if trains:
        trained = (memory.scores, memory.scores_mean, memory.scores_square)
        train_attention(trained, memory.attention, gradients, target.weights, rows, n_columns, pace)
        softmax(memory.scores, memory.attention, first, last, n_columns)


@inner
def weigh_terms(terms: Any, weights: Any, sums: Any, n_rows: int) -> None:
    """sums[c] = sum_i w_i terms[c, i], row after row, in float64.

    terms: (n_terms, n_rows) lanes; weights: (n_rows) lanes; sums: (n_terms) lanes.
    """
    for c in range(len(sums) // LANES):
        total = fill(terms, 0.0)
        for i in range(n_rows):
            weight = widen(take(weights, i * LANES))
            total = fma(take(terms, (c * n_rows + i) * LANES), weight, total)
        store(sums, c * LANES, total)


@lean
def train_group(plan: Any, source: Any, target: Any, labels: Any, memory: Any) -> None:
    """Train a group of pairs to the last checkpoint."""
    packed = (plan, source, target, labels)
    rows, last, step_size = plan.rows, plan.last, plan.rows * LANES
    size = (2 + 2 * len(labels.widths)) * step_size
    softmax(memory.scores, memory.attention, 0, rows, plan.n_source)
    for step in range(last + 1):
        trains, checkpoint = step < last, plan.checkpoints[step]
        records = checkpoint >= 0
        record = (records, plan.detail and not trains, trains)
        begin = max(checkpoint, 0) * size
        terms = memory.terms[begin : begin + size]
        if records:
            attributes = (labels.starts, labels.widths, labels.coefficients)
            costs = (terms, 2 * step_size, 2 * step_size, target.scales)
            add_missing(labels.missing, attributes, rows, plan.smoothing, costs)
        find_nodes(plan, source.lift, memory)
        clear(memory.numbers_slopes)
        for first in range(0, rows, plan.block):
            end = min(first + plan.block, rows)
            reconstruct_rows(first, end, packed, memory, terms, record)
        pace = (0.0, 0.0)
        if trains:
            pace = (plan.paces[step, 0], plan.paces[step, 1])
            find_nodes_back(plan, source.lift, memory)
            trained = (memory.reverse, memory.reverse_mean, memory.reverse_square)
            n_reverse = plan.n_source + 1
            train_reverse(trained, memory.reverse_slopes, target.weights, rows, n_reverse, pace)
        for first in range(0, rows, plan.block):
            end = min(first + plan.block, rows)
            train_rows(first, end, packed, memory, terms, record, pace)
    weigh_terms(memory.terms, target.weights, memory.sums, rows)
