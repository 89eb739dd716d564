"""Sparse histograms of substructures, and kernels of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Matrix = NDArray[np.float32]


def count_all(contents: Iterable[tuple[NDArray[np.int64], Array]]) -> Any:
    """Return a sparse matrix (n_graphs, n_kinds); each graph gives kinds and their counts."""
    from scipy.sparse import csr_array

    parts = list(contents)
    kinds = np.concatenate([kinds for kinds, _ in parts])
    counts = np.concatenate([counts for _, counts in parts]).astype(np.float64)
    rows = np.repeat(np.arange(len(parts)), [len(kinds) for kinds, _ in parts])
    values, columns = np.unique(kinds, return_inverse=True)
    return csr_array((counts, (rows, columns)), shape=(len(parts), max(1, len(values))))


def products(histograms: Any) -> Array:
    """Return inner products of all rows, (n_graphs, n_graphs)."""
    return np.asarray((histograms @ histograms.T).todense(), dtype=np.float64)


def intersections(histograms: Any) -> Array:
    """Return sum_k min(h_i[k], h_j[k]) for all rows i, j."""
    columns = histograms.tocsc()
    found = np.zeros((histograms.shape[0],) * 2)
    indptr, indices = columns.indptr.astype(np.int64), columns.indices.astype(np.int64)
    _add_minima(indptr, indices, columns.data, found)
    return np.maximum(found, found.T)


def normalise(gram: Array) -> Matrix:
    """Return K(i, j) / sqrt(K(i, i) K(j, j)) in float32; an empty graph has similarity 0."""
    own = np.sqrt(gram.diagonal())
    scale = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    return (gram * scale[:, None] * scale[None, :]).astype(np.float32)


@njit(cache=True, nogil=True)
def _add_minima(
    indptr: NDArray[np.int64], indices: NDArray[np.int64], values: Array, found: Array
) -> None:
    """Fill the lower triangle (rows of a column ascend)."""
    for kind in range(len(indptr) - 1):
        for a in range(indptr[kind], indptr[kind + 1]):
            for b in range(indptr[kind], a + 1):
                found[indices[a], indices[b]] += min(values[a], values[b])
