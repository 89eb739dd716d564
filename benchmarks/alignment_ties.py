"""How accurate can any method be, where networks have ties? Beside the protocol of noisy copies.

    python benchmarks/alignment_ties.py FOLDER --networks ca-netscience in-arenas --seeds 5

Orbits: the number of classes that refinement finds in the source, as a share of its nodes. No
method that does not depend on the numbering can expect a higher accuracy against the whole source.

Where the target's edges are a subset of the source's (type 1), nothing tells matchings apart that
keep them all. Such matchings are sampled (Metropolis at a constant temperature, from the alignment
found; samples that lost an edge do not count). Draw: the mean accuracy of one of them. Likely: that
of the most frequent partner of every node. Assigned: that of the one-to-one matching of largest
frequencies, which maximises the expected accuracy. Accuracies are plain, against the truth; means
over seeds with standard errors, and how much more "assigned" has than the alignment itself, pair by
pair. Full: the share of samples that keep all edges; a pair without any counts in orbits, found and
lost alone. Lost: edges of the target that the alignment lost.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from alignment_networks import noisy_pair, read_edges
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import ddgk
from ddgk.alignment.encoding import code_graphs, make_network
from ddgk.alignment.search import Matching, Scoring, anneal, total_worth
from ddgk.alignment.voting import complete
from ddgk.symmetry import equitable_partition

TEMPERATURE = 0.15  # edges
STEPS = 20  # a node, between two samples
COLUMNS = ("orbits", "draw", "likely", "assigned", "found", "assigned - found", "full", "lost")


def measure(
    target: ddgk.Graph, source: ddgk.Graph, truth: NDArray[np.int64], seed: int, n_samples: int
) -> list[float]:
    """Return the columns of one pair."""
    n = source.n_nodes
    codes = code_graphs((target, source), ())
    whole = equitable_partition(codes[1].colours, codes[1].arcs)
    both = [make_network(own, np.arange(n)) for own in codes]
    found = ddgk.align(target, source)
    partners = np.full(n, -1)
    partners[found.pairs[:, 0]] = found.pairs[:, 1]
    partners = complete(partners, *both)
    accuracy = (partners == truth).mean()
    counts, n_full, state = np.zeros((n, n)), 0, np.uint64(seed)
    sampled = Matching(*both, partners, Scoring(1.0, 0.5, 0.0))
    for _ in range(n_samples):
        state = anneal(sampled, STEPS * n, (TEMPERATURE, TEMPERATURE), np.uint64(state))[2]
        if total_worth(sampled) > target.n_edges - 0.5:
            n_full += 1
            counts[np.arange(n), sampled.partners] += 1
    draw, likely, assigned = np.nan, np.nan, np.nan
    if n_full:
        draw = counts[np.arange(n), truth].mean() / n_full
        likely = (counts.argmax(axis=1) == truth).mean()
        assigned = (linear_sum_assignment(counts, maximize=True)[1] == truth).mean()
    told = whole.n_classes / n, draw, likely, assigned, accuracy, assigned - accuracy
    return [*told, n_full / n_samples, target.n_edges - found.n_kept_edges]


def main() -> None:
    """Print a line for every network and noise."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="edge lists, NAME.txt")
    parser.add_argument("--networks", nargs="+", required=True)
    parser.add_argument("--noise", nargs="+", type=float, default=[0.05, 0.1])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=1000)
    arguments = parser.parse_args()
    print(f"| network | noise | {' | '.join(COLUMNS)} |\n|---|---|{'---|' * len(COLUMNS)}")
    for name in arguments.networks:
        n, edges = read_edges(arguments.folder / f"{name}.txt")
        for noise in arguments.noise:
            rows = []
            for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
                pair = noisy_pair(n, edges, noise, 1, seed)
                rows.append(measure(*pair, seed, arguments.samples))
            means = np.nanmean(rows, axis=0)
            errors = np.nanstd(rows, axis=0) / np.sqrt(max(len(rows) - 1, 1))
            cells = [f"{mean:.3f}" for mean in means]
            for place in range(1, 6):
                cells[place] += f" ± {errors[place]:.3f}"
            print(f"| {name} | {noise:.0%} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
