"""Matching two large graphs by a few candidates a node, annealed by votes of neighbours.

Neighbours vote: i may well be j where neighbours of i attend neighbours of j. That is the gradient
of the squared error |A - P B P'|^2, kept to a few entries a row (graduated assignment):

    V[i, j] = sum over arcs i -> a, b -> j of one kind of P[a, b]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.encoding import Array, Integers, Network
from ddgk.alignment.search import MOST_ASKED, keep_best, shares
from ddgk.compiling import compiled

CANDIDATES = 16  # a node
LEAST_SHARE = 1e-3  # attention below is not passed on
EPSILON = 3.0  # how much farther than the nearest a candidate may be that is looked for
FIRST, LAST = 0.5, 4.0  # inverse temperatures
ROUNDS = 2  # of balancing columns and rows
POLISH = 60  # rounds at most in which only matched neighbours vote
FEATURES = 0.25  # weight of features against votes
SETTLED = 0.999  # share of nodes that stay with their first choice when annealing may end


class Rows(NamedTuple):
    """A few entries of every row: places of the other graph's nodes, or -1, and values; (n, k)."""

    columns: Integers
    values: Array


def match_by_votes(
    target: Network, source: Network, label_cost: float, steps: int, go_on: Callable[[], bool]
) -> Integers:
    """Return partners, (n_target,), or -1 where no candidate is left."""
    weight = np.sqrt(FEATURES / target.features.shape[1])
    mine, theirs = (
        network._replace(features=weight * network.features) for network in (target, source)
    )
    turned = int((source.kinds & 1).any())
    rows = nearest(target.features, source.features)
    for beta in np.geomspace(FIRST, LAST, steps):
        if not go_on():
            break
        balance(rows, source.n_nodes)
        before, rows = rows, vote(mine, theirs, rows, label_cost, float(beta), turned)
        if (before.columns[:, 0] == rows.columns[:, 0]).mean() > SETTLED:
            break
    balance(rows, source.n_nodes)
    best, most = np.zeros(0, dtype=np.int64), -1
    for _ in range(1 + POLISH):
        # Largest entries first; nodes stand in a random order, so ties do.
        order = np.argsort(-rows.values.ravel(), kind="stable")
        partners = match_in_turn(order, rows, source.n_nodes)
        kept = find_kept(target, source, partners).sum()
        if kept <= most:
            break
        best, most = partners, kept
        if not go_on():
            break
        settled = Rows(np.full_like(rows.columns, -1), np.zeros_like(rows.values))
        settled.columns[:, 0], settled.values[:, 0] = partners, partners >= 0
        rows = vote(mine, theirs, settled, label_cost, 1.0, turned)
    return best


def nearest(mine: Array, theirs: Array) -> Rows:
    """Attend nodes of similar features; one stands for all with the same features."""
    from scipy.spatial import cKDTree

    distinct, owner = np.unique(mine, axis=0, return_inverse=True)
    others, first = np.unique(theirs, axis=0, return_index=True)
    k = min(CANDIDATES, len(others))
    tree = cKDTree(others, balanced_tree=False, compact_nodes=False)
    distances, places = tree.query(distinct, k=[*range(1, k + 1)], eps=EPSILON)
    gaps = distances**2 - distances[:, :1] ** 2
    given = np.exp(-gaps / max(float(gaps.mean()), 1e-12))
    given /= given.sum(axis=1, keepdims=True)
    blank = (0, 0), (0, CANDIDATES - k)
    columns = np.pad(first[places], blank, constant_values=-1)
    return Rows(columns[owner.reshape(-1)], np.pad(given, blank)[owner.reshape(-1)])


def balance(rows: Rows, n_source: int) -> None:
    """Scale columns to sum to 1, then rows, and so on, in place."""
    used = np.maximum(rows.columns, 0)  # where there is no candidate, values are 0
    for _ in range(ROUNDS):
        sums = np.bincount(used.ravel(), rows.values.ravel(), n_source)
        rows.values[:] /= np.maximum(sums, 1e-12)[used]
        totals = np.cumsum(rows.values, axis=1)[:, -1:]
        rows.values[:] /= np.where(totals > 0, totals, 1.0)


def complete(partners: Integers, target: Network, source: Network) -> Integers:
    """Give nodes without a partner one of those left, by degree and label; for the search."""
    alone = np.flatnonzero(partners < 0)
    left = np.setdiff1d(np.arange(source.n_nodes), partners)
    alone = alone[np.lexsort((target.degrees[alone], target.labels[alone]))]
    left = left[np.lexsort((source.degrees[left], source.labels[left]))]
    n, whole = min(len(alone), len(left)), partners.copy()
    whole[alone[:n]] = left[:n]
    return whole


def find_kept(
    target: Network, source: Network, partners: Integers, *, strict: bool = False
) -> NDArray[np.bool_]:
    """Say of every arc of the target whether it falls on one of the source, (n_arcs,).

    strict: on one of the same label.
    """
    mine, theirs = (g.kinds if strict else g.kinds & 1 for g in (target, source))
    shape = source.n_nodes, source.n_nodes, 1 + max(mine.max(initial=0), theirs.max(initial=0))
    tails, heads = partners[target.tails], partners[target.heads]
    found = (tails >= 0) & (heads >= 0)
    arcs = np.ravel_multi_index((tails[found], heads[found], mine[found]), shape)
    found[found] = np.isin(arcs, np.ravel_multi_index((source.tails, source.heads, theirs), shape))
    return found


@compiled
def vote(
    target: Network, source: Network, rows: Rows, label_cost: float, beta: float, turned: int
) -> Rows:
    """Let neighbours vote once: the best candidates of every node, and its new attention.

        P[i, j] ~ exp(-beta (U[i, j] - 2 V[i, j]))

    Candidates: whom a node attends now, and whom its neighbours vote for. turned: 1 for directed
    graphs, whose arcs are of the reverse kind seen from the other end.
    """
    width, n_source = rows.columns.shape[1], len(source.starts) - 1
    columns, values = np.full_like(rows.columns, -1), np.zeros_like(rows.values)
    votes, listed = np.zeros(n_source), np.empty(n_source, dtype=np.int64)
    asked = np.full(n_source, -1, dtype=np.int64)  # the node that was asked about last
    for node in range(len(target.starts) - 1):
        n_listed = 0
        for other in rows.columns[node]:
            if other >= 0:
                asked[other] = node
                listed[n_listed] = other
                n_listed += 1
        for arc in range(target.starts[node], target.starts[node + 1]):
            near, kind = target.heads[arc], target.kinds[arc]
            for place in range(width):
                share = rows.values[near, place]
                if share < LEAST_SHARE:
                    continue
                partner = rows.columns[near, place]
                first, last = source.starts[partner], source.starts[partner + 1]
                if last - first > MOST_ASKED:  # a hub says little of each, and costs their square
                    continue
                for back in range(first, last):
                    if (source.kinds[back] ^ kind) & 1 != turned:
                        continue
                    other = source.heads[back]
                    votes[other] += share if source.kinds[back] >> 1 == kind >> 1 else 0.5 * share
                    if asked[other] != node:
                        asked[other] = node
                        listed[n_listed] = other
                        n_listed += 1
        best = np.full(width, -np.inf)
        for other in listed[:n_listed]:
            score = 2.0 * votes[other]
            votes[other] = 0.0
            if score > best[width - 1]:  # costs are not negative, so others need not be priced
                if target.labels[node] != source.labels[other]:
                    score -= 2.0 * label_cost
                for column in range(target.features.shape[1]):
                    gap = target.features[node, column] - source.features[other, column]
                    score -= gap * gap
                keep_best(best, columns[node], score, other)
        shares(best, columns[node], values[node], beta)
    return Rows(columns, values)


@compiled
def match_in_turn(order: Integers, rows: Rows, n_source: int) -> Integers:
    """Match entries in their turn while both nodes are free: partners, (n,), or -1."""
    width = rows.columns.shape[1]
    partners = np.full(len(rows.columns), -1, dtype=np.int64)
    taken = np.zeros(n_source, dtype=np.bool_)
    for entry in order:
        node, other = entry // width, rows.columns[entry // width, entry % width]
        if other >= 0 and partners[node] < 0 and not taken[other]:
            partners[node] = other
            taken[other] = True
    return partners
