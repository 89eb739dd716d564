"""Real processes, killed and doubled: a run ends in the same bits, and hardly any work is lost."""

from __future__ import annotations

import importlib.util
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import ddgk
from ddgk.store.inspection import begun_again, is_busy
from ddgk.store.locks import Locks

pytest.importorskip("fcntl", reason="there are no such locks here")
pytestmark = pytest.mark.slow

_spec = importlib.util.spec_from_file_location(
    "processes", Path(__file__).with_name("processes.py")
)
processes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(processes)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The run that nothing disturbed: its folder, and its rows by a plain transform."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ddgk.tiling.WANTED_SECONDS", 8 * 0.0025)
        patch.setattr("ddgk.tiling.SHORTEST_SECONDS", 8 * 0.0025)
        made = processes.graphs()
        rows = processes.make(2).fit_transform(made, run=folder)
    np.testing.assert_array_equal(rows, processes.make().fit_transform(made))
    return folder, rows


def begun(folder):
    """Count how many tiles were begun so far, those that were lost included."""
    run = ddgk.open_run(folder)
    with Locks(run.folder) as locks:
        return sum(locks.counted(number) for number in range(run.n_tiles))


def chunks(folder):
    return {path.name: path.read_bytes() for path in (folder / "divergences").glob("c.*")}


def stored(folder):
    """Count the tiles that are stored, without asking the run."""
    return sum(1 for _ in (folder / "divergences").glob("c.*"))


def wait_for_a_random_moment(folder, rng):
    """Wait up to .9 s, but for no more than two new tiles: a fast machine must not finish first."""
    before, moment = stored(folder), time.monotonic() + rng.uniform(0.0, 0.9)
    while time.monotonic() < moment and stored(folder) < before + 2:
        time.sleep(0.002)
    time.sleep(rng.uniform(0.0, 0.03))


def kill_and_resume(folder, n_kills, n_workers, rng):
    """Kill a run at random moments, resume it each time, and count what every kill cost."""
    lost = []
    for _ in range(n_kills):
        process = processes.start(folder, n_workers)
        wait_for_a_random_moment(folder, rng)
        process.send_signal(signal.SIGKILL)
        output, errors = process.communicate()
        assert output == "", "it was finished before the last kill"
        assert errors == ""
        if (folder / "manifest.json").exists():
            lost.append(begun(folder) - len(ddgk.open_run(folder).finished) - sum(lost))
            assert 0 <= lost[-1] <= n_workers
    process = processes.start(folder, n_workers)
    output, errors = process.communicate()
    assert (output, errors) == ("done\n", "")
    return lost


@pytest.mark.parametrize(("n_kills", "n_workers"), [(3, 1), (25, 2)])
def test_killed_runs_end_in_the_same_bits(tmp_path, expected, n_kills, n_workers):
    folder, rows = tmp_path / "run", expected[1]
    assert ddgk.open_run(expected[0]).n_tiles >= 3 * n_kills  # or it might be finished too early
    lost = kill_and_resume(folder, n_kills, n_workers, np.random.default_rng(n_kills))
    run = ddgk.open_run(folder)
    np.testing.assert_array_equal(run.rows(), rows)
    assert chunks(folder) == chunks(expected[0])
    # A tile per worker and kill at most was computed twice, and the log has a line for each stored.
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
    run = ddgk.open_run(tmp_path / "run")
    np.testing.assert_array_equal(run.rows(), expected[1])
    assert begun_again(run) == {}
    workers = {line.rpartition(":")[2] for line in run.log()}
    assert len(workers) == (2 if if_busy == "share" else 1)


def test_who_shares_takes_over_from_a_process_that_is_killed(tmp_path, expected):
    first, second = started_together(tmp_path / "run", "share")
    time.sleep(0.8)
    first.kill()
    first.communicate()
    finish(second)
    run = ddgk.open_run(tmp_path / "run")
    np.testing.assert_array_equal(run.rows(), expected[1])
    assert sum(begun_again(run).values()) <= 2


def test_who_will_not_wait_is_told(tmp_path):
    from ddgk.errors import BusyError

    first = processes.start(tmp_path / "run")
    while not (tmp_path / "run" / "run.log").exists():
        time.sleep(0.01)
    assert is_busy(ddgk.open_run(tmp_path / "run"))
    with pytest.raises(BusyError, match="another process is at work in"):
        processes.make().fit_transform(processes.graphs(), run=tmp_path / "run", if_busy="fail")
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert not is_busy(ddgk.open_run(tmp_path / "run"))
