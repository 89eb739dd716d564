"""Attention of fixed size: a matrix of lanes as a product of two, and Adam on both (METHOD 2).

    A = U V,   dL/dU = dL/dA V^T,   dL/dV = U^T dL/dA

U: (rows, q) lanes, eight rows of a pair that comes alone side by side; V: (q, columns) numbers.
"""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.attention import adam_step, train_all
from ddgk.engine.fused.compiling import compiled
from ddgk.engine.fused.lanes import LANES, load, where_above
from ddgk.engine.fused.products import multiply_shared, multiply_summed, view


@compiled
def multiply_factors(factors: Any, out: Any, first: int, last: int, size: int, shape: Any) -> None:
    """Find A = U V of rows first <= i < last.  shape: (columns of V, columns of a row of out)."""
    n_columns, across = shape
    left = view(factors.left, first * size * LANES, size * LANES, LANES)
    right = view(factors.right, 0, n_columns, 1)
    product = view(out, first * across * LANES, across * LANES, LANES)
    multiply_shared(left, right, product, last - first, size, n_columns, False)


@compiled
def train_left(
    factors: Any,
    slopes: Any,
    at: int,
    weights: Any,
    rows: Any,
    size: int,
    shape: Any,
    trains_right: bool,
    pace: Any,
) -> None:
    """dL/dV += U^T dL/dA if V trains; Adam on U, its gradient shared among the nodes of a class.

    slopes: dL/dA of the rows from offset `at` on; weights: (all rows) lanes; rows: (first, last);
    shape: as in `multiply_factors`.
    """
    first, last = rows
    n_columns, across = shape
    n_rows, width = last - first, size * LANES
    given = view(slopes, at, across * LANES, LANES)
    if trains_right:
        transposed = view(factors.left, first * width, LANES, width)
        summed = view(factors.right_slopes, 0, n_columns, 1)
        multiply_summed(transposed, given, summed, size, n_rows, n_columns)
    right = view(factors.right, 0, 1, n_columns)
    multiply_shared(
        given, right, view(factors.left_slopes, 0, width, LANES), n_rows, n_columns, size, False
    )
    trained = (factors.left, factors.left_mean, factors.left_square)
    for i in range(n_rows):
        weight = load(weights, (first + i) * LANES)
        share = 1.0 / where_above(weight, 0.0, weight, 1.0)
        for j in range(size):
            gradient = load(factors.left_slopes, (i * size + j) * LANES) * share
            adam_step(trained, ((first + i) * size + j) * LANES, gradient, pace)


@compiled
def train_right(factors: Any, pace: Any) -> None:
    """Adam on V, which belongs to all rows at once."""
    trained = (factors.right, factors.right_mean, factors.right_square)
    train_all(trained, factors.right_slopes, pace)
