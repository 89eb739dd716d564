"""Scores of a block of target units, their costs, and the gradient.

    Y = F M^T,   dL/dF = G M,   dL/dM = G^T F,   G = dL/dY

F: (units, K), factors of a unit; M: (n_t, K), factors of a node. G exists for one block of units at
a time. With eight pairs in the lanes, M has lanes too; with a single pair, the lanes hold eight of
its units and M is plain numbers.
"""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.compiling import compiled
from ddgk.engine.fused.functions import exponential, one_more_logarithm, sigmoid
from ddgk.engine.fused.lanes import LANES, fill, fma, load, store, where_above, widen
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
