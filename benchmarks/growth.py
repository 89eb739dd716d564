"""How the time of scoring grows: against targets, sources, nodes, d and steps, one at a time.

    python benchmarks/growth.py
    python benchmarks/growth.py -o growth.svg --repeats 9

Random graphs with mean degree 3, structure only, one thread; nodes, d and steps for both forms
of the last product (linear scores with a tied reverse attention, tanh scores with a free one).
R^2 says how well a straight line describes the times; the exponent is that of the last doubling,
where fixed costs matter least, and beside it stands the one of the operations, counted as in
benchmarks/engine.py. Rounds go through all points in turn and the best time of each is kept, so
that a busy moment does not bend a line.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx
import numpy as np

from ddgk.divergence import Scorer
from ddgk.engine.fused import FusedEngine
from ddgk.graphs.convert import as_graph
from ddgk.method import Method
from ddgk.reading import Reader
from engine import pair_flops

TIED = Method(curve=60, encoder_epochs=1, start="glorot")
FREE = replace(TIED, scores="tanh", reverse="free")


@dataclass(frozen=True)
class Work:
    """Targets and sources of a size, scored by a method."""

    n_targets: int = 64
    n_sources: int = 4
    n_nodes: int = 24
    method: Method = TIED

    def prepare(self) -> Callable[[], Any]:
        """Return what is to be timed."""
        scorer = Scorer(self.method, Reader("node_to_edges", []), FusedEngine(), 0)
        graphs = [
            as_graph(networkx.gnm_random_graph(self.n_nodes, 3 * self.n_nodes // 2, seed=place))
            for place in range(self.n_targets)
        ]
        readings = [scorer.read(graph) for graph in graphs]
        encoders = scorer.encode(graphs[: self.n_sources])
        pairs = [(t, s) for t in range(self.n_targets) for s in range(self.n_sources)]
        return lambda: scorer.train(readings, encoders, pairs)

    def flops(self) -> float:
        """Return the operations of its products."""
        each = pair_flops(self.n_nodes, self.n_nodes, self.method) * self.method.curve[-1]
        return self.n_targets * self.n_sources * each


def growths() -> dict[str, tuple[Sequence[int], Callable[[int], Work]]]:
    """Return what is varied: the values, and the work at a value."""
    found: dict[str, tuple[Sequence[int], Callable[[int], Work]]] = {
        "targets": ((64, 128, 256, 512, 1024), lambda n: Work(n_targets=n)),
        "sources": ((4, 8, 16, 32, 64), lambda n: Work(n_sources=n)),
    }
    for name, method in (("tied, linear", TIED), ("free, tanh", FREE)):
        found |= {
            f"nodes of both ({name})": (
                (12, 24, 48, 96, 192, 384),
                lambda n, m=method: Work(8, 1, n, m),
            ),
            f"d, with h = 4 d ({name})": (
                (2, 4, 8, 16, 32),
                lambda n, m=method: Work(16, 2, 24, replace(m, dimension=n)),
            ),
            f"steps ({name})": (
                (50, 100, 200, 400, 800),
                lambda n, m=method: Work(32, 2, 24, replace(m, curve=(n,))),
            ),
        }
    return found


def measure(works: Sequence[Work], repeats: int) -> list[float]:
    """Return the best time of every work, all of them in turn."""
    calls = [work.prepare() for work in works]
    best = [float("inf")] * len(calls)
    for call in calls:
        call()
    for _ in range(repeats):
        for place, call in enumerate(calls):
            began = time.perf_counter()
            call()
            best[place] = min(best[place], time.perf_counter() - began)
    return best


def exponent(values: Sequence[int], amounts: Sequence[float]) -> float:
    """Return the power with which the last doubling grew."""
    return float(np.log(amounts[-1] / amounts[-2]) / np.log(values[-1] / values[-2]))


def straightness(values: Sequence[int], amounts: Sequence[float]) -> float:
    """Return R^2 of the straight line through the points."""
    return float(np.corrcoef(values, amounts)[0, 1] ** 2)


def draw(rows: list[tuple[str, Sequence[int], list[float], list[float]]], path: str) -> None:
    """Plot time against each number, with the operations at the speed of the last point."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 4, figsize=(14, 6.5), layout="constrained")
    for axis, (name, values, times, flops) in zip(axes.flat, rows, strict=True):
        counted = np.array(flops) * times[-1] / flops[-1]
        axis.loglog(values, counted, "--", color="0.6", label="operations")
        axis.loglog(values, times, "o-", color="#1f5f8b", label="measured")
        axis.set_xticks(values, [str(value) for value in values])
        axis.minorticks_off()
        axis.set_title(name, fontsize=10)
        axis.set_ylabel("seconds")
        axis.grid(alpha=0.3)
    axes.flat[0].legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-o", "--out", help="also draw a figure there")
    parser.add_argument("--repeats", type=int, default=7)
    chosen = parser.parse_args()
    print("| varied | values | milliseconds | R^2 | exponent | of the operations |")
    print("|---|---|---|---|---|---|")
    rows = []
    for name, (values, work) in growths().items():
        works = [work(value) for value in values]
        times, flops = measure(works, chosen.repeats), [one.flops() for one in works]
        listed = " / ".join(f"{1e3 * spent:.1f}" for spent in times)
        measured, counted = exponent(values, times), exponent(values, flops)
        given, line = " / ".join(map(str, values)), straightness(values, times)
        print(f"| {name} | {given} | {listed} | {line:.3f} | {measured:.2f} | {counted:.2f} |")
        rows.append((name, values, times, flops))
    if chosen.out:
        draw(rows, chosen.out)


if __name__ == "__main__":
    main()
