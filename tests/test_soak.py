"""A service that keeps a loaded model and embeds a graph now and then must not grow."""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from ddgk import DDGK
from specimens import random_graph

CALLS = 300
ALLOWED_BYTES = 100_000  # of all calls together; one small object kept per call would exceed it


def handles() -> int:
    return len(os.listdir("/proc/self/fd"))


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux about handles and threads")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_transform_of_a_loaded_model_does_not_grow(n_jobs: int, tmp_path: Path):
    graphs = [random_graph(seed, labels=True, attributes=True) for seed in (1, 5, 8)]
    DDGK(n_sources=2, random_state=0).fit(graphs).save(tmp_path / "model.ddgk")
    model = DDGK.load(tmp_path / "model.ddgk").set_params(n_jobs=n_jobs)
    tracemalloc.start()
    try:
        # Python and Numba keep small blocks for the next call; it takes some until all are seen.
        for _ in range(CALLS):
            model.transform(graphs[:1])
        gc.collect()
        before = handles(), threads()
        memory, _ = tracemalloc.get_traced_memory()
        for _ in range(CALLS):
            model.transform(graphs[:1])
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - memory
    finally:
        tracemalloc.stop()
    assert (handles(), threads()) == before
    assert grown < ALLOWED_BYTES, f"{grown} bytes more after {CALLS} calls"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux about handles")
def test_loading_again_and_again_closes_every_file(tmp_path: Path):
    path = tmp_path / "model.ddgk"
    DDGK(n_sources=1, random_state=0).fit([random_graph(1)]).save(path)
    DDGK.load(path)
    before = handles()
    for _ in range(CALLS):
        DDGK.load(path)
    assert handles() == before
