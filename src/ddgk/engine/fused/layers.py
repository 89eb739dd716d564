"""The frozen or trained layers between an encoder's inputs and its output.

Rows are processed a block at a time. `hidden` holds X_0 ... X_L of the block one after the other,
(L + 1, block, wide) lanes, where wide is one more than the widest layer. `network` holds
W_1, b_1, W_2, b_2, ... as numbers, W_1 (d, h), the others (h, h).
"""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.compiling import compiled
from ddgk.engine.fused.lanes import LANES, fill, fma, load, repeat, store
from ddgk.engine.fused.products import (
    multiply_bent,
    multiply_shared,
    multiply_summed,
    multiply_tanh,
    view,
)

BLOCK = 6  # rows whose way through all layers stays in the first-level cache


@compiled
def forward(hidden: Any, network: Any, n_rows: int, shape: Any) -> None:
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


@compiled
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


@compiled
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


@compiled
def add_bias(scores: Any, bias: Any, n_rows: int, n_columns: int, step: int) -> None:
    """Z <- Z + b_o.  scores: rows of n_columns lanes, `step` numbers apart."""
    for i in range(n_rows):
        for j in range(n_columns):
            entry = i * step + j * LANES
            store(scores, entry, load(scores, entry) + repeat(bias, j))


@compiled
def bend(slopes: Any, values: Any, offset: int, n_rows: int, n_columns: int, step: int) -> None:
    """Take gradients back through a tanh: dL/dx (1 - x^2), x in `values`, both from `offset` on."""
    for i in range(n_rows):
        for j in range(n_columns):
            entry = offset + i * step + j * LANES
            x = load(values, entry)
            store(slopes, entry, load(slopes, entry) * fma(0.0 - x, x, 1.0))


@compiled
def set_column(scores: Any, column: int, n_rows: int, step: int, offset: int) -> None:
    """Put ones into a column, so that a bias is one more row of the next factor."""
    for i in range(n_rows):
        store(scores, offset + i * step + column * LANES, fill(scores, 1.0))
