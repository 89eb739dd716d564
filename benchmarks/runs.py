"""Measure runs: checksums, workers, memory.

    python benchmarks/runs.py checksums --gigabytes 1
    python benchmarks/runs.py workers --graphs 6000 --repeats 3
    python benchmarks/runs.py memory --counts 10000 30000 100000

Checksums: processor time to verify runs of random rows, and to write one with and without
checksums. Workers: the same run by one and two threads, each in a process of its own, in turns; the
best times count, since other processes can only take time away. Memory: the peak of a process that
takes graphs from a generator and reads the rows back by blocks. Graphs are random trees of 10 to 30
nodes with a few more edges and five node labels.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np

import ddgk

FITTED = 2000  # graphs that sources are drawn from
ROWS_OF_A_TILE, COLUMNS = 256, 1024


def graph(seed: int) -> ddgk.Graph:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 31))
    edges = {(int(rng.integers(0, node)), node) for node in range(1, n)}
    for u, v in rng.integers(0, n, (int(rng.integers(0, 6)), 2)).tolist():
        if u != v:
            edges.add((min(u, v), max(u, v)))
    labels = rng.integers(0, 5, n).tolist()
    return ddgk.Graph(n, sorted(edges), node_labels=labels, name=f"made-{seed}")


def graphs(count: int) -> Iterator[ddgk.Graph]:
    return map(graph, range(count))


def fitted(n_jobs: int) -> ddgk.DDGK:
    model = ddgk.DDGK(random_state=0, n_jobs=n_jobs).fit(list(graphs(FITTED)))
    with tempfile.TemporaryDirectory() as folder:
        model.transform(list(graphs(16)), run=folder)  # loads the compiled code
    return model


def measure_checksums(gigabytes: float, folder: str) -> None:
    """Write and verify a run of random float32 rows, 1,024 columns, 256 rows a tile."""
    from ddgk.embedding import embed_into
    from ddgk.store import open_run

    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from degrees import DegreeEmbedder

    class Random(DegreeEmbedder):
        @property
        def columns(self) -> list[str]:
            return [f"column {place}" for place in range(COLUMNS)]

        def rows(self, graphs: object, positions: object) -> np.ndarray:  # noqa: ARG002
            return np.tile(noise, (len(list(positions)), 1))

        def cost(self, graph: object) -> float:  # noqa: ARG002
            return 3.0 / ROWS_OF_A_TILE

    def write(where: str, share: float, *, sealed: bool = True) -> float:
        """Write a run of a share of the tiles, and return the seconds of the processor."""
        n_graphs = max(1, int(share * n_tiles)) * ROWS_OF_A_TILE
        made = (ddgk.Graph(1, [], node_attributes=[[n]]) for n in range(n_graphs))
        began = time.process_time()
        with nullcontext() if sealed else patch("ddgk.store.sealed.checksum", lambda *_: "0" * 64):
            embed_into(where, Random(), made)
        return time.process_time() - began

    noise = np.random.default_rng(0).random(COLUMNS, dtype=np.float32)
    n_tiles = int(gigabytes * 1e9 / (4 * COLUMNS * ROWS_OF_A_TILE))
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    for share in (0.1, 0.3, 1.0):
        with tempfile.TemporaryDirectory(dir=folder) as where:
            write(where, share)
            size = sum(path.stat().st_size for path in Path(where).rglob("*") if path.is_file())
            began = time.process_time()
            assert open_run(where).verify() == []
            spent = time.process_time() - began
            print(f"{size / 1e9:.2f} GB verified in {spent:.2f} s of the processor")
    times: dict[bool, list[float]] = {True: [], False: []}
    for number in range(10):
        with tempfile.TemporaryDirectory(dir=folder) as where:
            times[bool(number % 2)].append(write(where, 0.05, sealed=bool(number % 2)))
    plain, sealed = np.median(times[False]), np.median(times[True])
    print(
        f"writing a run of {n_tiles // 20} tiles of 1 MB takes {sealed:.2f} s of the processor, "
        f"without checksums {plain:.2f} s, {sealed / plain - 1:+.1%}"
    )


def time_once(n_jobs: int, count: int) -> float:
    """Time one run in this process."""
    made, model = list(graphs(count)), fitted(n_jobs)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        model.transform(made, run=folder)
        return time.perf_counter() - began


def compare_workers(count: int, repeats: int) -> None:
    """Time one and two threads in turns, each in its own process."""
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for n_jobs in found:
            words = [sys.executable, __file__, "time", "--graphs", str(count), "--jobs"]
            done = subprocess.run([*words, str(n_jobs)], check=True, capture_output=True, text=True)
            found[n_jobs].append(float(done.stdout))
    one, two = min(found[1]), min(found[2])
    print(f"threads: {one:.1f} s with one, {two:.1f} s with two, {one / two:.2f} times faster")


def measure_memory(count: int, jobs: int) -> None:
    """Run in this process and print its time and peak of memory."""
    model = fitted(jobs)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        model.transform(graphs(count), run=folder)
        computed = time.perf_counter() - began
        assert sum(len(block) for block in ddgk.open_run(folder).blocks()) == count
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{count} graphs, {jobs} threads: {computed:.0f} s, peak memory {peak:.2f} GB "
        f"({before:.2f} GB before the run)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=["checksums", "workers", "memory", "time", "one"])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--folder", default=None, help="where the run of `checksums` is written")
    parser.add_argument("--graphs", type=int, default=6000)
    parser.add_argument("--counts", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.what == "checksums":
        measure_checksums(given.gigabytes, given.folder)
    elif given.what == "time":
        print(time_once(given.jobs, given.graphs))
    elif given.what == "one":
        measure_memory(given.graphs, given.jobs)
    elif given.what == "workers":
        compare_workers(given.graphs, given.repeats)
    else:
        for count in given.counts:  # each in a process of its own
            words = [sys.executable, __file__, "one", "--graphs", str(count)]
            subprocess.run([*words, "--jobs", str(given.jobs)], check=True)


if __name__ == "__main__":
    main()
