"""Nearest neighbour libraries, and GraphIndex at a million vectors.

    python benchmarks/search.py libraries --n 200000 --dimension 256
    python benchmarks/search.py index --n 1000000 --dimension 256

Vectors imitate embeddings: clusters in a latent space of 24 dimensions, mapped by random Fourier
features, so that inner products are a Gaussian kernel of the latent points.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

LATENT = 24
QUERIES = 1000
NEIGHBORS = 10


def make_vectors(n: int, dimension: int, seed: int = 0) -> Vectors:
    """Return (n, dimension) rows of norm about 1."""
    draw = np.random.default_rng(seed)
    centres = np.random.default_rng(12345).normal(size=(500, LATENT))
    projection = np.random.default_rng(54321).normal(size=(LATENT, dimension)) * 0.35
    phases = np.random.default_rng(99).uniform(0, 2 * np.pi, size=dimension)
    found = np.empty((n, dimension), dtype=np.float32)
    for first in range(0, n, 20_000):
        own = slice(first, min(n, first + 20_000))
        size = own.stop - own.start
        latent = centres[draw.integers(len(centres), size=size)]
        latent = latent + 0.5 * draw.normal(size=(size, LATENT))
        found[own] = np.sqrt(2 / dimension) * np.cos(latent @ projection + phases)
    return found


def exact(vectors: Vectors, queries: Vectors, k: int) -> NDArray[np.int64]:
    """Return the positions of the k nearest, by brute force."""
    norms = np.einsum("ij,ij->i", vectors, vectors)
    rows = []
    for first in range(0, len(queries), 100):
        scores = norms - 2 * (queries[first : first + 100] @ vectors.T)
        rows.append(np.argpartition(scores, k, axis=1)[:, :k])
    return np.concatenate(rows)


def _usearch(vectors: Vectors, path: str, dtype: str) -> tuple[Callable[[Vectors], Any], float]:
    from usearch.index import Index

    begun = time.perf_counter()
    index = Index(ndim=vectors.shape[1], metric="l2sq", dtype=dtype)
    index.add(np.arange(len(vectors)), vectors, threads=2)
    index.save(path)
    spent = time.perf_counter() - begun
    opened = Index.restore(path, view=True)
    opened.expansion_search = 128
    return lambda query: opened.search(query, 4 * NEIGHBORS, threads=1).keys, spent


def _hnswlib(vectors: Vectors, path: str, dtype: str) -> tuple[Callable[[Vectors], Any], float]:  # noqa: ARG001
    import hnswlib

    begun = time.perf_counter()
    index = hnswlib.Index("l2", vectors.shape[1])
    index.init_index(len(vectors), M=16, ef_construction=128)
    index.add_items(vectors, num_threads=2)
    index.save_index(path)
    spent = time.perf_counter() - begun
    index.set_ef(128)
    return lambda query: index.knn_query(query, 4 * NEIGHBORS, num_threads=1)[0][0], spent


def _faiss(vectors: Vectors, path: str, dtype: str) -> tuple[Callable[[Vectors], Any], float]:
    import faiss

    begun = time.perf_counter()
    faiss.omp_set_num_threads(2)
    width = vectors.shape[1]
    if dtype == "f32":
        index = faiss.IndexHNSWFlat(width, 16)
    else:
        kind = {"f16": faiss.ScalarQuantizer.QT_fp16, "i8": faiss.ScalarQuantizer.QT_8bit}[dtype]
        index = faiss.IndexHNSWSQ(width, kind, 16)
        index.train(vectors[:20_000])
    index.hnsw.efConstruction = 128
    index.add(vectors)
    faiss.write_index(index, path)
    spent = time.perf_counter() - begun
    index.hnsw.efSearch = 128
    faiss.omp_set_num_threads(1)
    return lambda query: index.search(query[None], 4 * NEIGHBORS)[1][0], spent


LIBRARIES = {"usearch": _usearch, "hnswlib": _hnswlib, "faiss": _faiss}
CASES = ("usearch f32", "usearch f16", "usearch i8", "hnswlib f32", "faiss f32", "faiss i8")


def measure_library(case: str, n: int, dimension: int) -> dict[str, Any]:
    """Build, save and query one library; candidates are re-scored with the float32 vectors."""
    name, dtype = case.split()
    vectors, queries = make_vectors(n, dimension), make_vectors(QUERIES, dimension, seed=1)
    truth = exact(vectors, queries, NEIGHBORS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ann")
        search, spent = LIBRARIES[name](vectors, path, dtype)
        size = os.path.getsize(path)
        seconds, hits = [], 0
        for query, expected in zip(queries, truth, strict=True):
            begun = time.perf_counter()
            keys = np.asarray(search(query)).astype(np.int64)
            apart = ((vectors[keys] - query) ** 2).sum(axis=1)
            best = keys[np.argsort(apart)[:NEIGHBORS]]
            seconds.append(time.perf_counter() - begun)
            hits += len(np.intersect1d(best, expected))
    return {
        "case": case,
        "n": n,
        "dimension": dimension,
        "recall": round(hits / truth.size, 4),
        "build_s": round(spent, 1),
        "median_ms": round(1000 * float(np.median(seconds)), 2),
        "p99_ms": round(1000 * float(np.quantile(seconds, 0.99)), 2),
        "file_mb": round(size / 1e6),
        "added_peak_mb": round(
            (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        ),
    }


def measure_libraries(n: int, dimension: int, cases: list[str]) -> None:
    """Measure every library in a process of its own, and print a line for each."""
    for case in cases:
        command = [
            sys.executable,
            __file__,
            "library",
            case,
            f"--n={n}",
            f"--dimension={dimension}",
        ]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        print(found.stdout.strip() or found.stderr.strip().splitlines()[-1], flush=True)


class KnownVectors:
    """Stands for a model whose embeddings are known already."""

    def transform(self, graphs: Any) -> Any:
        """Refuse, since no graph is embedded here."""
        raise NotImplementedError

    def save(self, path: Path) -> None:
        """Write nothing of use."""
        path.write_bytes(b"{}")


def measure_index(n: int, dimension: int) -> dict[str, Any]:
    """Build, save, load and query a GraphIndex; then add and remove a thousand graphs."""
    from ddgk.graphs import Graph
    from ddgk.search import GraphIndex

    vectors, queries = make_vectors(n, dimension), make_vectors(QUERIES, dimension, seed=1)
    truth = exact(vectors, queries, NEIGHBORS)
    graphs, model = [Graph(1, [])] * n, KnownVectors()
    found: dict[str, Any] = {"n": n, "dimension": dimension}
    begun = time.perf_counter()
    index = GraphIndex.build(
        model,
        graphs,
        names=[f"graph {i}" for i in range(n)],
        embedding=vectors,
        keep_graphs=False,
        n_jobs=2,
    )
    found["build_s"] = round(time.perf_counter() - begun, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lib.index"
        begun = time.perf_counter()
        index.save(path)
        found["save_s"] = round(time.perf_counter() - begun, 1)
        found["file_mb"] = round(path.stat().st_size / 1e6)
        begun = time.perf_counter()
        opened = GraphIndex.load(path, model=model)
        found["load_and_verify_s"] = round(time.perf_counter() - begun, 2)
        seconds, hits = [], 0
        for query, expected in zip(queries, truth, strict=True):
            begun = time.perf_counter()
            near = [hit.id for hit in opened.query_vector(query, NEIGHBORS)]
            seconds.append(time.perf_counter() - begun)
            hits += len(np.intersect1d(near, expected))
        begun = time.perf_counter()
        added = opened.add(graphs[:1000], embedding=queries)
        opened.remove(added[500:])
        found["add_1000_remove_500_s"] = round(time.perf_counter() - begun, 2)
        assert opened.query_vector(queries[3], 1)[0].id == added[3]
        assert opened.query_vector(queries[700], 1)[0].id != added[700]
    found["recall"] = round(hits / truth.size, 4)
    found["median_ms"] = round(1000 * float(np.median(seconds)), 2)
    found["p99_ms"] = round(1000 * float(np.quantile(seconds, 0.99)), 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("libraries", "library", "index"))
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--n", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=256)
    given = parser.parse_args()
    if given.what == "library":
        print(json.dumps(measure_library(given.cases[0], given.n, given.dimension)))
    elif given.what == "index":
        print(json.dumps(measure_index(given.n, given.dimension)))
    else:
        measure_libraries(given.n, given.dimension, given.cases or list(CASES))


if __name__ == "__main__":
    main()
