"""What a matching keeps, checked edge by edge and label by label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.encoding import is_directed
from ddgk.graphs.graph import Graph

Integers = NDArray[np.int64]


def kept_edges(target: Graph, source: Graph, pairs: Integers) -> Integers:
    """Return (target edge, source edge) for every edge that a matching maps onto one, (n_kept, 2).

    pairs: (n_matched, 2), target node before source node.
    """
    partner = np.full(target.n_nodes, -1, dtype=np.int64)
    partner[pairs[:, 0]] = pairs[:, 1]
    ends = partner[target.edges]
    matched = (ends >= 0).all(axis=1)
    if not is_directed(target):
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
    sizes = (target.n_nodes, target.n_edges, is_directed(target))
    if sizes != (source.n_nodes, source.n_edges, is_directed(source)):
        return False
    edges = kept_edges(target, source, pairs)
    if len(pairs) != target.n_nodes or len(edges) != target.n_edges:
        return False
    if (target.edge_weights is None) != (source.edge_weights is None):
        return False
    for name, matched in (("node_attributes", pairs), ("edge_weights", edges)):
        mine, theirs = getattr(target, name), getattr(source, name)
        if name in used and mine is not None and theirs is not None:
            same = np.array_equal(mine[matched[:, 0]], theirs[matched[:, 1]], equal_nan=True)
            if not same:
                return False
    if "node_labels" in used and not labels_agree(target, source, pairs).all():
        return False
    if "edge_labels" not in used:
        return True
    mine, theirs = target.edge_labels or (), source.edge_labels or ()
    return all(mine[t] == theirs[s] for t, s in edges.tolist())
