"""Runs: does a second worker halve the time, what does keeping tiles cost, does memory grow.

    python benchmarks/runs.py                          # all three, and docs/figures/runs.png
    python benchmarks/runs.py workers --graphs 4000
    python benchmarks/runs.py overhead
    python benchmarks/runs.py memory --counts 10000 30000 100000

Graphs are generated: random trees of 10 to 30 nodes with a few edges more and five node labels,
against 16 sources, the default method. Workers are timed in turns, each run in a process of its own
and an empty folder, after the compiled code is loaded; the ratio is that of the best times, since
others on the host can only take time away (how much the kernel says they took stands beside each).
Overhead is the share of a run's time with one worker that is not spent in the method itself. Memory
is the peak of a process that takes the graphs from a generator and reads the rows back by blocks.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import ddgk
from ddgk.divergence import Scorer

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "runs.png"
N_SOURCES = 16
FITTED = 2000  # graphs that sources are drawn from


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


def fitted(n_jobs: int = 1) -> ddgk.DDGK:
    model = ddgk.DDGK(n_sources=N_SOURCES, random_state=0, n_jobs=n_jobs)
    model.fit(list(graphs(FITTED)))
    with tempfile.TemporaryDirectory() as folder:
        model.embed_into(folder, graphs(16))  # loads the compiled code, and Zarr
    return model


def timed(model: ddgk.DDGK, made: list[ddgk.Graph]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        model.embed_into(folder, made)
        return time.perf_counter() - began


def time_once(kind: str, n_workers: int, count: int) -> float:
    """Time one run in this process, by threads or by the processes of a Dask cluster."""
    made, model = list(graphs(count)), fitted()
    if kind == "threads":
        return timed(model.set_params(n_jobs=n_workers), made)
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
        joblib.parallel_config("dask", client=client),
    ):
        timed(model, made[:400])  # the workers load the compiled code
        return timed(model, made)


def stolen() -> float:
    """Return for how many seconds so far the host gave our processors to others (Linux)."""
    try:
        return int(Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def compare_workers(count: int, repeats: int) -> dict[str, Any]:
    """Time one and two threads, and one and two processes, in turns, each in its own process."""
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        for kind, n in (("threads", 1), ("processes", 1), ("threads", 2), ("processes", 2)):
            words = [sys.executable, __file__, "time", "--graphs", str(count)]
            words += ["--workers", kind, "--jobs", str(n)]
            before = stolen()
            said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
            found.setdefault(f"{kind} {n}", []).append(float(said))
            print(
                f"  {kind} {n}: {float(said):.1f} s, stolen {stolen() - before:.1f} s", flush=True
            )
    seconds = {name: min(times) for name, times in found.items()}
    for kind in ("threads", "processes"):
        one, two = seconds[f"{kind} 1"], seconds[f"{kind} 2"]
        print(f"{kind}: {one:.1f} s with one, {two:.1f} s with two, {one / two:.2f} times faster")
    return seconds


def measure_overhead(count: int) -> dict[str, float]:
    """Return what planning and storing take of a run with one worker."""
    made, model = list(graphs(count)), fitted()
    inside = 0.0
    divergences = Scorer.divergences

    def watched(*arguments: Any, **options: Any) -> Any:
        nonlocal inside
        began = time.perf_counter()
        found = divergences(*arguments, **options)
        inside += time.perf_counter() - began
        return found

    Scorer.divergences = watched  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            run = model.embed_into(folder, made)
            whole = time.perf_counter() - began
            log = run.log()
            shape, n_tiles = run.manifest.shape, run.n_tiles
    finally:
        Scorer.divergences = divergences  # type: ignore[method-assign]
    tiles = sum(float(line.partition(" pairs in ")[2].partition(" s")[0]) for line in log)
    print(
        f"{count} graphs x {N_SOURCES}: {whole:.1f} s, {n_tiles} tiles of {shape.targets} x "
        f"{shape.sources}, {whole / n_tiles:.2f} s each; in the method {inside:.1f} s; "
        f"overhead {1 - inside / whole:.1%} of the time ({(tiles - inside) / whole:.1%} unpacking "
        f"and storing tiles, {(whole - tiles) / whole:.1%} packing graphs and scheduling)"
    )
    return {"whole": whole, "inside": inside, "overhead": 1 - inside / whole}


def measure_memory(count: int, jobs: int) -> dict[str, float]:
    """Run in this process and return its time and peak of memory."""
    model = fitted(jobs)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = model.embed_into(folder, graphs(count))
        computed = time.perf_counter() - began
        checksum = sum(float(block.sum()) for block in run.blocks())
        read = time.perf_counter() - began - computed
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        n_tiles, n_graphs = run.n_tiles, run.n_graphs
    assert np.isfinite(checksum)
    assert n_graphs == count
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{count} graphs x {N_SOURCES}, {jobs} threads: {computed:.0f} s "
        f"({count * N_SOURCES / computed:.0f} pairs/s), {n_tiles} tiles, read back in "
        f"{read:.0f} s, {size / 1e6:.0f} MB on disk, peak memory {peak:.2f} GB "
        f"({before:.2f} GB before the run)",
        flush=True,
    )
    return {"count": count, "seconds": computed, "peak": peak, "before": before}


def measure_memories(counts: list[int], jobs: int) -> list[dict[str, float]]:
    """Measure each number of graphs in a process of its own."""
    found = []
    for count in counts:
        words = [sys.executable, __file__, "one", "--graphs", str(count), "--jobs", str(jobs)]
        said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
        *lines, values = said.splitlines()
        print("\n".join(lines), flush=True)
        found.append(json.loads(values))
    return found


def draw(seconds: dict[str, float], memories: list[dict[str, float]], path: Path) -> None:
    """Draw both results."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained")
    names = ["threads 1", "threads 2", "processes 1", "processes 2"]
    bars = left.bar(names, [seconds[name] for name in names], color=["C7", "C0", "C7", "C0"])
    left.bar_label(bars, fmt="%.0f s")
    for kind in ("threads", "processes"):
        ratio = seconds[f"{kind} 1"] / seconds[f"{kind} 2"]
        left.annotate(f"{ratio:.2f} x", (f"{kind} 2", seconds[f"{kind} 2"] / 2), ha="center")
    left.margins(y=0.12)
    left.set_ylabel("seconds of the same run")
    left.tick_params(axis="x", labelsize=8)
    counts = [memory["count"] for memory in memories]
    right.plot(counts, [memory["peak"] for memory in memories], "o-", label="peak")
    right.plot(counts, [memory["before"] for memory in memories], "o:", label="before the run")
    right.axhline(1.5, color="C3", linewidth=0.8)
    right.set(xlabel="graphs", ylabel="memory, GB", ylim=(0, 1.6))
    right.legend()
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    kinds = ["all", "workers", "overhead", "memory", "time", "one"]
    parser.add_argument("what", nargs="?", default="all", choices=kinds)
    parser.add_argument("--graphs", type=int, default=6000)
    parser.add_argument("--counts", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--workers", default="threads", choices=("threads", "processes"))
    parser.add_argument("--figure", type=Path, default=FIGURE)
    given = parser.parse_args()
    if given.what == "one":
        print(json.dumps(measure_memory(given.graphs, given.jobs)))
        return
    if given.what == "time":
        print(time_once(given.workers, given.jobs, given.graphs))
        return
    seconds, memories = None, None
    if given.what in ("all", "workers"):
        seconds = compare_workers(given.graphs, given.repeats)
    if given.what in ("all", "overhead"):
        measure_overhead(given.graphs)
    if given.what in ("all", "memory"):
        memories = measure_memories(given.counts, given.jobs)
    if seconds is not None and memories is not None:
        draw(seconds, memories, given.figure)


if __name__ == "__main__":
    main()
