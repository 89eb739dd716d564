"""Attention from its scores, and Adam's step on the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddgk.engine.arrays import EPSILON
from ddgk.engine.fused.compiling import compiled, inlined
from ddgk.engine.fused.functions import exponential
from ddgk.engine.fused.lanes import LANES, fill, fma, load, square_root, store, where_above


@compiled
def softmax(scores: Any, attention: Any, first: int, last: int, n_columns: int) -> None:
    """P[i, j] = exp(A[i, j]) / sum_k exp(A[i, k]), for rows first <= i < last (paper eq. 5).

    scores, attention: (rows, n_columns) lanes.
    """
    for i in range(first, last):
        row = i * n_columns * LANES
        highest = load(scores, row)
        for j in range(1, n_columns):
            score = load(scores, row + j * LANES)
            highest = where_above(score, highest, score, highest)
        total = fill(scores, 0.0)
        for j in range(n_columns):
            power = exponential(load(scores, row + j * LANES) - highest)
            store(attention, row + j * LANES, power)
            total = total + power
        share = 1.0 / total
        for j in range(n_columns):
            store(attention, row + j * LANES, load(attention, row + j * LANES) * share)


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
    total = fma(load(sums, entry), 0.9, gradient)
    square = fma(load(squares, entry), 0.999, gradient * gradient)
    store(sums, entry, total)
    store(squares, entry, square)
    change = total * pace[0] / (square_root(square) + pace[1])
    store(parameters, entry, load(parameters, entry) - change)


@compiled
def train_attention(
    trained: Any, attention: Any, gradients: Any, weights: Any, rows: Any, n_columns: int, pace: Any
) -> None:
    """dL/dA = P (dL/dP - row sum of P dL/dP), shared among the units of a class; then Adam.

    attention: (rows, n_columns) lanes; rows: (first, last, the first held in gradients);
    gradients: dL/dP; weights: how many units a row stands for, (rows) lanes.
    """
    first, last, held = rows
    for i in range(first, last):
        row = i * n_columns * LANES
        given = (i - held) * n_columns * LANES
        mean = fill(attention, 0.0)
        for j in range(n_columns):
            p = load(attention, row + j * LANES)
            mean = fma(p, load(gradients, given + j * LANES), mean)
        weight = load(weights, i * LANES)
        share = 1.0 / where_above(weight, 0.0, weight, 1.0)
        for j in range(n_columns):
            p = load(attention, row + j * LANES)
            g = p * (load(gradients, given + j * LANES) - mean) * share
            adam_step(trained, row + j * LANES, g, pace)


@compiled
def train_reverse(
    trained: Any, gradients: Any, weights: Any, n_rows: int, n_columns: int, pace: Any
) -> None:
    """Adam on a free reverse attention, (R^T | r), the gradient shared among the nodes of a class.

    trained, gradients: (n_rows, n_columns) lanes; weights: (n_rows) lanes.
    """
    for i in range(n_rows):
        weight = load(weights, i * LANES)
        share = 1.0 / where_above(weight, 0.0, weight, 1.0)
        for j in range(n_columns):
            entry = (i * n_columns + j) * LANES
            adam_step(trained, entry, load(gradients, entry) * share, pace)


@compiled
def train_all(trained: Any, gradients: Any, pace: Any) -> None:
    """Adam on a flat array whose length is a multiple of LANES."""
    for entry in range(0, len(gradients), LANES):
        adam_step(trained, entry, load(gradients, entry), pace)
