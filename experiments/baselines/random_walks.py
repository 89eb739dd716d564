"""The geometric random-walk kernel, the paper's eq. 1: walks that two graphs have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ddgk import Graph
from experiments.baselines.histograms import normalise
from experiments.svm import Kernel, precomputed

Array = NDArray[np.float64]
DECAYS = (0.1, 0.5, 0.9)  # as shares of the largest decay at which the series converges


def random_walks(graphs: Sequence[Graph], seed: int) -> list[Kernel]:  # noqa: ARG001
    """Return the normalised kernel for several decays; labels are not used."""
    spectra = [spectrum(graph) for graph in graphs]
    largest = max([1e-9, *(float(np.abs(values).max(initial=0)) for values, _ in spectra)])
    return precomputed([normalise(walk_gram(spectra, share / largest**2)) for share in DECAYS])


def spectrum(graph: Graph) -> tuple[Array, Array]:
    """Return the eigenvalues of the adjacency matrix, and (1' u)^2 of their eigenvectors u."""
    adjacency = np.zeros((graph.n_nodes, graph.n_nodes))
    adjacency[graph.edges[:, 0], graph.edges[:, 1]] = 1.0
    values, vectors = np.linalg.eigh(adjacency + adjacency.T)
    return values, vectors.sum(axis=0) ** 2


def walk_gram(spectra: Sequence[tuple[Array, Array]], decay: float) -> Array:
    """Return 1' (I - decay A1 x A2)^-1 1 for all pairs of graphs.

    Eigenvalues of the direct product are products of eigenvalues, so nothing is inverted:

        k(G, H) = sum_ij w_i v_j / (1 - decay mu_i nu_j)
    """
    begins = np.cumsum([0, *(len(values) for values, _ in spectra)])
    values = np.concatenate([values for values, _ in spectra])
    weights = np.concatenate([weights for _, weights in spectra])
    kept = np.flatnonzero(weights > 1e-12)  # others contribute nothing
    begins = np.searchsorted(kept, begins)
    return _sum_products(begins, values[kept], weights[kept], decay)


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_products(begins: NDArray[np.int64], values: Array, weights: Array, decay: float) -> Array:
    n = len(begins) - 1
    found = np.zeros((n, n))
    for g in range(n):
        for h in range(g, n):
            total = 0.0
            for i in range(begins[g], begins[g + 1]):
                for j in range(begins[h], begins[h + 1]):
                    total += weights[i] * weights[j] / (1.0 - decay * values[i] * values[j])
            found[g, h] = total
            found[h, g] = total
    return found
