"""Measure what an attention between groups brings, learned together with the one between nodes.

    python benchmarks/communities.py --seeds 5

Graphs with planted groups are aligned with a renumbered copy, some of whose edges are rewired, by
structure alone: without groups (plain), with an attention between the planted groups
(hierarchical), and with one between communities that Louvain's method finds in each graph by itself
(found). Whatever was learned is then coarsened to the planted groups. All have as many starts.

groups: share of planted groups matched with their own copy. nodes: share of nodes matched with
their own copy (in these graphs, save for the karate club, nodes without rewiring have no equals).
edges: share of edges kept. Times are of the processor, in one thread. Last, how far nodes are ahead
of plain, with the standard error over the cases, which are the same.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import networkx
import numpy as np
from numpy.typing import NDArray

import ddgk
from ddgk.alignment import find_communities
from ddgk.io import karate_club
from ddgk.evaluation.attention import rewire

Integers = NDArray[np.int64]


class Case(NamedTuple):
    """Two graphs, the group of every node of both, and the copy of every target node."""

    target: ddgk.Graph
    source: ddgk.Graph
    target_groups: Integers
    source_groups: Integers
    copies: Integers


def plant(kind: str, seed: int) -> tuple[ddgk.Graph, Integers]:
    """Return a graph and the groups of its nodes."""
    if kind == "karate":
        club = karate_club()
        return club, find_communities(club).codes
    if kind == "ring of 6":
        sizes, inside, beside, else_ = [12] * 6, 0.5, 0.1, 0.0
    else:
        sizes, inside, beside, else_ = [15] * 4, 0.4, 0.05, 0.05
    n = len(sizes)
    gaps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    steps = np.minimum(gaps, n - gaps)
    density = np.where(steps == 0, inside, np.where(steps == 1, beside, else_))
    drawn = networkx.stochastic_block_model(sizes, density.tolist(), seed=seed)
    return ddgk.Graph(sum(sizes), list(drawn.edges)), np.repeat(np.arange(n), sizes)


def make_case(kind: str, noise: float, seed: int) -> Case:
    graph, groups = plant(kind, seed)
    order = np.random.default_rng(1000 + seed).permutation(graph.n_nodes)
    other = rewire(graph, noise, seed).permuted(order)
    return Case(graph, other, groups, groups[order], np.argsort(order))


def measure(case: Case, groups: Any, restarts: int, seed: int) -> list[float]:
    began = time.process_time()
    found = ddgk.align(
        case.target, case.source, groups=groups, restarts=restarts, random_state=seed
    )
    spent = time.process_time() - began
    coarse = found.coarsen(case.target_groups, case.source_groups)
    same = [t == s for t, s in coarse.matching.items()]
    nodes = case.copies[found.pairs[:, 0]] == found.pairs[:, 1]
    n_groups = len(coarse.target_groups.names)
    return [sum(same) / n_groups, float(nodes.mean()), found.edge_correctness, spent]


def summarise(values: NDArray[np.float64], plain: NDArray[np.float64]) -> str:
    """Return means, and how far ahead of plain in nodes, with the standard error over cases."""
    groups, nodes, edges, seconds = values.mean(axis=0)
    ahead = values[:, 1] - plain[:, 1]
    cell = f"{groups:.2f} / {nodes:.2f} / {edges:.2f}, {seconds:.1f} s"
    if values is plain or not ahead.any():
        return cell
    error = ahead.std(ddof=1) / np.sqrt(len(ahead))
    return f"{cell}, {ahead.mean():+.2f} ± {error:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--restarts", type=int, default=8)
    parser.add_argument("--kinds", default="ring of 6,4 blocks,karate")
    parser.add_argument("--noise", default="0,.1,.2,.3,.4")
    arguments = parser.parse_args()
    ddgk.align(ddgk.Graph(3, [(0, 1)]), ddgk.Graph(3, [(0, 1)]))  # compile before timing
    print("| graph | rewired | plain | hierarchical | found |")
    print("|---|---|---|---|---|")
    for kind in arguments.kinds.split(","):
        for noise in map(float, arguments.noise.split(",")):
            rows: dict[str, list[list[float]]] = {"plain": [], "planted": [], "found": []}
            for seed in range(arguments.seeds):
                case = make_case(kind, noise, seed)
                ways = {
                    "plain": None,
                    "planted": (case.target_groups, case.source_groups),
                    "found": "communities",
                }
                for name, groups in ways.items():
                    rows[name].append(measure(case, groups, arguments.restarts, seed))
            cells = [
                summarise(np.array(values), np.array(rows["plain"])) for values in rows.values()
            ]
            print(f"| {kind} | {noise:.0%} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
