"""Parts of a step: attention and Adam, layers of an encoder, scores, attribute terms.

    Y = F M^T,   dL/dF = G M,   dL/dM = G^T F,   G = dL/dY

F: (units, K), factors of a unit; M: (n_t, K), factors of a node. G exists for one block of units at
a time. With eight pairs in the lanes, M has lanes too; with a single pair, or an encoder, the lanes
hold eight units and M is plain numbers.

The labels of all attributes are adjacent, those of attribute f in columns starts[f] ...
starts[f + 1] - 1. Only labels that can matter have a column: those the source has (attention),
those the target has (reverse).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ddgk.compiling import inlined, inner, once
from ddgk.engine.arrays import EPSILON, Array
from ddgk.engine.fused.lanes import (
    LANES,
    exponential,
    fill,
    fma,
    logarithm,
    one_more_logarithm,
    repeat,
    sigmoid,
    square_root,
    store,
    take,
    where_above,
    widen,
)
from ddgk.engine.fused.products import (
    multiply,
    multiply_bent,
    multiply_shared,
    multiply_summed,
    multiply_tanh,
    view,
)

FLOOR = 1e-12  # where distributions are clamped when they are not smoothed


@inner
def softmax(scores: Any, attention: Any, first: int, last: int, n_columns: int) -> None:
    """P[i, j] = exp(A[i, j]) / sum_k exp(A[i, k]), for rows first <= i < last (paper eq. 5).

    scores, attention: (rows, n_columns) lanes.
    """
    for i in range(first, last):
        row = i * n_columns * LANES
        highest = take(scores, row)
        for j in range(1, n_columns):
            score = take(scores, row + j * LANES)
            highest = where_above(score, highest, score, highest)
        total = fill(scores, 0.0)
        for j in range(n_columns):
            power = exponential(take(scores, row + j * LANES) - highest)
            store(attention, row + j * LANES, power)
            total = total + power
        share = 1.0 / total
        for j in range(n_columns):
            store(attention, row + j * LANES, take(attention, row + j * LANES) * share)


@lru_cache(64)
def adam_paces(rate: float, n_steps: int) -> Array:
    """Return Adam's two factors at steps 1, 2, ..., (n_steps, 2), with its usual constants.

    The moments are kept without their factors .1 and .001, so Adam's rule
    rate (.1 m / (1 - .9^t)) / (sqrt(.001 v / (1 - .999^t)) + e)  is  p_0 m / (sqrt(v) + p_1).
    """
    found = np.empty((n_steps, 2))
    for step in range(1, n_steps + 1):
        root = np.sqrt(0.001 / (1 - 0.999**step))
        found[step - 1] = 0.1 * rate / (1 - 0.9**step) / root, EPSILON / root
    return found


@inlined
def adam_step(trained: Any, entry: int, gradient: Any, pace: Any) -> None:
    """Move one entry by Adam's rule.

    trained: (parameters, decaying sum of gradients, of their squares); pace: a row of `adam_paces`.
    """
    parameters, sums, squares = trained
    total = fma(take(sums, entry), 0.9, gradient)
    square = fma(take(squares, entry), 0.999, gradient * gradient)
    store(sums, entry, total)
    store(squares, entry, square)
    change = total * pace[0] / (square_root(square) + pace[1])
    store(parameters, entry, take(parameters, entry) - change)


@inner
def train_attention(
    trained: Any, attention: Any, gradients: Any, weights: Any, rows: Any, n_columns: int, pace: Any
) -> None:
    """dL/dA = P (dL/dP - row sum of P dL/dP), shared among the units of a class; then Adam.

    attention: (rows, n_columns) lanes; rows: (first, last); gradients: dL/dP of these rows;
    weights: how many units a row stands for, (rows) lanes.
    """
    first, last = rows
    for i in range(first, last):
        row = i * n_columns * LANES
        given = (i - first) * n_columns * LANES
        mean = fill(attention, 0.0)
        for j in range(n_columns):
            p = take(attention, row + j * LANES)
            mean = fma(p, take(gradients, given + j * LANES), mean)
        weight = take(weights, i * LANES)
        share = 1.0 / where_above(weight, 0.0, weight, 1.0)
        for j in range(n_columns):
            p = take(attention, row + j * LANES)
            g = p * (take(gradients, given + j * LANES) - mean) * share
            adam_step(trained, row + j * LANES, g, pace)


@inner
def train_reverse(
    trained: Any, gradients: Any, weights: Any, n_rows: int, n_columns: int, pace: Any
) -> None:
    """Adam on the reverse attention, (R^T | r), the gradient shared among the nodes of a class.

    trained, gradients: (n_rows, n_columns) lanes; weights: (n_rows) lanes.
    """
    for i in range(n_rows):
        weight = take(weights, i * LANES)
        share = 1.0 / where_above(weight, 0.0, weight, 1.0)
        for j in range(n_columns):
            entry = (i * n_columns + j) * LANES
            adam_step(trained, entry, take(gradients, entry) * share, pace)


@inner
def train_all(trained: Any, gradients: Any, pace: Any) -> None:
    """Adam on a flat array whose length is a multiple of LANES."""
    for entry in range(0, len(gradients), LANES):
        adam_step(trained, entry, take(gradients, entry), pace)


BLOCK = 6  # rows whose way through all layers stays in the first-level cache


@inner
def forward_layers(hidden: Any, network: Any, n_rows: int, shape: Any) -> None:
    """X_l = tanh(X_{l-1} W_l + b_l), l = 1 ... L.

    shape: (d, h, L, numbers from row to row, block). Reads X_0 in `hidden`, writes the others
    there.
    """
    n_inputs, width, depth, step, block = shape
    at = 0
    for layer in range(depth):
        inputs = view(hidden, layer * block * step, step, LANES)
        out = view(hidden, (layer + 1) * block * step, step, LANES)
        weight = view(network, at, width, 1)
        at += n_inputs * width
        multiply_tanh(inputs, weight, view(network, at, 0, 1), out, n_rows, n_inputs, width)
        at += width
        n_inputs = width


@inner
def backward(hidden: Any, gradients: Any, network: Any, n_rows: int, shape: Any) -> None:
    """dL/d(X_{l-1} W_l + b_l) = dL/dX_l (1 - X_l^2),   dL/dX_{l-1} = that W_l^T.

    gradients: as `hidden`. Reads the gradient before the last tanh there; leaves those before the
    others, and dL/dX_0.
    """
    dimension, width, depth, step, block = shape
    at = 0
    for layer in range(depth):
        at += ((dimension if layer == 0 else width) + 1) * width
    for layer in range(depth, 0, -1):
        n_inputs = dimension if layer == 1 else width
        at -= (n_inputs + 1) * width
        start = layer * block * step
        transposed = view(network, at, 1, width)
        after = view(gradients, start, step, LANES)
        before = view(gradients, start - block * step, step, LANES)
        if layer == 1:
            multiply_shared(after, transposed, before, n_rows, width, n_inputs, False)
        else:
            values = view(hidden, start - block * step, step, LANES)
            multiply_bent(after, transposed, values, before, n_rows, width, n_inputs)


@inner
def add_weight_gradients(
    hidden: Any, gradients: Any, network: Any, n_rows: int, shape: Any
) -> None:
    """dL/dW_l += X_{l-1}^T G_l,   dL/db_l += column sums of G_l, over the rows of the block.

    gradients: what `backward` left; network: the gradients of `network`, added to.
    """
    n_inputs, width, depth, step, block = shape
    at = 0
    for layer in range(depth):
        inputs = view(hidden, layer * block * step, LANES, step)
        start = (layer + 1) * block * step
        weight = view(network, at, width, 1)
        multiply_summed(
            inputs, view(gradients, start, step, LANES), weight, n_inputs, n_rows, width
        )
        at += n_inputs * width
        for i in range(n_rows):
            for j in range(width):
                entry = start + i * step + j * LANES
                for lane in range(LANES):
                    network[at + j] += gradients[entry + lane]
        at += width
        n_inputs = width


@inner
def add_bias(scores: Any, bias: Any, n_rows: int, n_columns: int, step: int) -> None:
    """Z <- Z + b_o.  scores: rows of n_columns lanes, `step` numbers apart."""
    for i in range(n_rows):
        for j in range(n_columns):
            entry = i * step + j * LANES
            store(scores, entry, take(scores, entry) + repeat(bias, j))


@inner
def bend(slopes: Any, values: Any, n_rows: int, n_columns: int, step: int) -> None:
    """Take gradients back through a tanh: dL/dx (1 - x^2), x in `values`."""
    for i in range(n_rows):
        for j in range(n_columns):
            entry = i * step + j * LANES
            x = take(values, entry)
            store(slopes, entry, take(slopes, entry) * fma(0.0 - x, x, 1.0))


@inner
def set_column(scores: Any, column: int, n_rows: int, step: int) -> None:
    """Put ones into a column, so that a bias is one more row of the next factor."""
    for i in range(n_rows):
        store(scores, i * step + column * LANES, fill(scores, 1.0))


@inner
def clear(array: Any) -> None:
    """Fill a flat array with zeros."""
    for entry in range(len(array)):
        array[entry] = 0


@inner
def place_matrix(
    entries: Any, block: Any, first: int, last: int, n_nodes: int, clears: bool
) -> None:
    """Write the nonzero entries of some rows of B into a block of zeros, or clear them again."""
    starts, places, values = entries
    for unit in range(first * LANES, min(last * LANES, len(starts) - 1)):
        row = (unit // LANES - first) * n_nodes * LANES + unit % LANES
        for k in range(starts[unit], starts[unit + 1]):
            block[row + places[k] * LANES] = 0 if clears else values[k]


@inner
def relayout(lanes: Any, numbers: Any, n_rows: int, n_columns: int, back: bool) -> None:
    """Copy lanes (n_rows, n_columns) to numbers (LANES n_rows, n_columns), or back."""
    for i in range(n_rows):
        for j in range(n_columns):
            for lane in range(LANES):
                packed = (i * n_columns + j) * LANES + lane
                plain = (i * LANES + lane) * n_columns + j
                if back:
                    lanes[packed] = numbers[plain]
                else:
                    numbers[plain] = lanes[packed]


@once
def find_nodes(plan: Any, lift: Any, memory: Any) -> None:
    """Compute M of every node, where it has low rank M = (R^T | r) lift^T, as lanes or numbers."""
    known, n_reverse = plan.n_factors, plan.n_source + 1
    if plan.low_rank:
        factor = view(lift, 0, 1, n_reverse)
        for first in range(0, plan.rows, plan.block):
            n_rows = min(plan.block, plan.rows - first)
            given = view(memory.reverse, first * n_reverse * LANES, n_reverse * LANES, LANES)
            out = view(memory.nodes, first * known * LANES, known * LANES, LANES)
            multiply_shared(given, factor, out, n_rows, n_reverse, known, False)
    if plan.alone:
        relayout(memory.nodes, memory.numbers, plan.rows, known, False)


@once
def find_nodes_back(plan: Any, lift: Any, memory: Any) -> None:
    """Take dL/dM back to the gradient of the reverse attention."""
    known, n_reverse = plan.n_factors, plan.n_source + 1
    if plan.alone:
        relayout(memory.nodes_slopes, memory.numbers_slopes, plan.rows, known, True)
    if plan.low_rank:
        factor = view(lift, 0, n_reverse, 1)
        for first in range(0, plan.rows, plan.block):
            n_rows = min(plan.block, plan.rows - first)
            given = view(memory.nodes_slopes, first * known * LANES, known * LANES, LANES)
            at = first * n_reverse * LANES
            lowered = view(memory.reverse_slopes, at, n_reverse * LANES, LANES)
            multiply_shared(given, factor, lowered, n_rows, known, n_reverse, False)


@inner
def score(factors: Any, step: int, nodes: Any, out: Any, shape: Any, alone: bool) -> None:
    """Y = F M^T.  factors: F, rows `step` numbers apart; shape: (n_rows, K, n_nodes)."""
    n_rows, n_inner, n_nodes = shape
    left, result = view(factors, 0, step, LANES), view(out, 0, n_nodes * LANES, LANES)
    if alone:
        multiply_shared(left, view(nodes, 0, 1, n_inner), result, n_rows, n_inner, n_nodes, False)
    else:
        right = view(nodes, 0, LANES, n_inner * LANES)
        multiply(left, right, result, n_rows, n_inner, n_nodes, False)


@inner
def score_back(slopes: Any, given: Any, step: int, wanted: Any, shape: Any, alone: bool) -> None:
    """dL/dF = G M, without its last column,   dL/dM += G^T F.

    slopes: G of the block; given: (F, M); wanted: (dL/dF, dL/dM).
    """
    n_rows, n_inner, n_nodes = shape
    across, long = n_nodes * LANES, n_inner * LANES
    left, transposed = view(slopes, 0, across, LANES), view(slopes, 0, LANES, across)
    right, result = view(given[0], 0, step, LANES), view(wanted[0], 0, step, LANES)
    if alone:
        nodes, out = view(given[1], 0, n_inner, 1), view(wanted[1], 0, n_inner, 1)
        multiply_shared(left, nodes, result, n_rows, n_nodes, n_inner - 1, False)
        multiply_summed(transposed, right, out, n_nodes, n_rows, n_inner)
    else:
        nodes, out = view(given[1], 0, long, LANES), view(wanted[1], 0, long, LANES)
        multiply(left, nodes, result, n_rows, n_nodes, n_inner - 1, False)
        multiply(transposed, right, out, n_nodes, n_rows, n_inner, True)


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
def structure_slopes(
    slopes: Any,
    sigmoids: Any,
    labelled: bool,
    matrix: Any,
    matrix_at: int,
    factors: Any,
    columns: Any,
    rows: Any,
    n_nodes: int,
) -> None:
    """Y becomes G = f_i w_j (s(Y) - B);  labelled: dL/dS becomes that + dL/dS S (1 - S).

    sigmoids: S, where labelled; factors: f, unit weights over the size of the loss, (all rows)
    lanes; columns: w, (n_nodes) lanes; rows: (first, last).
    """
    first, last = rows
    for i in range(first, last):
        factor = take(factors, i * LANES)
        for j in range(n_nodes):
            here = ((i - first) * n_nodes + j) * LANES
            slope, weight = take(slopes, here), factor * take(columns, j * LANES)
            b = take(matrix, matrix_at + here)
            if labelled:
                s = take(sigmoids, here)
                store(slopes, here, fma(s - b, weight, slope * (s * (1.0 - s))))
            else:
                store(slopes, here, (sigmoid(slope) - b) * weight)


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
    slopes: Any, n_columns: int, entries: Any, out: Any, n_rows: int, adds: bool
) -> None:
    """out[i, s] (+)= sum_c slopes[i, c] Q[s, c].

    slopes: (n_rows, n_columns) lanes; entries: Q row by row; out: (n_rows, n_given) lanes.
    """
    starts, places, values = entries
    n_given = len(starts) - 1
    for i in range(n_rows):
        row = i * n_columns * LANES
        for s in range(n_given):
            entry = (i * n_given + s) * LANES
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
