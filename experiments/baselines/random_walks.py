"""The geometric random-walk kernel, the paper's eq. 1: walks that two graphs have in common.

    k(G, H) = 1' (I - decay A_G x A_H)^-1 1 = sum_t decay^t (1' A_G^t 1) (1' A_H^t 1)

The second form needs numbers of walks of each graph alone, and no product graph. Labels are not
used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments.baselines.histograms import normalise
from experiments.svm import Kernel, precomputed

Array = NDArray[np.float64]
DECAYS = (0.1, 0.5, 0.9)  # as shares of the largest decay at which the series converges
LONGEST = 350  # .9 ** 350 < 1e-16


def random_walks(graphs: Sequence[Graph], seed: int) -> list[Kernel]:  # noqa: ARG001
    """Return the normalised kernel for several decays."""
    radius = largest_eigenvalue(graphs)
    walks = walk_counts(graphs, radius)
    return precomputed([normalise(walk_gram(walks, share)) for share in DECAYS])


def walk_counts(graphs: Sequence[Graph], radius: float) -> Array:
    """Return 1' (A / radius)^t 1 for t = 0, 1, ..., (n_graphs, LONGEST + 1)."""
    joined, sizes = union(graphs)
    begins = np.cumsum([0, *sizes[:-1]])
    current, found = np.ones(joined.shape[0]), []
    for _ in range(LONGEST + 1):
        found.append(np.add.reduceat(current, begins))
        current = joined @ current / radius
    return np.stack(found, axis=1)


def walk_gram(walks: Array, decay: float) -> Array:
    """Return the kernel of all pairs; decay: of walks that are counted in units of the radius."""
    weighted = walks * decay ** np.arange(walks.shape[1])
    return weighted @ walks.T


def largest_eigenvalue(graphs: Sequence[Graph]) -> float:
    """Return the largest eigenvalue of all adjacency matrices, at least 1."""
    from scipy.sparse.linalg import eigsh

    joined, _ = union(graphs)
    found = eigsh(joined, k=1, which="LA", v0=np.ones(joined.shape[0]), return_eigenvectors=False)
    return max(1.0, float(found[0]))


def union(graphs: Sequence[Graph]) -> tuple[Any, list[int]]:
    """Return the adjacency matrix of all graphs side by side, sparse, and their sizes."""
    from scipy.sparse import csr_array

    sizes = [graph.n_nodes for graph in graphs]
    begins = np.cumsum([0, *sizes[:-1]])
    edges = np.concatenate([g.edges + begin for g, begin in zip(graphs, begins, strict=True)])
    ends = np.concatenate([edges, edges[:, ::-1]]).T
    return csr_array((np.ones(len(edges) * 2), tuple(ends)), shape=(sum(sizes),) * 2), sizes
