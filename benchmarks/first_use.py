"""How long a first use takes: kernels compiled, and loaded from the cache.

    python benchmarks/first_use.py

Every line is a new process, timed from its start. "empty" has an empty cache of its own, "warm" the
cache of the line before. Seconds of the wall count on a quiet computer, those of the processor
(with child processes) on any.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from time import perf_counter

GRAPHS = "[nx.cycle_graph(n) for n in range(6, 14)] + [nx.star_graph(n) for n in range(6, 14)]"
USES = {
    "fit_transform": f"import networkx as nx, ddgk; ddgk.DDGK().fit_transform({GRAPHS})",
    "align": "import networkx as nx, ddgk; ddgk.align(nx.cycle_graph(6), nx.star_graph(9))",
    "demo": "import sys; from ddgk.cli import main; sys.argv[1:] = ['demo']; main()",
}
PROBE = "from ddgk.compiling import _probe; print(_probe())"


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(code: str, cache: str) -> tuple[float, float]:
    """Run code in a new process; return seconds of the wall and of the processor."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    began, before = perf_counter(), spent()
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-P", "-c", code]
        subprocess.run(words, env=environment, cwd=folder, check=True, capture_output=True)
    return perf_counter() - began, spent() - before


def show(what: str, cache: str, seconds: tuple[float, float]) -> None:
    print(f"{what:<14} {cache:<6} {seconds[0]:7.2f} s {seconds[1]:9.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    print(f"{'what':<14} {'cache':<6} {'wall':>9} {'processor':>11}")
    probe = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, check=True)
    show("probe", "", (float(probe.stdout), float("nan")))
    for use, code in USES.items():
        with tempfile.TemporaryDirectory() as cache:
            show(use, "empty", timed(code, cache))
            show(use, "warm", timed(code, cache))


if __name__ == "__main__":
    main()
