"""A real scheduler and real workers: same bits; one dies, or the scheduler does."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

import ddgk
from ddgk.errors import ClusterError, TileError
from ddgk.store.inspection import begun_again

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("small_tiles"),
    # What dask and its nannies leave to the garbage collector is theirs.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_spec = importlib.util.spec_from_file_location(
    "processes", Path(__file__).with_name("processes.py")
)
processes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(processes)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr("ddgk.tiling.WANTED_SECONDS", 8 * 0.0025)
    monkeypatch.setattr("ddgk.tiling.SHORTEST_SECONDS", 8 * 0.0025)


@pytest.fixture(scope="module")
def expected():
    made = processes.graphs()
    model = processes.make().fit(made)
    return made, model, model.transform(made)


@pytest.fixture
def client():
    """Two workers, each a process, started like those of a lab."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def workers(run):
    return {line.rpartition(" on ")[2].partition(",")[0] for line in run.log()}


def when_a_tile_is_stored(folder, do):
    """Do something as soon as the run has begun."""

    def wait():
        while not (folder / "run.log").exists():
            time.sleep(0.02)
        do()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_cluster_gives_the_same_bits(client, expected, tmp_path):
    made, model, rows = expected
    with joblib.parallel_config("dask"):
        found = model.transform(made, run=tmp_path / "run")
    np.testing.assert_array_equal(found, rows)
    run = ddgk.open_run(tmp_path / "run")
    assert len(run.log()) == run.n_tiles
    assert len(workers(run)) == 2
    assert f"{os.getpid()}" not in str(workers(run))

    # A worker dies in the middle of another run: its tile is given to the other one.
    pids = list(client.run(os.getpid).values())
    killer = when_a_tile_is_stored(tmp_path / "again", lambda: os.kill(pids[0], signal.SIGKILL))
    with joblib.parallel_config("dask"):
        found = model.transform(made, run=tmp_path / "again")
    killer.join()
    np.testing.assert_array_equal(found, rows)
    run = ddgk.open_run(tmp_path / "again")
    assert len(run.finished) == run.n_tiles
    assert sum(begun_again(run).values()) <= 2  # one tile, begun twice


def test_a_tile_that_fails_on_the_cluster_is_named(client, expected, tmp_path):
    made, model, rows = expected
    model.transform(made, run=tmp_path)
    (tmp_path / "divergences" / "c.3.0.0").unlink()
    content = (tmp_path / "graphs" / "000003.safetensors").read_bytes()
    (tmp_path / "graphs" / "000003.safetensors").write_bytes(content[:-1])
    with joblib.parallel_config("dask"), pytest.raises(TileError, match=r"tile 3 \(8 targets"):
        model.transform(made, run=tmp_path)
    (tmp_path / "graphs" / "000003.safetensors").write_bytes(content)
    with joblib.parallel_config("dask"):
        np.testing.assert_array_equal(model.transform(made, run=tmp_path), rows)
    assert client.status == "running"


@pytest.fixture
def lonely(tmp_path):
    """A scheduler and a worker as processes of their own, to be killed."""
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    module = "distributed.cli.dask_"
    words = [sys.executable, "-m", f"{module}scheduler", "--port", "0", *common]
    scheduler = subprocess.Popen(words, **quiet)
    words = [sys.executable, "-m", f"{module}worker", "--nthreads", "1", "--no-nanny", *common]
    worker = subprocess.Popen(words, **quiet)
    client = distributed.Client(scheduler_file=str(file), set_as_default=False)
    yield client, scheduler
    client.close(timeout=1)
    for process in (worker, scheduler):
        process.kill()
        process.wait()


def test_without_its_scheduler_a_run_ends_clearly_and_continues_here(lonely, expected, tmp_path):
    client, scheduler = lonely
    made, model, rows = expected
    folder = tmp_path / "run"
    killer = when_a_tile_is_stored(folder, scheduler.kill)
    began = time.monotonic()
    with (
        joblib.parallel_config("dask", client=client),
        pytest.raises(
            ClusterError, match=r"scheduler at .* is gone.*tiles are kept in .*continued"
        ),
    ):
        model.transform(made, run=folder)
    assert time.monotonic() - began < 90
    killer.join()
    assert len(ddgk.open_run(folder).finished) > 0
    np.testing.assert_array_equal(model.transform(made, run=folder), rows)


def test_ray_works_through_its_own_backend(expected, tmp_path):
    ray = pytest.importorskip("ray", reason="it is too large to be asked of everybody")
    from ray.util.joblib import register_ray

    made, model, rows = expected
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error")
    try:
        register_ray()
        with joblib.parallel_config("ray", n_jobs=2):
            found = ddgk.DDGK(**model.get_params() | {"n_jobs": None}).fit_transform(
                made, run=tmp_path / "run"
            )
    finally:
        ray.shutdown()
    np.testing.assert_array_equal(found, rows)
    assert str(os.getpid()) not in str(workers(ddgk.open_run(tmp_path / "run")))


def test_the_command_line_uses_a_cluster(client, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from ddgk.cli import app

    monkeypatch.chdir(tmp_path)
    for n in range(4, 60):
        edges = "".join(f"{i} {(i + 1) % n}\n" for i in range(n)) + f"0 {n // 2}\n"
        (tmp_path / f"ring-{n}.edges").write_text(edges)
    words = ["embed", "*.edges", "--encoder-epochs", "3", "--sources", "2", "--run", "run"]
    address = client.scheduler.address
    result = CliRunner().invoke(app, [*words, "--cluster", address, "-o", "x.npy"])
    assert result.exit_code == 0, (result.output, result.exception)
    assert str(os.getpid()) not in str(workers(ddgk.open_run("run")))
    result = CliRunner().invoke(app, [*words[:-2], "-o", "y.npy"])
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load("x.npy"), np.load("y.npy"))
