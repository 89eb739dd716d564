"""Training one encoder, eight of its units in the lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddgk.compiling import inner, lean
from ddgk.config import Config
from ddgk.engine.arrays import EncodedGraph, EncoderWeights
from ddgk.engine.fused.kernels import (
    BLOCK,
    adam_paces,
    add_weight_gradients,
    backward,
    bend,
    clear,
    forward_layers,
    place_matrix,
    set_column,
    train_all,
)
from ddgk.engine.fused.lanes import LANES, fma, hyperbolic_tangent, sigmoid, store, take
from ddgk.engine.fused.packing import aligned, compress, in_rows, pack_network
from ddgk.engine.fused.products import multiply_shared, multiply_summed, view


@inner
def encoder_slopes(
    scores: Any, matrix: Any, factors: Any, first: int, last: int, n_nodes: int, bends: bool
) -> None:
    """Y becomes dL/dY = f_i (s(Z) - B), Z = Y; or, with tanh, Z = tanh(Y) and that (1 - Z^2).

    factors: 1 / (number of entries), 0 where there is no unit, (all rows) lanes.
    """
    for i in range(first, last):
        factor = take(factors, i * LANES)
        for j in range(n_nodes):
            here = ((i - first) * n_nodes + j) * LANES
            y = take(scores, here)
            if bends:
                z = hyperbolic_tangent(y)
                bend = fma(0.0 - z, z, 1.0)
                slope = (sigmoid(z) - take(matrix, here)) * (factor * bend)
            else:
                slope = (sigmoid(y) - take(matrix, here)) * factor
            store(scores, here, slope)


@inner
def copy_rows(
    table: Any, hidden: Any, first: int, last: int, dimension: int, step: int, back: bool
) -> None:
    """Copy rows of the table to X_0 of a block, or gradients of X_0 back to those of the table."""
    for i in range(last - first):
        for j in range(dimension):
            entry, here = ((first + i) * dimension + j) * LANES, i * step + j * LANES
            if back:
                store(table, entry, take(hidden, here))
            else:
                store(hidden, here, take(table, entry))


@lean
def train_network(
    trained: Any, entries: Any, given: Any, sizes: Any, settings: Any, scratch: Any
) -> None:
    """Take all Adam steps of one encoder.

    trained: three arrays of one layout (parameters, means, squares): the table, (rows, d) lanes,
    then (W_o^T | b_o), (n_nodes, h + 1), then the hidden layers, as numbers. entries: B by rows.
    given: weights of rows, see `encoder_slopes`.
    sizes: (rows, n_nodes, d, h, L, where the output starts, where the network starts).
    settings: (Adam's factors per epoch, bends). scratch: gradients, hidden, slopes, scores, B of a
    block.
    """
    rows, n_nodes, dimension, top, depth, output_at, network_at = sizes
    paces, bends = settings
    gradients, hidden, slopes, scores, matrix = scratch
    parameters, known = trained[0], top + 1
    step = (max(dimension, top) + 1) * LANES
    shape = (dimension, top, depth, step, BLOCK)
    last_hidden, last_slopes = hidden[depth * BLOCK * step :], slopes[depth * BLOCK * step :]
    network, output = parameters[network_at:], parameters[output_at:network_at]
    network_slopes, output_slopes = gradients[network_at:], gradients[output_at:network_at]
    for epoch in range(len(paces)):
        clear(gradients)
        for first in range(0, rows, BLOCK):
            last = min(first + BLOCK, rows)
            n_rows, across = last - first, n_nodes * LANES
            copy_rows(parameters, hidden, first, last, dimension, step, False)
            forward_layers(hidden, network, n_rows, shape)
            set_column(last_hidden, top, n_rows, step)
            factors, by_row = view(last_hidden, 0, step, LANES), view(scores, 0, across, LANES)
            multiply_shared(
                factors, view(output, 0, 1, known), by_row, n_rows, known, n_nodes, False
            )
            place_matrix(entries, matrix, first, last, n_nodes, False)
            encoder_slopes(scores, matrix, given, first, last, n_nodes, bends)
            place_matrix(entries, matrix, first, last, n_nodes, True)
            out, weights = view(last_slopes, 0, step, LANES), view(output, 0, known, 1)
            multiply_shared(by_row, weights, out, n_rows, n_nodes, top, False)
            by_column, added = view(scores, 0, LANES, across), view(output_slopes, 0, known, 1)
            multiply_summed(by_column, factors, added, n_nodes, n_rows, known)
            bend(last_slopes, last_hidden, n_rows, top, step)
            backward(hidden, slopes, network, n_rows, shape)
            add_weight_gradients(hidden, slopes, network_slopes, n_rows, shape)
            copy_rows(gradients, slopes, first, last, dimension, step, True)
        train_all(trained, gradients, (paces[epoch, 0], paces[epoch, 1]))


def train_encoder(graph: EncodedGraph, initial: EncoderWeights, config: Config) -> EncoderWeights:
    """Train one encoder from its initial weights."""
    n_units, n_nodes = graph.matrix.shape
    top = len(initial.output[0])
    dimension, depth = initial.table.shape[1], len(initial.hidden)
    table = in_rows(initial.table)
    output = np.hstack([initial.output[0].T, initial.output[1][:, None]])
    network = pack_network(initial)
    output_at = len(table)
    network_at = output_at + _rounded(output.size)
    size = network_at + _rounded(network.size)
    trained = tuple(aligned(size) for _ in range(3))
    parameters = trained[0]
    parameters[:output_at] = table
    parameters[output_at : output_at + output.size] = output.reshape(-1)
    parameters[network_at : network_at + network.size] = network
    rows, wide = -(-n_units // LANES), max(dimension, top) + 1
    scratch = (
        aligned(size),
        aligned(depth + 1, BLOCK, wide, LANES),
        aligned(depth + 1, BLOCK, wide, LANES),
        aligned(BLOCK, n_nodes, LANES),
        aligned(BLOCK, n_nodes, LANES),
    )
    train_network(
        trained,
        compress(graph.matrix),
        in_rows(np.full(n_units, 1.0 / (n_units * n_nodes))),
        (rows, n_nodes, dimension, top, depth, output_at, network_at),
        (
            adam_paces(config.encoder_learning_rate, config.encoder_epochs),
            config.scores == "tanh",
        ),
        scratch,
    )
    return _unpack(parameters.astype(np.float64), initial, output_at, network_at)


def _rounded(size: int) -> int:
    return -(-size // LANES) * LANES


def _unpack(
    parameters: Any, initial: EncoderWeights, output_at: int, network_at: int
) -> EncoderWeights:
    n_units, dimension = initial.table.shape
    top, n_nodes = initial.output[0].shape
    table = parameters[:output_at].reshape(-1, dimension, LANES).swapaxes(1, 2)
    output = parameters[output_at : output_at + n_nodes * (top + 1)].reshape(n_nodes, top + 1)
    hidden, at = [], network_at
    for weight, bias in initial.hidden:
        layer = parameters[at : at + weight.size].reshape(weight.shape).copy()
        at += weight.size
        hidden.append((layer, parameters[at : at + bias.size].copy()))
        at += bias.size
    return EncoderWeights(
        table.reshape(-1, dimension)[:n_units].copy(),
        tuple(hidden),
        (output[:, :top].T.copy(), output[:, top].copy()),
    )
