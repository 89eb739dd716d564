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

from ddgk.compiling import inlined, inner
from ddgk.engine.fused.lanes import (
    LANES,
    exponential,
    fill,
    fma,
    logarithm,
    one_more_logarithm,
    repeat,
    sigmoid,
    store,
    take,
    where_above,
    widen,
)
from ddgk.engine.fused.products import multiply, multiply_shared, multiply_summed, view


@inner
def score_alone(known: Any, step: int, nodes: Any, out: Any, sizes: Any) -> None:
    """Y = F M^T of a single pair, or of an encoder: M is numbers.

    sizes: (n_rows, K, n_nodes, ...); known: F, rows `step` numbers apart.
    """
    n_rows, n_inner, n_nodes, _ = sizes
    left = view(known[0], known[1], step, LANES)
    right, result = view(nodes, 0, 1, n_inner), view(out, 0, n_nodes * LANES, LANES)
    multiply_shared(left, right, result, n_rows, n_inner, n_nodes, False)


@inner
def score_alone_back(
    slopes: Any, known: Any, step: int, nodes: Any, known_slopes: Any, nodes_slopes: Any, sizes: Any
) -> None:
    """dL/dF = G M,   dL/dM += G^T F.  slopes: G of the block, (n_rows, n_nodes) lanes.

    sizes: (n_rows, K, n_nodes, how many columns of dL/dF are wanted).
    """
    n_rows, n_inner, n_nodes, n_wanted = sizes
    left, transposed = _both_ways(slopes, n_nodes)
    result = view(known_slopes[0], known_slopes[1], step, LANES)
    multiply_shared(left, view(nodes, 0, n_inner, 1), result, n_rows, n_nodes, n_wanted, False)
    right, out = view(known[0], known[1], step, LANES), view(nodes_slopes, 0, n_inner, 1)
    multiply_summed(transposed, right, out, n_nodes, n_rows, n_inner)


@inner
def score_lanes(known: Any, step: int, nodes: Any, out: Any, sizes: Any) -> None:
    """Y = F M^T of eight pairs: M has lanes."""
    n_rows, n_inner, n_nodes, _ = sizes
    left = view(known[0], known[1], step, LANES)
    right, result = view(nodes, 0, LANES, n_inner * LANES), view(out, 0, n_nodes * LANES, LANES)
    multiply(left, right, result, n_rows, n_inner, n_nodes, False)


@inner
def score_lanes_back(
    slopes: Any, known: Any, step: int, nodes: Any, known_slopes: Any, nodes_slopes: Any, sizes: Any
) -> None:
    """As `score_alone_back`, of eight pairs."""
    n_rows, n_inner, n_nodes, n_wanted = sizes
    left, transposed = _both_ways(slopes, n_nodes)
    long = n_inner * LANES
    result = view(known_slopes[0], known_slopes[1], step, LANES)
    multiply(left, view(nodes, 0, long, LANES), result, n_rows, n_nodes, n_wanted, False)
    right, out = view(known[0], known[1], step, LANES), view(nodes_slopes, 0, long, LANES)
    multiply(transposed, right, out, n_nodes, n_rows, n_inner, True)


@inlined
def _both_ways(slopes: Any, n_nodes: int) -> Any:
    """Return G of a block and its transpose as views."""
    across = n_nodes * LANES
    return view(slopes, 0, across, LANES), view(slopes, 0, LANES, across)


@inner
def record_costs(
    scores: Any, matrix: Any, matrix_at: int, columns: Any, sizes: Any, terms: Any, detail: Any
) -> None:
    """edges: sum_j w_j B cost_edge;  non_edges: sum_j w_j (1 - B) cost_non_edge, in float64.

        cost_edge = -log s(Y) = max(-Y, 0) + log(1 + e^-|Y|),   cost_non_edge = the same of -Y

    columns: w, (n_nodes) lanes; sizes: (first row, last row, n_nodes, all rows); terms: (array,
    offset of edges, of non_edges, scales); detail: (costs of all entries, whether to keep them).
    """
    first, last, n_nodes, all_rows = sizes
    costs, edges_at, non_edges_at, scales = terms
    entries, keeps = detail
    for i in range(first, last):
        edges, non_edges = widen(fill(scores, 0.0)), widen(fill(scores, 0.0))
        for j in range(n_nodes):
            here = ((i - first) * n_nodes + j) * LANES
            y = take(scores, here)
            b = take(matrix, matrix_at + here)
            w = take(columns, j * LANES)
            size = where_above(y, 0.0, y, 0.0 - y)
            both = one_more_logarithm(exponential(0.0 - size))
            edge = both + where_above(0.0, y, 0.0 - y, 0.0)
            non_edge = both + where_above(y, 0.0, y, 0.0)
            edges = edges + widen(w * b * edge)
            non_edges = non_edges + widen(w * (1.0 - b) * non_edge)
            if keeps:
                entry = (i * n_nodes + j) * LANES
                store(entries, entry, widen(edge))
                store(entries, entry + all_rows * n_nodes * LANES, widen(non_edge))
        scale = take(scales, 0)
        store(costs, edges_at + i * LANES, edges / scale)
        store(costs, non_edges_at + i * LANES, non_edges / scale)


@inner
def predict(scores: Any, predicted: Any, n_entries: int) -> None:
    """S = s(Y)."""
    for entry in range(0, n_entries * LANES, LANES):
        store(predicted, entry, sigmoid(take(scores, entry)))


@inner
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
        factor = take(factors, i * LANES)
        for j in range(n_nodes):
            here = ((i - first) * n_nodes + j) * LANES
            s = sigmoid(take(scores, here))
            w = take(columns, j * LANES)
            store(scores, here, (s - take(matrix, matrix_at + here)) * (factor * w))


@inner
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
        factor = take(factors, i * LANES)
        for j in range(n_nodes):
            here = ((i - first) * n_nodes + j) * LANES
            s = take(predicted, here)
            w = take(columns, j * LANES)
            slope = take(slopes, here) * (s * (1.0 - s))
            store(slopes, here, fma(s - take(matrix, matrix_at + here), factor * w, slope))


FLOOR = 1e-12  # where distributions are clamped when they are not smoothed


@inner
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
                total = fma(take(given, row + places[k] * LANES), repeat(values, k), total)
            store(out, (i * n_columns + c) * LANES, total)


@inner
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
            total = take(out, entry) if adds else fill(out, 0.0)
            for k in range(starts[s], starts[s + 1]):
                total = fma(take(slopes, row + places[k] * LANES), repeat(values, k), total)
            store(out, entry, total)


@inner
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
                    total = total + take(inferred, held + c * LANES)
                share = 1.0 / where_above(total, 0.0, total, 1.0)
            factor = take(factors, i * LANES) * coefficients[f]
            cost = widen(fill(inferred, 0.0))
            along = fill(inferred, 0.0)
            floor = smoothing / widths[f] if smoothing > 0 else 0.0
            for c in range(starts[f], starts[f + 1]):
                q = take(inferred, held + c * LANES) * share
                p = take(observed, row + c * LANES)
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
                    slope = take(inferred, held + c * LANES)
                    store(inferred, held + c * LANES, (slope - along) * share)
            if records:
                entry = costs_at + f * costs_step + i * LANES
                store(costs, entry, take(costs, entry) + cost / take(scales, LANES))


@inner
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
            cost = widen(take(missing, (i * n_attributes + f) * LANES)) * each
            store(costs, entry, take(costs, entry) + cost / take(scales, LANES))
