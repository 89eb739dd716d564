"""Attention between two large graphs, a few candidates a node, cooled down by votes of neighbours.

Rows hold the candidates of a target node and how it attends them. Neighbours vote: i may well be j
where neighbours of i attend neighbours of j. That is the gradient of the squared error with which
the target is reconstructed through the attention, kept to a few entries a row:

    V[i, j] = sum over arcs i -> a, b -> j of one kind of P[a, b]

Nodes below n_target are the target's, the others the source's, as in `ddgk.engine.pairing`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.compiling import compiled
from ddgk.refinement import Network

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Who has more neighbours has no vote: it says little of each of them, and costs their square.
MOST_ASKED = 200
LEAST_SHARE = 1e-3  # attention below is not passed on


class Rows(NamedTuple):
    """A few entries of a matrix in every row.

    columns: (n_target, k) places among the source's nodes, -1 where there is none. values: (same).
    """

    columns: Integers
    values: Array


class Carried(NamedTuple):
    """What nodes of both graphs are like by themselves.

    colours: (n,), a node of another costs `other`. features: (n, q), squared distances cost.
    """

    colours: Integers
    features: Array
    other: float


@compiled
def count_triangles(network: Network) -> Integers:
    """Count the triangles at every node, (n,).

    Each is found at its node of least degree, so that hubs cost no more than others.
    """
    n_nodes = len(network.starts) - 1
    found = np.zeros(n_nodes, dtype=np.int64)
    seen = np.full(n_nodes, -1, dtype=np.int64)
    degrees = np.diff(network.starts)
    for node in range(n_nodes):
        for arc in range(network.starts[node], network.starts[node + 1]):
            near = network.heads[arc]
            if _above(degrees, near, node):
                seen[near] = node
        for arc in range(network.starts[node], network.starts[node + 1]):
            near = network.heads[arc]
            if not _above(degrees, near, node):
                continue
            for other in range(network.starts[near], network.starts[near + 1]):
                far = network.heads[other]
                if _above(degrees, far, near) and seen[far] == node:
                    found[node] += 1
                    found[near] += 1
                    found[far] += 1
    return found


@compiled
def _above(degrees: Integers, one: int, other: int) -> bool:
    return degrees[one] > degrees[other] or (degrees[one] == degrees[other] and one > other)


@compiled
def vote(
    network: Network, n_target: int, rows: Rows, carried: Carried, coldness: float, fixed: Integers
) -> Rows:
    """Let neighbours vote once: the best candidates of every node, and its new attention.

        P[i, j] ~ exp(-beta (U[i, j] - 2 V[i, j]))

    fixed: the partner of nodes that are sure, (n_target,), else -1.
    """
    width = rows.columns.shape[1]
    columns = np.full_like(rows.columns, -1)
    values = np.zeros_like(rows.values)
    n_source = len(network.starts) - 1 - n_target
    votes = np.zeros(n_source)
    asked = np.zeros(n_source, dtype=np.bool_)
    listed = np.empty(n_source, dtype=np.int64)
    for node in range(n_target):
        if fixed[node] >= 0:
            columns[node, 0] = fixed[node]
            values[node, 0] = 1.0
            continue
        n_listed = _poll(network, n_target, rows, node, votes, asked, listed)
        best = np.full(width, -np.inf)
        for place in range(n_listed):
            other = listed[place]
            most = 2.0 * votes[other]
            votes[other] = 0.0
            asked[other] = False
            if most > best[width - 1]:  # costs are not negative, so others need not be priced
                score = most - _cost(carried, node, n_target + other)
                _keep(best, columns[node], score, other)
        _share_out(best, columns[node], values[node], coldness)
    return Rows(columns, values)


@compiled
def _poll(
    network: Network,
    n_target: int,
    rows: Rows,
    node: int,
    votes: Array,
    asked: NDArray[np.bool_],
    listed: Integers,
) -> int:
    """Collect the votes of a node's neighbours; whom it attends now is listed with none, too."""
    n_listed = 0
    for place in range(rows.columns.shape[1]):
        other = rows.columns[node, place]
        if other >= 0:
            asked[other] = True
            listed[n_listed] = other
            n_listed += 1
    for arc in range(network.starts[node], network.starts[node + 1]):
        near, kind = network.heads[arc], network.kinds[arc]
        for place in range(rows.columns.shape[1]):
            share = rows.values[near, place]
            if share < LEAST_SHARE:
                continue
            partner = n_target + rows.columns[near, place]
            first, last = network.starts[partner], network.starts[partner + 1]
            if last - first > MOST_ASKED:
                continue
            for back in range(first, last):
                if network.kinds[back] != kind:
                    continue
                other = network.heads[back] - n_target
                votes[other] += share
                if not asked[other]:
                    asked[other] = True
                    listed[n_listed] = other
                    n_listed += 1
    return n_listed


@compiled
def _cost(carried: Carried, node: int, other: int) -> float:
    """Return U: what it costs that two nodes are not alike by themselves."""
    cost = 0.0 if carried.colours[node] == carried.colours[other] else carried.other
    for place in range(carried.features.shape[1]):
        gap = carried.features[node, place] - carried.features[other, place]
        cost += gap * gap
    return cost


@compiled
def _keep(best: Array, columns: Integers, score: float, other: int) -> None:
    """Enter a candidate into a short list, best first."""
    place = len(best) - 1
    if score <= best[place]:
        return
    while place > 0 and best[place - 1] < score:
        best[place] = best[place - 1]
        columns[place] = columns[place - 1]
        place -= 1
    best[place] = score
    columns[place] = other


@compiled
def _share_out(best: Array, columns: Integers, values: Array, coldness: float) -> None:
    """Turn scores into an attention that sums to 1."""
    total = 0.0
    for place in range(len(best)):
        if columns[place] >= 0:
            values[place] = np.exp(coldness * (best[place] - best[0]))
            total += values[place]
    if total > 0:
        for place in range(len(best)):
            values[place] /= total


@compiled
def balance(rows: Rows, n_source: int, rounds: int) -> None:
    """Scale columns that are attended by more than one node's worth, then rows, in place."""
    for _ in range(rounds):
        sums = np.zeros(n_source)
        for node in range(len(rows.columns)):
            for place in range(rows.columns.shape[1]):
                if rows.columns[node, place] >= 0:
                    sums[rows.columns[node, place]] += rows.values[node, place]
        for node in range(len(rows.columns)):
            total = 0.0
            for place in range(rows.columns.shape[1]):
                other = rows.columns[node, place]
                if other >= 0:
                    rows.values[node, place] /= max(sums[other], 1e-12)
                    total += rows.values[node, place]
            if total > 0:
                rows.values[node] /= total


@compiled
def match_in_turn(order: Integers, rows: Rows, n_source: int) -> Integers:
    """Match entries in their turn while both nodes are free: partners, (n_target,), or -1."""
    width = rows.columns.shape[1]
    partners = np.full(len(rows.columns), -1, dtype=np.int64)
    taken = np.zeros(n_source, dtype=np.bool_)
    for entry in order:
        node, other = entry // width, rows.columns[entry // width, entry % width]
        if other >= 0 and partners[node] < 0 and not taken[other]:
            partners[node] = other
            taken[other] = True
    return partners


@compiled
def weigh(
    network: Network,
    n_target: int,
    partners: Integers,
    carried: Carried,
    coldness: float,
    width: int,
) -> tuple[Rows, Array]:
    """Say where each matched node would go if the rest stayed, and how sure its partner is.

        1 / sum_j exp(-beta d_ij),  d_ij: how many more edges of i and j are lost if i takes j

    Whoever had j takes i's. j: who is a neighbour of a partner of a neighbour of i, and of the
    neighbours of a hub some. Returns the attention and the sureness of every row, (n_target,).
    """
    n_source = len(network.starts) - 1 - n_target
    columns = np.full((n_target, width), -1, dtype=np.int64)
    values = np.zeros((n_target, width))
    sureness = np.zeros(n_target)
    owners = np.full(n_source, -1, dtype=np.int64)
    for node in range(n_target):
        if partners[node] >= 0:
            owners[partners[node]] = node
    votes = np.zeros(n_source)
    listed = np.empty(n_source, dtype=np.int64)
    near_node = np.full(n_target, -1, dtype=np.int64)  # whose neighbour a target node is
    near_partner = np.full(n_source, -1, dtype=np.int64)
    for node in range(n_target):
        partner = partners[node]
        if partner < 0:
            continue
        for arc in range(
            network.starts[n_target + partner], network.starts[n_target + partner + 1]
        ):
            near_partner[network.heads[arc] - n_target] = node
        own, n_listed = 0.0, 0
        for arc in range(network.starts[node], network.starts[node + 1]):
            near, kind = network.heads[arc], network.kinds[arc]
            near_node[near] = node
            image = partners[near]
            if image < 0:
                continue
            first, last = network.starts[n_target + image], network.starts[n_target + image + 1]
            own += _joins(network, n_target, image, partner, kind, near_partner[image] == node)
            for back in range(first, min(last, first + MOST_ASKED)):
                other = network.heads[back] - n_target
                if network.kinds[back] != kind or other == partner:
                    continue
                if votes[other] == 0.0:
                    listed[n_listed] = other
                    n_listed += 1
                votes[other] += 1.0
        degree = network.starts[n_target + partner + 1] - network.starts[n_target + partner]
        best = np.full(width, -np.inf)
        _keep(best, columns[node], 0.0, partner)
        total = 1.0
        for place in range(n_listed):
            other = listed[place]
            gained = votes[other] - own
            votes[other] = 0.0
            # Neighbours that exchange their partners keep the edge between them.
            if owners[other] >= 0 and near_node[owners[other]] == node:
                gained += 1.0 if near_partner[other] == node else 0.0
            theirs = network.starts[n_target + other + 1] - network.starts[n_target + other]
            lost = theirs - degree - 2.0 * gained
            if carried.colours[node] != carried.colours[n_target + other]:
                lost += carried.other
            score = -max(lost, 0.0)
            total += np.exp(coldness * score)
            _keep(best, columns[node], score, other)
        _share_out(best, columns[node], values[node], coldness)
        sureness[node] = 1.0 / total
    return Rows(columns, values), sureness


@compiled
def _joins(
    network: Network, n_target: int, image: int, partner: int, kind: int, near: bool
) -> float:
    """Return 1 where an arc of this kind joins two nodes of the source that are neighbours."""
    if not near:
        return 0.0
    one, other = n_target + image, n_target + partner
    if (
        network.starts[one + 1] - network.starts[one]
        > network.starts[other + 1] - network.starts[other]
    ):
        one, other = other, one
    for arc in range(network.starts[one], network.starts[one + 1]):
        if network.heads[arc] == other and network.kinds[arc] == kind:
            return 1.0
    return 0.0
