"""A real scheduler and real workers: same bits; a worker or the scheduler dies, or none are."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ddgk.embedding import embed_graphs, embed_into
from ddgk.embedding.workers import Report, _Patience, on_dask
from ddgk.errors import ClusterError, MissingExtraError, TileError
from ddgk.store import open_run
from ddgk.store.run import begun_again
from degrees import DegreeEmbedder

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    # What dask and its nannies leave to the garbage collector is theirs.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_spec = importlib.util.spec_from_file_location(
    "processes", Path(__file__).with_name("processes.py")
)
processes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(processes)


@pytest.fixture(scope="module")
def expected():
    made = processes.graphs()[:320]
    return made, embed_graphs(DegreeEmbedder(), made)


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process, started like those of a lab."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
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


def test_a_cluster_gives_the_same_bits_also_when_a_worker_dies(client, expected, tmp_path):
    made, rows = expected
    slow = processes.embedder()
    run = embed_into(tmp_path / "run", slow, made, cluster=client.scheduler.address)
    np.testing.assert_array_equal(run.rows(), rows)
    assert len(run.log()) == run.n_tiles
    assert len(workers(run)) == 2
    assert f"{os.getpid()}" not in str(workers(run))

    pids = list(client.run(os.getpid).values())
    killer = when_a_tile_is_stored(tmp_path / "again", lambda: os.kill(pids[0], signal.SIGKILL))
    run = embed_into(tmp_path / "again", slow, made, cluster=client)
    killer.join()
    np.testing.assert_array_equal(run.rows(), rows)
    assert len(run.finished) == run.n_tiles
    assert sum(begun_again(run).values()) <= 2  # one tile, begun twice


def test_a_report_whose_worker_died_is_computed_again(client):
    """A worker holds what it reported until that is fetched; here it dies before."""

    def work(tile):
        time.sleep(1)
        return Report(tile, "computed")

    client.restart(timeout=60)  # a worker may have died before
    # A generator that is left to the garbage collector would call the cluster from wherever it is.
    with closing(on_dask(client, work, [0, 1])) as reports:
        tiles = {next(reports).tile}
        deadline = time.monotonic() + 20
        held, before = {}, None
        # The report that was fetched is still listed for a moment.
        while (len(held) != 1 or held != before) and time.monotonic() < deadline:
            time.sleep(0.3)
            held, before = {k: who for k, who in client.who_has().items() if who}, held
        ((key, (holder,)),) = held.items()
        os.kill(client.run(os.getpid)[holder], signal.SIGKILL)
        while client.futures[key].status == "finished" and time.monotonic() < deadline:
            time.sleep(0.02)
        assert client.futures[key].status == "lost"
        tiles.add(next(reports).tile)
        assert tiles == {0, 1}
        assert list(reports) == []


def test_a_tile_that_fails_on_the_cluster_is_named(client, expected, tmp_path):
    made, rows = expected
    embed_into(tmp_path, DegreeEmbedder(), made)
    (tmp_path / "rows" / "000003.safetensors").unlink()
    path = tmp_path / "targets" / "000003.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(TileError, match=r"tile 3 \(8 graphs: .*000003.* is damaged"):
        embed_into(tmp_path, DegreeEmbedder(), made, cluster=client)
    path.write_bytes(content)
    run = embed_into(tmp_path, DegreeEmbedder(), made, cluster=client)
    np.testing.assert_array_equal(run.rows(), rows)
    assert client.status == "running"


@pytest.fixture
def lonely(tmp_path):
    """A scheduler and a worker as processes of their own, to be killed."""
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    module = "distributed.cli.dask_"
    words = [sys.executable, "-m", f"{module}scheduler", "--port", "0", *common]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    quiet["env"] = os.environ | {"PYTHONPATH": path}
    scheduler = subprocess.Popen(words, **quiet)
    words = [sys.executable, "-m", f"{module}worker", "--nthreads", "1", "--no-nanny", *common]
    worker = subprocess.Popen(words, **quiet)
    client = distributed.Client(scheduler_file=str(file), set_as_default=False)
    yield client, scheduler, worker
    client.close(timeout=1)
    for process in (worker, scheduler):
        process.kill()
        process.wait()


def test_without_its_scheduler_a_run_ends_clearly_and_continues_here(
    lonely, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr("ddgk.embedding.workers.WITHOUT_SCHEDULER", 1.0)
    client, scheduler, _ = lonely
    made, rows = expected
    folder = tmp_path / "run"
    killer = when_a_tile_is_stored(folder, scheduler.kill)
    with pytest.raises(
        ClusterError, match=r"scheduler at .* is gone.*tiles are kept in .*continued"
    ):
        embed_into(folder, processes.embedder(), made, cluster=client)
    killer.join()
    assert len(open_run(folder).finished) > 0
    run = embed_into(folder, processes.embedder(), made)
    np.testing.assert_array_equal(run.rows(), rows)


def test_a_cluster_without_workers_says_so_and_ends(
    lonely, expected, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("ddgk.embedding.workers.WITHOUT_WORKERS", 4.0)
    monkeypatch.setattr("ddgk.embedding.workers.WARN_WITHOUT_WORKERS", 1.0)
    client, _, worker = lonely
    client.wait_for_workers(1, timeout=30)
    worker.kill()
    began = time.monotonic()
    with pytest.raises(ClusterError, match=r"has had no workers for \d+ s; start some"):
        embed_into(tmp_path / "run", DegreeEmbedder(), expected[0], cluster=client)
    assert time.monotonic() - began < 60
    assert "has no workers; waiting 4 s for some" in " ".join(capsys.readouterr().err.split())


def test_workers_that_are_all_paused_are_no_workers(monkeypatch, capsys):
    monkeypatch.setattr("ddgk.embedding.workers.WITHOUT_WORKERS", 0.2)
    monkeypatch.setattr("ddgk.embedding.workers.WARN_WITHOUT_WORKERS", 0.0)
    worker = {"status": "paused", "metrics": {"executing": 1}}
    info = {"workers": {"tcp://a": worker}}
    client = SimpleNamespace(status="running", scheduler_info=lambda: info)
    patience = _Patience(client)
    patience.check()  # one that is paused finishes what it computes
    assert patience.since is None
    worker["metrics"]["executing"] = 0
    patience.check()
    assert "has no workers but some that are paused" in capsys.readouterr().err
    time.sleep(0.3)
    with pytest.raises(ClusterError, match=r"paused for want of memory for \d+ s; start some"):
        patience.check()


@pytest.mark.filterwarnings("ignore")
def test_workers_that_die_of_a_tile_end_the_run_with_the_reason(client, tmp_path):
    class Deadly(DegreeEmbedder):
        @classmethod
        def from_parts(cls, tensors, metadata):  # noqa: ARG003
            os._exit(9)

    with pytest.raises(TileError, match=r"every worker that began it died.*KilledWorker"):
        embed_into(tmp_path, Deadly(), processes.graphs()[:8], cluster=client)


BOGUS = """
import sys
from ddgk.embedding.workers import connected
from ddgk.errors import ClusterError
import ddgk.embedding.workers as workers
workers.CONNECTING = 1.0
try:
    with connected(sys.argv[1]):
        pass
except ClusterError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("bogus://x", "'bogus://x' is no address of a scheduler; one begins with "),
        ("tcp://127.0.0.1:1", "no scheduler answers at tcp://127.0.0.1:1"),
    ],
)
def test_an_address_that_leads_nowhere_is_one_line_at_once(address, message):
    began = time.monotonic()
    words = [sys.executable, "-c", BOGUS, address]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.stdout.startswith(message)
    assert (ended.stdout.count("\n"), ended.stderr, ended.returncode) == (1, "", 0)
    assert time.monotonic() - began < 20


def test_a_missing_library_is_named(expected, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ddgk\[cluster\]'"):
        embed_into(tmp_path / "run", DegreeEmbedder(), expected[0], cluster="tcp://a:1")
    assert not (tmp_path / "run").exists()
