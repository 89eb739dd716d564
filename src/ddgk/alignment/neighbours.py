"""Matching large graphs that are not isomorphic: a short attention, cooled down by neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.starts import uniform
from ddgk.engine.voting import Carried, Rows, balance, count_triangles, match_in_turn, vote
from ddgk.hashing import scramble
from ddgk.refinement import Network

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

COLOUR_DIMENSIONS = 4
HOPS = 3  # how far around a node its description looks
LEAST_STRENGTH = 4e-4  # of directions in which descriptions differ, beside the strongest
EPSILON = 3.0  # how much farther than the nearest a node may be that is looked for
SETTLED = 0.999  # share of nodes that stay with their first choice when cooling may end
TIES = 1 << 34  # a stream of random numbers that nothing else draws from
DIGITS = 6  # of features that count, so that rounding does not tell equal nodes apart


@dataclass(frozen=True)
class Cooling:
    """How a short attention is cooled down.

    width: candidates a node. steps: how many, with coldness from first to last. polish: rounds
    that follow, in which only matched neighbours vote. rounds: of balancing columns and rows.
    likeness: how much features count beside a vote. sureness: the coldness of confidences.
    """

    width: int = 16
    steps: int = 16
    first: float = 0.5
    last: float = 4.0
    polish: int = 60
    rounds: int = 2
    likeness: float = 0.25
    sureness: float = 2.0


def match_by_neighbours(
    network: Network, n_target: int, carried: Carried, fixed: Integers, cooling: Cooling, seed: int
) -> Integers:
    """Match as many nodes as neighbours speak for; return partners, (n_target,), or -1.

    fixed: partners that are known, else -1.
    """
    n_source = len(network.starts) - 1 - n_target
    features = carried.features
    weight = np.sqrt(cooling.likeness / features.shape[1])
    carried = carried._replace(features=weight * features)
    rows = nearest(features[:n_target], features[n_target:], cooling.width)
    for coldness in np.geomspace(cooling.first, cooling.last, cooling.steps):
        balance(rows, n_source, cooling.rounds)
        before, rows = rows, vote(network, n_target, rows, carried, float(coldness), fixed)
        if (before.columns[:, 0] == rows.columns[:, 0]).mean() > SETTLED:
            break
    balance(rows, n_source, cooling.rounds)
    partners = match_rows(rows, n_source, seed)
    best, most = partners, count_kept(network, n_target, partners)
    for _ in range(cooling.polish):
        rows = vote(network, n_target, settled(partners, cooling.width), carried, 1.0, fixed)
        partners = match_rows(rows, n_source, seed)
        kept = count_kept(network, n_target, partners)
        if kept <= most:
            break
        best, most = partners, kept
    return pair_leftovers(network, carried.colours, with_evidence(network, n_target, best, fixed))


def with_evidence(network: Network, n_target: int, partners: Integers, fixed: Integers) -> Integers:
    """Take back partners of nodes none of whose edges are kept."""
    tails, _, kept = kept_arcs(network, n_target, partners)
    spoken_for = fixed >= 0
    spoken_for[tails[kept]] = True
    return np.where(spoken_for, partners, -1)


def pair_leftovers(network: Network, colours: Integers, partners: Integers) -> Integers:
    """Pair nodes without a partner that hang on matched nodes alike, as leaves of one node do.

    Alike: of one colour and degree, and with the same first node among the partners of matched
    neighbours. Nodes without neighbours hang on nothing, alike.
    """
    n_target, n_nodes = len(partners), len(colours)
    degrees = np.diff(network.starts)
    tails = np.repeat(np.arange(n_nodes), degrees)
    while True:
        images = np.full(n_nodes, n_nodes, dtype=np.int64)
        matched = np.flatnonzero(partners >= 0)
        images[matched] = partners[matched]
        images[n_target + partners[matched]] = partners[matched]
        anchors = np.full(n_nodes, n_nodes, dtype=np.int64)
        np.minimum.at(anchors, tails, images[network.heads])
        left = np.flatnonzero((images == n_nodes) & ((anchors < n_nodes) | (degrees == 0)))
        alike = np.stack([anchors[left], colours[left], degrees[left]], axis=1)
        groups = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1)
        mine, theirs = (
            _counted(groups[side], left[side]) for side in (left < n_target, left >= n_target)
        )
        _, here, there = np.intersect1d(mine[0], theirs[0], return_indices=True)
        if not len(here):
            return partners
        partners = partners.copy()
        partners[mine[1][here]] = theirs[1][there] - n_target


def _counted(groups: Integers, nodes: Integers) -> tuple[Integers, Integers]:
    """Count the nodes of each group: codes of (group, number), and the nodes in that order."""
    order = np.argsort(groups, kind="stable")
    ascending = groups[order]
    numbers = np.arange(len(order)) - np.searchsorted(ascending, ascending)
    return (ascending << 32) + numbers, nodes[order]


def describe_nodes(network: Network, colours: Integers) -> Array:
    """Describe nodes by degrees, triangles and colours, their own and those around, (n, q)."""
    degrees = np.diff(network.starts).astype(np.float64)
    triangles = count_triangles(network).astype(np.float64)
    closed = triangles / np.maximum(degrees * (degrees - 1) / 2, 1.0)
    own = np.stack([np.log1p(degrees), np.log1p(triangles), closed], axis=1)
    if colours.any():
        salts = scramble(np.arange(COLOUR_DIMENSIONS, dtype=np.uint64))
        words = scramble(colours.astype(np.uint64)[:, None] ^ salts)
        own = np.hstack([own, words / 2.0**64])
    parts, last = [own], own
    for _ in range(HOPS):
        near = average_around(network, last)
        spread = average_around(network, last[:, :3] ** 2) - near[:, :3] ** 2
        parts += [near, np.sqrt(np.maximum(spread, 0.0))]
        last = np.hstack([near[:, : own.shape[1]], parts[-1]])
    return np.round(whitened(standardised(np.hstack(parts))), DIGITS)


def average_around(network: Network, values: Array) -> Array:
    """Average what the neighbours of every node have, (n, q); 0 where there are none."""
    from scipy import sparse

    n_nodes = len(values)
    ones = np.ones(len(network.heads))
    matrix = sparse.csr_array((ones, network.heads, network.starts), (n_nodes, n_nodes))
    return np.asarray((matrix @ values) / np.maximum(np.diff(network.starts), 1)[:, None])


def standardised(values: Array) -> Array:
    """Give every column mean 0 and standard deviation 1; a column without differences is 0."""
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 1e-9, spread, np.inf))


def whitened(values: Array) -> Array:
    """Turn columns until none says what another said, each with standard deviation 1.

    Without it, what is nearly the same in many columns drowns what only one of them says.
    """
    strengths, directions = np.linalg.eigh(values.T @ values / len(values))
    kept = strengths > LEAST_STRENGTH * strengths.max(initial=1e-12)
    scale = np.where(kept, 1.0 / np.sqrt(np.where(kept, strengths, 1.0)), 0.0)
    return np.asarray(values @ ((directions * scale) @ directions.T))


def nearest(mine: Array, theirs: Array, width: int) -> Rows:
    """Attend nodes that are described alike; one stands for all with the same description."""
    from scipy.spatial import cKDTree

    distinct, owner = np.unique(mine, axis=0, return_inverse=True)
    others, first = np.unique(theirs, axis=0, return_index=True)
    k = min(width, len(others))
    tree = cKDTree(others, balanced_tree=False, compact_nodes=False)
    distances, places = tree.query(distinct, k=k, eps=EPSILON)
    distances, places = distances.reshape(-1, k), places.reshape(-1, k)
    columns = np.full((len(mine), width), -1, dtype=np.int64)
    values = np.zeros((len(mine), width))
    columns[:, :k] = first[places][owner.reshape(-1)]
    gaps = distances**2 - distances[:, :1] ** 2
    shares = np.exp(-gaps / max(float(gaps.mean()), 1e-12))
    values[:, :k] = (shares / shares.sum(axis=1, keepdims=True))[owner.reshape(-1)]
    return Rows(columns, values)


def match_rows(rows: Rows, n_source: int, seed: int) -> Integers:
    """Match the largest attention first, (n_target,), or -1; ties fall as they are drawn."""
    drawn = uniform(seed, TIES, 1, rows.values.size)[0]
    return match_in_turn(np.lexsort((drawn, -rows.values.ravel())), rows, n_source)


def settled(partners: Integers, width: int) -> Rows:
    """Return the attention of a matching."""
    columns = np.full((len(partners), width), -1, dtype=np.int64)
    values = np.zeros((len(partners), width))
    columns[:, 0] = partners
    values[:, 0] = partners >= 0
    return Rows(columns, values)


def count_kept(network: Network, n_target: int, partners: Integers) -> int:
    """Count the arcs of the target that fall on arcs of the source."""
    return int(kept_arcs(network, n_target, partners)[2].sum())


def kept_arcs(
    network: Network, n_target: int, partners: Integers
) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Return tails and heads of the target's arcs, and which fall on arcs of the source."""
    n_nodes = len(network.starts) - 1
    tails = np.repeat(np.arange(n_nodes), np.diff(network.starts))
    n_arcs = int(network.starts[n_target])
    theirs = np.sort((tails[n_arcs:] - n_target) * n_nodes + network.heads[n_arcs:] - n_target)
    tails, heads = tails[:n_arcs], network.heads[:n_arcs]
    kept = (partners[tails] >= 0) & (partners[heads] >= 0)
    images = partners[tails[kept]] * n_nodes + partners[heads[kept]]
    places = np.minimum(np.searchsorted(theirs, images), max(len(theirs) - 1, 0))
    kept[kept] = theirs[places] == images if len(theirs) else False
    return tails, heads, kept
