"""Find the graphs of a collection that are most similar to a given one."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddgk import vectors as nearby
from ddgk.errors import DDGKError, IndexFileError, ParameterError, shown
from ddgk.graphs import Graph
from ddgk.graphs.convert import as_graph
from ddgk.plain import graph_from_plain, graph_names, graph_to_plain
from ddgk.similarity import match_graphs, shared_part
from ddgk.store.graphs import text_as_array, texts_from_array
from ddgk.store.sealed import DAMAGE, Arrays, map_sealed, save_sealed

if TYPE_CHECKING:
    from ddgk.alignment import Alignment

KIND = "search index"


@dataclass(frozen=True)
class Hit:
    """A graph that a search found.

    Attributes
    ----------
    id : int
        Number of the graph in the index; it never changes.
    name : str
    distance : float
        Euclidean distance of the embeddings.
    graph : Graph or None
        None where the index was built with ``keep_graphs=False``.
    alignment : Alignment or None
        Which nodes of the query correspond to which of this graph; only of hits that were
        re-ranked.
    shared : float or None
        The part of both graphs that the alignment shares (`ddgk.similarity.shared_part`).
    """

    id: int
    name: str
    distance: float
    graph: Graph | None = field(default=None, repr=False)
    alignment: Alignment | None = field(default=None, repr=False)
    shared: float | None = None


class GraphIndex:
    """A searchable collection of graphs.

    Graphs are embedded by a fitted model; their distance is the Euclidean distance of the
    embeddings. Up to 20,000 graphs every search is exact. Above, candidates come from an
    approximate index (usearch, ``pip install 'ddgk[search]'``) and are sorted by exact distance.

    Make one by `build` or `load`.

    Attributes
    ----------
    model : DDGK, or anything with its methods `transform` and `save`
    ids : array of int, of shape (n_graphs,)
        Numbers of all graphs, ascending.
    names : list of str
    embedding : array of shape (n_graphs, n_columns)

    Examples
    --------
    >>> import ddgk, networkx
    >>> from ddgk.search import GraphIndex
    >>> graphs = [networkx.cycle_graph(n) for n in range(5, 9)]
    >>> model = ddgk.DDGK(n_sources=2, random_state=0).fit(graphs)
    >>> index = GraphIndex.build(model, graphs, names=["5", "6", "7", "8"])
    >>> [hit.name for hit in index.query(graphs[1], k=1)]
    ['6']
    """

    def __init__(self, model: Any, n_columns: int) -> None:
        self.model = model
        self.ids = np.empty(0, dtype=np.int64)
        self.names: list[str] = []
        self.embedding: NDArray[np.float32] = np.empty((0, n_columns), dtype=np.float32)
        # Graphs, or their text in the file at `_path`.
        self._graphs: list[Graph | memoryview] | None = []
        self._path = ""
        self._ann: nearby.VectorIndex | None = None
        self._ann_content: Any = None  # bytes of a saved index that was not changed since
        self._next = 0

    @classmethod
    def build(
        cls,
        model: Any,
        graphs: Iterable[Any],
        *,
        names: Sequence[str] | None = None,
        embedding: NDArray[Any] | None = None,
        keep_graphs: bool = True,
        n_jobs: int = 1,
    ) -> GraphIndex:
        """Embed graphs and make them searchable.

        Parameters
        ----------
        model : DDGK
            Fitted.
        graphs : iterable of graphs
        names : sequence of str, optional
            One per graph. Default: the names the graphs have, else their positions.
        embedding : array of shape (n_graphs, n_columns), optional
            What ``model.transform(graphs)`` returns, if it is known already.
        keep_graphs : bool
            Keep the graphs too, which re-ranking needs.
        n_jobs : int
            Threads that build the approximate index.
        """
        collection = list(graphs)
        rows = model.transform(collection) if embedding is None else np.asarray(embedding)
        index = cls(model, rows.shape[1])
        index._graphs = [] if keep_graphs else None
        index.add(collection, names=names, embedding=rows, n_jobs=n_jobs)
        return index

    def __len__(self) -> int:
        """Return the number of graphs."""
        return len(self.ids)

    def __repr__(self) -> str:
        way = "exact" if self._is_exact() else "approximate"
        return f"GraphIndex({len(self):,} graphs, {self.embedding.shape[1]} columns, {way})"

    def graph(self, number: int) -> Graph:
        """Return the graph with this id."""
        if self._graphs is None:
            raise ParameterError("this index has no graphs; build it with keep_graphs=True")
        row = self._row(number)
        stored = self._graphs[row]
        if isinstance(stored, Graph):
            return stored
        try:
            return graph_from_plain(json.loads(bytes(stored)))
        except (DDGKError, ValueError, RecursionError, LookupError) as error:
            raise IndexFileError(
                f"graph {row} of {shown(repr(self._path))} cannot be read; build the index again"
            ) from error

    def add(
        self,
        graphs: Iterable[Any],
        *,
        names: Sequence[str] | None = None,
        embedding: NDArray[Any] | None = None,
        n_jobs: int = 1,
    ) -> NDArray[np.int64]:
        """Add graphs and return their ids; parameters as for `build`."""
        collection = [as_graph(graph) for graph in graphs]
        rows = self.model.transform(collection) if embedding is None else np.asarray(embedding)
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        width = self.embedding.shape[1]
        if rows.shape != (len(collection), width) or not np.isfinite(rows).all():
            raise ParameterError(
                f"{len(collection)} graphs need finite embeddings of {width} columns, "
                f"not an array of shape {rows.shape}"
            )
        ids = np.arange(self._next, self._next + len(rows))
        called = graph_names(collection, names, self._next)
        self._make_writable()
        self.embedding = np.concatenate([self.embedding, rows]) if len(self) else rows
        self.ids = np.concatenate([self.ids, ids])
        self.names = self.names + called
        if self._graphs is not None:
            self._graphs += collection
        self._next += len(rows)
        if self._ann is not None:
            self._ann.add(ids, rows, n_jobs=n_jobs)
        elif not self._is_exact():
            self._ann = nearby.VectorIndex.build(self.ids, self.embedding, n_jobs=n_jobs)
        return ids

    def remove(self, ids: Iterable[int]) -> None:
        """Remove graphs by their ids; the ids of other graphs stay as they are."""
        kept = np.ones(len(self), dtype=bool)
        kept[[self._row(int(number)) for number in ids]] = False
        self._make_writable()
        if self._ann is not None:
            for number in self.ids[~kept].tolist():
                self._ann.remove(number)
        self.ids, self.embedding = self.ids[kept], self.embedding[kept]
        self.names = list(compress(self.names, kept))
        if self._graphs is not None:
            self._graphs = list(compress(self._graphs, kept))

    def query(self, graph: Any, k: int = 10, *, rerank: int = 0) -> list[Hit]:
        """Return the k most similar graphs, nearest first.

        Parameters
        ----------
        graph : Graph or what `ddgk` converts to one
        k : int
        rerank : int
            Align the query with this many of the nearest graphs and sort those by how much of the
            two graphs the alignment shares; hits then have the alignment.
        """
        if k < 1 or rerank < 0:
            raise ParameterError(f"k must be at least 1 and rerank at least 0, not {k}, {rerank}")
        target = as_graph(graph)
        hits = self.query_vector(self._embed(target), max(k, rerank))
        if rerank:
            hits = self._rerank(target, hits[:rerank]) + hits[rerank:]
        return hits[:k]

    def query_vector(self, vector: NDArray[Any], k: int = 10) -> list[Hit]:
        """Return the k nearest graphs of an embedding, one row of ``model.transform``."""
        query = self._checked_vector(vector)
        if not len(self):
            return []
        if self._ann is None:
            return self._hits(*nearby.nearest_rows(self.embedding, query, k))
        keys = self._ann.search(query[None], max(4 * k, nearby.CANDIDATES))[0]
        rows = np.minimum(np.searchsorted(self.ids, keys), len(self) - 1)
        rows = np.unique(rows[self.ids[rows] == keys])
        near, distances = nearby.nearest_rows(self.embedding[rows], query, k)
        return self._hits(rows[near], distances)

    def within(self, graph: Any, distance: float) -> list[Hit]:
        """Return all graphs at most this far away, nearest first; always exact.

        Examples
        --------
        >>> import ddgk, networkx
        >>> from ddgk.search import GraphIndex
        >>> rings = [networkx.cycle_graph(n) for n in (5, 6, 6)]
        >>> model = ddgk.DDGK(n_sources=2, random_state=0).fit(rings)
        >>> [hit.id for hit in GraphIndex.build(model, rings).within(rings[1], 0.0)]
        [1, 2]
        """
        if not distance >= 0:
            raise ParameterError(f"distance must be at least 0, not {distance!r}")
        apart = nearby.exact_distances(self.embedding, self._embed(as_graph(graph)))
        rows = np.flatnonzero(apart <= distance)
        rows = rows[np.argsort(apart[rows], kind="stable")]
        return self._hits(rows, apart[rows])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index with its model to one file, whole or not at all."""
        arrays: Arrays = {
            "ids": self.ids,
            "names": text_as_array(self.names),
            "vectors": self.embedding,
            "model": np.frombuffer(_model_bytes(self.model), dtype=np.uint8),
        }
        if self._graphs is not None:
            contents = [_content(stored) for stored in self._graphs]
            arrays["graph_ends"] = np.cumsum([len(content) for content in contents], dtype=np.int64)
            arrays["graphs"] = np.frombuffer(b"".join(contents), dtype=np.uint8)
        if self._ann is not None:
            content = self._ann.content() if self._ann_content is None else self._ann_content
            arrays["ann"] = np.frombuffer(content, dtype=np.uint8)
            arrays["mean"], arrays["axes"] = self._ann.mean, self._ann.axes
        save_sealed(Path(path), KIND, arrays, {"next_id": self._next})

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, model: Any = None, verify: bool = True
    ) -> GraphIndex:
        """Open a saved index; vectors and graphs stay on the disk until they are needed.

        Parameters
        ----------
        path : str or path
        model : DDGK, optional
            Used in place of the model in the file.
        verify : bool
            Compare the checksum, which reads the whole file once. It tells damage, not intent: open
            index files only from people you trust.
        """
        where = os.fspath(path)
        if not os.path.isfile(where):
            raise FileNotFoundError(f"there is no index file {shown(repr(where))}")
        try:
            arrays, content = map_sealed(KIND, where, verify=verify)
            index = cls._of_parts(arrays, content["next_id"], model)
        except DAMAGE as error:
            raise IndexFileError(
                f"{shown(repr(where))} is not a search index, or it is damaged: "
                f"{shown(str(error))}; build it again"
            ) from error
        index._path = where
        return index

    @classmethod
    def _of_parts(cls, arrays: Arrays, next_id: int, model: Any) -> GraphIndex:
        """Put together what a file holds; raise if its parts do not fit."""
        ids, vectors = arrays["ids"], arrays["vectors"]
        n, width = vectors.shape
        if vectors.dtype != np.float32 or ids.dtype != np.int64 or ids.shape != (n,) or width < 1:
            raise ValueError(f"its vectors are {vectors.dtype} of shape {vectors.shape}")
        ascending = bool((np.diff(ids) > 0).all())
        if type(next_id) is not int or not ascending or (n and ids[-1] >= next_id):
            raise ValueError("its ids repeat")
        index = cls(_model_from(arrays["model"]) if model is None else model, width)
        index._next, index.embedding, index.ids = next_id, vectors, ids
        index.names = [str(name) for name in texts_from_array(arrays["names"], n)]
        index._graphs = _graph_texts(arrays, n) if "graphs" in arrays else None
        if "ann" in arrays:
            mean, axes = arrays["mean"], arrays["axes"]
            if mean.shape != (1, width) or len(axes) != width or not np.isfinite(axes).all():
                raise ValueError("its principal axes have another shape than its vectors")
            index._ann = nearby.VectorIndex.open(arrays["ann"].data, mean, axes, view=True)
            if len(index._ann) != n:
                raise ValueError("its approximate index has another size than its vectors")
            index._ann_content = arrays["ann"].data
        return index

    def _make_writable(self) -> None:
        """Take a copy of an index that is mapped from a file, before it is changed."""
        if self._ann_content is not None and self._ann is not None:
            content, mean, axes = bytes(self._ann_content), self._ann.mean, self._ann.axes
            self._ann = nearby.VectorIndex.open(content, mean, axes, view=False)
            self._ann_content = None

    def _is_exact(self) -> bool:
        return self._ann is None and (len(self) <= nearby.MAX_EXACT or not nearby.has_usearch())

    def _embed(self, graph: Graph) -> NDArray[np.float32]:
        return self._checked_vector(self.model.transform([graph])[0])

    def _checked_vector(self, vector: NDArray[Any]) -> NDArray[np.float32]:
        query = np.asarray(vector, dtype=np.float32)
        width = self.embedding.shape[1]
        if query.shape != (width,) or not np.isfinite(query).all():
            raise ParameterError(f"an embedding must be {width} finite numbers, not {query.shape}")
        return query

    def _row(self, number: int) -> int:
        row = int(np.searchsorted(self.ids, number))
        if row == len(self) or self.ids[row] != number:
            raise ParameterError(f"there is no graph with id {number} in this index")
        return row

    def _hits(self, rows: NDArray[np.int64], distances: NDArray[np.float64]) -> list[Hit]:
        keeps = self._graphs is not None
        return [
            Hit(number, self.names[row], apart, self.graph(number) if keeps else None)
            for row, number, apart in zip(
                rows.tolist(), self.ids[rows].tolist(), distances.tolist(), strict=True
            )
        ]

    def _rerank(self, target: Graph, hits: list[Hit]) -> list[Hit]:
        if self._graphs is None:
            raise ParameterError(
                "this index has no graphs to align; build it with keep_graphs=True"
            )
        matched = []
        for hit in hits:
            assert hit.graph is not None
            found = match_graphs(target, hit.graph, max_restarts=8)
            matched.append(replace(hit, alignment=found, shared=shared_part(found)))
        return sorted(matched, key=lambda hit: (-(hit.shared or 0.0), hit.distance))


def _content(stored: Graph | memoryview) -> bytes | memoryview:
    """Return a graph as it stands in a file."""
    if isinstance(stored, memoryview):
        return stored
    return json.dumps(graph_to_plain(stored), separators=(",", ":")).encode()


def _graph_texts(arrays: Arrays, n: int) -> list[Graph | memoryview]:
    """Cut the text of all graphs into one for each."""
    ends, text = arrays["graph_ends"], arrays["graphs"]
    starts = np.concatenate([[0], ends])[:n]
    fit = ends.dtype == np.int64 and ends.shape == (n,) and not (ends < starts).any()
    if not fit or text.dtype != np.uint8 or text.shape != (ends[-1] if n else 0,):
        raise ValueError("the lengths of its graphs do not add up")
    data = text.data
    return [data[i:j] for i, j in zip(starts.tolist(), ends.tolist(), strict=True)]


def _model_bytes(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        return path.read_bytes()


def _model_from(content: NDArray[np.uint8]) -> Any:
    from ddgk.estimator import DDGK

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(content.data)
        try:
            return DDGK.load(path)
        except (DDGKError, OSError) as error:
            raise ValueError("its model cannot be read") from error
