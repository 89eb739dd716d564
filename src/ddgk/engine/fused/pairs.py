"""Training the attention of a group of pairs: all steps of it in one call.

`docs/design/fused_engine.md` derives the gradient. A step has three parts: the units, block by
block, through the encoder, to the scores and back (`reconstruct_rows`); the reverse attention; the
attention, block by block again (`train_rows`).
"""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.attention import (
    adam_pace,
    score_slopes,
    softmax,
    train_attention,
    train_reverse,
)
from ddgk.engine.fused.compiling import compiled, entrance
from ddgk.engine.fused.factors import multiply_factors, train_left, train_right
from ddgk.engine.fused.knowing import know_nodes, know_nodes_back, lift_rows, lift_rows_back
from ddgk.engine.fused.labels import add_missing, compare_labels, gather_labels, scatter_labels
from ddgk.engine.fused.lanes import LANES, fill, fma, load, store, widen
from ddgk.engine.fused.products import multiply_shared, view
from ddgk.engine.fused.reconstruction import reconstruct_rows, reconstruct_samples
from ddgk.engine.fused.relayout import clear, mean_rows, mean_rows_back
from ddgk.engine.fused.rooms import first_held, make_findings, make_scratch, make_state
from ddgk.engine.fused.sampling import begin_step


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
) -> None:
    """Find dL/dP of some rows of units; record what their labels cost.

    dL/dP = dL/dX_0 E^T (+ the reverse attention's, if tied) + the attention channels'.
    """
    records, _, trains = record
    n_rows, n_columns, dimension = last - first, sizes.n_source_units, sizes.dimension
    adds = settings.tied and not settings.gathers
    held = first_held(first, settings)
    at = (first - held) * n_columns * LANES
    if trains and adds and settings.lifted:
        lanes, out = scratch.nodes_slopes, scratch.attention_slopes
        lift_rows_back((first, last, held), sizes, source, lanes, out)
    if trains:
        slopes = view(scratch.inputs_slopes, first * dimension * LANES, dimension * LANES, LANES)
        added = view(scratch.attention_slopes, at, n_columns * LANES, LANES)
        transposed = view(source.table, 0, 1, dimension)
        multiply_shared(slopes, transposed, added, n_rows, dimension, n_columns, adds)
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


@compiled
def attend_rows(
    first: int, last: int, sizes: Any, settings: Any, source: Any, state: Any, scratch: Any
) -> None:
    """P = softmax(A) of some rows of what attends; and M of them where it is lifted from P."""
    softmax(state.scores, state.attended, first, last, sizes.n_source_units)
    if settings.tied and settings.lifted:
        lift_rows(first, last, sizes, source, state.attended, scratch.nodes)


@compiled
def train_attending(
    rows: Any,
    sizes: Any,
    settings: Any,
    source: Any,
    target: Any,
    state: Any,
    scratch: Any,
    slopes: Any,
    factors: Any,
    pace: Any,
) -> None:
    """Take a step of A, or of U, for some rows of what attends; of A, P and M if tied follow.

    rows: (first, last, the first held in slopes); slopes: dL/dP.
    """
    n_columns, (first, last, held) = sizes.n_source_units, rows
    weights = target.attending_weights
    if sizes.size == 0:
        trained = (state.scores, state.scores_mean, state.scores_square)
        train_attention(trained, state.attended, slopes, weights, rows, n_columns, pace)
        if not settings.gathers:
            attend_rows(first, last, sizes, settings, source, state, scratch)
    else:
        score_slopes(state.attended, slopes, rows, n_columns)
        at, shape = (first - held) * n_columns * LANES, (n_columns, n_columns)
        both = settings.trains_sources
        train_left(factors, slopes, at, weights, (first, last), sizes.size, shape, both, pace)


@compiled
def attend(
    sizes: Any,
    settings: Any,
    source: Any,
    target: Any,
    state: Any,
    scratch: Any,
    factors: Any,
) -> None:
    """Find A = U V where it has factors, P and M if tied, and P of units where nodes attend."""
    n_rows, n_columns = sizes.attending_rows, sizes.n_source_units
    for first in range(0, n_rows, sizes.block):
        last = min(first + sizes.block, n_rows)
        if sizes.size > 0:
            shape = (n_columns, n_columns)
            multiply_factors(factors, state.scores, first, last, sizes.size, shape)
        attend_rows(first, last, sizes, settings, source, state, scratch)
    if settings.gathers:
        mean_rows(target.gathers, state.attended, state.attention, n_columns)


@compiled
def train_free(
    sizes: Any, settings: Any, target: Any, state: Any, slopes: Any, factors: Any, pace: Any
) -> None:
    """Take a step of (R^T | r); of its factors and r where it has them."""
    n_rows, n_columns = sizes.node_rows, sizes.n_reverse
    trained = (state.reverse, state.reverse_mean, state.reverse_square)
    first = 0
    if sizes.size > 0:
        first, shape = n_columns - 1, (n_columns - 1, n_columns)
        clear(factors.right_slopes)
        for row in range(0, n_rows, sizes.block):
            rows = (row, min(row + sizes.block, n_rows))
            at = row * n_columns * LANES
            weights, both = target.node_weights, settings.trains_sources
            train_left(factors, slopes, at, weights, rows, sizes.size, shape, both, pace)
        if settings.trains_sources:
            train_right(factors, pace)
        multiply_factors(factors, state.reverse, 0, n_rows, sizes.size, shape)
    train_reverse(trained, slopes, target.node_weights, n_rows, (first, n_columns), pace)


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


@compiled
def attend_regions(
    attention: Any, regions: Any, out: Any, at: int, n_rows: int, n_regions: int
) -> None:
    """out[i, region of j] += P[i, j], column after column, in float64.

    attention: (n_rows, n_columns) lanes; regions: (n_columns); out: from `at` on, (n_rows,
    n_regions) lanes, 0 to begin with.
    """
    n_columns = len(regions)
    for i in range(n_rows):
        for j in range(n_columns):
            place = at + (i * n_regions + regions[j]) * LANES
            given = widen(load(attention, (i * n_columns + j) * LANES))
            store(out, place, load(out, place) + given)


@entrance
def train_group(
    sizes: Any,
    settings: Any,
    source: Any,
    target: Any,
    labels: Any,
    plan: Any,
    factors: Any,
    sampling: Any,
    room: Any,
    wide_room: Any,
) -> None:
    """Train a group of pairs to the last reported step.

    factors: of A and of R^T, as they start. sampling: which entries of a large target are looked
    at, with zeros in what is room. room: begins with the state, A and R^T as they start
    and zeros; wide_room: where the findings will be (see rooms.py).
    """
    rows, n_report = sizes.rows, plan.shares.shape[1]
    state = make_state(room, sizes, settings)
    n_labels = (target.reverse_starts[-1], labels.attention_starts[-1])
    scratch = make_scratch(room, sizes, settings, n_labels)
    findings = make_findings(wide_room, sizes, n_report, plan.detail)
    n_terms = len(findings.step)
    if sizes.size > 0 and not settings.tied:
        shape = (sizes.n_reverse - 1, sizes.n_reverse)
        multiply_factors(factors[1], state.reverse, 0, sizes.node_rows, sizes.size, shape)
    attend(sizes, settings, source, target, state, scratch, factors[0])
    # Where the gradients of the reverse attention and of M in lanes are: the same unless lifted.
    reverse_slopes = scratch.attended_slopes if settings.gathers else scratch.attention_slopes
    if not settings.tied:
        reverse_slopes = scratch.reverse_slopes if settings.lifted else scratch.nodes_slopes
    lanes_slopes = scratch.nodes_slopes if settings.lifted else reverse_slopes
    for step in range(plan.last + 1):
        trains = step < plan.last
        records = plan.records[step]
        if plan.images[step] >= 0:
            n_rows, n_regions = sizes.attending_rows, sizes.n_regions
            at = plan.images[step] * n_rows * n_regions * LANES
            attend_regions(state.attended, source.regions, findings.regional, at, n_rows, n_regions)
        record = (records, plan.cost_shares[step], trains)
        if records:
            clear(findings.step)
            families = (labels.attention_starts, labels.widths, labels.coefficients)
            terms = (findings.step, 2 * rows * LANES, 2 * rows * LANES, target.scales)
            add_missing(labels.missing, families, rows, settings.smoothing, terms)

        reverse = state.attended if settings.tied else state.reverse
        lanes = scratch.nodes if settings.lifted else reverse
        know_nodes(sizes, settings, source, target, reverse, lanes, scratch, sampling)
        nodes = (lanes, lanes_slopes)
        if settings.spreads:
            nodes = (scratch.means, scratch.means_slopes)
        elif settings.alone:
            nodes = (scratch.numbers, scratch.numbers_slopes)
        clear(nodes[1])
        if sizes.n_samples > 0:
            begin_step(sampling, step, False)
            clear(sampling.across_slopes)
        for first in range(0, rows, sizes.block):
            last = min(first + sizes.block, rows)
            if sizes.n_samples > 0:
                reconstruct_samples(
                    first,
                    last,
                    sizes,
                    settings,
                    source,
                    target,
                    labels,
                    state,
                    scratch,
                    sampling,
                    step,
                    record,
                    findings,
                )
            else:
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
        if sizes.n_samples > 0:
            begin_step(sampling, step, True)

        pace = adam_pace(settings.rate, step + 1, settings.epsilon)
        if trains:
            know_nodes_back(
                sizes, settings, source, target, scratch, sampling, lanes_slopes, reverse_slopes
            )
            if not settings.tied:
                train_free(sizes, settings, target, state, reverse_slopes, factors[1], pace)
            if settings.gathers and not settings.tied:
                clear(scratch.attended_slopes)
            clear(factors[0].right_slopes)
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
            )
            if trains and not settings.gathers:
                train_attending(
                    (first, last, first_held(first, settings)),
                    sizes,
                    settings,
                    source,
                    target,
                    state,
                    scratch,
                    scratch.attention_slopes,
                    factors[0],
                    pace,
                )
        if trains and settings.gathers:
            slopes, n_columns = scratch.attended_slopes, sizes.n_source_units
            mean_rows_back(target.gathers, scratch.attention_slopes, slopes, n_columns)
            for first in range(0, sizes.attending_rows, sizes.block):
                train_attending(
                    (first, min(first + sizes.block, sizes.attending_rows), 0),
                    sizes,
                    settings,
                    source,
                    target,
                    state,
                    scratch,
                    slopes,
                    factors[0],
                    pace,
                )
        if trains and (sizes.size > 0 or settings.gathers):
            if sizes.size > 0 and settings.trains_sources:
                train_right(factors[0], pace)
            attend(sizes, settings, source, target, state, scratch, factors[0])
        if records:
            for r in range(n_report):
                for k in range(n_terms):
                    findings.terms[r * n_terms + k] += plan.shares[step, r] * findings.step[k]
    weigh_terms(findings.terms, target.unit_weights, findings.channels, rows)
    latest = findings.terms[(n_report - 1) * n_terms :]
    n_columns = sizes.n_source_units
    share_out(latest, target.unit_weights, state.attention, findings.shares, rows, n_columns)
