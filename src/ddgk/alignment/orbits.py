"""Which nodes of a target could change places: ties between automorphisms, said and not hidden."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.attributes import learn_families
from ddgk.graphs.graph import Graph
from ddgk.reading import Reader

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Orbit:
    """Nodes of the target that refinement cannot tell apart, and what they were matched with.

    nodes: a class of the coarsest equitable partition (1-dimensional Weisfeiler-Leman, labels
    included), of two nodes at least. A true orbit always lies within one class; a class may hold
    several. partners: the source nodes they were matched with; any of them may as well be another
    one's. exchanged: whether automorphisms that were checked edge by edge carry each of the nodes
    to each other, in which case the class is an orbit.
    """

    nodes: tuple[Hashable, ...]
    partners: tuple[Hashable, ...]
    exchanged: bool


def colour_classes(graph: Graph, families: Sequence[str]) -> Integers:
    """Return the class of every node in the coarsest equitable partition, (n_nodes,)."""
    reader = Reader("node_to_edges", learn_families([graph], tuple(families)))
    return reader.read(graph, quotient=True).partition.classes


def find_orbits(
    target: Graph,
    source: Graph,
    families: Sequence[str],
    pairs: Integers,
    isomorphisms: Sequence[Integers],
) -> tuple[Orbit, ...]:
    """List the classes of two nodes or more, with what was found to be exchanged.

    isomorphisms: matchings that keep everything, (n, 2) each; one after the other's inverse is an
    automorphism.
    """
    classes = colour_classes(target, families)
    order = np.argsort(classes, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(classes))[:-1])
    surroundings = _Surroundings(target, families)
    joined = _Joined(target.n_nodes)
    for automorphism in _automorphisms(isomorphisms):
        joined.join(enumerate(automorphism.tolist()))
    partner = dict(pairs.tolist())
    found = []
    for group in groups:
        if len(group) < 2:
            continue
        joined.join(surroundings.twins(group))
        members = group.tolist()
        found.append(
            Orbit(
                tuple(target.node_names[i] for i in members),
                tuple(source.node_names[partner[i]] for i in members if i in partner),
                len({joined.root(i) for i in members}) == 1,
            )
        )
    return tuple(found)


def _automorphisms(isomorphisms: Sequence[Integers]) -> Iterable[Integers]:
    """Compose each isomorphism with the inverse of the first: target nodes to target nodes."""
    if not isomorphisms:
        return
    first = np.empty(len(isomorphisms[0]), dtype=np.int64)
    first[isomorphisms[0][:, 1]] = isomorphisms[0][:, 0]
    for pairs in isomorphisms[1:]:
        image = np.empty(len(pairs), dtype=np.int64)
        image[pairs[:, 0]] = first[pairs[:, 1]]
        yield image


class _Surroundings:
    """Who is around each node, by which edges, and what the nodes carry."""

    def __init__(self, graph: Graph, families: Sequence[str]) -> None:
        n_nodes, n_edges = graph.n_nodes, graph.n_edges
        tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
        order = np.lexsort((heads, tails))
        self._starts = np.searchsorted(tails[order], np.arange(n_nodes + 1))
        self._heads, self._edges = heads[order], order % max(n_edges, 1)
        self._nodes: list[Sequence[object]] = []
        self._kinds: list[Sequence[object]] = []
        if graph.edge_weights is not None:
            self._kinds.append(graph.edge_weights.tolist())
        if "edge_labels" in families:
            self._kinds.append(graph.edge_labels or ())
        if "node_labels" in families:
            self._nodes.append(graph.node_labels or ())
        if "attributes" in families and graph.node_attributes is not None:
            self._nodes.append([row.tobytes() for row in graph.node_attributes])

    def twins(self, group: Integers) -> Iterable[tuple[int, int]]:
        """Find nodes whose exchange alone keeps everything, each with the one before it."""
        for first, second in zip(group[:-1].tolist(), group[1:].tolist(), strict=True):
            if self._are_twins(first, second):
                yield first, second

    def _are_twins(self, one: int, other: int) -> bool:
        alike = all(carried[one] == carried[other] for carried in self._nodes)
        return alike and self._seen(one, other) == self._seen(other, one)

    def _seen(self, node: int, apart_from: int) -> list[tuple[object, ...]]:
        """List the neighbours of a node but one, with what their edges carry, ascending."""
        own = slice(self._starts[node], self._starts[node + 1])
        return [
            (head, *(kind[edge] for kind in self._kinds))
            for head, edge in zip(self._heads[own].tolist(), self._edges[own].tolist(), strict=True)
            if head != apart_from
        ]


class _Joined:
    """Sets of nodes that grow together."""

    def __init__(self, n_nodes: int) -> None:
        self._above = list(range(n_nodes))

    def root(self, node: int) -> int:
        """Return the node that stands for the set."""
        while self._above[node] != node:
            self._above[node] = self._above[self._above[node]]  # halves the way for the next
            node = self._above[node]
        return node

    def join(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Put the two of every pair into one set."""
        for one, other in pairs:
            low, high = sorted((self.root(one), self.root(other)))
            self._above[high] = low
