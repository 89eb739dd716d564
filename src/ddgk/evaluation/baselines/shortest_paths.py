"""The shortest-path kernel (Borgwardt and Kriegel 2005): pairs of nodes by labels and distance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk.evaluation.baselines.histograms import count_all, normalise, products
from ddgk.evaluation.representations import Grams
from ddgk.graphs import Graph


def shortest_paths(graphs: Sequence[Graph], seed: int) -> Grams:  # noqa: ARG001
    """Return the normalised kernel; pairs that no path joins do not count."""
    alphabet: dict[Hashable, int] = {}
    for graph in graphs:
        for label in graph.node_labels or (None,):
            alphabet.setdefault(label, len(alphabet))
    return Grams([normalise(products(count_all(_kinds(graph, alphabet) for graph in graphs)))])


def _kinds(
    graph: Graph, alphabet: dict[Hashable, int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return (label, label, distance) of ordered pairs, as numbers, and how many pairs have them.

    Pairs are ordered as in GraKeL, so a pair of equal labels weighs more than one of different.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    n, base = graph.n_nodes, len(alphabet)
    labels = np.array([alphabet[label] for label in graph.node_labels or [None] * n])
    one_way = (np.ones(graph.n_edges), (graph.edges[:, 0], graph.edges[:, 1]))
    lengths = shortest_path(csr_array(one_way, shape=(n, n)), directed=False, unweighted=True)
    np.fill_diagonal(lengths, np.inf)
    first, second = np.nonzero(np.isfinite(lengths))
    kinds = (lengths[first, second].astype(np.int64) * base + labels[first]) * base + labels[second]
    values, counts = np.unique(kinds, return_counts=True)
    return values, counts.astype(np.float64)
