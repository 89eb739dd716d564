"""Nearest neighbour libraries, and GraphIndex at a million vectors.

    python benchmarks/search.py libraries --n 200000 --dimension 256
    python benchmarks/search.py index --n 1000000 --molecules molecules/zinc20k.csv

Libraries are compared on vectors that imitate embeddings: clusters in a latent space of 24
dimensions, mapped by random Fourier features, so that inner products are a Gaussian kernel of the
latent points. GraphIndex is measured on molecules and points between them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
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
QUERIES = 500
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
        rows.append(np.argpartition(scores, k - 1, axis=1)[:, :k])
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


def perturbed_molecules(path: str, n: int, jobs: int) -> tuple[Any, list[Any], Vectors, Vectors]:
    """Embed molecules; return the model, their graphs, n rows and query rows.

    The first rows are the molecules; the others, and the queries, lie between two of them, nearer
    to one, with the norm of an embedding.
    """
    from ddgk import DDGK, io

    graphs = io.read(path).graphs
    begun = time.perf_counter()
    model = DDGK(random_state=0, n_jobs=jobs).fit(graphs)
    embedded = np.asarray(model.transform(graphs), dtype=np.float32)
    print(json.dumps({"molecules": len(graphs), "columns": embedded.shape[1],
                      "embed_s": round(time.perf_counter() - begun, 1)}), flush=True)  # fmt: skip
    rows = np.empty((n, embedded.shape[1]), dtype=np.float32)
    rows[: len(graphs)] = embedded[:n]
    draw = np.random.default_rng(0)

    def between(count: int) -> Vectors:
        first, second = draw.integers(len(embedded), size=(2, count))
        share = draw.uniform(0.6, 1.0, size=(count, 1)).astype(np.float32)
        made = share * embedded[first] + (1 - share) * embedded[second]
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return made

    for begin in range(len(graphs), n, 20_000):
        rows[begin : begin + 20_000] = between(min(20_000, n - begin))
    return model, graphs, rows, between(QUERIES)


def measure_index(path: str, n: int, jobs: int) -> dict[str, Any]:
    """Build, save, load and query a GraphIndex; add and remove graphs; kill a process that saves.

    Times are seconds on the clock and of the processor.
    """
    from ddgk.search import GraphIndex

    model, graphs, rows, queries = perturbed_molecules(path, n, jobs)
    found: dict[str, Any] = {"n": n, "columns": rows.shape[1], "rows_mb": round(rows.nbytes / 1e6)}

    def timed(name: str, begun: tuple[float, float]) -> None:
        found[f"{name}_s"] = round(time.perf_counter() - begun[0], 2)
        found[f"{name}_cpu_s"] = round(time.process_time() - begun[1], 2)

    def now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    truth = exact(rows, queries, NEIGHBORS)
    names = [graphs[place].name or str(place) if place < len(graphs) else f"between {place}"
             for place in range(n)]  # fmt: skip
    stored = [graphs[place % len(graphs)] for place in range(n)]
    begun = now()
    index = GraphIndex.build(model, stored, names=names, embedding=rows, keep_graphs=False,
                             n_jobs=jobs)  # fmt: skip
    timed("build", begun)
    folder = tempfile.mkdtemp()
    file = Path(folder) / "lib.index"
    begun = now()
    index.save(file)
    timed("save", begun)
    found["file_mb"] = round(file.stat().st_size / 1e6)
    del index
    begun = now()
    opened = GraphIndex.load(file)
    timed("load_and_verify", begun)
    seconds, hits = [], 0
    for query, expected in zip(queries, truth, strict=True):
        begun = now()
        near = [hit.id for hit in opened.query_vector(query, NEIGHBORS)]
        seconds.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
        hits += len(np.intersect1d(near, expected))
    found["recall_at_10"] = round(hits / truth.size, 4)
    wall, processor = np.array(seconds).T
    found["query_median_ms"] = round(1000 * float(np.median(wall)), 2)
    found["query_p99_ms"] = round(1000 * float(np.quantile(wall, 0.99)), 2)
    found["query_median_cpu_ms"] = round(1000 * float(np.median(processor)), 2)
    before = file.stat().st_size, file.stat().st_mtime_ns
    found["killed_with"] = _killed_while_saving(file)
    found["file_unchanged_after_kill"] = before == (file.stat().st_size, file.stat().st_mtime_ns)
    found["graphs_after_kill"] = len(GraphIndex.load(file, model=model))
    begun = now()
    added = opened.add(stored[: len(queries)], embedding=queries, n_jobs=jobs)
    opened.remove(added[len(added) // 2 :])
    timed(f"add_{len(added)}_remove_{len(added) // 2}", begun)
    kept, removed = added[3], added[-1]
    found["added_is_found"] = bool(opened.query_vector(queries[3], 1)[0].id == kept)
    found["removed_is_not"] = bool(opened.query_vector(queries[-1], 1)[0].id != removed)
    found["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    shutil.rmtree(folder)
    return found


def _killed_while_saving(file: Path) -> int:
    """Open the index in another process, save it to its own file, and kill that half-way."""
    code = (
        "import sys\n"
        "from ddgk.search import GraphIndex\n"
        "index = GraphIndex.load(sys.argv[1], verify=False)\n"
        "print('saving', flush=True)\n"
        "index.save(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", code, str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    half = file.stat().st_size // 2
    while process.poll() is None:
        others = [other for other in file.parent.iterdir() if other != file]
        if any(other.stat().st_size > half for other in others):
            process.kill()
        time.sleep(0.01)
    return -process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("libraries", "library", "index"))
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--n", type=int, default=200_000)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--molecules", default="", help="table of SMILES, for index")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", "--out", help="JSON file to write results to, for index")
    given = parser.parse_args()
    if given.what == "library":
        print(json.dumps(measure_library(given.cases[0], given.n, given.dimension)))
    elif given.what == "index":
        found = measure_index(given.molecules, given.n, given.jobs)
        print(json.dumps(found, indent=1))
        if given.out:
            Path(given.out).write_text(json.dumps(found, indent=1) + "\n")
    else:
        measure_libraries(given.n, given.dimension, given.cases or list(CASES))


if __name__ == "__main__":
    main()
