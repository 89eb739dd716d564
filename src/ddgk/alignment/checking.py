"""What a matching keeps, checked edge by edge and label by label, and which nodes are ties."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.encoding import code_graphs
from ddgk.graphs.graph import Graph
from ddgk.symmetry import equitable_partition

Integers = NDArray[np.int64]


def kept_edges(target: Graph, source: Graph, pairs: Integers) -> Integers:
    """Return (target edge, source edge) for every edge that a matching maps onto one, (n_kept, 2).

    pairs: (n_matched, 2), target node before source node.
    """
    partner = np.full(target.n_nodes, -1, dtype=np.int64)
    partner[pairs[:, 0]] = pairs[:, 1]
    ends = partner[target.edges]
    matched = (ends >= 0).all(axis=1)
    if not target.directed:
        ends = np.sort(ends, axis=1)
    codes = ends[:, 0] * source.n_nodes + ends[:, 1]
    known = source.edges[:, 0] * source.n_nodes + source.edges[:, 1]  # ascending, as edges are
    places = np.searchsorted(known, codes)
    found = matched & (places < len(known))
    found[found] = known[places[found]] == codes[found]
    here = np.flatnonzero(found)
    return np.stack([here, places[here]], axis=1).astype(np.int64)


def induced_edges(graph: Graph, nodes: Integers) -> int:
    """Count the edges between nodes of a set."""
    inside = np.zeros(graph.n_nodes, dtype=bool)
    inside[nodes] = True
    return int(inside[graph.edges].all(axis=1).sum())


def labels_agree(target: Graph, source: Graph, pairs: Integers) -> NDArray[np.bool_]:
    """Say of every pair whether its node labels are equal, (n_matched,)."""
    mine, theirs = target.node_labels, source.node_labels
    if mine is None or theirs is None:
        return np.ones(len(pairs), dtype=bool)
    return np.array([mine[t] == theirs[s] for t, s in pairs.tolist()], dtype=bool)


def is_isomorphism(target: Graph, source: Graph, pairs: Integers, used: Sequence[str]) -> bool:
    """Check that a matching keeps every edge and non-edge, and what nodes and edges carry."""
    sizes = (target.n_nodes, target.n_edges, target.directed)
    if sizes != (source.n_nodes, source.n_edges, source.directed):
        return False
    edges = kept_edges(target, source, pairs)
    if len(pairs) != target.n_nodes or len(edges) != target.n_edges:
        return False
    if (target.edge_weights is None) != (source.edge_weights is None):
        return False
    for name in used:
        mine, theirs = getattr(target, name), getattr(source, name)
        matched = pairs if name.startswith("node") else edges
        if mine is None or theirs is None:
            continue
        if name.endswith("labels"):
            same = all(mine[t] == theirs[s] for t, s in matched.tolist())
        else:
            same = np.array_equal(mine[matched[:, 0]], theirs[matched[:, 1]], equal_nan=True)
        if not same:
            return False
    return True


@dataclass(frozen=True)
class Orbit:
    """Nodes of the target that refinement cannot tell apart, and what they were matched with.

    Attributes
    ----------
    nodes : tuple
        A class of the coarsest equitable partition (1-dimensional Weisfeiler-Leman, labels
        included), of two nodes at least. A true orbit always lies within one class.
    partners : tuple
        The source nodes they were matched with; any of them may as well be another one's.
    exchanged : bool
        Whether each of the nodes can be swapped with the others and nothing else changes (twins),
        in which case the class is an orbit.
    """

    nodes: tuple[Hashable, ...]
    partners: tuple[Hashable, ...]
    exchanged: bool


def find_orbits(
    target: Graph, source: Graph, used: Sequence[str], pairs: Integers
) -> tuple[Orbit, ...]:
    """List the classes of two nodes or more."""
    if not target.n_nodes:
        return ()
    codes = code_graphs([target], used)[0]
    classes = equitable_partition(codes.colours, codes.arcs).classes
    around: list[set[tuple[int, int]]] = [set() for _ in codes.colours]
    arcs = codes.arcs.tails, codes.arcs.heads, codes.arcs.codes
    for tail, head, code in np.stack(arcs, axis=1).tolist():
        around[tail].add((head, code))

    def twins(*pair: int) -> bool:
        mine, theirs = ({arc for arc in around[node] if arc[0] not in pair} for node in pair)
        return mine == theirs

    partner = dict(pairs.tolist())
    found = []
    order = np.argsort(classes, kind="stable")
    for group in np.split(order, np.cumsum(np.bincount(classes))[:-1]):
        members = group.tolist()
        if len(members) > 1:
            nodes = tuple(target.node_names[i] for i in members)
            partners = tuple(source.node_names[partner[i]] for i in members if i in partner)
            exchanged = all(twins(members[0], node) for node in members[1:])
            found.append(Orbit(nodes, partners, exchanged))
    return tuple(found)
