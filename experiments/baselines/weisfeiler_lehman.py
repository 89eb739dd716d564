"""Weisfeiler-Lehman kernels: subtree, optimal assignment, Wasserstein.

Node labels are the first colours; each round, a node's colour takes in those of its neighbours.

    subtree              <h(G), h(H)>, h: colour counts (Shervashidze et al. 2011)
    optimal_assignment   sum_c min(h_c(G), h_c(H)) (Kriege et al. 2016)
    wasserstein          exp(-w d), d: Wasserstein distance between the nodes' colour sequences
                         under the Hamming distance (Togninalli et al. 2019)

Edge labels are not used. The number of rounds, 0 to 5, is chosen inside the training part.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments.baselines.histograms import count_all, intersections, normalise, products
from experiments.svm import Kernel, precomputed

N_ROUNDS = 5
WIDTHS = (1.0, 10.0)
Colours = list[NDArray[np.int64]]  # of one round: an array per graph


def colourings(graphs: Sequence[Graph], n_rounds: int = N_ROUNDS) -> Iterator[Colours]:
    """Yield the colours of all nodes, round by round; equal numbers mean equal colours."""
    neighbours = [_neighbours(graph) for graph in graphs]
    names: dict[Hashable, int] = {}

    def name(what: Hashable) -> int:
        return names.setdefault(what, len(names))

    current = [
        [name(("label", label)) for label in graph.node_labels or [None] * graph.n_nodes]
        for graph in graphs
    ]
    yield [np.array(colours, dtype=np.int64) for colours in current]
    for _ in range(n_rounds):
        current = [
            [name((old[v], *sorted([old[u] for u in around]))) for v, around in enumerate(near)]
            for old, near in zip(current, neighbours, strict=True)
        ]
        yield [np.array(colours, dtype=np.int64) for colours in current]


def colour_counts(graphs: Sequence[Graph], n_rounds: int = N_ROUNDS) -> Iterator[Any]:
    """Yield sparse colour counts (n_graphs, n_colours), round by round."""
    for colours in colourings(graphs, n_rounds):
        yield count_all(np.unique(of, return_counts=True) for of in colours)


def subtree(graphs: Sequence[Graph], seed: int) -> list[Kernel]:  # noqa: ARG001
    """Return the normalised subtree kernel for 0, 1, ... rounds."""
    return precomputed(subtree_grams(graphs))


def optimal_assignment(graphs: Sequence[Graph], seed: int) -> list[Kernel]:  # noqa: ARG001
    """Return the normalised optimal assignment kernel for 0, 1, ... rounds."""
    return precomputed(assignment_grams(graphs))


def wasserstein(graphs: Sequence[Graph], seed: int) -> list[Kernel]:  # noqa: ARG001
    """Return exp(-w d) for 0, 1, ... rounds and both widths."""
    apart = wasserstein_distances(graphs)
    return precomputed([np.exp(-width * d).astype(np.float32) for d in apart for width in WIDTHS])


def subtree_grams(graphs: Sequence[Graph]) -> list[NDArray[np.float32]]:
    """Return the subtree kernel's matrices, one per number of rounds."""
    return _cumulated(colour_counts(graphs), products)


def assignment_grams(graphs: Sequence[Graph]) -> list[NDArray[np.float32]]:
    """Return the optimal assignment kernel's matrices, one per number of rounds."""
    return _cumulated(colour_counts(graphs), intersections)


def wasserstein_distances(graphs: Sequence[Graph]) -> list[NDArray[np.float64]]:
    """Return Wasserstein distances, one matrix per number of rounds.

    Colours that differ once differ in all later rounds, so sequences are leaves of a tree, and the
    distance is the mean over rounds of half the L1 distance between colour frequencies.
    """
    sizes = np.array([max(1, graph.n_nodes) for graph in graphs], dtype=np.float64)
    shared = np.zeros((len(graphs),) * 2)
    found = []
    for n_rounds, counts in enumerate(colour_counts(graphs)):
        counts.data = counts.data / np.repeat(sizes, np.diff(counts.indptr))
        shared += intersections(counts)
        found.append(np.maximum(1.0 - shared / (n_rounds + 1), 0.0))
    return found


def _cumulated(
    rounds: Iterator[Any], compare: Callable[[Any], NDArray[np.float64]]
) -> list[NDArray[np.float32]]:
    total: Any = 0.0
    found = []
    for counts in rounds:
        total = total + compare(counts)
        found.append(normalise(total))
    return found


def _neighbours(graph: Graph) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(graph.n_nodes)]
    for u, v in graph.edges.tolist():
        found[u].append(v)
        found[v].append(u)
    return found
