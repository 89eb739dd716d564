"""What a matching keeps, checked edge by edge and label by label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs.graph import Graph

Integers = NDArray[np.int64]


def kept_edges(target: Graph, source: Graph, pairs: Integers) -> Integers:
    """Return (target edge, source edge) for every edge that a matching maps onto one, (n_kept, 2).

    pairs: (n_matched, 2), target node before source node.
    """
    partner = np.full(target.n_nodes, -1, dtype=np.int64)
    partner[pairs[:, 0]] = pairs[:, 1]
    ends = np.sort(partner[target.edges], axis=1)
    codes = ends[:, 0] * source.n_nodes + ends[:, 1]
    known = source.edges[:, 0] * source.n_nodes + source.edges[:, 1]  # ascending, as edges are
    places = np.searchsorted(known, codes)
    found = (ends[:, 0] >= 0) & (places < len(known))
    found[found] = known[places[found]] == codes[found]
    here = np.flatnonzero(found)
    return np.stack([here, places[here]], axis=1).astype(np.int64)


def induced_edges(graph: Graph, nodes: Integers) -> int:
    """Count the edges between nodes of a set."""
    inside = np.zeros(graph.n_nodes, dtype=bool)
    inside[nodes] = True
    return int(inside[graph.edges].all(axis=1).sum())


def is_isomorphism(target: Graph, source: Graph, pairs: Integers, families: Sequence[str]) -> bool:
    """Check that a matching keeps every edge and non-edge, and what nodes and edges carry.

    Kept edge weights count as what edges carry.
    """
    if (target.n_nodes, target.n_edges) != (source.n_nodes, source.n_edges):
        return False
    edges = kept_edges(target, source, pairs)
    if len(pairs) != target.n_nodes or len(edges) != target.n_edges:
        return False
    if (target.edge_weights is None) != (source.edge_weights is None):
        return False
    if target.edge_weights is not None and source.edge_weights is not None:
        same = target.edge_weights[edges[:, 0]] == source.edge_weights[edges[:, 1]]
        if not same.all():
            return False
    return all(_carry_alike(family, target, source, pairs, edges) for family in families)


def _carry_alike(
    family: str, target: Graph, source: Graph, nodes: Integers, edges: Integers
) -> bool:
    """Compare what matched nodes, or matched edges, carry in a family."""
    if family == "attributes":
        assert target.node_attributes is not None
        assert source.node_attributes is not None
        return np.array_equal(
            target.node_attributes[nodes[:, 0]], source.node_attributes[nodes[:, 1]]
        )
    on_edges = family == "edge_labels"
    mine, theirs = (
        (graph.edge_labels if on_edges else graph.node_labels) or () for graph in (target, source)
    )
    matched = edges if on_edges else nodes
    return all(mine[t] == theirs[s] for t, s in matched.tolist())
