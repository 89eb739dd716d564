"""How accurate can any method be, where networks have ties? Beside the protocol of noisy copies.

    python benchmarks/alignment_ties.py FOLDER --networks ca-netscience --noise 0.1 --seeds 2

Orbits: the number of classes that refinement finds in the source, as a share of its nodes. No
method that does not depend on the numbering can expect a higher accuracy against the whole source.
Best: matchings that keep about as much as the true one are sampled (Metropolis at a constant
temperature, from the alignment found), and the accuracy that is expected of the assignment of
largest marginals; truth and found: what both keep.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from alignment_networks import noisy_pair, read_edges
from scipy.optimize import linear_sum_assignment

import ddgk
from ddgk.alignment.encoding import code_graphs, make_network
from ddgk.alignment.search import Matching, Scoring, anneal, total_worth
from ddgk.alignment.voting import complete
from ddgk.symmetry import equitable_partition

TEMPERATURE = 0.15  # edges
STEPS = 20  # a node, between two samples


def main() -> None:
    """Print a line a pair."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="edge lists, NAME.txt")
    parser.add_argument("--networks", nargs="+", required=True)
    parser.add_argument("--noise", nargs="+", type=float, default=[0.05, 0.1])
    parser.add_argument("--type", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--samples", type=int, default=1000)
    arguments = parser.parse_args()
    print("| network | noise | seed | orbits | best | accuracy | truth | found |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.networks:
        n, edges = read_edges(arguments.folder / f"{name}.txt")
        for noise in arguments.noise:
            for seed in range(arguments.seeds):
                target, source, truth = noisy_pair(n, edges, noise, arguments.type, seed)
                codes = code_graphs((target, source), ())
                whole = equitable_partition(codes[1].colours, codes[1].arcs).classes
                both = [make_network(own, np.arange(n)) for own in codes]
                found = ddgk.align(target, source).pairs
                partners = np.full(n, -1)
                partners[found[:, 0]] = found[:, 1]
                partners = complete(partners, *both)
                scoring = Scoring(1.0, 0.5, 0.0)
                accuracy = (partners == truth).mean()
                kept = [total_worth(Matching(*both, some, scoring)) for some in (truth, partners)]
                counts, state = np.zeros((n, n)), np.uint64(seed)
                for _ in range(arguments.samples):
                    how = STEPS * n, (TEMPERATURE, TEMPERATURE), np.uint64(state)
                    state = anneal(Matching(*both, partners, scoring), *how)[2]
                    counts[np.arange(n), partners] += 1 / arguments.samples
                best = counts[linear_sum_assignment(counts, maximize=True)].mean()
                print(
                    f"| {name} | {noise:.0%} | {seed} | {(whole.max() + 1) / n:.3f} | {best:.3f} | "
                    f"{accuracy:.3f} | {kept[0]:.0f} | {kept[1]:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
