"""Align networks with noisy copies of themselves: the protocol of Skitsas et al. (EDBT 2023).

    python benchmarks/alignment_networks.py FOLDER --seeds 5 --types 1 2 --out results.json

FOLDER holds edge lists, NAME.txt. The target is a renumbered copy of the source. Type 1: a share of
its edges is removed, no node is left without edge; type 2: as many random edges are added; type 3:
edges are removed from both, independently. Plain node accuracy (not up to automorphism), edge
correctness (EC), S3, and processor seconds in one thread. Writes every run as JSON, and a table of
means. Runs that the .json file already holds are kept and not repeated.

Peers: scipy's FAQ (`quadratic_assignment`), GRAMPA (Fan et al. 2020), IsoRank (Singh et al. 2008),
and POT's entropic semi-relaxed Gromov-Wasserstein where POT is installed; up to --peer-nodes nodes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, quadratic_assignment

import ddgk

KEY = ("network", "type", "noise", "seed", "method")
Integers = NDArray[np.int64]
Array = NDArray[np.float64]


def read_edges(path: Path) -> tuple[int, Integers]:
    """Return the number of nodes and the edges of an edge list, each once."""
    given = np.loadtxt(path, dtype=np.int64, usecols=(0, 1), comments=("#", "%"))
    edges = np.unique(np.sort(given, axis=1), axis=0)
    names, ends = np.unique(edges[edges[:, 0] != edges[:, 1]], return_inverse=True)
    return len(names), ends.reshape(-1, 2).astype(np.int64)


def removed(n: int, edges: Integers, count: int, rng: np.random.Generator) -> Integers:
    """Remove random edges, and leave no node without."""
    degrees = np.bincount(edges.ravel(), minlength=n)
    kept = np.ones(len(edges), dtype=bool)
    for place in rng.permutation(len(edges)):
        if count > 0 and degrees[edges[place]].min() > 1:
            kept[place] = False
            degrees[edges[place]] -= 1
            count -= 1
    return edges[kept]


def added(n: int, edges: Integers, count: int, rng: np.random.Generator) -> Integers:
    """Add random edges between nodes that have none."""
    known = {tuple(edge) for edge in edges.tolist()}
    wanted = len(known) + count
    while len(known) < wanted:
        u, v = sorted(rng.integers(0, n, 2).tolist())
        if u != v:
            known.add((u, v))
    return np.array(sorted(known), dtype=np.int64)


def noisy_pair(
    n: int, edges: Integers, noise: float, kind: int, seed: int
) -> tuple[ddgk.Graph, ddgk.Graph, Integers]:
    """Return target, source, and the source node of every target node."""
    rng = np.random.default_rng(seed)
    count = round(noise * len(edges))
    target, source = removed(n, edges, count, rng), edges
    if kind == 2:
        target = added(n, target, len(edges) - len(target), rng)
    if kind == 3:
        source = removed(n, edges, count, rng)
    truth = rng.permutation(n)
    return ddgk.Graph(n, np.argsort(truth)[target]), ddgk.Graph(n, source), truth


def adjacency(graph: ddgk.Graph) -> Array:
    """Return the dense adjacency."""
    matrix = np.zeros((graph.n_nodes, graph.n_nodes))
    matrix[graph.edges[:, 0], graph.edges[:, 1]] = 1.0
    return matrix + matrix.T


def faq(a: Array, b: Array) -> Integers:
    """Run the fast approximate quadratic assignment of Vogelstein et al."""
    found = quadratic_assignment(a, b, options={"maximize": True, "rng": np.random.default_rng(0)})
    return np.asarray(found.col_ind, dtype=np.int64)


def grampa(a: Array, b: Array) -> Integers:
    """Match all pairs of eigenvectors, weighted by a Cauchy kernel of their eigenvalues."""
    (own, left), (other, right) = np.linalg.eigh(a), np.linalg.eigh(b)
    weights = 1.0 / ((own[:, None] - other[None]) ** 2 + 0.2**2)
    inner = weights * np.outer(left.sum(axis=0), right.sum(axis=0))
    return linear_sum_assignment(left @ inner @ right.T, maximize=True)[1]


def isorank(a: Array, b: Array) -> Integers:
    """Iterate R <- .9 A D^-1 R D^-1 B + .1 E, E by degrees."""
    degrees = a.sum(axis=1), b.sum(axis=1)
    prior = np.minimum.outer(*degrees) / np.maximum(np.maximum.outer(*degrees), 1.0)
    prior /= prior.sum()
    ranks = prior
    for _ in range(30):
        ranks = 0.9 * (a / np.maximum(degrees[0], 1)) @ ranks @ (b / np.maximum(degrees[1], 1)).T
        ranks += 0.1 * prior
    return linear_sum_assignment(ranks, maximize=True)[1]


def pot(a: Array, b: Array) -> Integers:
    """Run POT's entropic semi-relaxed Gromov-Wasserstein on adjacencies."""
    import ot

    plan = ot.gromov.entropic_semirelaxed_gromov_wasserstein(a, b, epsilon=1e-2, max_iter=200)
    return linear_sum_assignment(np.asarray(plan), maximize=True)[1]


PEERS: dict[str, Callable[[Array, Array], Integers]] = {
    "FAQ": faq,
    "GRAMPA": grampa,
    "IsoRank": isorank,
    "POT": pot,
}


def measure(name: str, target: ddgk.Graph, source: ddgk.Graph, truth: Integers) -> dict[str, Any]:
    """Align one pair by one method."""
    began = time.process_time()
    if name == "ddgk":
        found = ddgk.align(target, source)
    else:
        matrices = adjacency(target), adjacency(source)
        began = time.process_time()
        partners = PEERS[name](*matrices)
        pairs = np.stack([np.arange(len(partners)), partners], axis=1)
        found = ddgk.Alignment(target, source, pairs, np.zeros((0, 0)), np.ones(len(pairs)))
    seconds = time.process_time() - began
    right = int((truth[found.pairs[:, 0]] == found.pairs[:, 1]).sum())
    return {
        "method": name,
        "accuracy": right / target.n_nodes,
        "edge_correctness": found.edge_correctness,
        "symmetric_edge_score": found.symmetric_edge_score,
        "seconds": seconds,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return means over seeds as markdown: accuracy (EC, S3, seconds) by noise."""
    noises = sorted({row["noise"] for row in rows})
    lines = ["| network | type | method | " + " | ".join(f"{noise:.0%}" for noise in noises) + " |"]
    lines.append("|---" * (3 + len(noises)) + "|")
    for key in dict.fromkeys((row["network"], row["type"], row["method"]) for row in rows):
        cells = []
        for noise in noises:
            every = [
                [row[value] for value in ("accuracy", "edge_correctness", "symmetric_edge_score")]
                + [row["seconds"]]
                for row in rows
                if (row["network"], row["type"], row["method"], row["noise"]) == (*key, noise)
            ]
            if not every:
                cells.append("")
                continue
            accuracy, edges, score, seconds = np.mean(every, axis=0)
            cells.append(f"{accuracy:.3f} ({edges:.3f}, {score:.3f}, {seconds:.1f} s)")
        lines.append(f"| {' | '.join(map(str, key))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the protocol."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="edge lists, NAME.txt")
    parser.add_argument("--networks", nargs="+", help="names; default: all")
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.05, 0.1, 0.25])
    parser.add_argument("--types", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peers", nargs="*", default=[], choices=list(PEERS))
    parser.add_argument("--peer-nodes", type=int, default=1500)
    parser.add_argument("--out", type=Path, help="a .json file; the table goes to .md beside it")
    arguments = parser.parse_args()
    path = ddgk.Graph(3, [(0, 1), (1, 2)])
    ddgk.align(path, ddgk.Graph(3, [(0, 1)]))  # what compiles, compiles here
    rows: list[dict[str, Any]] = []
    if arguments.out and arguments.out.exists():
        rows = json.loads(arguments.out.read_text())
    known = {tuple(row[name] for name in KEY) for row in rows}
    names = arguments.networks or sorted(file.stem for file in arguments.folder.glob("*.txt"))
    for network in names:
        n, edges = read_edges(arguments.folder / f"{network}.txt")
        for kind in arguments.types:
            for noise in arguments.noise:
                for seed in range(arguments.seeds):
                    methods = ["ddgk", *(arguments.peers if n <= arguments.peer_nodes else [])]
                    keys = [(network, kind, noise, seed, method) for method in methods]
                    for key in (key for key in keys if key not in known):
                        pair = noisy_pair(n, edges, noise, kind, seed)
                        rows.append({**dict(zip(KEY, key, strict=True)), **measure(key[-1], *pair)})
                        if arguments.out:
                            arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
    if arguments.out:
        arguments.out.with_suffix(".md").write_text(table(rows) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
