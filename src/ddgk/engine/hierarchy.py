"""Attention on two levels, groups and nodes, cooled down together; numbers only.

A node first attends a group, as all of its own group do, and then a node in it:

    P[i, j] ~ C[g, h] / |h| exp(-beta dL/dP[i, j]),   g: the group of i, h: the group of j

What it costs that group g attends group h is the mean over its nodes of what is left of the costs
when each is free to choose within h, and C is as cold as that is sure, by a factor:

    F[i, h] = -1/beta log (1/|h| sum_{j in h} exp(-beta dL/dP[i, j]))
    E[g, h] = 1/|g| sum_{i in g} F[i, h],   C ~ |h| exp(-coupling beta E)

L and its gradient are those of `annealing`. Columns of P, and of |g| C over groups, are scaled too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.annealing import FARTHEST, Costs, expected_costs

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

GROUP_ROUNDS = 20


class Blocks(NamedTuple):
    """In which group every row and every column is, (n,) and (m,); and how tightly they hold.

    coupling: how much colder groups are than nodes.
    """

    rows: Integers
    columns: Integers
    coupling: float


def anneal_by_groups(
    costs: Costs, attention: Array, coldness: Array, rounds: int, blocks: Blocks
) -> Array:
    """Cool an attention between nodes down together with one between groups, in place.

    attention: P, (n, m) with n <= m, as in `annealing.anneal`. Returns C, the attention between
    groups, (row groups, column groups); its rows sum to 1.
    """
    n, m = attention.shape
    of_rows, of_columns = (np.eye(int(codes.max()) + 1)[codes] for codes in blocks[:2])
    sizes = of_rows.sum(axis=0), of_columns.sum(axis=0)
    gradient, half, whole = (np.empty((n, m)) for _ in range(3))
    between = np.ones((len(sizes[0]), len(sizes[1])))
    for beta in coldness:
        expected_costs(costs, attention, gradient, half, whole)
        energies = beta * (gradient - gradient.min(axis=1, keepdims=True))
        chosen = np.exp(-np.minimum(energies, FARTHEST)) @ of_columns / sizes[1]
        costs_of_groups = of_rows.T @ -np.log(chosen) / sizes[0][:, None]
        between = scale(
            _likely(blocks.coupling * costs_of_groups) * sizes[1], sizes, GROUP_ROUNDS, n < m
        )
        between /= between.sum(axis=1, keepdims=True)
        shares = -np.log(np.maximum(between / sizes[1], np.exp(-FARTHEST)))
        together = energies + shares[np.ix_(blocks.rows, blocks.columns)]
        attention[:] = scale(_likely(together), (np.ones(n), np.ones(m)), rounds, n < m)
    return between


def scale(weights: Array, sums: tuple[Array, Array], rounds: int, capped: bool) -> Array:
    """Scale rows and columns to given sums, by Sinkhorn's method; rows come last and are exact.

    capped: column sums are not to be reached, only not to be exceeded.
    """
    rows = np.ones(len(weights))
    for _ in range(rounds):
        columns = sums[1] / (rows @ weights)
        if capped:
            columns = np.minimum(columns, 1.0)
        rows = sums[0] / (weights @ columns)
    return np.asarray(rows[:, None] * weights * columns)


def _likely(energies: Array) -> Array:
    """Return exp(-E), each row relative to its least, and nowhere quite 0."""
    least = energies.min(axis=1, keepdims=True)
    return np.asarray(np.exp(-np.minimum(energies - least, FARTHEST)))
