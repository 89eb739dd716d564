"""Training the attention of a group of pairs: all of its steps in one call.

See `docs/design/engine.md`. A step has three parts: the units, block by block, through the encoder,
to the scores and back (`reconstruct_rows`); the reverse attention; the attention, block by block
(`train_rows`).

P attention, E table, X_l hidden layers, Z predictions, Y scores, B target matrix, S = s(Y),
G = dL/dY. F holds the factors of a unit, Y = F M^T: (X_L | 1) where the product has low rank, else
(Z | 1).
"""

from __future__ import annotations

from typing import Any

from ddgk.compiling import inner, lean
from ddgk.engine.fused.decoding import (
    add_missing,
    compare_labels,
    gather_labels,
    labelled_slopes,
    predict,
    record_costs,
    scatter_labels,
    score_alone,
    score_alone_back,
    score_lanes,
    score_lanes_back,
    structure_slopes,
)
from ddgk.engine.fused.lanes import LANES, fill, fma, store, take, widen
from ddgk.engine.fused.layers import (
    adam_pace,
    add_bias,
    backward,
    bend,
    clear,
    find_nodes,
    find_nodes_back,
    forward_layers,
    place_matrix,
    set_column,
    softmax,
    train_attention,
    train_reverse,
)
from ddgk.engine.fused.layout import Memory, make_findings, make_scratch, make_state
from ddgk.engine.fused.products import (
    multiply,
    multiply_bent,
    multiply_shared,
    multiply_tanh,
    view,
)


@inner
def encode_rows(
    first: int, last: int, sizes: Any, settings: Any, source: Any, attention: Any, scratch: Any
) -> None:
    """X_0 = P E, ..., X_L; Z = X_L W_o + b_o, or its tanh, unless the product has low rank."""
    n_rows = last - first
    wide = (max(sizes.dimension, sizes.width) + 1) * LANES
    shape = (sizes.dimension, sizes.width, sizes.depth, wide // LANES, sizes.block)
    top_at = sizes.depth * sizes.block * wide
    n_source = sizes.n_source
    weights = view(attention, first * n_source * LANES, n_source * LANES, LANES)
    inputs = view(scratch.hidden, 0, wide, LANES)
    table = view(source.table, 0, sizes.dimension, 1)
    multiply_shared(weights, table, inputs, n_rows, n_source, sizes.dimension, False)
    forward_layers(scratch.hidden, source.network, n_rows, shape)
    if settings.low_rank:
        set_column(scratch.hidden, sizes.width, n_rows, wide, top_at)
        return
    step, n_nodes = sizes.n_factors * LANES, sizes.n_source
    top = view(scratch.hidden, top_at, wide, LANES)
    weight, out = view(source.output, 0, n_nodes, 1), view(scratch.predicted, 0, step, LANES)
    if settings.bends:
        bias = view(source.output_bias, 0, 0, 1)
        multiply_tanh(top, weight, bias, out, n_rows, sizes.width, n_nodes)
    else:
        multiply_shared(top, weight, out, n_rows, sizes.width, n_nodes, False)
        add_bias(scratch.predicted, source.output_bias, n_rows, n_nodes, step)
    set_column(scratch.predicted, n_nodes, n_rows, step, 0)


@inner
def encode_rows_back(
    first: int, last: int, sizes: Any, settings: Any, source: Any, scratch: Any
) -> None:
    """From dL/dF to dL/dX_0 of some rows."""
    n_rows = last - first
    wide = (max(sizes.dimension, sizes.width) + 1) * LANES
    shape = (sizes.dimension, sizes.width, sizes.depth, wide // LANES, sizes.block)
    top_at = sizes.depth * sizes.block * wide
    hidden, slopes = scratch.hidden, scratch.hidden_slopes
    if settings.low_rank:
        if sizes.depth > 0:
            bend(slopes, hidden, top_at, n_rows, sizes.width, wide)
    else:
        step, n_nodes = sizes.n_factors * LANES, sizes.n_source
        if settings.bends:
            bend(scratch.predicted_slopes, scratch.predicted, 0, n_rows, n_nodes, step)
        after = view(scratch.predicted_slopes, 0, step, LANES)
        transposed = view(source.output, 0, 1, n_nodes)
        out = view(slopes, top_at, wide, LANES)
        if sizes.depth > 0:
            values = view(hidden, top_at, wide, LANES)
            multiply_bent(after, transposed, values, out, n_rows, n_nodes, sizes.width)
        else:
            multiply_shared(after, transposed, out, n_rows, n_nodes, sizes.width, False)
    backward(hidden, slopes, source.network, n_rows, shape)
    for i in range(n_rows):
        for j in range(sizes.dimension):
            at = ((first + i) * sizes.dimension + j) * LANES
            store(scratch.inputs_slopes, at, take(slopes, i * wide + j * LANES))


@inner
def label_slopes(first: int, last: int, packed: Any, memory: Any, records: bool) -> None:
    """S = s(Y) and dL/dS of the reverse terms, which replaces Y; their costs, if wanted.

    inferred = rownorm(S C),  C weighted by how many nodes a column stands for
    """
    sizes, settings, _, target, labels = packed
    scratch, terms = memory.scratch, memory.findings.step
    n_rows, n_nodes = last - first, sizes.n_nodes
    predict(scratch.scores, scratch.sigmoids, n_rows * n_nodes)
    n_labels = target.reverse_starts[-1]
    inferred = view(scratch.counts, 0, n_labels * LANES, LANES)
    if settings.alone:
        gather_labels(scratch.sigmoids, 0, n_nodes, target.by_label, scratch.counts, n_rows)
    else:
        nodes = view(target.nodes, 0, n_labels * LANES, LANES)
        predicted = view(scratch.sigmoids, 0, n_nodes * LANES, LANES)
        multiply(predicted, nodes, inferred, n_rows, n_nodes, n_labels, False)
    step = sizes.rows * LANES
    attributes = (target.reverse_starts, labels.widths, labels.coefficients)
    how = (settings.smoothing, True, records)
    costs = (terms, 3 * step, 2 * step, target.scales)
    rows = (first, last)
    compare_labels(
        target.neighbours, scratch.counts, attributes, rows, target.label_factors, how, costs
    )
    if settings.alone:
        scatter_labels(scratch.counts, n_labels, target.by_node, scratch.scores, 0, n_rows, False)
    else:
        transposed = view(target.nodes, 0, LANES, n_labels * LANES)
        out = view(scratch.scores, 0, n_nodes * LANES, LANES)
        multiply(inferred, transposed, out, n_rows, n_labels, n_nodes, False)


@inner
def place_of_factors(sizes: Any, settings: Any) -> Any:
    """Return where F begins, how far its rows are apart, and how many of its columns train."""
    if settings.low_rank:
        step = (max(sizes.dimension, sizes.width) + 1) * LANES
        top_at = sizes.depth * sizes.block * step
        return top_at, step, sizes.width
    return 0, sizes.n_factors * LANES, sizes.n_source


@inner
def reconstruct_rows(
    first: int, last: int, packed: Any, memory: Any, nodes: Any, record: Any
) -> None:
    """Take the units of some rows forward to Y, record their costs, take the gradient back.

    nodes: (M, dL/dM, added to). record: (records losses, records costs of entries, trains).
    """
    sizes, settings, source, target, _ = packed
    state, scratch, findings = memory
    records, details, trains = record
    n_rows, n_nodes, known = last - first, sizes.n_nodes, sizes.n_factors
    encode_rows(first, last, sizes, settings, source, state.attention, scratch)
    top_at, step, n_wanted = place_of_factors(sizes, settings)
    units, unit_slopes = (scratch.predicted, 0), (scratch.predicted_slopes, 0)
    if settings.low_rank:
        units, unit_slopes = (scratch.hidden, top_at), (scratch.hidden_slopes, top_at)
    shape = (n_rows, known, n_nodes, n_wanted)
    if settings.alone:
        score_alone(units, step, nodes[0], scratch.scores, shape)
    else:
        score_lanes(units, step, nodes[0], scratch.scores, shape)

    matrix, matrix_at = target.matrix, first * n_nodes * LANES
    if settings.alone:
        place_matrix(target.entries, scratch.matrix, first, last, n_nodes, False)
        matrix, matrix_at = scratch.matrix, 0
    columns, factors, rows = target.column_weights, target.structure_factors, (first, last)
    slopes = scratch.scores
    if records:
        where = (first, last, n_nodes, sizes.rows)
        terms = (findings.step, 0, sizes.rows * LANES, target.scales)
        costs = (findings.costs, details)
        record_costs(slopes, matrix, matrix_at, columns, where, terms, costs)
    if sizes.n_attributes > 0 and (records or settings.trains_labels):
        label_slopes(first, last, packed, memory, records)
        labelled_slopes(
            scratch.sigmoids, slopes, matrix, matrix_at, factors, columns, rows, n_nodes
        )
    else:
        structure_slopes(slopes, matrix, matrix_at, factors, columns, rows, n_nodes)
    if settings.alone:
        place_matrix(target.entries, scratch.matrix, first, last, n_nodes, True)
    if trains:
        if settings.alone:
            score_alone_back(slopes, units, step, nodes[0], unit_slopes, nodes[1], shape)
        else:
            score_lanes_back(slopes, units, step, nodes[0], unit_slopes, nodes[1], shape)
        encode_rows_back(first, last, sizes, settings, source, scratch)


@inner
def train_rows(first: int, last: int, packed: Any, memory: Any, record: Any, pace: Any) -> None:
    """Record the attention terms of some rows, take a step of A, and update P.

    dL/dP = dL/dX_0 E^T + the attention terms'.
    """
    sizes, settings, source, target, labels = packed
    state, scratch, findings = memory
    records, _, trains = record
    n_rows, n_columns, dimension = last - first, sizes.n_source, sizes.dimension
    if trains:
        slopes = view(scratch.inputs_slopes, first * dimension * LANES, dimension * LANES, LANES)
        added = view(scratch.attention_slopes, 0, n_columns * LANES, LANES)
        transposed = view(source.table, 0, 1, dimension)
        multiply_shared(slopes, transposed, added, n_rows, dimension, n_columns, False)
    if sizes.n_attributes > 0 and (records or settings.trains_labels):
        row = first * n_columns * LANES
        gather_labels(state.attention, row, n_columns, source.by_label, scratch.labels, n_rows)
        attributes = (labels.attention_starts, labels.widths, labels.coefficients)
        step = sizes.rows * LANES
        how = (settings.smoothing, False, records)
        costs = (findings.step, 2 * step, 2 * step, target.scales)
        rows, factors = (first, last), target.label_factors
        compare_labels(labels.observed, scratch.labels, attributes, rows, factors, how, costs)
        if trains:
            n_labels, out = labels.attention_starts[-1], scratch.attention_slopes
            scatter_labels(scratch.labels, n_labels, source.by_unit, out, 0, n_rows, True)
    if trains:
        trained = (state.scores, state.scores_mean, state.scores_square)
        rows, gradients = (first, last), scratch.attention_slopes
        train_attention(trained, state.attention, gradients, target.weights, rows, n_columns, pace)
        softmax(state.scores, state.attention, first, last, n_columns)


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
def train_group(packed: Any, schedule: Any, places: Any, buffers: Any) -> None:
    """Train a group of pairs to the last checkpoint.

    places: where arrays begin in the two buffers. buffers: the first begins with the state, which
    is the initial A and R^T, else zeros; the second receives the findings.
    """
    sizes, settings, source, target, labels = packed
    state, scratch = make_state(buffers[0], places[0]), make_scratch(buffers[0], places[0])
    findings = make_findings(buffers[1], places[1])
    memory = Memory(state, scratch, findings)
    rows, n_terms = sizes.rows, len(findings.step)
    # M in lanes, and the gradients of M and of the reverse attention: one array unless M is lifted.
    lanes = scratch.nodes if settings.low_rank else state.reverse
    reverse_slopes = scratch.reverse_slopes if settings.low_rank else scratch.nodes_slopes
    nodes = (lanes, scratch.nodes_slopes)
    if settings.alone:
        nodes = (scratch.numbers, scratch.numbers_slopes)
    softmax(state.scores, state.attention, 0, rows, sizes.n_source)
    for step in range(schedule.last + 1):
        trains, checkpoint = step < schedule.last, schedule.checkpoints[step]
        record = (checkpoint >= 0, schedule.detail and not trains, trains)
        if checkpoint >= 0:
            clear(findings.step)
            attributes = (labels.attention_starts, labels.widths, labels.coefficients)
            terms = (findings.step, 2 * rows * LANES, 2 * rows * LANES, target.scales)
            add_missing(labels.missing, attributes, rows, settings.smoothing, terms)
        find_nodes(sizes, settings, source.lift, state.reverse, lanes, scratch.numbers)
        clear(nodes[1])
        for first in range(0, rows, sizes.block):
            reconstruct_rows(first, min(first + sizes.block, rows), packed, memory, nodes, record)
        pace = adam_pace(settings.rate, step + 1)
        if trains:
            slopes = (scratch.numbers_slopes, scratch.nodes_slopes)
            find_nodes_back(sizes, settings, source.lift, *slopes, reverse_slopes)
            trained = (state.reverse, state.reverse_mean, state.reverse_square)
            train_reverse(trained, reverse_slopes, target.weights, rows, sizes.n_reverse, pace)
        for first in range(0, rows, sizes.block):
            train_rows(first, min(first + sizes.block, rows), packed, memory, record, pace)
        if checkpoint >= 0:
            for k in range(n_terms):
                findings.terms[checkpoint * n_terms + k] = findings.step[k]
    weigh_terms(findings.terms, target.weights, findings.sums, rows)
