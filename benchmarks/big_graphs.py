"""Large targets: how good samples are, and how time and memory grow with nodes.

    python benchmarks/big_graphs.py error -o docs/design/figures/samples.svg
    python benchmarks/big_graphs.py growth -o docs/design/figures/big_growth.svg
    python benchmarks/big_graphs.py one --nodes 100000 --jobs 2

`error` compares divergences from all entries with those from 8 to 512 sampled ones, over all pairs
of 30 targets of 500 to 2,000 nodes (five generators) and ten sources of 60 to 150. `growth` has
targets of 1,000 to 1,000,000 nodes, all of them sampled, each in a process of its own. `one` is a
single target with five edges a node against 16 sources of 60 to 300 nodes. Random graphs have no
twins, so nothing is saved by a quotient.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from ddgk import DDGK
from ddgk.datasets.generators import degrees_of, generators
from ddgk.datasets.networks import load_network
from ddgk.graphs import Graph

SAMPLES = (8, 16, 32, 64, 128, 256, 512)
LEAST_GIGABYTES = 0.01
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def random_graph(n_nodes: int, n_edges: int, seed: int) -> Graph:
    """Draw distinct edges at random."""
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, n_nodes, (n_edges + n_edges // 20 + 16, 2))
    drawn = np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1)
    codes = np.unique(drawn[:, 0] * n_nodes + drawn[:, 1])
    chosen = generator.permutation(codes)[:n_edges]
    return Graph(n_nodes, np.stack([chosen // n_nodes, chosen % n_nodes], axis=1))


def measure_error(path: str | None) -> None:
    """Print, and draw, how far sampled divergences are from exact ones."""
    kinds = generators(degrees_of(load_network("karate"))).values()
    targets = [
        make(n, place)
        for make in kinds
        for place, n in enumerate((500, 700, 900, 1200, 1600, 2000))
    ]
    sources = [make(n, 90 + n) for make in kinds for n in (60, 150)]
    grids = {}
    for samples in (0, *SAMPLES):
        how = {"sampled_above": 0, "samples": samples} if samples else {"sampled_above": 10**6}
        model = DDGK(sources=sources, random_state=0, n_jobs=2, **how).fit(targets)
        began = time.perf_counter()
        grid = model.transform(targets).reshape(len(targets), len(sources), -1, 25)
        grids[samples] = (grid, time.perf_counter() - began)
    channels = model.channels_
    steps = len(model.steps_)
    print("Spearman's correlation over pairs, last step; and the least of all steps and channels")
    print("samples  seconds  " + "  ".join(f"{name:>14}" for name in channels) + "  least of all")
    lines: dict[str, list[float]] = {name: [] for name in channels}
    exact = grids[0][0]
    print(f"    all  {grids[0][1]:7.1f}")
    for samples in SAMPLES:
        found, seconds = grids[samples]
        agreement = np.array(
            [
                [
                    spearmanr(exact[..., c, step].ravel(), found[..., c, step].ravel()).statistic
                    for step in range(steps)
                ]
                for c in range(len(channels))
            ]
        )
        for c, name in enumerate(channels):
            wrong = found[..., c, :steps] - exact[..., c, :steps]
            spread = exact[..., c, :steps].std(axis=(0, 1))
            lines[name].append(float((np.sqrt((wrong**2).mean(axis=(0, 1))) / spread).max()))
        shown = "  ".join(f"{value:14.4f}" for value in agreement[:, -1])
        print(f"{samples:7d}  {seconds:7.1f}  {shown}  {agreement.min():.4f}")
    print("root mean square error, in standard deviations over pairs, worst step:")
    for name, values in lines.items():
        print(f"  {name:16}" + "  ".join(f"{value:.4f}" for value in values))
    if path is not None:
        _draw(path, "sampled entries of a node", "error, in standard deviations over pairs",
              {name: (SAMPLES, values) for name, values in lines.items()})  # fmt: skip


def score_one(n_nodes: int, sizes: list[int], jobs: int, seed: int = 0) -> dict[str, float]:
    """Embed one target, sampled, and say what it took."""
    graph = random_graph(n_nodes, 5 * n_nodes, seed)
    sources = [random_graph(n, 3 * n, n) for n in sizes]
    small = random_graph(200, 1000, 1)
    model = DDGK(sources=sources, sampled_above=0, random_state=0, n_jobs=jobs).fit(sources)
    model.transform([small])  # compiled code is loaded here
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    row = model.transform([graph])
    seconds = time.perf_counter() - began
    assert np.isfinite(row).all()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"nodes": n_nodes, "seconds": seconds, "GB": most / 1e6, "GB before": before / 1e6}


def measure_growth(path: str | None, sizes: tuple[int, ...], jobs: int) -> None:
    """Print, and draw, time and memory against nodes."""
    found = []
    for n_nodes in sizes:
        words = [
            sys.executable,
            __file__,
            "one",
            "--nodes",
            str(n_nodes),
            "--sources",
            "60,140,220,300",
        ]
        words += ["--jobs", str(jobs), "--json"]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        found.append(json.loads(said))
        print({name: round(value, 3) for name, value in found[-1].items()}, flush=True)
    seconds = {line["nodes"]: line["seconds"] for line in found}
    added = {line["nodes"]: line["GB"] - line["GB before"] for line in found}
    # Less than this cannot be told from what an idle process has.
    added = {nodes: gigabytes for nodes, gigabytes in added.items() if gigabytes > LEAST_GIGABYTES}
    for name, values in (("time", seconds), ("memory", added)):
        across, up = np.log(list(values)), np.log(list(values.values()))
        slopes = np.diff(up) / np.diff(across)
        whole = np.polyfit(across, up, 1)[0]
        print(f"{name}: slope {whole:.2f}; piece by piece {np.round(slopes, 2).tolist()}")
    if path is not None:
        measured = {"seconds": seconds, "GB": added}
        lines = {name: (list(line), list(line.values())) for name, line in measured.items()}
        _draw(path, "nodes", "seconds; gigabytes beyond an idle process", lines)


def _draw(path: str, across: str, up: str, lines: dict[str, Any]) -> None:
    from ddgk.plots.canvas import new_figure, save, style

    with style():
        figure = new_figure(6, 4.2)
        axes = figure.subplots()
        figure.subplots_adjust(left=0.14, right=0.97, top=0.96, bottom=0.14)
        for name, (xs, ys) in lines.items():
            axes.loglog(xs, ys, marker="o", label=name)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        axes.legend(fontsize=8)
        save(figure, path)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("error", "growth", "one"))
    parser.add_argument("-o", "--out")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--sources", default=",".join(map(str, range(60, 301, 16))))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.what == "error":
        measure_error(given.out)
    elif given.what == "growth":
        sizes = tuple(size for size in SIZES if size <= given.most)
        measure_growth(given.out, sizes, given.jobs)
    else:
        sizes = [int(size) for size in given.sources.split(",")]
        found = score_one(given.nodes, sizes, given.jobs)
        print(json.dumps(found) if given.json else {k: round(v, 2) for k, v in found.items()})


if __name__ == "__main__":
    main()
