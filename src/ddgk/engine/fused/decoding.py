"""Scores of a block of target units and attribute terms: costs and gradients.

    Y = F M^T,   dL/dF = G M,   dL/dM = G^T F,   G = dL/dY

F: (units, K), factors of a unit; M: (n_t, K), factors of a node. G exists for one block of units at
a time. With eight pairs in the lanes, M has lanes too; with a single pair, the lanes hold eight of
its units and M is plain numbers.

The labels of all attributes are adjacent, those of attribute f in columns starts[f] ...
starts[f + 1] - 1. Only labels that can matter have a column: those the source has (attention),
those the target has (reverse).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddgk.engine.fused.compiling import compiled
from ddgk.engine.fused.functions import exponential, logarithm, one_more_logarithm, sigmoid
from ddgk.engine.fused.lanes import LANES, fill, fma, load, repeat, store, where_above, widen
from ddgk.engine.fused.products import multiply, multiply_shared, multiply_summed, view


@compiled
def score(known: Any, step: int, nodes: Any, out: Any, sizes: Any, alone: bool) -> None:
    """Y = F M^T.  sizes: (n_rows, K, n_nodes); known: F, rows `step` numbers apart."""
    n_rows, n_inner, n_nodes = sizes
    left = view(known[0], known[1], step, LANES)
    result = view(out, 0, n_nodes * LANES, LANES)
    if alone:
        multiply_shared(left, view(nodes, 0, 1, n_inner), result, n_rows, n_inner, n_nodes, False)
    else:
        right = view(nodes, 0, LANES, n_inner * LANES)
        multiply(left, right, result, n_rows, n_inner, n_nodes, False)


@compiled
def score_back(
    slopes: Any,
    known: Any,
    step: int,
    nodes: Any,
    known_slopes: Any,
    nodes_slopes: Any,
    sizes: Any,
    alone: bool,
) -> None:
    """dL/dF = G M,   dL/dM += G^T F.  slopes: G of the block, (n_rows, n_nodes) lanes.

    sizes: (n_rows, K, n_nodes, how many columns of dL/dF are wanted).
    """
    n_rows, n_inner, n_nodes, n_wanted = sizes
    across = n_nodes * LANES
    left = view(slopes, 0, across, LANES)
    transposed = view(slopes, 0, LANES, across)
    result = view(known_slopes[0], known_slopes[1], step, LANES)
    right = view(known[0], known[1], step, LANES)
    if alone:
        multiply_shared(left, view(nodes, 0, n_inner, 1), result, n_rows, n_nodes, n_wanted, False)
        multiply_summed(
            transposed, right, view(nodes_slopes, 0, n_inner, 1), n_nodes, n_rows, n_inner
        )
    else:
        long = n_inner * LANES
        multiply(left, view(nodes, 0, long, LANES), result, n_rows, n_nodes, n_wanted, False)
        multiply(
            transposed, right, view(nodes_slopes, 0, long, LANES), n_nodes, n_rows, n_inner, True
        )


@compiled
def record_costs(
    scores: Any, matrix: Any, matrix_at: int, columns: Any, sizes: Any, terms: Any, detail: Any
) -> None:
    """edges: sum_j w_j B cost_edge;  non_edges: sum_j w_j (1 - B) cost_non_edge, in float64.

        cost_edge = -log s(Y) = max(-Y, 0) + log(1 + e^-|Y|),   cost_non_edge = the same of -Y

    columns: w, (n_nodes) lanes; sizes: (first row, last row, n_nodes, all rows); terms: (array,
    offset of edges, of non_edges, scales); detail: (array or an empty one, share of this step).
    """
    first, last, n_nodes, all_rows = sizes
    costs, edges_at, non_edges_at, scales = terms
    entries, share = detail
    for i in range(first, last):
        edges, non_edges = widen(fill(scores, 0.0)), widen(fill(scores, 0.0))
        for j in range(n_nodes):
            here = ((i - first) * n_nodes + j) * LANES
            y = load(scores, here)
            b = load(matrix, matrix_at + here)
            w = load(columns, j * LANES)
            size = where_above(y, 0.0, y, 0.0 - y)
            both = one_more_logarithm(exponential(0.0 - size))
            edge = both + where_above(0.0, y, 0.0 - y, 0.0)
            non_edge = both + where_above(y, 0.0, y, 0.0)
            edges = edges + widen(w * b * edge)
            non_edges = non_edges + widen(w * (1.0 - b) * non_edge)
            if share > 0:
                entry = (i * n_nodes + j) * LANES
                store(entries, entry, fma(widen(edge), share, load(entries, entry)))
                entry += all_rows * n_nodes * LANES
                store(entries, entry, fma(widen(non_edge), share, load(entries, entry)))
        scale = load(scales, 0)
        store(costs, edges_at + i * LANES, edges / scale)
        store(costs, non_edges_at + i * LANES, non_edges / scale)


@compiled
def predict(scores: Any, predicted: Any, n_entries: int) -> None:
    """S = s(Y)."""
    for entry in range(0, n_entries * LANES, LANES):
        store(predicted, entry, sigmoid(load(scores, entry)))


@compiled
def structure_slopes(
    scores: Any,
    matrix: Any,
    matrix_at: int,
    factors: Any,
    columns: Any,
    rows: Any,
    n_nodes: int,
) -> None:
    """Y becomes G = f_i w_j (s(Y) - B).

    factors: f, unit weights over the size of the loss, (all rows) lanes; columns: w, (n_nodes)
    lanes; rows: (first, last).
    """
    first, last = rows
    for i in range(first, last):
        factor = load(factors, i * LANES)
        for j in range(n_nodes):
            here = ((i - first) * n_nodes + j) * LANES
            s = sigmoid(load(scores, here))
            w = load(columns, j * LANES)
            store(scores, here, (s - load(matrix, matrix_at + here)) * (factor * w))


@compiled
def labelled_slopes(
    predicted: Any,
    slopes: Any,
    matrix: Any,
    matrix_at: int,
    factors: Any,
    columns: Any,
    rows: Any,
    n_nodes: int,
) -> None:
    """dL/dS of the reverse terms becomes G = f_i w_j (S - B) + dL/dS S (1 - S).

    predicted: S; slopes: dL/dS, then G; the rest as in `structure_slopes`.
    """
    first, last = rows
    for i in range(first, last):
        factor = load(factors, i * LANES)
        for j in range(n_nodes):
            here = ((i - first) * n_nodes + j) * LANES
            s = load(predicted, here)
            w = load(columns, j * LANES)
            slope = load(slopes, here) * (s * (1.0 - s))
            store(slopes, here, fma(s - load(matrix, matrix_at + here), factor * w, slope))


FLOOR = 1e-12  # where distributions are clamped when they are not smoothed


@compiled
def gather_labels(given: Any, at: int, n_given: int, entries: Any, out: Any, n_rows: int) -> None:
    """out[i, c] = sum_s given[i, s] Q[s, c], Q by its nonzero entries alone.

    given: (n_rows, n_given) lanes from offset `at` on; entries: Q column by column, (starts,
    places, values); out: (n_rows, n_columns) lanes.
    """
    starts, places, values = entries
    n_columns = len(starts) - 1
    for i in range(n_rows):
        row = at + i * n_given * LANES
        for c in range(n_columns):
            total = fill(given, 0.0)
            for k in range(starts[c], starts[c + 1]):
                total = fma(load(given, row + places[k] * LANES), repeat(values, k), total)
            store(out, (i * n_columns + c) * LANES, total)


@compiled
def scatter_labels(
    slopes: Any, n_columns: int, entries: Any, out: Any, at: int, n_rows: int, adds: bool
) -> None:
    """out[i, s] (+)= sum_c slopes[i, c] Q[s, c].

    slopes: (n_rows, n_columns) lanes; entries: Q row by row; out: (n_rows, n_given) lanes.
    """
    starts, places, values = entries
    n_given = len(starts) - 1
    for i in range(n_rows):
        row = i * n_columns * LANES
        for s in range(n_given):
            entry = at + (i * n_given + s) * LANES
            total = load(out, entry) if adds else fill(out, 0.0)
            for k in range(starts[s], starts[s + 1]):
                total = fma(load(slopes, row + places[k] * LANES), repeat(values, k), total)
            store(out, entry, total)


@compiled
def compare_labels(
    observed: Any,
    inferred: Any,
    attributes: Any,
    rows: Any,
    factors: Any,
    settings: Any,
    terms: Any,
) -> None:
    """Cost and slope of CE(p, q) = -sum_c p_c log q~_c for every row and attribute.

        q~ = (1 - e) q + e / k, or q clamped to [1e-12, 1];   dCE/dq = -p / q~ (1 - e)

    With `normalises`, q = counts / their sum t, and the slope is taken on to the counts:
    (dCE/dq_c - sum_c' dCE/dq_c' q_c') / t.
    observed: p, (all rows, n_columns) lanes; inferred: q or counts of the block, becomes
    c_f factor dCE; rows: (first, last); factors: (all rows) lanes; terms: (None or array, first
    term's offset, step to the next attribute's, divisors): costs in float64.
    """
    starts, widths, coefficients = attributes
    first, last = rows
    smoothing, normalises, records = settings
    costs, costs_at, costs_step, scales = terms
    n_columns = starts[-1]
    for i in range(first, last):
        held = (i - first) * n_columns * LANES
        row = i * n_columns * LANES
        for f in range(len(widths)):
            share = fill(inferred, 1.0)
            total = fill(inferred, 1.0)
            if normalises:
                total = fill(inferred, 0.0)
                for c in range(starts[f], starts[f + 1]):
                    total = total + load(inferred, held + c * LANES)
                share = 1.0 / where_above(total, 0.0, total, 1.0)
            factor = load(factors, i * LANES) * coefficients[f]
            cost = widen(fill(inferred, 0.0))
            along = fill(inferred, 0.0)
            floor = smoothing / widths[f] if smoothing > 0 else 0.0
            for c in range(starts[f], starts[f + 1]):
                q = load(inferred, held + c * LANES) * share
                p = load(observed, row + c * LANES)
                if smoothing > 0:
                    safe = fma(q, 1.0 - smoothing, floor)
                    slope = p / safe * (smoothing - 1.0)
                else:
                    safe = where_above(q, FLOOR, q, FLOOR) + q * 0.0
                    safe = where_above(safe, 1.0, 1.0, safe)
                    slope = 0.0 - p / safe
                    slope = where_above(FLOOR, q, 0.0, where_above(q, 1.0, 0.0, slope))
                if records:
                    cost = cost - widen(p * logarithm(safe))
                slope = slope * factor
                along = fma(slope, q, along)
                store(inferred, held + c * LANES, slope)
            if normalises:
                along = where_above(total, 0.0, along, 0.0)
                for c in range(starts[f], starts[f + 1]):
                    slope = load(inferred, held + c * LANES)
                    store(inferred, held + c * LANES, (slope - along) * share)
            if records:
                entry = costs_at + f * costs_step + i * LANES
                store(costs, entry, load(costs, entry) + cost / load(scales, LANES))


@compiled
def add_missing(missing: Any, attributes: Any, n_rows: int, smoothing: float, terms: Any) -> None:
    """Add what labels cost that the source does not have: the same at every step.

    missing: how much of a unit's distribution falls on them, (n_rows, n_attributes) lanes.
    """
    _, widths, _ = attributes
    costs, costs_at, costs_step, scales = terms
    n_attributes = len(widths)
    for f in range(n_attributes):
        each = -np.log(smoothing / widths[f] if smoothing > 0 else FLOOR)
        for i in range(n_rows):
            entry = costs_at + f * costs_step + i * LANES
            cost = widen(load(missing, (i * n_attributes + f) * LANES)) * each
            store(costs, entry, load(costs, entry) + cost / load(scales, LANES))
