"""How fast pairs are trained, in one table from one run.

    python benchmarks/engine.py
    python benchmarks/engine.py --sets MUTAG --seconds 3

Side by side on samples of real sets: the fused engine on one and two threads, the torch engine, a
torch loop over pairs written the usual way, and POT's Gromov-Wasserstein with shortest-path costs,
which compares the same graphs. The last column is the share of what a large float32 matrix product
reaches on one core, measured in turns with the work, counting products only (forward and backward):

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

import ddgk
from ddgk.config import Config
from ddgk.divergence import GlobalDivergences
from ddgk.encoder import Encoder
from ddgk.engine.arrays import EncodedGraph
from ddgk.engine.fused import FusedEngine
from ddgk.io import load
from ddgk.targets import Encoding

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
SHORT = {"encoder_epochs": 100, "attributes": "none"}
AUTHORS = Config.preset("authors").replace(checkpoints=300, **SHORT)
PAPER = Config.preset("paper").replace(checkpoints=300, **SHORT)
FREE = Config(attention="global", reverse="free", learning_rate=0.15, checkpoints=300, **SHORT)
TERMS = FREE.replace(attributes="auto", checkpoints=(1, 2, 3, 5, 8, 12, 20, 35, 60))
SAMPLES = {"MUTAG": (128, 4), "NCI1": (256, 2), "DD": (8, 1)}  # targets, sources
OTHERS = 16  # targets on which slower ways are timed


@dataclass(frozen=True)
class Sample:
    """Some targets against some sources, ready to be trained."""

    scorer: GlobalDivergences
    graphs: list[EncodedGraph]
    encoders: list[Encoder]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return every target with every source, by position."""
        return [(t, s) for t in range(len(self.graphs)) for s in range(len(self.encoders))]

    def flops(self) -> float:
        """Return the operations of all products of all pairs and steps."""
        config = self.scorer.config
        return sum(
            pair_flops(len(graph.unit_weights), e.graph.n_nodes, config)
            for graph in self.graphs
            for e in self.encoders
        ) * float(config.checkpoints[-1])


def pair_flops(n_target: int, n_source: int, config: Config) -> float:
    d, depth = config.dimension, config.depth
    h = config.hidden_width
    last = 4 * n_target * h * n_source + 6 * n_target**2 * n_source
    if config.scores == "linear":
        last = min(last, 6 * n_target**2 * h + 4 * h * n_source * n_target)
    layers = n_target * d * h + (depth - 1) * n_target * h * h
    return 4 * n_target * n_source * d + 4 * layers + last


def make_sample(name: str, config: Config, engine: Any) -> Sample:
    graphs = list(load(name).graphs)
    order = np.random.default_rng(0).permutation(len(graphs))
    sizes = np.array([graph.n_nodes for graph in graphs])
    n_targets, n_sources = SAMPLES[name]
    middle = (len(sizes) - n_sources) // 2
    sources = [graphs[place] for place in np.argsort(sizes)[middle : middle + n_sources]]
    targets = [graphs[place] for place in order[:n_targets]]
    scorer = GlobalDivergences(config, Encoding.learn(graphs, config), engine, 0)
    encoded = [scorer.encode(graph) for graph in targets]
    return Sample(scorer, encoded, scorer.encode_sources(sources))


def best_times(works: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """Return the best time of each work, taken in turns as often as fits, after a first round."""
    best = [float("inf")] * len(works)
    for work in works:
        work()
    started, rounds = time.perf_counter(), 0
    while rounds == 0 or time.perf_counter() - started < seconds:
        for place, work in enumerate(works):
            before = time.perf_counter()
            work()
            best[place] = min(best[place], time.perf_counter() - before)
        rounds += 1
    return best


SQUARE = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)


def multiply_large() -> Any:
    """Multiply large float32 matrices on one core: the yardstick."""
    return SQUARE @ SQUARE


def peak_of(seconds: float) -> float:
    """Return the flop/s of a large product that took that long."""
    return 2.0 * len(SQUARE) ** 3 / seconds


def train_pair_the_usual_way(sample: Sample, target: int) -> float:
    """Train one pair with torch modules and torch.optim.Adam; return the last loss."""
    import torch
    from torch import nn

    weights = sample.encoders[0].source.weights
    matrix = torch.as_tensor(sample.graphs[target].dense_matrix()).float()
    table = torch.as_tensor(weights.table).float()
    n_target, n_source = len(matrix), len(table)
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
    for _ in range(sample.scorer.config.checkpoints[-1]):
        optimiser.zero_grad()
        inputs = torch.softmax(attention.weight.T, dim=1) @ table
        loss = criterion(reverse(network(inputs)), matrix)
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def path_lengths(graph: ddgk.Graph) -> Any:
    """Return shortest-path lengths, (n, n); n where there is no path."""
    adjacency = np.zeros((graph.n_nodes, graph.n_nodes))
    adjacency[tuple(graph.edges.T)] = 1
    found = shortest_path(adjacency, directed=False, unweighted=True)
    return np.where(np.isfinite(found), found, graph.n_nodes)


def report(label: str, n_pairs: int, seconds: float, share: float | None = None) -> None:
    shown = "" if share is None else f"{share:.2f}"
    print(f"{label:48s} {n_pairs / seconds:12.1f} {shown:>10s}", flush=True)


def run_set(name: str, seconds: float) -> None:
    n_targets, n_sources = SAMPLES[name]
    print(f"\n{name}: {n_targets} targets, {n_sources} source(s) of median size")
    print(f"{'':48s} {'pairs/s':>12s} {'of peak':>10s}")
    settings = {
        "authors (tanh, free), 300 steps": AUTHORS,
        "paper (linear, free), 300 steps": PAPER,
        "free, on quotients, 300 steps": FREE,
        "free, all terms, 60 steps": TERMS,
    }
    for label, config in settings.items():
        samples = [make_sample(name, config, FusedEngine(threads=t)) for t in (1, 2)]
        works = [lambda s=s: s.scorer.train(s.graphs, s.encoders, s.pairs) for s in samples]
        alone, together, product = best_times([*works, multiply_large], seconds)
        share = (
            samples[0].flops() / alone / peak_of(product) if config.attributes == "none" else None
        )
        n_pairs = len(samples[0].pairs)
        report(f"{label}, 1 thread", n_pairs, alone, share)
        report(f"{label}, 2 threads ({alone / together:.2f} x)", n_pairs, together)
    run_others(name, make_sample(name, AUTHORS, FusedEngine()), seconds)


def run_others(name: str, sample: Sample, seconds: float) -> None:
    """Time the others on the first targets of the sample, against its first source."""
    places = range(min(OTHERS, len(sample.graphs)))
    labels, counts, works = [], [], []
    try:
        import torch

        from ddgk.engine.torch import TorchEngine
    except ModuleNotFoundError:
        print("torch is not installed: no torch engine, no loop over pairs")
    else:
        torch.set_num_threads(1)
        source = sample.encoders[0].source
        pairs = [(graph, source) for graph in sample.graphs]
        config, engine = sample.scorer.config, TorchEngine()
        labels += ["torch engine, authors' setting", "torch, a pair at a time, the same"]
        counts += [len(pairs), len(places)]
        works += [
            lambda: engine.train_pairs(pairs, [0] * len(pairs), config),
            lambda: [train_pair_the_usual_way(sample, t) for t in places],
        ]
    try:
        import ot
    except ModuleNotFoundError:
        print("POT is not installed: no Gromov-Wasserstein")
    else:
        graphs = list(load(name).graphs)
        order = np.random.default_rng(0).permutation(len(graphs))
        costs = [path_lengths(graphs[order[place]]) for place in places]
        own = path_lengths(sample.encoders[0].graph)
        labels.append("POT gromov_wasserstein, shortest paths")
        counts.append(len(places))
        works.append(
            lambda: [ot.gromov.gromov_wasserstein(c, own, loss_fun="square_loss") for c in costs]
        )
    for label, count, spent in zip(labels, counts, best_times(works, seconds), strict=True):
        report(label, count, spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", nargs="+", default=list(SAMPLES), choices=SAMPLES)
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to repeat each run")
    chosen = parser.parse_args()
    os.environ.setdefault("DDGK_DATA", str(BESIDE))
    best = peak_of(*best_times([multiply_large], chosen.seconds))
    print(f"large float32 matrix product, one core: {best / 1e9:.1f} GFLOP/s")
    for name in chosen.sets:
        run_set(name, chosen.seconds)


if __name__ == "__main__":
    main()
