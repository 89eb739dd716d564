"""One-to-one attention between two stacks of relations, by annealing; numbers only.

What is minimised over attentions P (rows: the side with fewer nodes, n; columns: m >= n) is the
expected loss of reconstructing one side from the other when i attends j and k attends l:

    L(P) = sum_ij P_ij U_ij + sum_ijkl P_ij P_kl sum_r w_r (T_r[i, k] - S_r[j, l])^2

where i != k and j != l. A square splits into a part of T, a part of S and a product, so L and its
gradient cost two matrix products per relation instead of a sum over four indices. Every sum runs in
ascending order and in one thread: the same numbers give the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.compiling import compiled

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

FARTHEST = 200.0  # exp(-200) is still far from underflow when multiplied by another
FREE = -1


class Costs(NamedTuple):
    """The parts of the loss, diagonals apart.

    unary: U, (n, m), what is paid for i at j alone. left: 2 w_r T_r, (R, n, n); right: S_r,
    (R, m, m), all symmetric and with zeros on the diagonal. left_squares: sum_r w_r T_r^2, (n, n);
    right_squares: sum_r w_r S_r^2, (m, m).
    """

    unary: Array
    left: Array
    right: Array
    left_squares: Array
    right_squares: Array


def split_costs(unary: Array, target: Array, source: Array, weights: Array) -> Costs:
    """Prepare the loss of reconstructing stacks of relations.

    What a node is to itself says something about that node alone, so diagonals join the unary part:

        U_ij + sum_r w_r (T_r[i, i] - S_r[j, j])^2

    unary: (n, m); target: T, (R, n, n); source: S, (R, m, m); weights: w, (R,).
    """
    whole = unary.copy()
    left, right = target.copy(), source.copy()
    for place, weight in enumerate(weights):
        own, other = np.diag(target[place]), np.diag(source[place])
        whole += weight * (own[:, None] - other[None, :]) ** 2
        np.fill_diagonal(left[place], 0.0)
        np.fill_diagonal(right[place], 0.0)
    by_relation = np.asarray(weights)[:, None, None]
    return Costs(
        whole,
        2.0 * by_relation * left,
        right,
        (by_relation * left**2).sum(axis=0),
        (by_relation * right**2).sum(axis=0),
    )


@compiled
def anneal(costs: Costs, attention: Array, coldness: Array, rounds: int) -> None:
    """Cool an attention down, in place.

        P <- Sinkhorn(exp(-beta dL/dP)),   beta = coldness[0], coldness[1], ...

    attention: P, (n, m), rows sum to 1 and columns to at most 1 (to 1 where n = m). rounds: of
    Sinkhorn's scaling, after each of which rows sum to 1.
    """
    n, m = attention.shape
    gradient = np.empty((n, m))
    half, whole = np.empty((n, m)), np.empty((n, m))
    row_scale, column_scale = np.empty(n), np.empty(m)
    for beta in coldness:
        expected_costs(costs, attention, gradient, half, whole)
        for i in range(n):
            least = gradient[i, 0]
            for j in range(m):
                least = min(least, gradient[i, j])
            for j in range(m):
                distance = min(beta * (gradient[i, j] - least), FARTHEST)
                gradient[i, j] = np.exp(-distance)
            row_scale[i] = 1.0
        for _ in range(rounds):
            for j in range(m):
                column_scale[j] = 0.0
            for i in range(n):
                for j in range(m):
                    column_scale[j] += row_scale[i] * gradient[i, j]
            for j in range(m):
                column_scale[j] = 1.0 / column_scale[j]
                if n < m:
                    column_scale[j] = min(column_scale[j], 1.0)
            for i in range(n):
                total = 0.0
                for j in range(m):
                    total += gradient[i, j] * column_scale[j]
                row_scale[i] = 1.0 / total
        for i in range(n):
            for j in range(m):
                attention[i, j] = row_scale[i] * gradient[i, j] * column_scale[j]


@compiled
def expected_costs(
    costs: Costs, attention: Array, gradient: Array, half: Array, whole: Array
) -> None:
    """Write the gradient of the loss, dL/dP.

        U_ij + 2 (sum_k r_k F[i, k] + sum_l c_l G[j, l] - sum_r (2 w_r T_r P S_r)_ij)

    r, c: row and column sums of P; F, G: the squares. half, whole: room, (n, m) each.
    """
    n, m = attention.shape
    rows, columns = np.zeros(n), np.zeros(m)
    for i in range(n):
        for j in range(m):
            rows[i] += attention[i, j]
            columns[j] += attention[i, j]
    own, other = np.zeros(n), np.zeros(m)
    for i in range(n):
        for k in range(n):
            own[i] += rows[k] * costs.left_squares[i, k]
    for j in range(m):
        for other_column in range(m):
            other[j] += columns[other_column] * costs.right_squares[j, other_column]
    for i in range(n):
        for j in range(m):
            gradient[i, j] = costs.unary[i, j] + 2.0 * (own[i] + other[j])
    for relation in range(len(costs.left)):
        _multiply(costs.left[relation], attention, half)
        _multiply(half, costs.right[relation], whole)
        for i in range(n):
            for j in range(m):
                gradient[i, j] -= 2.0 * whole[i, j]


@compiled
def _multiply(left: Array, right: Array, product: Array) -> None:
    """Write left @ right, four rows of the right side at a time.

    Zeros on the left cost nothing, and most of an adjacency is zeros.
    """
    depth, width = right.shape
    for i in range(len(left)):
        for j in range(width):
            product[i, j] = 0.0
        for k in range(0, depth - 3, 4):
            one, two = left[i, k], left[i, k + 1]
            three, four = left[i, k + 2], left[i, k + 3]
            if one == 0.0 and two == 0.0 and three == 0.0 and four == 0.0:
                continue
            for j in range(width):
                product[i, j] += (one * right[k, j] + two * right[k + 1, j]) + (
                    three * right[k + 2, j] + four * right[k + 3, j]
                )
        for k in range(depth - depth % 4, depth):
            factor = left[i, k]
            for j in range(width):
                product[i, j] += factor * right[k, j]


@compiled
def matching_loss(costs: Costs, partners: Integers) -> float:
    """Return L of a one-to-one matching; partners: (n,), the column of every row."""
    total = 0.0
    for i in range(len(partners)):
        total += costs.unary[i, partners[i]]
        for k in range(len(partners)):
            if k != i:
                total += _entry(costs, i, k, partners[i], partners[k])
    return total


@compiled
def _entry(costs: Costs, i: int, k: int, j: int, l: int) -> float:  # noqa: E741
    """Return sum_r w_r (T_r[i, k] - S_r[j, l])^2."""
    total: float = costs.left_squares[i, k] + costs.right_squares[j, l]
    for relation in range(len(costs.left)):
        total -= costs.left[relation, i, k] * costs.right[relation, j, l]
    return total


@compiled
def _exchange(costs: Costs, partners: Integers, i: int, to: int, k: int) -> float:
    """Return how much worse L gets when i takes column `to`, whose row k (or FREE) takes i's."""
    given = partners[i]
    change: float = costs.unary[i, to] - costs.unary[i, given]
    if k != FREE:
        change += costs.unary[k, given] - costs.unary[k, to]
        for row in range(len(partners)):
            if row not in (i, k):
                column = partners[row]
                for relation in range(len(costs.left)):
                    left = costs.left[relation, i, row] - costs.left[relation, k, row]
                    right = costs.right[relation, to, column] - costs.right[relation, given, column]
                    change -= 2.0 * left * right
        return change
    for row in range(len(partners)):
        if row != i:
            column = partners[row]
            change += 2.0 * (costs.right_squares[to, column] - costs.right_squares[given, column])
            for relation in range(len(costs.left)):
                right = costs.right[relation, to, column] - costs.right[relation, given, column]
                change -= 2.0 * costs.left[relation, i, row] * right
    return change


@compiled
def exchange_costs(costs: Costs, partners: Integers) -> Array:
    """Return how much worse L gets when i takes column j and whoever had j takes i's, (n, m)."""
    n, m = costs.unary.shape
    holders = np.full(m, FREE)
    for i in range(n):
        holders[partners[i]] = i
    changes = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            if j != partners[i]:
                changes[i, j] = _exchange(costs, partners, i, j, holders[j])
    return changes


@compiled
def exchange_partners(costs: Costs, partners: Integers, sweeps: int, least: float) -> int:
    """Exchange partners, in place, as long as that lowers L by `least`; returns how often."""
    n, m = costs.unary.shape
    holders = np.full(m, FREE)
    for i in range(n):
        holders[partners[i]] = i
    moved = 0
    for _ in range(sweeps):
        before = moved
        for i in range(n):
            for j in range(m):
                k = holders[j]
                # A pair of rows is tried once a sweep, from the later of the two.
                if j == partners[i] or k > i:
                    continue
                if _exchange(costs, partners, i, j, k) < -least:
                    holders[partners[i]] = k
                    holders[j] = i
                    if k != FREE:
                        partners[k] = partners[i]
                    partners[i] = j
                    moved += 1
        if moved == before:
            break
    return moved
