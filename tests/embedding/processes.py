"""A process that computes a run, to be killed, stopped or doubled by tests.

    python processes.py FOLDER [JOBS [IF_BUSY]]

It says "ready" when everything is loaded, begins when it is told to, and says "done" at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import ddgk
from ddgk import tiling
from specimens import random_graph

N_GRAPHS = 800


def graphs():
    return [random_graph(seed, labels=True) for seed in range(N_GRAPHS)]


def make(n_jobs=1):
    return ddgk.DDGK(n_sources=6, encoder_epochs=30, random_state=0, n_jobs=n_jobs)


def small_tiles():
    """Cut the run into tiles of eight targets, a few hundredths of a second each."""
    tiling.WANTED_SECONDS = tiling.SHORTEST_SECONDS = 8 * 0.0025


def load(folder, n_jobs=1, if_busy="wait"):
    """Start the process and wait until it could begin."""
    words = [sys.executable, __file__, folder, n_jobs, if_busy]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
    }
    process = subprocess.Popen(
        [str(word) for word in words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout.readline() == "ready\n", process.communicate()
    return process


def begin(process):
    """Let a process begin."""
    process.stdin.write("go\n")
    process.stdin.flush()


def start(*arguments):
    """Start a process that begins at once."""
    process = load(*arguments)
    begin(process)
    return process


def main(folder, n_jobs="1", if_busy="wait"):
    small_tiles()
    made = graphs()
    make().fit_transform(made[:8])  # load the engine
    print("ready", flush=True)
    sys.stdin.readline()
    found = make(int(n_jobs)).fit_transform(made, run=folder, if_busy=if_busy)
    assert np.isfinite(found).all()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
