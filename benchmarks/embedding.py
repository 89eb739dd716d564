"""Time and memory of the default embedding: whole sets, single graphs, large graphs, many graphs.

    python benchmarks/embedding.py sets MUTAG NCI1 DD --jobs 2
    python benchmarks/embedding.py large 1000 10000 100000 1000000
    python benchmarks/embedding.py many 100000

Each line runs in a process of its own, after a first call that loads the compiled code, so that the
peak of memory is its own and the time is warm. Data is read from the folder named by DDGK_DATA.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import networkx as nx
import numpy as np

import ddgk

N_SINGLE = 50  # graphs that are embedded one by one
DEGREE = 5  # edges per node of large graphs, by preferential attachment


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall-clock and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def peak() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB"


def warm() -> None:
    ddgk.DDGK(random_state=0).fit_transform([nx.path_graph(n) for n in (3, 4, 5)])


def whole_set(name: str, jobs: int) -> str:
    graphs, _ = ddgk.io.load(name)
    model = ddgk.DDGK(random_state=0, n_jobs=jobs)
    fit = timed(lambda: model.fit(graphs))
    transform = timed(lambda: model.transform(graphs))
    drawn = np.random.default_rng(0).permutation(len(graphs))[:N_SINGLE]
    single = [timed(lambda g=graphs[place]: model.transform([g]))[0] for place in drawn]
    return (
        f"{name}: {len(graphs)} graphs, fit {fit[0]:.1f} s ({fit[1]:.1f} s of processor time), "
        f"transform {transform[0]:.1f} s ({transform[1]:.1f} s), "
        f"{1e3 * transform[1] / len(graphs):.2f} ms of processor time a graph, "
        f"a single graph {1e3 * np.median(single):.1f} ms, {peak()}"
    )


def attached(n_nodes: int, seed: int) -> ddgk.Graph:
    """Return a graph by preferential attachment: each node draws ends of earlier edges."""
    rng = np.random.default_rng(seed)
    ends = np.empty(2 * DEGREE * n_nodes, np.int64)
    ends[: 2 * DEGREE] = np.arange(2 * DEGREE) % DEGREE
    for node in range(1, n_nodes):
        place = 2 * DEGREE * node
        ends[place : place + DEGREE] = node
        ends[place + DEGREE : place + 2 * DEGREE] = ends[rng.integers(0, place, DEGREE)]
    pairs = np.sort(np.stack([ends.reshape(-1, 2, DEGREE)[:, k].ravel() for k in (0, 1)], 1), 1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return ddgk.Graph(n_nodes, pairs)


def large(n_nodes: int, jobs: int) -> str:
    small = [attached(60 + 10 * seed, seed) for seed in range(16)]
    model = ddgk.DDGK(random_state=0, n_jobs=jobs).fit(small)
    graph = attached(n_nodes, 99)
    wall, processor = timed(lambda: model.transform([graph]))
    return f"{n_nodes:,} nodes, {graph.n_edges:,} edges: {wall:.1f} s ({processor:.1f} s), {peak()}"


def many(n_graphs: int, jobs: int) -> str:
    rng = np.random.default_rng(0)
    sizes = rng.integers(10, 30, n_graphs)
    graphs = [
        ddgk.Graph(
            n, np.stack([np.arange(1, n), (rng.random(n - 1) * np.arange(1, n)).astype(int)], 1)
        )
        for n in sizes.tolist()
    ]
    model = ddgk.DDGK(random_state=0, n_jobs=jobs)
    fit = timed(lambda: model.fit(graphs[:5000]))
    transform = timed(lambda: model.transform(graphs))
    times = f"fit {fit[0]:.1f} s, transform {transform[0]:.1f} s"
    return f"{n_graphs:,} trees of 10 to 29 nodes: {times}, {peak()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=["sets", "large", "many"])
    parser.add_argument("items", nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        warm()
        work = {"sets": whole_set, "large": large, "many": many}[given.kind]
        item = given.items[0]
        print(work(item if given.kind == "sets" else int(item), given.jobs), flush=True)
        return
    for item in given.items:
        command = [sys.executable, __file__, given.kind, item, "--jobs", str(given.jobs), "--here"]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
