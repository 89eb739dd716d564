"""Call `transform` on one graph thousands of times: what grows, and how long a call takes.

    python benchmarks/soak.py                 10,000 calls on a loaded model
    python benchmarks/soak.py --calls 2000 --jobs 2

A model of MUTAG (or of generated graphs, without data) is fitted and saved; a new process loads it
and embeds one graph again and again. Memory, open files and threads are sampled along the way. The
first tenth warms caches up; growth is judged on the rest, by a line through the samples, and the
script ends with 1 if there is any.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import networkx
import numpy as np

import ddgk

SAMPLES = 20
ALLOWED_BYTES = 1 << 20  # over all calls: a page here and there is not a leak


@dataclass(frozen=True)
class Sample:
    """The state of this process after some calls."""

    calls: int
    memory: int
    files: int
    threads: int
    objects: int

    @classmethod
    def now(cls, calls: int) -> Sample:
        """Look at the process as the system sees it."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        files, threads = (len(os.listdir(f"/proc/self/{kind}")) for kind in ("fd", "task"))
        memory = pages * os.sysconf("SC_PAGE_SIZE")
        return cls(calls, memory, files, threads, len(gc.get_objects()))


def save_model(path: Path, sources: int) -> None:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("DDGK_DATA", str(beside))
    try:
        graphs = ddgk.io.load("MUTAG").graphs
    except ddgk.errors.DDGKError:
        graphs = [networkx.barbell_graph(n, 1) for n in range(3, 20)]
    ddgk.DDGK(n_sources=min(sources, len(graphs)), random_state=0).fit(graphs).save(path)


def soak(path: Path, calls: int, jobs: int) -> bool:
    """Print how it went, and return whether nothing grew."""
    model = ddgk.DDGK.load(path).set_params(n_jobs=jobs)
    graph = model.sources_[0]
    expected = model.transform([graph])
    every = max(1, calls // SAMPLES)
    latencies, busy, samples = np.empty(calls), np.empty(calls), [Sample.now(0)]
    for call in range(calls):
        began, used = time.perf_counter(), time.process_time()
        found = model.transform([graph])
        latencies[call] = time.perf_counter() - began
        busy[call] = time.process_time() - used
        if (call + 1) % every == 0:
            assert np.array_equal(found, expected)
            samples.append(Sample.now(call + 1))
    print(f"{'calls':>7s} {'memory':>11s} {'files':>6s} {'threads':>8s} {'objects':>8s}")
    for sample in samples:
        print(
            f"{sample.calls:7d} {sample.memory / 2**20:7.1f} MiB {sample.files:6d} "
            f"{sample.threads:8d} {sample.objects:8d}"
        )
    settled = [sample for sample in samples if sample.calls >= calls // 10]
    slope = np.polyfit([s.calls for s in settled], [s.memory for s in settled], 1)[0]
    p50, p99 = 1000 * np.quantile(latencies, (0.5, 0.99))
    alone50, alone99 = 1000 * np.quantile(busy, (0.5, 0.99))
    print(
        f"{calls} calls, {graph.n_nodes} nodes against {len(model.sources_)} sources, {jobs} jobs: "
        f"p50 {p50:.1f} ms, p99 {p99:.1f} ms (of the processor: {alone50:.1f} and {alone99:.1f}); "
        f"memory {slope * 1000 / 1024:+.1f} KiB per 1000 calls"
    )
    first, last = settled[0], settled[-1]
    grown = {
        "memory": slope * calls > ALLOWED_BYTES,
        "files": last.files > first.files,
        "threads": last.threads > first.threads,
        "objects": last.objects > first.objects + 2 * SAMPLES,  # the samples are objects too
    }
    for what in (name for name, grew in grown.items() if grew):
        print(f"{what} grew")
    return not any(grown.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--model", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.model:
        sys.exit(0 if soak(arguments.model, arguments.calls, arguments.jobs) else 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.ddgk")
        save_model(path, arguments.sources)
        # A process of its own, so that nothing of the training is in its memory.
        command = [sys.executable, __file__, "--model", str(path)]
        command += ["--calls", str(arguments.calls), "--jobs", str(arguments.jobs)]
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
