"""The shortest-path kernel (Borgwardt and Kriegel 2005): pairs of nodes by labels and distance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments.baselines.histograms import count_all, normalise, products
from experiments.svm import Kernel, precomputed

BLOCK = 512  # nodes whose distances are held at once


def shortest_paths(graphs: Sequence[Graph], seed: int) -> list[Kernel]:  # noqa: ARG001
    """Return the normalised kernel; pairs that no path joins do not count."""
    alphabet: dict[Hashable, int] = {}
    for graph in graphs:
        for label in graph.node_labels or (None,):
            alphabet.setdefault(label, len(alphabet))
    histograms = count_all(count_paths(graph, alphabet) for graph in graphs)
    return precomputed([normalise(products(histograms))])


def count_paths(
    graph: Graph, alphabet: dict[Hashable, int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the kinds (distance, label, label) of ordered pairs as numbers, and their counts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n, base = graph.n_nodes, len(alphabet)
    labels = np.array([alphabet[label] for label in graph.node_labels or [None] * n])
    ends = (graph.edges[:, 0], graph.edges[:, 1])
    adjacency = csr_array((np.ones(graph.n_edges), ends), shape=(n, n))
    total = np.zeros(0, dtype=np.int64)
    for first in range(0, n, BLOCK):
        block = np.arange(first, min(n, first + BLOCK))
        lengths = dijkstra(adjacency, directed=False, indices=block, unweighted=True)
        lengths[np.arange(len(block)), block] = np.inf
        near, far = np.nonzero(np.isfinite(lengths))
        kinds = lengths[near, far].astype(np.int64) * base + labels[block[near]]
        found = np.bincount(kinds * base + labels[far], minlength=len(total))
        found[: len(total)] += total
        total = found
    kinds = np.flatnonzero(total)
    return kinds, total[kinds].astype(np.float64)
