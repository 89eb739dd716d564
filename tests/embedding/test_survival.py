"""kill -9 at any moment, several processes: the same bits, at most a tile per worker lost."""

from __future__ import annotations

import importlib.util
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from ddgk.embedding import embed_graphs, embed_into
from ddgk.errors import BusyError
from ddgk.store import open_run
from ddgk.store.files import Locks
from ddgk.store.run import begun_again, is_busy
from specimens import contents

pytest.importorskip("fcntl", reason="there are no such locks here")
pytestmark = pytest.mark.slow

_spec = importlib.util.spec_from_file_location(
    "processes", Path(__file__).with_name("processes.py")
)
processes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(processes)


@pytest.fixture(scope="module")
def expected():
    embedder = processes.embedder()
    embedder.delay = 0.0
    return embed_graphs(embedder, processes.graphs())


def begun(folder):
    """Count how often tiles were begun so far, those that were lost included."""
    run = open_run(folder)
    with Locks(run.folder) as locks:
        return sum(locks.counted(number) for number in range(run.n_tiles))


def stored(folder):
    """Count the tiles that are stored, without asking the run."""
    return sum(1 for _ in (folder / "rows").glob("0*"))


def wait_for_a_random_moment(folder, rng):
    """Wait up to .3 s, but for no more than two new tiles: a fast process must not finish first."""
    before, moment = stored(folder), time.monotonic() + rng.uniform(0.0, 0.3)
    while time.monotonic() < moment and stored(folder) < before + 2:
        time.sleep(0.002)
    time.sleep(rng.uniform(0.0, 0.03))


@pytest.mark.parametrize(("n_kills", "n_workers"), [(3, 1), (25, 2)])
def test_killed_runs_end_in_the_same_bits(tmp_path, expected, n_kills, n_workers):
    folder, rng, lost = tmp_path / "run", np.random.default_rng(n_kills), []
    waiting = processes.load(folder, n_workers)
    for _ in range(n_kills):
        process, waiting = waiting, None
        # Loaded before the first begins, which must not finish meanwhile on a busy computer.
        waiting = processes.load(folder, n_workers) if n_kills < 5 else None
        processes.begin(process)
        wait_for_a_random_moment(folder, rng)
        process.send_signal(signal.SIGKILL)
        output, errors = process.communicate()
        assert (output, errors) == ("", ""), "it was finished before the last kill"
        if (folder / "manifest.json").exists():
            lost.append(begun(folder) - len(open_run(folder).finished) - sum(lost))
            assert 0 <= lost[-1] <= n_workers
        waiting = waiting or processes.load(folder, n_workers)
    processes.begin(waiting)
    assert waiting.communicate() == ("done\n", "")
    run = open_run(folder)
    assert run.n_tiles >= 3 * n_kills  # or it might be finished too early
    np.testing.assert_array_equal(run.rows(), expected)
    assert run.verify() == [] or {d.message.partition(" was ")[2] for d in run.verify()} == {
        "never completed"
    }
    # A tile per worker and kill at most was computed twice.
    assert begun(folder) == run.n_tiles + sum(lost) <= run.n_tiles + n_kills * n_workers
    assert set(begun_again(run).values()) <= set(range(2, n_kills + 2))
    logged = [line.split(" tile ")[1].partition(":")[0] for line in run.log()]
    assert run.n_tiles - n_kills * n_workers <= len(set(logged)) <= run.n_tiles
    assert not is_busy(run)


def started_together(folder, if_busy):
    """Start two processes on one folder, of which the second is told what to do about it."""
    first, second = processes.load(folder), processes.load(folder, 1, if_busy)
    processes.begin(first)
    while not (folder / "run.log").exists():
        time.sleep(0.01)
    processes.begin(second)
    return first, second


def finish(*started):
    for process in started:
        output, errors = process.communicate(timeout=120)
        assert (output, errors, process.returncode) == ("done\n", "", 0)


@pytest.mark.parametrize("if_busy", ["wait", "share"])
def test_two_processes_do_not_harm_each_other(tmp_path, expected, if_busy):
    first, second = started_together(tmp_path / "run", if_busy)
    finish(first, second)
    run = open_run(tmp_path / "run")
    np.testing.assert_array_equal(run.rows(), expected)
    assert begun_again(run) == {}
    workers = {line.rpartition(":")[2] for line in run.log()}
    assert len(workers) == (2 if if_busy == "share" else 1)


def test_sharing_takes_over_from_a_process_that_is_killed(tmp_path, expected):
    first, second = started_together(tmp_path / "run", "share")
    time.sleep(0.3)
    first.kill()
    first.communicate()
    finish(second)
    run = open_run(tmp_path / "run")
    np.testing.assert_array_equal(run.rows(), expected)
    assert sum(begun_again(run).values()) <= 2


def test_busy_runs_are_refused_on_request(tmp_path):
    first = processes.start(tmp_path / "run")
    while not (tmp_path / "run" / "run.log").exists():
        time.sleep(0.01)
    assert is_busy(open_run(tmp_path / "run"))
    before = contents(tmp_path / "run")
    with pytest.raises(BusyError, match="another process is at work in"):
        embed_into(tmp_path / "run", processes.embedder(), processes.graphs(), if_busy="fail")
    assert set(before) <= set(contents(tmp_path / "run"))
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert not is_busy(open_run(tmp_path / "run"))
