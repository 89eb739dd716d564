"""Training the attention of a group of pairs: all steps of it in one call.

`docs/design/fused_engine.md` derives the gradient. A step has three parts: the units, block by
block, through the encoder, to the scores and back (`reconstruct_rows`); the reverse attention; the
attention, block by block again (`train_rows`).
"""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.attention import adam_pace, softmax, train_attention, train_reverse
from ddgk.engine.fused.compiling import compiled, entrance
from ddgk.engine.fused.labels import add_missing, compare_labels, gather_labels, scatter_labels
from ddgk.engine.fused.lanes import LANES, fill, fma, load, store, widen
from ddgk.engine.fused.products import multiply_shared, view
from ddgk.engine.fused.reconstruction import reconstruct_rows
from ddgk.engine.fused.relayout import clear, lanes_of, numbers_of
from ddgk.engine.fused.rooms import make_findings, make_scratch, make_state


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
    """Train the attention of some rows; record what its labels cost.

    dL/dP = dL/dX_0 E^T (+ the reverse attention's, if tied) + the attention channels'.
    """
    records, _, trains = record
    n_rows, n_columns, dimension = last - first, sizes.n_source_units, sizes.dimension
    held = 0 if settings.tied else first
    at = (first - held) * n_columns * LANES
    if trains:
        slopes = view(scratch.inputs_slopes, first * dimension * LANES, dimension * LANES, LANES)
        out = view(scratch.attention_slopes, at, n_columns * LANES, LANES)
        transposed = view(source.table, 0, 1, dimension)
        multiply_shared(slopes, transposed, out, n_rows, dimension, n_columns, settings.tied)
    if sizes.n_families > 0 and (records or settings.trains_labels):
        row = first * n_columns * LANES
        gather_labels(state.attention, row, n_columns, source.by_label, scratch.labels, n_rows)
        families = (labels.attention_starts, labels.widths, labels.coefficients)
        step = sizes.rows * LANES
        how = (settings.smoothing, False, records)
        costs = (terms, 2 * step, 2 * step, target.scales)
        rows, factors = (first, last), target.label_factors
        compare_labels(labels.observed, scratch.labels, families, rows, factors, how, costs)
        if trains:
            n_labels, out = labels.attention_starts[-1], scratch.attention_slopes
            scatter_labels(scratch.labels, n_labels, source.by_unit, out, at, n_rows, True)
    if trains:
        trained = (state.scores, state.scores_mean, state.scores_square)
        slopes, held_rows = scratch.attention_slopes, (first, last, held)
        train_attention(
            trained, state.attention, slopes, target.unit_weights, held_rows, n_columns, pace
        )
        softmax(state.scores, state.attention, first, last, n_columns)


@compiled
def weigh_terms(terms: Any, weights: Any, channels: Any, n_rows: int) -> None:
    """channels[c] = sum_i w_i terms[c, i], row after row, in float64.

    terms: (n_channels, n_rows) lanes; weights: (n_rows) lanes; channels: (n_channels) lanes.
    """
    for c in range(len(channels) // LANES):
        total = fill(terms, 0.0)
        for i in range(n_rows):
            total = fma(
                load(terms, (c * n_rows + i) * LANES), widen(load(weights, i * LANES)), total
            )
        store(channels, c * LANES, total)


@compiled
def share_out(
    terms: Any, weights: Any, attention: Any, shares: Any, n_rows: int, n_columns: int
) -> None:
    """shares[c, j] = sum_i w_i terms[c, i] P[i, j], row after row, in float64.

    terms: (n_channels, n_rows) lanes; weights: (n_rows) lanes; attention: (n_rows, n_columns)
    lanes; shares: (n_channels, n_columns) lanes, 0 to begin with.
    """
    for c in range(len(shares) // (n_columns * LANES)):
        for i in range(n_rows):
            term = load(terms, (c * n_rows + i) * LANES) * widen(load(weights, i * LANES))
            for j in range(n_columns):
                at = (c * n_columns + j) * LANES
                given = widen(load(attention, (i * n_columns + j) * LANES))
                store(shares, at, fma(term, given, load(shares, at)))


@entrance
def train_group(
    sizes: Any,
    settings: Any,
    source: Any,
    target: Any,
    labels: Any,
    plan: Any,
    room: Any,
    wide_room: Any,
) -> None:
    """Train a group of pairs to the last reported step.

    room: begins with the state, A and R^T as they start and zeros; wide_room: where the findings
    will be (see rooms.py).
    """
    rows, node_rows, known = sizes.rows, sizes.node_rows, sizes.n_known
    n_reverse, n_report = sizes.n_reverse, plan.shares.shape[1]
    state = make_state(room, sizes, settings)
    n_labels = (target.reverse_starts[-1], labels.attention_starts[-1])
    scratch = make_scratch(room, sizes, settings, n_labels)
    findings = make_findings(wide_room, sizes, n_report, plan.detail)
    n_terms = len(findings.step)
    reverse = state.attention if settings.tied else state.reverse
    softmax(state.scores, state.attention, 0, rows, sizes.n_source_units)
    for step in range(plan.last + 1):
        trains = step < plan.last
        records = plan.records[step]
        record = (records, plan.cost_shares[step], trains)
        if records:
            clear(findings.step)
            families = (labels.attention_starts, labels.widths, labels.coefficients)
            terms = (findings.step, 2 * rows * LANES, 2 * rows * LANES, target.scales)
            add_missing(labels.missing, families, rows, settings.smoothing, terms)

        # M, what is known of every node: the reverse attention itself, or lifted to X_L.
        lanes, lanes_slopes = reverse, scratch.nodes_slopes
        if settings.low_rank:
            lanes = scratch.nodes
            lift = view(source.lift, 0, 1, n_reverse)
            given, out = (
                view(reverse, 0, n_reverse * LANES, LANES),
                view(lanes, 0, known * LANES, LANES),
            )
            multiply_shared(given, lift, out, node_rows, n_reverse, known, False)
        elif settings.tied:
            lanes_slopes = scratch.attention_slopes
        nodes = (lanes, lanes_slopes)
        if settings.alone:
            numbers_of(lanes, scratch.numbers, node_rows, known)
            nodes = (scratch.numbers, scratch.numbers_slopes)
        clear(nodes[1])
        for first in range(0, rows, sizes.block):
            last = min(first + sizes.block, rows)
            reconstruct_rows(
                first,
                last,
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
            if settings.alone:
                lanes_of(scratch.numbers_slopes, lanes_slopes, node_rows, known)
            reverse_slopes = lanes_slopes
            if settings.low_rank:
                reverse_slopes = (
                    scratch.attention_slopes if settings.tied else scratch.reverse_slopes
                )
                lift = view(source.lift, 0, n_reverse, 1)
                given, out = (
                    view(lanes_slopes, 0, known * LANES, LANES),
                    view(reverse_slopes, 0, n_reverse * LANES, LANES),
                )
                multiply_shared(given, lift, out, node_rows, known, n_reverse, False)
            if not settings.tied:
                trained = (state.reverse, state.reverse_mean, state.reverse_square)
                train_reverse(
                    trained, reverse_slopes, target.node_weights, node_rows, n_reverse, pace
                )
        for first in range(0, rows, sizes.block):
            last = min(first + sizes.block, rows)
            train_rows(
                first,
                last,
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
            for r in range(n_report):
                for k in range(n_terms):
                    findings.terms[r * n_terms + k] += plan.shares[step, r] * findings.step[k]
    weigh_terms(findings.terms, target.unit_weights, findings.channels, rows)
    latest = findings.terms[(n_report - 1) * n_terms :]
    n_columns = sizes.n_source_units
    share_out(latest, target.unit_weights, state.attention, findings.shares, rows, n_columns)
