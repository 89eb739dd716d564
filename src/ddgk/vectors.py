"""Nearest rows of an array of vectors: exact, or by an approximate index when there are many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import MissingExtraError

Vectors = NDArray[np.float32]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

MAX_EXACT = 20_000  # rows; above, an approximate index is used where usearch is installed
BLOCK = 4_096  # rows of a block of a scan
CANDIDATES = 4  # the index returns this many times k, which are then sorted by exact distance
EXPANSION = 128  # breadth of the search in the index
PRECISION = "f16"  # of the copy of the vectors inside the index


def exact_distances(vectors: Vectors, query: Vectors) -> Floats:
    """Return Euclidean distances of rows to one query, in double precision.

    Every distance depends on its row and the query alone, not on the other rows of the call.
    """
    found = np.empty(len(vectors))
    wanted = np.asarray(query, dtype=np.float64)
    for first in range(0, len(vectors), BLOCK):
        apart = vectors[first : first + BLOCK] - wanted
        found[first : first + BLOCK] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return found


def nearest(vectors: Vectors, query: Vectors, k: int) -> tuple[Positions, Floats]:
    """Return the k nearest rows, nearest first, equal distances by position.

    Examples
    --------
    >>> rows = np.array([[0.0], [3.0], [1.0], [1.0]], dtype=np.float32)
    >>> nearest(rows, rows[0], 3)
    (array([0, 2, 3]), array([0., 1., 1.]))
    """
    distances = exact_distances(vectors, query)
    order = np.lexsort((np.arange(len(distances)), distances))[:k]
    return order, distances[order]


def neighbor_table(vectors: Vectors, k: int, *, n_jobs: int = 1) -> tuple[Positions, Floats]:
    """Return the k nearest other rows of every row: positions and distances, both (n, k).

    Exact up to `MAX_EXACT` rows, or where usearch is not installed; else approximate candidates
    with exact distances.
    """
    n = len(vectors)
    k = min(k, n - 1)
    candidates = min(n, k + 1 + max(8, k))
    if n > MAX_EXACT and has_usearch():
        index = build_index(np.arange(n), vectors, n_jobs=n_jobs)
        matches = index.search(vectors, candidates, threads=n_jobs)
        found = matches.keys.astype(np.int64).reshape(n, candidates)
    else:
        found = _blocked_candidates(vectors, candidates)
    positions, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    for row in range(n):
        own = np.unique(found[row])
        own = own[(own != row) & (own < n)]
        near, apart = nearest(vectors[own], vectors[row], k)
        if len(near) < k:  # the index returned too few
            others = np.delete(np.arange(n), row)
            near, apart = nearest(vectors[others], vectors[row], k)
            own = others
        positions[row], distances[row] = own[near], apart
    return positions, distances


def _blocked_candidates(vectors: Vectors, count: int) -> Positions:
    """Return rows that are nearest in single precision, (n, count), in no particular order."""
    norms = np.einsum("ij,ij->i", vectors, vectors)
    found = []
    for first in range(0, len(vectors), BLOCK // 4):
        scores = norms - 2 * (vectors[first : first + BLOCK // 4] @ vectors.T)
        if count < len(vectors):
            found.append(np.argpartition(scores, count - 1, axis=1)[:, :count])
        else:
            found.append(np.tile(np.arange(len(vectors)), (len(scores), 1)))
    return np.concatenate(found).astype(np.int64)


def has_usearch() -> bool:
    """Say whether the library of the approximate index is installed."""
    try:
        _usearch()
    except MissingExtraError:
        return False
    return True


def build_index(keys: Positions, vectors: Vectors, *, n_jobs: int = 1) -> Any:
    """Return a usearch index (HNSW graph, half precision) of vectors under their keys."""
    index = _usearch().Index(ndim=vectors.shape[1], metric="l2sq", dtype=PRECISION)
    for first in range(0, len(vectors), 16 * BLOCK):
        part = slice(first, first + 16 * BLOCK)
        index.add(keys[part].astype(np.uint64), np.ascontiguousarray(vectors[part]), threads=n_jobs)
    index.expansion_search = EXPANSION
    return index


def open_index(content: Any, *, view: bool) -> Any:
    """Open the bytes of an index; view: without a copy, and then it cannot be changed."""
    index = _usearch().Index.restore(content, view=view)
    if index is None:
        raise ValueError("it is not an index of usearch")
    index.expansion_search = EXPANSION
    return index


def search_index(index: Any, query: Vectors, k: int) -> Positions:
    """Return the keys of candidates for the k nearest, more than k of them."""
    count = min(len(index), max(CANDIDATES * k, 64))
    found = index.search(np.ascontiguousarray(query, dtype=np.float32), count, threads=1)
    keys: Positions = np.asarray(found.keys, dtype=np.int64)
    return keys


def _usearch() -> Any:
    try:
        from usearch import index
    except ImportError as error:
        raise MissingExtraError(
            f"searching more than {MAX_EXACT:,} graphs needs usearch: pip install 'ddgk[search]'"
        ) from error
    return index
