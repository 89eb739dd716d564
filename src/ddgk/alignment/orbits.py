"""Which nodes of a target could change places: ties between automorphisms, said and not hidden."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.checking import is_isomorphism
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
    groups = [np.flatnonzero(classes == c) for c in range(int(classes.max()) + 1)]
    joined = _Joined(target.n_nodes)
    for automorphism in _automorphisms(isomorphisms):
        joined.join(enumerate(automorphism.tolist()))
    partner = dict(pairs.tolist())
    found = []
    for group in groups:
        if len(group) < 2:
            continue
        joined.join(_twins(target, families, group))
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


def _twins(graph: Graph, families: Sequence[str], group: Integers) -> Iterable[tuple[int, int]]:
    """Find nodes of a class whose exchange alone keeps everything, each with the one before it."""
    everywhere = np.arange(graph.n_nodes)
    for first, second in zip(group[:-1].tolist(), group[1:].tolist(), strict=True):
        image = everywhere.copy()
        image[[first, second]] = second, first
        if is_isomorphism(graph, graph, np.stack([everywhere, image], axis=1), families):
            yield first, second


class _Joined:
    """Sets of nodes that grow together."""

    def __init__(self, n_nodes: int) -> None:
        self._above = list(range(n_nodes))

    def root(self, node: int) -> int:
        """Return the node that stands for the set."""
        while self._above[node] != node:
            node = self._above[node]
        return node

    def join(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Put the two of every pair into one set."""
        for one, other in pairs:
            low, high = sorted((self.root(one), self.root(other)))
            self._above[high] = low
