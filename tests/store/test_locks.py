"""Locks hold between processes and end with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from ddgk.store.files import FIRST_TILE, WHOLE_RUN, LocalFolder, Locks

pytest.importorskip("fcntl", reason="there are no such locks here")

HOLDER = """
import sys, time
from ddgk.store.files import LocalFolder
from ddgk.store.files import Locks
locks = Locks(LocalFolder(sys.argv[1]))
assert locks.take(int(sys.argv[2]))
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds a lock, until it is killed."""
    started = []

    def start(byte):
        words = [sys.executable, "-c", HOLDER, str(tmp_path), str(byte)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_lock_is_free_again_when_its_process_is_killed(holder, tmp_path):
    process = holder(FIRST_TILE + 7)
    with Locks(LocalFolder(tmp_path)) as locks:
        assert not locks.take(FIRST_TILE + 7)
        assert locks.take(FIRST_TILE + 8)
        assert locks.take(WHOLE_RUN)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        began = time.monotonic()
        locks.wait(FIRST_TILE + 7)
        assert time.monotonic() - began < 5


def test_closing_one_does_not_take_the_locks_of_another(holder, tmp_path):
    """The system drops all locks of a file when a process closes any handle of it."""
    with Locks(LocalFolder(tmp_path)) as first:
        with Locks(LocalFolder(tmp_path)):
            assert first.take(3)
        words = [sys.executable, "-c", HOLDER, str(tmp_path), "3"]
        refused = subprocess.run(words, capture_output=True, text=True)
        assert "AssertionError" in refused.stderr
    holder(3)


def test_beginnings_are_counted(tmp_path):
    with Locks(LocalFolder(tmp_path)) as locks:
        assert locks.counted(4) == 0
        assert [locks.count(4) for _ in range(3)] == [1, 2, 3]
        assert (locks.counted(3), locks.counted(4), locks.counted(5)) == (0, 3, 0)
        for _ in range(300):
            locks.count(5)
        assert locks.counted(5) == 255


def test_a_bucket_has_no_locks():
    pytest.importorskip("fsspec")
    from ddgk.store.files import open_folder

    with Locks(open_folder("memory://locks")) as locks:
        assert locks.take(0)
        assert locks.count(1) == 1
        locks.give_back(0)
