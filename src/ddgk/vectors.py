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
N_SKETCHED = 128  # principal components that the index compares
N_FITTED = 20_000  # rows from which the components are computed
CANDIDATES = 200  # at least, from the index, which are then sorted by exact distance
EXPANSION = 256  # breadth of the search in the index
PRECISION = "f16"  # of the components inside the index


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


def nearest_rows(vectors: Vectors, query: Vectors, k: int) -> tuple[Positions, Floats]:
    """Return the k nearest rows, nearest first, equal distances by position.

    >>> rows = np.array([[0.0], [3.0], [1.0], [1.0]], dtype=np.float32)
    >>> nearest_rows(rows, rows[0], 3)
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
    index = None
    if n > MAX_EXACT and has_usearch():
        index = VectorIndex.build(np.arange(n), vectors, n_jobs=n_jobs)
    norms = np.einsum("ij,ij->i", vectors, vectors)
    positions, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    for first in range(0, n, BLOCK // 4):
        block = vectors[first : first + BLOCK // 4]
        if index is None:
            scores, count = norms - 2 * (block @ vectors.T), min(n, 2 * k + 9)
            found = np.argpartition(scores, count - 1, axis=1)[:, :count]
        else:
            found = index.search(block, max(4 * k, 64), n_jobs=n_jobs)
        for place, candidates in enumerate(found, first):
            own = np.unique(candidates)
            own = own[(own != place) & (own >= 0) & (own < n)]
            near, apart = nearest_rows(vectors[own], vectors[place], k)
            if len(near) < k:  # the index returned too few
                own = np.delete(np.arange(n), place)
                near, apart = nearest_rows(vectors[own], vectors[place], k)
            positions[place], distances[place] = own[near], apart
    return positions, distances


def principal_axes(vectors: Vectors, k: int) -> tuple[Vectors, Vectors]:
    """Return the mean, (1, n_columns), and the k leading principal axes, (n_columns, k).

    They are computed from at most 20,000 rows, evenly spaced; axes have their largest entry
    positive.

    >>> rows = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], dtype=np.float32)
    >>> mean, axes = principal_axes(rows, 1)
    >>> axes.ravel().tolist()
    [1.0, 0.0]
    """
    sample = vectors[:: -(-len(vectors) // N_FITTED)].astype(np.float64)
    mean = sample.mean(axis=0, keepdims=True)
    sample -= mean
    if len(sample) >= sample.shape[1]:
        axes = np.linalg.eigh(sample.T @ sample)[1][:, ::-1][:, :k]
    else:
        values, left = np.linalg.eigh(sample @ sample.T)
        kept = values[::-1] >= float(values[-1]) * 1e-12  # others are rounding errors
        axes = sample.T @ left[:, ::-1][:, kept][:, :k]
        axes /= np.maximum(np.linalg.norm(axes, axis=0), 1e-300)
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return mean.astype(np.float32), np.ascontiguousarray(axes * signs, dtype=np.float32)


def has_usearch() -> bool:
    """Say whether the library of the approximate index is installed."""
    try:
        _usearch()
    except MissingExtraError:
        return False
    return True


class VectorIndex:
    """A usearch index (HNSW graph, half precision) of the leading principal components.

    A few components find candidates nearly as well as all columns, in a fraction of time and
    memory; who asks sorts them by exact distance.
    """

    def __init__(self, index: Any, mean: Vectors, axes: Vectors) -> None:
        self._index, self.mean, self.axes = index, mean, axes
        index.expansion_search = EXPANSION

    @classmethod
    def build(cls, keys: Positions, vectors: Vectors, *, n_jobs: int = 1) -> VectorIndex:
        """Index vectors under their keys."""
        width = vectors.shape[1]
        mean, axes = np.zeros((1, width), np.float32), np.eye(width, dtype=np.float32)
        if width > N_SKETCHED:
            mean, axes = principal_axes(vectors, N_SKETCHED)
        empty = _usearch().Index(ndim=axes.shape[1], metric="l2sq", dtype=PRECISION)
        made = cls(empty, mean, axes)
        made.add(keys, vectors, n_jobs=n_jobs)
        return made

    @classmethod
    def open(cls, content: Any, mean: Vectors, axes: Vectors, *, view: bool) -> VectorIndex:
        """Open what `content` returned; view: without a copy, and then it cannot be changed."""
        index = _usearch().Index.restore(content, view=view)
        if index is None or index.ndim != axes.shape[1]:
            raise ValueError("it is not an index of these vectors")
        return cls(index, mean, axes)

    def __len__(self) -> int:
        return len(self._index)

    def content(self) -> Any:
        """Return the bytes of the index, without mean and axes."""
        return self._index.save()

    def add(self, keys: Positions, vectors: Vectors, *, n_jobs: int = 1) -> None:
        """Add vectors under new keys."""
        for first in range(0, len(vectors), 16 * BLOCK):
            part = slice(first, first + 16 * BLOCK)
            own = keys[part].astype(np.uint64)
            self._index.add(own, self._sketch(vectors[part]), threads=max(n_jobs, 0))

    def remove(self, key: int) -> None:
        """Remove the vector with this key."""
        self._index.remove(key)

    def search(self, queries: Vectors, count: int, *, n_jobs: int = 1) -> Positions:
        """Return the keys of candidates, (n_queries, count), in no particular order."""
        count = min(len(self), count)
        sketches = self._sketch(queries)
        found = self._index.search(sketches, count, threads=max(n_jobs, 0))
        return np.asarray(found.keys, dtype=np.int64).reshape(len(queries), -1)

    def _sketch(self, vectors: Vectors) -> Vectors:
        return np.ascontiguousarray((vectors - self.mean) @ self.axes)


def _usearch() -> Any:
    try:
        from usearch import index
    except ImportError as error:
        raise MissingExtraError(
            f"searching more than {MAX_EXACT:,} graphs needs usearch: pip install 'ddgk[search]'"
        ) from error
    return index
