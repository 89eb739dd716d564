"""Time and memory of the default alignment against the number of nodes.

    python benchmarks/alignment_sizes.py --nodes 400 1200 5000 20000 100000 --out sizes.json

Preferential attachment with five edges a node; the target is a renumbered copy without 5 % of the
edges. Every size runs in its own process, in one thread: processor seconds, largest memory, node
accuracy. With --out the points are written as JSON, and as a plot (.svg) beside it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import networkx
import numpy as np

import ddgk


def measure(n_nodes: int) -> dict[str, Any]:
    """Align one pair."""
    path = ddgk.Graph(3, [(0, 1), (1, 2)])
    ddgk.align(path, ddgk.Graph(3, [(0, 1)]))  # what compiles, compiles here
    whole = networkx.barabasi_albert_graph(n_nodes, 5, seed=0)
    graph = ddgk.Graph(n_nodes, np.array(whole.edges))
    del whole
    rng = np.random.default_rng(0)
    kept = rng.permutation(graph.n_edges)[round(0.05 * graph.n_edges) :]
    order = rng.permutation(n_nodes)
    target = graph.replace(edges=graph.edges[kept]).permuted(order)
    began = time.process_time()
    found = ddgk.align(target, graph)
    return {
        "nodes": n_nodes,
        "edges": graph.n_edges,
        "seconds": time.process_time() - began,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "accuracy": float((order[found.pairs[:, 0]] == found.pairs[:, 1]).sum() / n_nodes),
        "edge_correctness": found.edge_correctness,
    }


def main() -> None:
    """Measure every size, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", nargs="+", type=int, default=[400, 1200, 5000, 20000, 100000])
    parser.add_argument("--out", type=Path, help="a .json file")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.nodes[0])))
        return
    rows = []
    print("| nodes | edges | seconds | MB | accuracy | EC |\n|---|---|---|---|---|---|")
    for n_nodes in arguments.nodes:
        command = [sys.executable, __file__, "--one", "--nodes", str(n_nodes)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        row = json.loads(done.stdout)
        rows.append(row)
        print(
            f"| {row['nodes']:,} | {row['edges']:,} | {row['seconds']:.1f} | "
            f"{row['megabytes']:.0f} | {row['accuracy']:.3f} | {row['edge_correctness']:.3f} |",
            flush=True,
        )
        if arguments.out:
            arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
    if arguments.out:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(figsize=(4.5, 3.2), layout="constrained")
        axes.loglog([row["nodes"] for row in rows], [row["seconds"] for row in rows], "o-")
        axes.set(xlabel="nodes", ylabel="processor seconds, one thread")
        pyplot.savefig(arguments.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
