"""How often alignments are right, and how long they take, beside POT and pygmtools.

    python benchmarks/alignment.py --graphs 100 --seeds 3 --damaged-graphs 25 --damaged-seeds 1

Table 1: node-permuted copies, structure only. EC: share of the target's edges mapped onto edges of
the source; exact: share of pairs with EC 1. Table 2: the copy damaged, with and without node
labels: a share of edges rewired (as many removed as added elsewhere, one at least), or a share of
its nodes deleted.

Node correctness up to automorphism: the share of the target's nodes that lie where some one
automorphism of the original puts their true image. The automorphism is built greedily, following
the matching as long as refinement finds no contradiction, so the share is a lower bound; the best
of a few orders is taken. All methods are measured alike.

Times are of the processor, one thread, so that whoever else is on the machine counts little.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import ddgk
from alignment_peers import PEERS
from ddgk.alignment.result import edge_correctness
from ddgk.attributes import NodeLabels
from ddgk.relations import node_to_edges
from ddgk.symmetry import Arcs, equitable_partition

Integers = NDArray[np.int64]
SETS = ("MUTAG", "NCI1", "ENZYMES", "IMDB-BINARY")
DAMAGES = ("rewired 1 %", "rewired 5 %", "rewired 10 %", "deleted 10 %")
LARGEST = 100
ORDERS = 3  # in which the automorphism that measures a matching is built


@dataclass(frozen=True)
class Case:
    """A target, the source it was made from, and where every target node comes from."""

    target: ddgk.Graph
    source: ddgk.Graph
    truth: Integers


def draw(name: str, n_graphs: int, seed: int) -> list[ddgk.Graph]:
    """Draw graphs of at most `LARGEST` nodes without replacement."""
    graphs, _ = ddgk.io.load(name)
    small = [graph for graph in graphs if graph.n_nodes <= LARGEST]
    rng = np.random.default_rng(seed)
    return [small[i] for i in rng.choice(len(small), min(n_graphs, len(small)), replace=False)]


def permuted_case(graph: ddgk.Graph, rng: np.random.Generator) -> Case:
    order = rng.permutation(graph.n_nodes)
    return Case(graph.permuted(order), graph, order)


def damaged_case(graph: ddgk.Graph, damage: str, rng: np.random.Generator) -> Case:
    """Damage a copy, then shuffle it."""
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
    arcs = node_to_edges(source).arcs
    twice = Arcs(
        np.concatenate([arcs.tails, arcs.tails + n_nodes]),
        np.concatenate([arcs.heads, arcs.heads + n_nodes]),
        np.concatenate([arcs.codes, arcs.codes]),
    )
    colours = np.zeros(n_nodes, dtype=np.int64)
    if labelled:
        colours = NodeLabels.learn([source]).colours(source, "error")
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


Aligner = Callable[[Case, bool, int], Integers | None]


def by_attention(restarts: int) -> Aligner:
    def run(case: Case, labelled: bool, seed: int) -> Integers:
        labels = ("node_labels",) if labelled else "none"
        return ddgk.align(
            case.target, case.source, restarts=restarts, labels=labels, random_state=seed
        ).pairs

    return run


def by_profiles(graphs: Sequence[ddgk.Graph], n_sources: int, *, labelled: bool) -> Aligner:
    model = ddgk.DDGK(
        n_sources=n_sources,
        families=("node_labels",) if labelled else "none",
        unseen_labels="ignore",
        random_state=0,
    ).fit(list(graphs))

    def run(case: Case, labelled: bool, seed: int) -> Integers:  # noqa: ARG001
        labels = ("node_labels",) if labelled else "none"
        return ddgk.align(case.target, case.source, labels=labels, by="profiles", model=model).pairs

    return run


def peer(name: str, restarts: int, arguments: argparse.Namespace) -> Aligner:
    def run(case: Case, labelled: bool, seed: int) -> Integers | None:
        number, place = divmod(seed, 1000)
        if number >= (arguments.peer_seeds or arguments.seeds):
            return None
        if "pygmtools" in name and arguments.slow_graphs and place >= arguments.slow_graphs:
            return None
        return PEERS[name](case.target, case.source, restarts, labelled, seed)

    return run


def aligners(
    arguments: argparse.Namespace, graphs: Sequence[ddgk.Graph], *, labelled: bool
) -> dict[str, Aligner]:
    """List who takes part, by the name in the tables."""
    restarts = arguments.restarts
    found: dict[str, Aligner] = {
        f"ddgk, up to {restarts} starts": by_attention(restarts),
        "ddgk, one start": by_attention(1),
        "ddgk, by profiles": by_profiles(graphs, arguments.sources, labelled=labelled),
    }
    if not arguments.only_ours:
        for name in PEERS:
            found[f"{name}, one start"] = peer(name, 1, arguments)
            if restarts > 1 and "POT" in name:  # pygmtools starts where it starts, and is slow
                found[f"{name}, up to {restarts} starts"] = peer(name, restarts, arguments)
    return found


@dataclass(frozen=True)
class Row:
    """What a method got on some pairs; not a number where it could not take part."""

    correct: float
    edges: float
    exact: float
    milliseconds: float
    share_run: float


def measure(run: Aligner, cases: Sequence[Case], *, labelled: bool, seed: int, nodes: bool) -> Row:
    """Run a method on all cases and take means."""
    correct, edges, seconds = [], [], 0.0
    for place, case in enumerate(cases):
        began = time.process_time()
        pairs = run(case, labelled, 1000 * seed + place)
        spent = time.process_time() - began
        if pairs is None:
            continue
        seconds += spent
        edges.append(edge_correctness(case.target, case.source, pairs))
        if nodes:
            correct.append(node_correctness(case, pairs, labelled=labelled))
    if not edges:
        return Row(*[float("nan")] * 4, 0.0)
    return Row(
        float(np.mean(correct)) if nodes else float("nan"),
        float(np.mean(edges)),
        float(np.mean(np.array(edges) == 1)),
        1000 * seconds / len(edges),
        len(edges) / len(cases),
    )


def show_permuted(name: str, arguments: argparse.Namespace) -> None:
    print(
        f"\n### {name}: permuted copies, structure only, {arguments.graphs} graphs, "
        f"{arguments.seeds} seeds\n"
    )
    print("| method | exact | least over seeds | EC | CPU ms per pair |")
    print("|---|---|---|---|---|")
    rows: dict[str, list[Row]] = {}
    for seed in range(arguments.seeds):
        graphs = draw(name, arguments.graphs, seed)
        rng = np.random.default_rng(100 + seed)
        cases = [permuted_case(graph, rng) for graph in graphs]
        for method, run in aligners(arguments, graphs, labelled=False).items():
            run(cases[0], False, 0)  # what compiles, compiles here
            row = measure(run, cases, labelled=False, seed=seed, nodes=False)
            rows.setdefault(method, []).append(row)
            print(f"{name} seed {seed} {method}: {row}", file=sys.stderr, flush=True)
    for method, every in rows.items():
        found = [row for row in every if row.share_run > 0] or every
        exact = [row.exact for row in found]
        print(
            f"| {method}{_left_out(every)} | {np.mean(exact):.3f} | {min(exact):.2f} "
            f"| {np.mean([row.edges for row in found]):.3f} "
            f"| {np.mean([row.milliseconds for row in found]):.1f} |",
            flush=True,
        )


def show_damaged(name: str, arguments: argparse.Namespace, *, labelled: bool) -> None:
    kind = "with node labels" if labelled else "structure only"
    n_graphs = arguments.damaged_graphs or arguments.graphs
    n_seeds = arguments.damaged_seeds or arguments.seeds
    print(f"\n### {name}: damaged copies, {kind}, {n_graphs} graphs, {n_seeds} seed(s)")
    print("\nNodes correct up to automorphism, and in brackets EC.\n")
    print(f"| method | {' | '.join(DAMAGES)} | CPU ms per pair |")
    print("|---|" + "---|" * (len(DAMAGES) + 1))
    rows: dict[str, dict[str, list[Row]]] = {}
    for seed in range(n_seeds):
        graphs = draw(name, n_graphs, seed)
        taking_part = aligners(arguments, graphs, labelled=labelled)
        for damage in DAMAGES:
            rng = np.random.default_rng(200 + seed)
            cases = [damaged_case(graph, damage, rng) for graph in graphs]
            for method, run in taking_part.items():
                row = measure(run, cases, labelled=labelled, seed=seed, nodes=True)
                rows.setdefault(method, {}).setdefault(damage, []).append(row)
                print(f"{name} {damage} {seed} {method}: {row}", file=sys.stderr, flush=True)
    for method, by_damage in rows.items():
        cells = [
            f"{np.nanmean([r.correct for r in f]):.3f} ({np.nanmean([r.edges for r in f]):.3f})"
            for f in by_damage.values()
        ]
        every = [row for found in by_damage.values() for row in found]
        spent = np.nanmean([row.milliseconds for row in every])
        line = f"| {method}{_left_out(every)} | {' | '.join(cells)} | {spent:.1f} |"
        print(line, flush=True)


def _left_out(rows: Sequence[Row]) -> str:
    share = float(np.mean([row.share_run for row in rows]))
    return "" if share == 1 else f" (ran on {share:.2f} of the pairs)"


def show_set(name: str, arguments: argparse.Namespace) -> None:
    if "permuted" in arguments.tables:
        show_permuted(name, arguments)
    if "damaged" in arguments.tables:
        show_damaged(name, arguments, labelled=False)
        if draw(name, 1, 0)[0].node_labels is not None:
            show_damaged(name, arguments, labelled=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--graphs", type=int, default=100, help="of every set")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--damaged-graphs", type=int, help="of every set, if not as many")
    parser.add_argument("--damaged-seeds", type=int, help="if not as many")
    parser.add_argument("--restarts", type=int, default=8, help="at most, ours and the peers'")
    parser.add_argument("--sources", type=int, default=8, help="of the model behind profiles")
    parser.add_argument("--peer-seeds", type=int, help="run the peers on so many seeds only")
    parser.add_argument("--slow-graphs", type=int, help="run pygmtools on so many graphs only")
    parser.add_argument("--only-ours", action="store_true", help="leave the peers out")
    parser.add_argument("--tables", nargs="+", default=["permuted", "damaged"])
    arguments = parser.parse_args()
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("DDGK_DATA", str(beside))
    with threadpool_limits(1):  # or threads that wait for small products count as time of ours
        for name in arguments.sets:
            show_set(name, arguments)


if __name__ == "__main__":
    main()
