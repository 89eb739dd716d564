"""Graphs that tests make on the spot."""

from __future__ import annotations

import networkx as nx
import numpy as np

from ddgk.graphs import Graph


def graph_of(network: nx.Graph, **fields) -> Graph:
    """Convert a networkx graph with any node names, structure only."""
    numbered = nx.convert_node_labels_to_integers(network)
    return Graph(len(numbered), list(numbered.edges()), **fields)


def random_graph(seed: int, *, labels: bool = False, attributes: bool = False) -> Graph:
    """A random graph of 2 to 14 nodes, sparse or dense, perhaps disconnected, perhaps labelled."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(2, 15))
    network = nx.gnp_random_graph(n_nodes, float(rng.uniform(0.05, 0.6)), seed=seed)
    edges = list(network.edges())
    return Graph(
        n_nodes,
        edges,
        node_labels=rng.integers(0, 3, n_nodes) if labels else None,
        edge_labels=rng.integers(0, 2, len(edges)) if labels else None,
        node_attributes=rng.integers(0, 3, (n_nodes, 4)) if attributes else None,
        name=f"random-{seed}",
    )


def shuffled(graph: Graph, seed: int) -> Graph:
    """The same graph with its nodes renumbered."""
    return graph.permuted(np.random.default_rng(seed).permutation(graph.n_nodes))


SYMMETRIC = {
    "cycle": nx.cycle_graph(12),
    "complete": nx.complete_graph(7),
    "windmill": nx.windmill_graph(4, 3),
    "barbell": nx.Graph(
        [(i, (i + 1) % 5) for i in range(5)]
        + [(5 + i, 5 + (i + 1) % 5) for i in range(5)]
        + [(0, 5)]
    ),
    "petersen": nx.petersen_graph(),
    "cube": nx.hypercube_graph(3),
    "star": nx.star_graph(6),
    "two triangles": nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)),
    "no edges": nx.empty_graph(5),
}


def contents(folder):
    """Return what the files of a folder hold, by their paths."""
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
