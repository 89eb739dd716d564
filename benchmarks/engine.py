"""How fast pairs are trained, in one table from one run.

    python benchmarks/engine.py
    python benchmarks/engine.py --sets MUTAG --seconds 3

Side by side on samples of real sets: the fused engine on one and two threads, the torch engine, a
torch loop over pairs written the usual way, and POT's Gromov-Wasserstein with shortest-path costs,
which compares the same graphs. The last column is the share of what a large float32 matrix product
reaches on one core in the same run, counting products only (forward and backward):

    4 n_t n_s d + 4 n_t d h + 4 (L - 1) n_t h^2 + 4 n_t h n_s + 6 n_t^2 n_s   per pair and step,

with the last two terms 6 n_t^2 h + 4 h n_s n_t where linear scores allow the low-rank product. Data
is read from the folder named by DDGK_DATA, or shared/data beside the project.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the yardstick is one core
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

import ddgk
from ddgk.attributes import learn_families
from ddgk.datasets import load
from ddgk.divergence import Scorer
from ddgk.encoder import Encoder
from ddgk.engine.fused import FusedEngine
from ddgk.method import Method
from ddgk.reading import Reader, Reading

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
AUTHORS = Method(
    scores="tanh", reverse="free", start="glorot", rate=0.01, curve=300, encoder_epochs=100
)
TIED = Method(curve=300, encoder_epochs=100)
SHORT = Method(curve=100, encoder_epochs=100)
DEFAULT = Method(encoder_epochs=100)
SAMPLES = {"MUTAG": (128, 4), "NCI1": (256, 2), "DD": (8, 1)}  # targets, sources
OTHERS = 16  # targets on which slower ways are timed


@dataclass(frozen=True)
class Sample:
    """Some targets against some sources, ready to be trained."""

    scorer: Scorer
    readings: list[Reading]
    encoders: list[Encoder]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return every target with every source, by position."""
        return [(t, s) for t in range(len(self.readings)) for s in range(len(self.encoders))]

    def flops(self) -> float:
        """Return the operations of all products of all pairs and steps."""
        method = self.scorer.method
        return sum(
            pair_flops(len(self.readings[t].problem.unit_weights), e.graph.n_nodes, method)
            for t in range(len(self.readings))
            for e in self.encoders
        ) * float(method.curve[-1])


def pair_flops(n_target: int, n_source: int, method: Method) -> float:
    d, depth = method.dimension, method.depth
    h = 4 * d if method.width is None else method.width
    last = 4 * n_target * h * n_source + 6 * n_target**2 * n_source
    if method.scores == "linear":
        last = min(last, 6 * n_target**2 * h + 4 * h * n_source * n_target)
    layers = n_target * d * h + (depth - 1) * n_target * h * h
    return 4 * n_target * n_source * d + 4 * layers + last


def make_sample(name: str, method: Method, engine: Any, families: str = "none") -> Sample:
    graphs = list(load(name).graphs)
    order = np.random.default_rng(0).permutation(len(graphs))
    sizes = np.array([graph.n_nodes for graph in graphs])
    n_targets, n_sources = SAMPLES[name]
    middle = (len(sizes) - n_sources) // 2
    sources = [graphs[place] for place in np.argsort(sizes)[middle : middle + n_sources]]
    targets = [graphs[place] for place in order[:n_targets]]
    scorer = Scorer(method, Reader("node_to_edges", learn_families(graphs, families)), engine, 0)
    return Sample(scorer, [scorer.read(graph) for graph in targets], scorer.encode(sources))


def best_time(work: Callable[[], Any], seconds: float) -> float:
    """Return the best of as many runs as fit, after one that does not count."""
    work()
    times, started = [], time.perf_counter()
    while not times or time.perf_counter() - started < seconds:
        before = time.perf_counter()
        work()
        times.append(time.perf_counter() - before)
    return min(times)


def peak(seconds: float) -> float:
    """Return what a large float32 matrix product reaches on one core, in flop/s."""
    matrix = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
    return float(2 * 2048**3 / best_time(lambda: matrix @ matrix, seconds))


def train_pair_the_usual_way(sample: Sample, target: int) -> float:
    """Train one pair with torch modules and torch.optim.Adam; return the last loss."""
    import torch
    from torch import nn

    weights = sample.encoders[0].source.weights
    relation = torch.as_tensor(sample.readings[target].problem.dense_relation()).float()
    table = torch.as_tensor(weights.table).float()
    n_target, n_source = len(relation), len(table)
    layers: list[Any] = []
    for weight, bias in (*weights.hidden, weights.output):
        linear = nn.Linear(*weight.shape)
        linear.weight.data = torch.as_tensor(weight.T).float()
        linear.bias.data = torch.as_tensor(bias).float()
        layers += [linear, nn.Tanh()]
    network = nn.Sequential(*layers).requires_grad_(False)
    attention = nn.Linear(n_target, n_source, bias=False)
    reverse = nn.Linear(n_source, n_target)
    optimiser = torch.optim.Adam([*attention.parameters(), *reverse.parameters()], lr=0.01)
    criterion, loss = nn.BCEWithLogitsLoss(), torch.zeros(())
    for _ in range(sample.scorer.method.curve[-1]):
        optimiser.zero_grad()
        inputs = torch.softmax(attention.weight.T, dim=1) @ table
        loss = criterion(reverse(network(inputs)), relation)
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def path_lengths(graph: ddgk.Graph) -> Any:
    """Return shortest-path lengths, (n, n); n where there is no path."""
    adjacency = np.zeros((graph.n_nodes, graph.n_nodes))
    adjacency[tuple(graph.edges.T)] = 1
    found = shortest_path(adjacency, directed=False, unweighted=True)
    return np.where(np.isfinite(found), found, graph.n_nodes)


def report(label: str, n_pairs: int, seconds: float, flops: float | None, best: float) -> None:
    share = "" if flops is None else f"{flops / seconds / best:10.2f}"
    print(f"{label:48s} {n_pairs / seconds:12.1f} {share:>10s}", flush=True)


def run_set(name: str, seconds: float, best: float) -> None:
    n_targets, n_sources = SAMPLES[name]
    print(f"\n{name}: {n_targets} targets, {n_sources} source(s) of median size")
    print(f"{'':48s} {'pairs/s':>12s} {'of peak':>10s}")
    settings = {
        "authors' setting (tanh, free), 300 steps": (AUTHORS, "none"),
        "tied, linear, on quotients, 300 steps": (TIED, "none"),
        "structure only, 100 steps": (SHORT, "none"),
        "default preset, all channels, 60 steps": (DEFAULT, "auto"),
    }
    for label, (method, families) in settings.items():
        for threads in (1, 2):
            sample = make_sample(name, method, FusedEngine(threads=threads), families)
            work = lambda s=sample: s.scorer.train(s.readings, s.encoders, s.pairs)  # noqa: E731
            spent = best_time(work, seconds)
            what = f"{label}, {threads} thread{'s' * (threads > 1)}"
            counted = sample.flops() if families == "none" else None
            report(what, len(sample.pairs), spent, counted, best * threads)
    sample = make_sample(name, AUTHORS, FusedEngine())
    run_others(name, sample, best)


def run_others(name: str, sample: Sample, best: float) -> None:
    """Time the others on the first targets of the sample, against its first source."""
    places = range(min(OTHERS, len(sample.readings)))
    try:
        import torch

        from ddgk.engine.torch import TorchEngine
    except ModuleNotFoundError:
        print("torch is not installed: no torch engine, no loop over pairs")
    else:
        torch.set_num_threads(1)
        source = sample.encoders[0].source
        problems = [(reading.problem, source) for reading in sample.readings]
        training, engine = sample.scorer.method.pair_training(()), TorchEngine()
        spent = best_time(lambda: engine.score_pairs(problems, [0] * len(problems), training), 0)
        flops = sample.flops() / len(sample.encoders)
        report("torch engine, authors' setting", len(problems), spent, flops, best)
        spent = best_time(lambda: [train_pair_the_usual_way(sample, t) for t in places], 0)
        report("torch, a pair at a time, the same", len(places), spent, None, best)
    try:
        import ot
    except ModuleNotFoundError:
        print("POT is not installed: no Gromov-Wasserstein")
        return
    graphs = list(load(name).graphs)
    order = np.random.default_rng(0).permutation(len(graphs))
    costs = [path_lengths(graphs[order[place]]) for place in places]
    own = path_lengths(sample.encoders[0].graph)

    def transport() -> list[Any]:
        return [ot.gromov.gromov_wasserstein(cost, own, loss_fun="square_loss") for cost in costs]

    report(
        "POT gromov_wasserstein, shortest paths", len(places), best_time(transport, 0), None, best
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", nargs="+", default=list(SAMPLES), choices=SAMPLES)
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to repeat each run")
    chosen = parser.parse_args()
    os.environ.setdefault("DDGK_DATA", str(BESIDE))
    best = peak(chosen.seconds)
    print(f"large float32 matrix product, one core: {best / 1e9:.1f} GFLOP/s (the peak below)")
    for name in chosen.sets:
        run_set(name, chosen.seconds, best)


if __name__ == "__main__":
    main()
