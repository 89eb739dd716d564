"""How often alignments of small graphs are right, and how long they take.

    python benchmarks/alignment_molecules.py --graphs 100 --seeds 3

Permuted: node-permuted copies, structure only; exact: share of isomorphisms found. Damaged: a share
of the copy's edges is rewired (one at least), or a share of its nodes is deleted, with and without
node labels.

Node correctness up to automorphism: the share of the target's nodes that lie where some one
automorphism of the original puts their true image. The automorphism is built greedily, following
the matching as long as refinement finds no contradiction, so the share is a lower bound.
As good: the share of pairs whose alignment costs no more than the true matching, by the objective
that is minimised (edges lost and gained, labels that differ, .5 for a node without partner; of the
true matching too, pairs are dropped that lose all their edges). What is wrong there no search can
put right. Nodes there: node correctness of these pairs alone. Times are processor time, one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import ddgk
from ddgk.alignment.result import kept_edges
from ddgk.symmetry import Arcs, equitable_partition

Integers = NDArray[np.int64]
SETS = ("MUTAG", "NCI1", "ENZYMES", "IMDB-BINARY")
DAMAGES = ("rewired 1 %", "rewired 5 %", "rewired 10 %", "deleted 10 %")
LARGEST = 100
COLUMNS = ("nodes", "edges", "exact", "as good", "nodes there")
ORDERS = 3  # in which the automorphism that measures a matching is built


@dataclass(frozen=True)
class Case:
    """A target, the source it was made from, and where every target node comes from."""

    target: ddgk.Graph
    source: ddgk.Graph
    truth: Integers


def draw(name: str, n_graphs: int, seed: int) -> list[ddgk.Graph]:
    """Draw graphs of at most `LARGEST` nodes without replacement."""
    small = [graph for graph in ddgk.io.load(name).graphs if graph.n_nodes <= LARGEST]
    rng = np.random.default_rng(seed)
    return [small[i] for i in rng.choice(len(small), min(n_graphs, len(small)), replace=False)]


def permuted_case(graph: ddgk.Graph, rng: np.random.Generator) -> Case:
    """Renumber a copy."""
    order = rng.permutation(graph.n_nodes)
    return Case(graph.permuted(order), graph, order)


def damaged_case(graph: ddgk.Graph, damage: str, rng: np.random.Generator) -> Case:
    """Damage a copy, then renumber it."""
    kind, share = damage.split()[0], float(damage.split()[1]) / 100
    plain = graph.replace(edge_labels=None, node_attributes=None, edge_weights=None)
    if kind == "rewired":
        copy, kept = rewired(plain, share, rng), np.arange(graph.n_nodes)
    else:
        n_gone = max(1, round(share * graph.n_nodes))
        kept = np.sort(rng.permutation(graph.n_nodes)[: max(1, graph.n_nodes - n_gone)])
        place = np.full(graph.n_nodes, -1)
        place[kept] = np.arange(len(kept))
        ends = place[plain.edges]
        labels = plain.node_labels
        copy = ddgk.Graph(
            len(kept),
            ends[(ends >= 0).all(axis=1)],
            node_labels=None if labels is None else [labels[i] for i in kept],
        )
    order = rng.permutation(copy.n_nodes)
    return Case(copy.permuted(order), plain, kept[order])


def rewired(graph: ddgk.Graph, share: float, rng: np.random.Generator) -> ddgk.Graph:
    """Remove a share of the edges, at least one, and add as many between nodes that had none."""
    edges = {tuple(edge) for edge in graph.edges.tolist()}
    n_nodes = graph.n_nodes
    room = n_nodes * (n_nodes - 1) // 2 - len(edges)
    n_moved = min(max(1, round(share * len(edges))), room, len(edges))
    gone = rng.choice(len(edges), n_moved, replace=False)
    kept = edges - {tuple(graph.edges[i].tolist()) for i in gone}
    while len(kept) < len(edges):
        u, v = sorted(rng.choice(n_nodes, 2, replace=False).tolist())
        if (u, v) not in edges:
            kept.add((u, v))
    return graph.replace(edges=sorted(kept))


def node_correctness(case: Case, pairs: Integers, *, labelled: bool) -> float:
    """Return the share of target nodes that one automorphism of the source accounts for.

    Two copies of the source are refined together. Following the matching, a node of the first and
    one of the second are singled out as each other's image; a choice that makes the copies differ
    is taken back.
    """
    source, n_nodes = case.source, case.source.n_nodes
    tails, heads = np.concatenate([source.edges, source.edges[:, ::-1]]).T
    twice = Arcs(
        np.concatenate([tails, tails + n_nodes]),
        np.concatenate([heads, heads + n_nodes]),
        np.zeros(2 * len(tails), dtype=np.int64),
    )
    colours = np.zeros(n_nodes, dtype=np.int64)
    if labelled and source.node_labels is not None:
        colours = np.unique(list(map(str, source.node_labels)), return_inverse=True)[1]
    first = equitable_partition(np.concatenate([colours, colours]), twice).classes
    origins, images = case.truth[pairs[:, 0]], n_nodes + pairs[:, 1]
    rng = np.random.default_rng(0)
    best = 0
    for _ in range(ORDERS):
        classes = first
        for place in rng.permutation(len(pairs)):
            here, there = origins[place], images[place]
            if classes[here] != classes[there] or (classes == classes[here]).sum() == 2:
                continue
            singled = 2 * classes
            singled[[here, there]] += 1
            refined = equitable_partition(singled, twice).classes
            if np.array_equal(np.sort(refined[:n_nodes]), np.sort(refined[n_nodes:])):
                classes = refined
        best = max(best, int((classes[origins] == classes[images]).sum()))
        if best == len(pairs):
            break
    return best / case.target.n_nodes


def cost(case: Case, pairs: Integers, attributes: tuple[str, ...]) -> float:
    """Return what a matching costs, in edges."""
    found = ddgk.Alignment(case.target, case.source, pairs, None, np.ones(len(pairs)), attributes)
    return found.objective + 0.5 * (case.target.n_nodes - len(pairs))


def true_cost(case: Case, attributes: tuple[str, ...]) -> float:
    """Return what the true matching costs, with or without pairs that lose all their edges."""
    pairs = np.stack([np.arange(len(case.truth)), case.truth], axis=1)
    kept = np.zeros(len(pairs))
    for edge in kept_edges(case.target, case.source, pairs)[:, 0]:
        kept[case.target.edges[edge]] += 1
    degrees = [
        np.bincount(g.edges.ravel(), minlength=g.n_nodes) for g in (case.target, case.source)
    ]
    loses = (kept == 0) & (degrees[0] > 0) & (degrees[1][case.truth] > 0)
    return min(cost(case, some, attributes) for some in (pairs, pairs[~loses]))


def measure(cases: Sequence[Case], *, labelled: bool) -> dict[str, float]:
    """Align all cases; return means."""
    rows = []
    for seed, case in enumerate(cases):
        began = time.process_time()
        found = ddgk.align(
            case.target, case.source, labels="soft" if labelled else "ignore", random_state=seed
        )
        spent = time.process_time() - began
        right = node_correctness(case, found.pairs, labelled=labelled)
        paid = cost(case, found.pairs, found.attributes)
        as_good = paid <= true_cost(case, found.attributes) + 1e-9
        there = right if as_good else np.nan
        told = right, found.edge_correctness, found.is_isomorphism, as_good, there
        rows.append((*told, 1000 * spent))
    return dict(zip((*COLUMNS, "ms"), np.nanmean(rows, axis=0), strict=True))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--graphs", type=int, default=100, help="of every set")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--tables", nargs="+", default=["permuted", "damaged"])
    arguments = parser.parse_args()
    path = ddgk.Graph(3, [(0, 1), (1, 2)])
    ddgk.align(path, ddgk.Graph(3, [(0, 1)]))  # what compiles, compiles here
    print(f"| set | case | labels | {' | '.join(COLUMNS)} | CPU ms |\n{'|---' * 9}|")
    for name in arguments.sets:
        seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        drawn = [draw(name, arguments.graphs, seed) for seed in seeds]
        damages = ["permuted"] * ("permuted" in arguments.tables)
        damages += list(DAMAGES) * ("damaged" in arguments.tables)
        for damage in damages:
            cases = []
            for seed, graphs in zip(seeds, drawn, strict=True):
                rng = np.random.default_rng((100 if damage == "permuted" else 200) + seed)
                make = permuted_case if damage == "permuted" else None
                cases += [
                    make(graph, rng) if make else damaged_case(graph, damage, rng)
                    for graph in graphs
                ]
            for labelled in (False, True):
                if labelled and (damage == "permuted" or drawn[0][0].node_labels is None):
                    continue
                row = measure(cases, labelled=labelled)
                cells = " | ".join(f"{row[name]:.3f}" for name in COLUMNS)
                print(f"| {name} | {damage} | {labelled} | {cells} | {row['ms']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
