"""Large graphs onto renumbered and damaged copies: what is found, in what time and room.

    python benchmarks/large_alignment.py --nodes 20000 --rewired 0,.01,.05
    python benchmarks/large_alignment.py --orders --nodes 100000

The second prints what refinement and canonical orders take on shapes that are hard for them.
"""

from __future__ import annotations

import argparse
import resource
import time

import networkx as nx
import numpy as np

from ddgk import Graph, align
from ddgk.symmetry import Arcs, canonical_order, equitable_partition


def attach(n_nodes: int, n_edges: int) -> Graph:
    """Let every node join earlier ones, those with many edges more often."""
    return _graph(nx.barabasi_albert_graph(n_nodes, n_edges, seed=1))


def _graph(network: nx.Graph) -> Graph:
    whole = nx.convert_node_labels_to_integers(network)
    return Graph(len(whole), np.sort(np.array(whole.edges()).reshape(-1, 2), axis=1))


def path(n_nodes: int) -> Graph:
    """Return one long path."""
    return Graph(n_nodes, np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1))


SHAPES = {
    "attachment, 5 edges": lambda n: attach(n, 5),
    "attachment, 2 edges": lambda n: attach(n, 2),
    "small world": lambda n: _graph(nx.watts_strogatz_graph(n, 10, 0.1, seed=1)),
    "random": lambda n: _graph(nx.gnm_random_graph(n, 5 * n, seed=1)),
    "geometric": lambda n: _graph(nx.random_geometric_graph(n, (10 / (np.pi * n)) ** 0.5, seed=1)),
    "tree": lambda n: attach(n, 1),
    "grid": lambda n: _graph(nx.grid_2d_graph(int(n**0.5), int(n**0.5))),
    "torus": lambda n: _graph(nx.grid_2d_graph(int(n**0.5), int(n**0.5), periodic=True)),
    "path": path,
    "star": lambda n: _graph(nx.star_graph(n - 1)),
    "3-regular": lambda n: _graph(nx.random_regular_graph(3, n, seed=1)),
}


def rewire(graph: Graph, share: float, rng: np.random.Generator) -> Graph:
    """Move a share of the edges to anywhere."""
    edges = {tuple(edge) for edge in graph.edges.tolist()}
    for place in rng.choice(graph.n_edges, int(share * graph.n_edges), replace=False):
        edges.discard(tuple(graph.edges[place].tolist()))
        while True:
            one, other = sorted(rng.integers(0, graph.n_nodes, 2).tolist())
            if one != other and (one, other) not in edges:
                break
        edges.add((one, other))
    return Graph(graph.n_nodes, sorted(edges))


def compare(shape: str, graph: Graph, share: float) -> None:
    """Align a graph with a copy and print a row."""
    rng = np.random.default_rng(0)
    order = rng.permutation(graph.n_nodes)
    copy = rewire(graph, share, rng).permuted(order)
    begun = time.process_time()
    found = align(graph, copy, by="neighbours")
    seconds = time.process_time() - begun
    correct = (order[found.pairs[:, 1]] == found.pairs[:, 0]).sum() / graph.n_nodes
    print(
        f"| {shape} | {share:.0%} | {'yes' if found.is_isomorphism else 'no'} | {correct:.3f} | "
        f"{found.edge_correctness:.3f} | {len(found.pairs) / graph.n_nodes:.3f} | {seconds:.1f} | "
        f"{peak_megabytes():.0f} |",
        flush=True,
    )


def put_in_order(shape: str, graph: Graph) -> None:
    """Refine a graph and order its nodes, and print a row."""
    tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    arcs = Arcs(tails, heads, np.zeros(len(tails), dtype=np.int64))
    colours = np.zeros(graph.n_nodes, dtype=np.int64)
    begun = time.process_time()
    classes = equitable_partition(colours, arcs).n_classes
    refined = time.process_time()
    canonical_order(colours, arcs)
    ordered = time.process_time()
    print(
        f"| {shape} | {graph.n_nodes} | {graph.n_edges} | {classes} | {refined - begun:.2f} | "
        f"{ordered - refined:.2f} | {peak_megabytes():.0f} |",
        flush=True,
    )


def peak_megabytes() -> float:
    """Return the most room this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20000)
    parser.add_argument("--rewired", default="0,.01,.05")
    parser.add_argument("--shapes", default=",".join(SHAPES).replace(", ", " "))
    parser.add_argument("--orders", action="store_true")
    given = parser.parse_args()
    chosen = {name.replace(",", ""): make for name, make in SHAPES.items()}
    warm = attach(50, 2)  # compiles
    if given.orders:
        print("| graph | nodes | edges | classes | refine, s | order, s | peak, MB |")
        put_in_order("(compiling)", warm)
    else:
        print("| graph | rewired | isomorphism | correct | edges kept | matched | s | peak, MB |")
        compare("(compiling)", warm, 0.1)
    for shape in given.shapes.split(","):
        graph = chosen[shape](given.nodes)
        if given.orders:
            put_in_order(shape, graph)
        else:
            for share in given.rewired.split(","):
                compare(shape, graph, float(share))


if __name__ == "__main__":
    main()
