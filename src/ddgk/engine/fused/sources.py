"""Training one encoder: its units in the lanes, eight of them side by side (METHOD 1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddgk.engine.fused.arrays import aligned
from ddgk.engine.fused.attention import adam_pace, train_all
from ddgk.engine.fused.compiling import compiled, entrance
from ddgk.engine.fused.decoding import score, score_back
from ddgk.engine.fused.functions import hyperbolic_tangent, sigmoid
from ddgk.engine.fused.hiding import draw_hidden, held_cost, hide, pack_hiding
from ddgk.engine.fused.lanes import LANES, fma, load, store
from ddgk.engine.fused.layers import (
    BLOCK,
    add_weight_gradients,
    backward,
    bend,
    forward,
    set_column,
)
from ddgk.engine.fused.packing import in_rows, pack_entries, pack_join, pack_network
from ddgk.engine.fused.relayout import clear, copy, place_relation
from ddgk.engine.problem import EPSILON, EncoderTraining, Problem, Weights


@compiled
def encoder_slopes(
    scores: Any, relation: Any, factors: Any, rows: Any, n_nodes: int, bends: bool
) -> None:
    """Y becomes dL/dY = f_i (s(Z) - B), Z = Y; or, if it bends, Z = tanh(Y) and that (1 - Z^2).

    factors: 1 / (number of entries), 0 where there is no unit, (all rows) lanes. rows: (first,
    last, what all factors are multiplied by).
    """
    first, last, scale = rows
    for i in range(first, last):
        factor = load(factors, i * LANES) * scale
        for j in range(n_nodes):
            here = ((i - first) * n_nodes + j) * LANES
            y = load(scores, here)
            if bends:
                z = hyperbolic_tangent(y)
                bend = fma(0.0 - z, z, 1.0)
                slope = (sigmoid(z) - load(relation, here)) * (factor * bend)
            else:
                slope = (sigmoid(y) - load(relation, here)) * factor
            store(scores, here, slope)


@compiled
def read_inputs(table: Any, gathers: Any, hidden: Any, rows: Any, shape: Any) -> None:
    """X_0 of some rows of units: their rows of the table, or means of some of its rows.

    gathers: K row by row, or empty; rows: (first, last); shape: (d, step between rows of hidden).
    """
    first, last = rows
    dimension, step = shape
    starts, places, values = gathers
    n_units = len(starts) - 1
    for i in range(last - first):
        for j in range(dimension):
            entry = ((first + i) * dimension + j) * LANES
            if n_units == 0:
                store(hidden, i * step + j * LANES, load(table, entry))
                continue
            for lane in range(LANES):
                unit, total = (first + i) * LANES + lane, 0.0 * table[0]
                for k in range(starts[min(unit, n_units)], starts[min(unit + 1, n_units)]):
                    other = (places[k] // LANES * dimension + j) * LANES + places[k] % LANES
                    total += values[k] * table[other]
                hidden[i * step + j * LANES + lane] = total


@compiled
def read_inputs_back(slopes: Any, gathers: Any, gradients: Any, rows: Any, shape: Any) -> None:
    """Take dL/dX_0 of some rows back to the table; gradients: 0 to begin with."""
    first, last = rows
    dimension, step = shape
    starts, places, values = gathers
    n_units = len(starts) - 1
    for i in range(last - first):
        for j in range(dimension):
            entry = ((first + i) * dimension + j) * LANES
            if n_units == 0:
                store(gradients, entry, load(slopes, i * step + j * LANES))
                continue
            for lane in range(LANES):
                unit = (first + i) * LANES + lane
                for k in range(starts[min(unit, n_units)], starts[min(unit + 1, n_units)]):
                    other = (places[k] // LANES * dimension + j) * LANES + places[k] % LANES
                    gradients[other] += values[k] * slopes[i * step + j * LANES + lane]


@compiled
def decay_weights(parameters: Any, sizes: Any, share: float) -> None:
    """W <- (1 - share) W, for the table and the matrices; biases stay.

    parameters, sizes: see `train_network`.
    """
    _, n_nodes, n_inputs, top, depth, output_at, network_at = sizes
    kept = 1.0 - share
    for entry in range(output_at):
        parameters[entry] *= kept
    for node in range(n_nodes):
        row = output_at + node * (top + 1)
        for entry in range(row, row + top):
            parameters[entry] *= kept
    at = network_at
    for _layer in range(depth):
        for entry in range(at, at + n_inputs * top):
            parameters[entry] *= kept
        at += (n_inputs + 1) * top
        n_inputs = top


@entrance
def train_network(
    trained: Any,
    related: Any,
    gathers: Any,
    factors: Any,
    hiding: Any,
    sizes: Any,
    settings: Any,
    scratch: Any,
) -> None:
    """Take all Adam steps of one encoder.

    trained: three arrays of one layout (parameters, means, squares): the table, (its rows, d)
    lanes, then (W_o^T | b_o), (n_nodes, h + 1), then the hidden layers, as numbers.
    sizes: (rows, n_nodes, d, h, L, where the output starts, where the network starts).
    settings: (epochs, rate, bends, hides, decay, patience). hiding: see `Hiding`. scratch:
    gradients, hidden, slopes, scores, relation block, the best parameters (empty without patience).
    """
    rows, n_nodes, dimension, top, depth, output_at, network_at = sizes
    epochs, rate, bends, hides, decay, patience = settings
    gradients, hidden, slopes, scores, relation, best = scratch
    parameters = trained[0]
    wide = max(dimension, top) + 1
    shape = (dimension, top, depth, wide, BLOCK)
    known = top + 1
    top_at = depth * BLOCK * wide * LANES
    step = wide * LANES
    network, output = parameters[network_at:], parameters[output_at:network_at]
    network_slopes, output_slopes = gradients[network_at:], gradients[output_at:network_at]
    n_held = len(hiding.held.places)
    n_entries = (len(related.starts) - 1) * n_nodes
    lowest, waited, scale = np.inf, 0, 1.0
    # With patience, the weights after the last step are looked at too.
    for epoch in range(epochs + 1 if patience > 0 else epochs):
        clear(gradients)
        cost = 0.0
        if hides:
            n_hidden = draw_hidden(related, hiding, epoch)
            scale = n_entries / max(n_entries - n_held - n_hidden, 1)
        for first in range(0, rows, BLOCK):
            last = min(first + BLOCK, rows)
            n_rows = last - first
            read_inputs(parameters, gathers, hidden, (first, last), (dimension, step))
            forward(hidden, network, n_rows, shape)
            set_column(hidden, top, n_rows, step, top_at)
            score((hidden, top_at), step, output, scores, (n_rows, known, n_nodes), True)
            place_relation(related, relation, first, last, n_nodes, False)
            cost += held_cost(scores, relation, hiding.held, first, last, n_nodes, bends)
            encoder_slopes(scores, relation, factors, (first, last, scale), n_nodes, bends)
            place_relation(related, relation, first, last, n_nodes, True)
            if hides:
                hide(scores, related, hiding, first, last, n_nodes)
            score_back(
                scores,
                (hidden, top_at),
                step,
                output,
                (slopes, top_at),
                output_slopes,
                (n_rows, known, n_nodes, top),
                True,
            )
            if depth > 0:
                bend(slopes, hidden, top_at, n_rows, top, step)
            backward(hidden, slopes, network, n_rows, shape)
            add_weight_gradients(hidden, slopes, network_slopes, n_rows, shape)
            read_inputs_back(slopes, gathers, gradients, (first, last), (dimension, step))
        if patience > 0:
            # What is not finite must come to light; with nothing to go by, the latest is the best.
            if cost < lowest or not np.isfinite(cost) or n_held == 0:
                lowest, waited = cost, 0
                copy(parameters, best)
            else:
                waited += 1
            if waited >= patience or epoch == epochs:
                break
        if decay > 0:
            decay_weights(parameters, sizes, rate * decay)
        pace = adam_pace(rate, epoch + 1, EPSILON)
        train_all(trained, gradients, pace)
    if patience > 0:
        copy(best, parameters)


def train_encoder(
    problem: Problem, start: Weights, seed: int, training: EncoderTraining, precision: Any
) -> Weights:
    """Train one encoder from its start; what is hidden from it is drawn from the seed."""
    n_units, n_nodes = problem.relation.shape
    top = len(start.output[0])
    dimension, depth = start.table.shape[1], len(start.hidden)
    table = in_rows(start.table, precision)
    output = np.hstack([start.output[0].T, start.output[1][:, None]])
    network = pack_network(start, precision)
    output_at = len(table)
    network_at = output_at + _rounded(output.size)
    size = network_at + _rounded(network.size)
    trained = tuple(aligned(size, precision=precision) for _ in range(3))
    parameters = trained[0]
    parameters[:output_at] = table
    parameters[output_at : output_at + output.size] = output.reshape(-1)
    parameters[network_at : network_at + network.size] = network
    rows, wide = -(-n_units // LANES), max(dimension, top) + 1
    scratch = (
        aligned(size, precision=precision),
        aligned(depth + 1, BLOCK, wide, LANES, precision=precision),
        aligned(depth + 1, BLOCK, wide, LANES, precision=precision),
        aligned(BLOCK, n_nodes, LANES, precision=precision),
        aligned(BLOCK, n_nodes, LANES, precision=precision),
        aligned(size if training.patience else 0, precision=precision),
    )
    related = pack_entries(problem.relation, precision)
    shape = problem.relation.shape
    train_network(
        trained,
        related,
        pack_join(problem.gathers, precision),
        in_rows(np.full(n_units, 1.0 / (n_units * n_nodes)), precision),
        pack_hiding(shape, len(related.places), seed, training, precision),
        (rows, n_nodes, dimension, top, depth, output_at, network_at),
        (
            training.epochs,
            float(training.rate),
            training.scores == "tanh",
            training.hides,
            float(training.decay),
            training.patience,
        ),
        scratch,
    )
    return _unpack(parameters.astype(np.float64), start, output_at, network_at)


def _rounded(size: int) -> int:
    return -(-size // LANES) * LANES


def _unpack(parameters: Any, start: Weights, output_at: int, network_at: int) -> Weights:
    n_units, dimension = start.table.shape
    top, n_nodes = start.output[0].shape
    table = parameters[:output_at].reshape(-1, dimension, LANES).swapaxes(1, 2)
    output = parameters[output_at : output_at + n_nodes * (top + 1)].reshape(n_nodes, top + 1)
    hidden, at = [], network_at
    for weight, bias in start.hidden:
        layer = parameters[at : at + weight.size].reshape(weight.shape).copy()
        at += weight.size
        hidden.append((layer, parameters[at : at + bias.size].copy()))
        at += bias.size
    return Weights(
        table.reshape(-1, dimension)[:n_units].copy(),
        tuple(hidden),
        (output[:, :top].T.copy(), output[:, top].copy()),
    )
