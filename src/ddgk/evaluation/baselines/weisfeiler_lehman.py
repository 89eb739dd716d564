"""Kernels of colours: every round, a node's colour takes in the colours of its neighbours.

subtree              products of colour counts (Shervashidze et al. 2011)
optimal_assignment   intersections of colour counts (Kriege et al. 2016)
wasserstein          exp(-d), d the Wasserstein distance of the nodes' colour sequences under the
                     Hamming distance (Togninalli et al. 2019)

Node labels are the first colours, where there are any; edge labels are not read. How many rounds,
0 to 5, is chosen inside the training part.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ddgk.evaluation.baselines.histograms import count_all, intersections, normalise, products
from ddgk.evaluation.representations import Grams
from ddgk.graphs import Graph

N_ROUNDS = 5
WIDTHS = (1.0, 10.0)


def colourings(graphs: Sequence[Graph], n_rounds: int = N_ROUNDS) -> list[list[list[int]]]:
    """Return the colours of every graph's nodes, round by round; all graphs share the names."""
    neighbours = [_neighbours(graph) for graph in graphs]
    names: dict[Hashable, int] = {}

    def name(what: Hashable) -> int:
        return names.setdefault(what, len(names))

    current = [
        [name(("label", label)) for label in graph.node_labels or [None] * graph.n_nodes]
        for graph in graphs
    ]
    rounds = [current]
    for _ in range(n_rounds):
        current = [
            [name((old[v], *sorted(old[u] for u in around[v]))) for v in range(len(old))]
            for old, around in zip(current, neighbours, strict=True)
        ]
        rounds.append(current)
    return rounds


def subtree(graphs: Sequence[Graph], seed: int) -> Grams:  # noqa: ARG001
    """Return the normalised subtree kernel for every number of rounds."""
    return Grams([normalise(gram) for gram in np.cumsum(_by_round(graphs, products), axis=0)])


def optimal_assignment(graphs: Sequence[Graph], seed: int) -> Grams:  # noqa: ARG001
    """Return the normalised optimal assignment kernel for every number of rounds."""
    return Grams([normalise(gram) for gram in np.cumsum(_by_round(graphs, intersections), axis=0)])


def wasserstein(graphs: Sequence[Graph], seed: int) -> Grams:  # noqa: ARG001
    """Return the Wasserstein kernel for every number of rounds and two widths.

    Colours that differ once differ ever after, so sequences lie on a tree, and there the distance
    is half the difference of the shares that each colour has: no transport needs to be solved.
    """
    shared = np.cumsum(_by_round(graphs, intersections, shares=True), axis=0)
    distances = [1.0 - gram / (rounds + 1) for rounds, gram in enumerate(shared)]
    return Grams([np.exp(-width * distance) for distance in distances for width in WIDTHS])


def _by_round(graphs: Sequence[Graph], compare: Any, *, shares: bool = False) -> list[Any]:
    """Compare the colour counts of each round, or the shares of nodes that have each colour."""
    found = []
    for colours in colourings(graphs):
        counted = [np.unique(np.array(of, dtype=np.int64), return_counts=True) for of in colours]
        sizes = [max(1, len(of)) if shares else 1 for of in colours]
        histograms = count_all(
            (kinds, counts / size) for (kinds, counts), size in zip(counted, sizes, strict=True)
        )
        found.append(compare(histograms))
    return found


def _neighbours(graph: Graph) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(graph.n_nodes)]
    for u, v in graph.edges.tolist():
        found[u].append(v)
        found[v].append(u)
    return found
