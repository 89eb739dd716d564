"""Histograms of what graphs contain, and kernels of histograms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.compiling import compiled

Array = NDArray[np.float64]


def count_all(contents: Iterable[tuple[NDArray[np.int64], Array]]) -> Any:
    """Return counts as a sparse matrix, (n_graphs, n_kinds); a graph gives kinds and counts."""
    from scipy.sparse import csr_array

    parts = list(contents)
    kinds = np.concatenate([kinds for kinds, _ in parts])
    counts = np.concatenate([counts for _, counts in parts])
    rows = np.repeat(np.arange(len(parts)), [len(kinds) for kinds, _ in parts])
    values, columns = np.unique(kinds, return_inverse=True)
    return csr_array((counts, (rows, columns)), shape=(len(parts), max(1, len(values))))


def products(histograms: Any) -> Array:
    """Return the inner products of all rows."""
    return np.asarray((histograms @ histograms.T).todense(), dtype=np.float64)


def intersections(histograms: Any) -> Array:
    """Return sum_k min(h_i[k], h_j[k]) of all rows."""
    by_kind = histograms.tocsc()
    found = np.zeros((histograms.shape[0], histograms.shape[0]))
    _add_minima(
        by_kind.indptr.astype(np.int64), by_kind.indices.astype(np.int64), by_kind.data, found
    )
    return found


def normalise(gram: Array) -> Array:
    """Return K(i, j) / sqrt(K(i, i) K(j, j)); a graph without content is like nothing else."""
    own = np.sqrt(gram.diagonal())
    scale = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    return gram * scale[:, None] * scale[None, :]


@compiled
def _add_minima(
    begins: NDArray[np.int64], rows: NDArray[np.int64], values: Array, found: Array
) -> None:
    for kind in range(len(begins) - 1):
        for a in range(begins[kind], begins[kind + 1]):
            for b in range(begins[kind], begins[kind + 1]):
                found[rows[a], rows[b]] += min(values[a], values[b])
