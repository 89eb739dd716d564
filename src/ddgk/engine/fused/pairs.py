"""Training the attention of a group of pairs: all of its steps in one call.

`docs/design/fused_engine.md` derives the gradient. A step has three parts: the units, block by
block, through the encoder, to the scores and back (`reconstruct_rows`); the reverse attention; the
attention, block by block (`train_rows`).
"""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.attention import adam_pace, softmax, train_attention, train_reverse
from ddgk.engine.fused.compiling import compiled, entrance
from ddgk.engine.fused.labels import add_missing, compare_labels, gather_labels, scatter_labels
from ddgk.engine.fused.lanes import LANES, fill, fma, load, store, widen
from ddgk.engine.fused.nodes import clear, find_nodes, find_nodes_back, lift_rows, lift_rows_back
from ddgk.engine.fused.products import multiply_shared, view
from ddgk.engine.fused.reconstruction import reconstruct_rows
from ddgk.engine.fused.workspace import first_held, make_findings, make_scratch, make_state


@compiled
def attend_rows(
    first: int, last: int, sizes: Any, settings: Any, source: Any, state: Any, scratch: Any
) -> None:
    """P = softmax(A) of some rows; and M of them where it is lifted from P."""
    softmax(state.scores, state.attention, first, last, sizes.n_source)
    if settings.tied and settings.low_rank:
        lift_rows(first, last, sizes, source, state.attention, scratch.nodes)


@compiled
def train_rows(
    first: int,
    last: int,
    sizes: Any,
    settings: Any,
    source: Any,
    target: Any,
    labels: Any,
    state: Any,
    scratch: Any,
    terms: Any,
    record: Any,
    pace: Any,
) -> None:
    """Record the attention terms of some rows, take a step of A, and update P and a tied M.

    dL/dP = dL/dX_0 E^T (+ the reverse attention's, if tied) + the attention terms'.
    """
    records, _, trains = record
    n_rows, n_columns, dimension = last - first, sizes.n_source, sizes.dimension
    held = first_held(first, settings)
    at = (first - held) * n_columns * LANES
    if trains:
        if settings.tied and settings.low_rank:
            lanes, out = scratch.nodes_slopes, scratch.attention_slopes
            lift_rows_back((first, last, held), sizes, source, lanes, out)
        slopes = view(scratch.inputs_slopes, first * dimension * LANES, dimension * LANES, LANES)
        added = view(scratch.attention_slopes, at, n_columns * LANES, LANES)
        transposed = view(source.table, 0, 1, dimension)
        multiply_shared(slopes, transposed, added, n_rows, dimension, n_columns, settings.tied)
    if sizes.n_attributes > 0 and (records or settings.trains_labels):
        row = first * n_columns * LANES
        gather_labels(state.attention, row, n_columns, source.by_label, scratch.labels, n_rows)
        attributes = (labels.attention_starts, labels.widths, labels.coefficients)
        step = sizes.rows * LANES
        how = (settings.smoothing, False, records)
        costs = (terms, 2 * step, 2 * step, target.scales)
        rows, factors = (first, last), target.label_factors
        compare_labels(labels.observed, scratch.labels, attributes, rows, factors, how, costs)
        if trains:
            n_labels, out = labels.attention_starts[-1], scratch.attention_slopes
            scatter_labels(scratch.labels, n_labels, source.by_unit, out, at, n_rows, True)
    if trains:
        trained = (state.scores, state.scores_mean, state.scores_square)
        moved, gradients = (first, last, held), scratch.attention_slopes
        weights = target.weights
        train_attention(trained, state.attention, gradients, weights, moved, n_columns, pace)
        attend_rows(first, last, sizes, settings, source, state, scratch)


@compiled
def weigh_terms(terms: Any, weights: Any, sums: Any, n_rows: int) -> None:
    """sums[c] = sum_i w_i terms[c, i], row after row, in float64.

    terms: (n_terms, n_rows) lanes; weights: (n_rows) lanes; sums: (n_terms) lanes.
    """
    for c in range(len(sums) // LANES):
        total = fill(terms, 0.0)
        for i in range(n_rows):
            total = fma(
                load(terms, (c * n_rows + i) * LANES), widen(load(weights, i * LANES)), total
            )
        store(sums, c * LANES, total)


@entrance
def train_group(
    sizes: Any,
    settings: Any,
    source: Any,
    target: Any,
    labels: Any,
    schedule: Any,
    narrow: Any,
    wide: Any,
) -> None:
    """Train a group of pairs to the last checkpoint.

    narrow: begins with the state, the initial A and R^T, else zeros; wide: receives the findings.
    """
    rows, n_checkpoints = sizes.rows, schedule.shares.shape[1]
    state = make_state(narrow, sizes, settings)
    n_labels = (target.reverse_starts[-1], labels.attention_starts[-1])
    scratch = make_scratch(narrow, sizes, settings, n_labels)
    findings = make_findings(wide, sizes, n_checkpoints, schedule.detail)
    n_terms = len(findings.step)
    for first in range(0, rows, sizes.block):
        last = min(first + sizes.block, rows)
        attend_rows(first, last, sizes, settings, source, state, scratch)
    # Gradients of the reverse attention and of M in lanes: one array unless M is lifted.
    reverse_slopes = scratch.attention_slopes
    if not settings.tied:
        reverse_slopes = scratch.reverse_slopes if settings.low_rank else scratch.nodes_slopes
    lanes_slopes = scratch.nodes_slopes if settings.low_rank else reverse_slopes
    for step in range(schedule.last + 1):
        trains = step < schedule.last
        records = schedule.records[step]
        record = (records, schedule.cost_shares[step], trains)
        if records:
            clear(findings.step)
            attributes = (labels.attention_starts, labels.widths, labels.coefficients)
            terms = (findings.step, 2 * rows * LANES, 2 * rows * LANES, target.scales)
            add_missing(labels.missing, attributes, rows, settings.smoothing, terms)
        reverse = state.attention if settings.tied else state.reverse
        lanes = scratch.nodes if settings.low_rank else reverse
        find_nodes(sizes, settings, source, reverse, lanes, scratch)
        nodes = (lanes, lanes_slopes)
        if settings.alone:
            nodes = (scratch.numbers, scratch.numbers_slopes)
        clear(nodes[1])
        for first in range(0, rows, sizes.block):
            reconstruct_rows(
                first,
                min(first + sizes.block, rows),
                sizes,
                settings,
                source,
                target,
                labels,
                state,
                scratch,
                nodes,
                record,
                findings,
            )
        pace = adam_pace(settings.rate, step + 1)
        if trains:
            find_nodes_back(sizes, settings, source, scratch, lanes_slopes, reverse_slopes)
            if not settings.tied:
                trained = (state.reverse, state.reverse_mean, state.reverse_square)
                n_columns = sizes.n_reverse
                train_reverse(trained, reverse_slopes, target.weights, rows, n_columns, pace)
        for first in range(0, rows, sizes.block):
            train_rows(
                first,
                min(first + sizes.block, rows),
                sizes,
                settings,
                source,
                target,
                labels,
                state,
                scratch,
                findings.step,
                record,
                pace,
            )
        if records:
            for checkpoint in range(n_checkpoints):
                share = schedule.shares[step, checkpoint]
                for k in range(n_terms):
                    findings.terms[checkpoint * n_terms + k] += share * findings.step[k]
    weigh_terms(findings.terms, target.weights, findings.sums, rows)
