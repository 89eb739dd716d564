"""Parts of a step: attention and Adam, layers of an encoder, factors of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddgk.compiling import inlined, inner
from ddgk.engine.arrays import EPSILON
from ddgk.engine.fused.lanes import (
    LANES,
    exponential,
    fill,
    fma,
    repeat,
    square_root,
    store,
    take,
    where_above,
)
from ddgk.engine.fused.products import (
    multiply_bent,
    multiply_shared,
    multiply_summed,
    multiply_tanh,
    view,
)


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


@inlined
def adam_pace(rate: float, step: int) -> Any:
    """Return Adam's factors at step t = 1, 2, ..., with its usual constants.

    The moments are kept without their factors .1 and .001, so Adam's rule
    rate (.1 m / (1 - .9^t)) / (sqrt(.001 v / (1 - .999^t)) + e)  is  p_0 m / (sqrt(v) + p_1).
    """
    root = np.sqrt(0.001 / (1 - 0.999**step))
    return 0.1 * rate / (1 - 0.9**step) / root, EPSILON / root


@inlined
def adam_step(trained: Any, entry: int, gradient: Any, pace: Any) -> None:
    """Move one entry by Adam's rule.

    trained: (parameters, decaying sum of gradients, of their squares); pace: see `adam_pace`.
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

    shape: (d, h, L, wide, block). Reads X_0 in `hidden` and writes the others there.
    """
    n_inputs, width, depth, wide, block = shape
    step = wide * LANES
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
    dimension, width, depth, wide, block = shape
    step = wide * LANES
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
    n_inputs, width, depth, wide, block = shape
    step = wide * LANES
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
def bend(slopes: Any, values: Any, offset: int, n_rows: int, n_columns: int, step: int) -> None:
    """Take gradients back through a tanh: dL/dx (1 - x^2), x in `values`, both from `offset` on."""
    for i in range(n_rows):
        for j in range(n_columns):
            entry = offset + i * step + j * LANES
            x = take(values, entry)
            store(slopes, entry, take(slopes, entry) * fma(0.0 - x, x, 1.0))


@inner
def set_column(scores: Any, column: int, n_rows: int, step: int, offset: int) -> None:
    """Put ones into a column, so that a bias is one more row of the next factor."""
    for i in range(n_rows):
        store(scores, offset + i * step + column * LANES, fill(scores, 1.0))


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


@inner
def find_nodes(
    sizes: Any, settings: Any, lift: Any, reverse: Any, lanes: Any, numbers: Any
) -> None:
    """Compute M of every node, where it has low rank M = (R^T | r) lift^T.

    reverse: (R^T | r); lanes: M, or the same array where it is not lifted; numbers: M as numbers,
    for a single pair.
    """
    known, n_reverse = sizes.n_factors, sizes.n_reverse
    if settings.low_rank:
        factor = view(lift, 0, 1, n_reverse)
        for first in range(0, sizes.rows, sizes.block):
            n_rows = min(sizes.block, sizes.rows - first)
            given = view(reverse, first * n_reverse * LANES, n_reverse * LANES, LANES)
            out = view(lanes, first * known * LANES, known * LANES, LANES)
            multiply_shared(given, factor, out, n_rows, n_reverse, known, False)
    if settings.alone:
        relayout(lanes, numbers, sizes.rows, known, False)


@inner
def find_nodes_back(
    sizes: Any, settings: Any, lift: Any, numbers: Any, lanes: Any, out: Any
) -> None:
    """Take dL/dM back to the gradient of the reverse attention.

    numbers, lanes: dL/dM; out: (rows, n_reverse) lanes, the same array where M is not lifted.
    """
    known, n_reverse = sizes.n_factors, sizes.n_reverse
    if settings.alone:
        relayout(lanes, numbers, sizes.rows, known, True)
    if settings.low_rank:
        factor = view(lift, 0, n_reverse, 1)
        for first in range(0, sizes.rows, sizes.block):
            n_rows = min(sizes.block, sizes.rows - first)
            given = view(lanes, first * known * LANES, known * LANES, LANES)
            lowered = view(out, first * n_reverse * LANES, n_reverse * LANES, LANES)
            multiply_shared(given, factor, lowered, n_rows, known, n_reverse, False)
