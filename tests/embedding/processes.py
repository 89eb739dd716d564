"""A process that computes a run, to be killed, stopped or doubled by tests.

    python processes.py FOLDER [JOBS [IF_BUSY]]

It prints "ready" when everything is loaded, begins when told to, and prints "done" at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from ddgk.embedding import embed_into
from degrees import DegreeEmbedder
from specimens import random_graph

N_GRAPHS = 640


def graphs():
    return [random_graph(seed, labels=True) for seed in range(N_GRAPHS)]


def embedder():
    """Tiles of eight graphs, a few hundredths of a second each."""
    return DegreeEmbedder(delay=0.002)


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
    made = graphs()
    print("ready", flush=True)
    sys.stdin.readline()
    run = embed_into(folder, embedder(), made, n_jobs=int(n_jobs), if_busy=if_busy)
    assert np.isfinite(run.rows()).all()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
