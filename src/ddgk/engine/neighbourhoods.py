"""Neighbourhoods of the nodes of a batch: which are equal, and which neighbours they have.

Hashes of t-hop neighbourhoods are refined level by level. A hash depends on the neighbourhood
alone, not on node order, the batch or the rest of the graph, so it numbers equal neighbourhoods of
different graphs and gives sums over neighbours a fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.hashing import scramble

Integers = NDArray[np.int64]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Words = NDArray[np.uint64]

LABELS, REALS = 0, 1  # kinds of attributes: cross-entropy, squared error
_OUT, _IN = np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344)


@dataclass(frozen=True)
class Adjacency:
    """Neighbour lists: those of node i are nodes[starts[i]:starts[i + 1]], with weights in [0, 1].

    weights is None where every edge counts 1.
    """

    starts: Integers
    nodes: Integers
    weights: Doubles | None = None


@dataclass(frozen=True)
class AttributeColumns:
    """One attribute of every node of a batch.

    own: what a node carries, q, (n_nodes, k). given: what it contributes to the attribute of its
    neighbours, (n_nodes, k). Labels: rows of `own` sum to 1 or are 0, `given` are counts. Reals:
    standardised values, NaN where one is missing. name: for the coefficient in the loss.
    """

    kind: int
    own: Doubles
    given: Doubles
    name: str = ""


@dataclass(frozen=True)
class LocalTargets:
    """A batch of target graphs as one disjoint union.

    starts: graph g has the nodes starts[g]..starts[g + 1]. out, into: neighbours that an edge leads
    to and comes from; the same object for undirected graphs.
    """

    starts: Integers
    out: Adjacency
    into: Adjacency
    attributes: tuple[AttributeColumns, ...] = ()

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs."""
        return int(self.starts[-1])


@dataclass(frozen=True)
class Level:
    """Distinct t-hop neighbourhoods of a batch.

    ids: the neighbourhood of every node, (n_nodes,), numbered in the order of their hashes.
    nodes: one node of each neighbourhood, (n_distinct,). hashes: ascending, (n_distinct,); equal
    neighbourhoods have equal hashes in all batches.
    """

    ids: Integers
    nodes: Integers
    hashes: Words


def _sum_hashes(hashes: Words, side: Adjacency, salt: np.uint64) -> Words:
    """Add the hashes of every node's neighbours and weights; addition forgets their order."""
    words = hashes[side.nodes] ^ salt
    if side.weights is not None:
        words ^= scramble(side.weights.view(np.uint64) + salt)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(scramble(words))])
    return np.asarray(sums[side.starts[1:]] - sums[side.starts[:-1]])


def _hash_rows(rows: Doubles) -> Words:
    """Hash every row by its bits; -0.0 counts as 0.0."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in range(bits.shape[1]):
        found = scramble(found ^ bits[:, column]) + np.uint64(column)
    return found


def colour(targets: LocalTargets, n_levels: int) -> tuple[Level, ...]:
    """Refine neighbourhoods by `n_levels` hops; level 0 is what a node carries itself.

    Hashes have 64 bits and depend on the neighbourhood alone, so equal neighbourhoods of different
    graphs get equal hashes.
    """
    hashes = np.zeros(targets.n_nodes, dtype=np.uint64)
    for attribute in targets.attributes:
        hashes = scramble(hashes ^ _hash_rows(attribute.own)) + _hash_rows(attribute.given)
    levels = []
    for level in range(n_levels + 1):
        distinct, nodes, ids = np.unique(hashes, return_index=True, return_inverse=True)
        levels.append(Level(ids.reshape(-1).astype(np.int64), nodes.astype(np.int64), distinct))
        if level < n_levels:
            seen = scramble(hashes)
            # Both sides also of undirected graphs, whose hashes must not depend on the batch.
            for side, salt in ((targets.out, _OUT), (targets.into, _IN)):
                seen += _sum_hashes(hashes, side, salt)
            hashes = scramble(seen)
    return tuple(levels)


class Neighbours(NamedTuple):
    """Neighbours of some nodes, by neighbourhood (rows), ascending; equal ones are merged."""

    starts: Integers
    rows: Integers
    weights: Singles
    counts: Singles  # how many neighbours each entry stands for


def merge_neighbours(nodes: Integers, side: Adjacency, ids: Integers) -> Neighbours:
    """List the neighbours of some nodes, with `ids` of neighbourhoods for nodes."""
    first, sizes = side.starts[nodes], side.starts[nodes + 1] - side.starts[nodes]
    owner = np.repeat(np.arange(len(nodes)), sizes)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    arcs = np.repeat(first, sizes) + within
    key = owner * np.int64(max(1, len(ids))) + ids[side.nodes[arcs]]
    if side.weights is None:
        order = np.argsort(key, kind="stable")
        weights = np.ones(len(key), np.float32)
    else:
        weights = side.weights[arcs].astype(np.float32)
        order = np.lexsort((weights, key))
    key, weights = key[order], weights[order]
    begins = np.ones(len(key), dtype=bool)
    begins[1:] = (key[1:] != key[:-1]) | (weights[1:] != weights[:-1])
    places = np.flatnonzero(begins)
    counts = np.diff(np.append(places, len(key))).astype(np.float32)
    starts = np.searchsorted(owner[order][places], np.arange(len(nodes) + 1))
    rows = key[places] % max(1, len(ids))
    return Neighbours(starts.astype(np.int64), rows, weights[places], counts)


def pool(near: Neighbours, given: Doubles, kind: int) -> Doubles:
    """Return what neighbours contribute: frequencies of labels, or means of observed values."""
    n_rows = len(near.starts) - 1
    owner = np.repeat(np.arange(n_rows), np.diff(near.starts))
    found = np.zeros((n_rows, given.shape[1]))
    for c, values in enumerate(given[near.rows].T):
        seen = ~np.isnan(values)
        counts, at = near.counts[seen].astype(np.float64), owner[seen]
        found[:, c] = np.bincount(at, counts * values[seen], n_rows)
        if kind == REALS:
            weight = np.bincount(at, counts, n_rows)
            found[:, c] = np.where(
                weight > 0, found[:, c] / np.where(weight > 0, weight, 1), np.nan
            )
    if kind == LABELS:
        total = found.sum(axis=1, keepdims=True)
        found /= np.where(total > 0, total, 1)
    return found
