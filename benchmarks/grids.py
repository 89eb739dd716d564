"""The default preset on whole data sets, all attributes: time and memory of fit and transform.

    python benchmarks/grids.py MUTAG:all NCI1:64 DD:32 --jobs 2

SET:N embeds every graph of the set against N random sources. Each set runs in a process of its own,
after a first call that loads the compiled code, so that the peak of memory is its own and the time
is warm.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import ddgk


def run(spec: str, jobs: int) -> None:
    name, _, count = spec.partition(":")
    graphs, _ = ddgk.io.load(name)
    n_sources = len(graphs) if count == "all" else int(count)
    small = sorted(graphs, key=lambda graph: graph.n_nodes)[:4]
    warm = ddgk.Config(encoder_epochs=1)
    ddgk.DDGK(n_sources=1, config=warm).fit_transform(small)

    began = time.perf_counter()
    model = ddgk.DDGK(n_sources=n_sources, random_state=0, n_jobs=jobs).fit(graphs)
    fitted = time.perf_counter()
    embedding = model.transform(graphs)
    ended = time.perf_counter()
    assert np.isfinite(embedding).all()
    pairs = len(graphs) * n_sources
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name:12s} {len(graphs)} x {n_sources}: fit {fitted - began:.1f} s, transform "
        f"{ended - fitted:.1f} s ({pairs / (ended - fitted):.0f} pairs/s), together "
        f"{ended - began:.1f} s, {jobs} threads, {len(model.term_names_)} terms x "
        f"{len(model.checkpoints_)} checkpoints, {embedding.shape[1]} columns, "
        f"largest graph {max(g.n_nodes for g in graphs)} nodes, peak memory {peak:.2f} GB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("specs", nargs="+", metavar="SET:N")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("DDGK_DATA", str(beside))
    if len(arguments.specs) == 1:
        run(arguments.specs[0], arguments.jobs)
        return
    for spec in arguments.specs:
        subprocess.run([sys.executable, __file__, spec, "--jobs", str(arguments.jobs)], check=True)


if __name__ == "__main__":
    main()
