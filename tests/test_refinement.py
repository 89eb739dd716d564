"""Refinement as it is written in the paper's words, and time and room that do not grow as n^2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from ddgk.graphs import Graph
from ddgk.hashing import scramble
from ddgk.refinement import SALTS, make_network, ordered, refined
from specimens import SYMMETRIC, graph_of, random_graph


def arcs_of(graph: Graph, codes: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    own = np.zeros(graph.n_edges, dtype=np.int64) if codes is None else codes
    return tails, heads, np.concatenate([own, own])


def ranks(*keys: np.ndarray) -> np.ndarray:
    return np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def refined_in_plain(colours: np.ndarray, arcs: tuple[np.ndarray, ...]) -> np.ndarray:
    """Look at every node in every round: what the kernel must give, to the bit."""
    tails, heads, codes = arcs
    classes = ranks(colours.astype(np.uint64))
    while True:
        words = []
        for salt in SALTS:
            seen = scramble(scramble(codes.astype(np.uint64) ^ salt) + classes[heads].astype("u8"))
            total = np.zeros(len(classes), dtype=np.uint64)
            np.add.at(total, tails, seen)
            words.append(total)
        finer = ranks(classes.astype(np.uint64), *words)
        if finer.max() == classes.max():
            return classes
        classes = finer


def ordered_in_plain(colours: np.ndarray, arcs: tuple[np.ndarray, ...]) -> np.ndarray:
    """Refine the whole graph again for every node that is singled out."""
    classes = refined_in_plain(colours, arcs)
    while classes.max() + 1 < len(classes):
        shared = int(np.argmax(np.bincount(classes) > 1))
        members = np.flatnonzero(classes == shared)
        singled = 2 * classes
        singled[members[1:]] += 1
        finer = refined_in_plain(singled, arcs)
        if finer.max() == classes.max() + 1:
            spread = classes * (len(members) + 1)
            spread[members] += np.arange(len(members))
            finer = ranks(spread)
        classes = finer
    return np.argsort(classes)


GRAPHS = {
    **{name: graph_of(graph) for name, graph in SYMMETRIC.items()},
    **{f"random {seed}": random_graph(seed) for seed in range(25)},
    "tree": graph_of(nx.barabasi_albert_graph(150, 1, seed=1)),
    "sparse": graph_of(nx.gnm_random_graph(150, 110, seed=1)),
    "path": graph_of(nx.path_graph(90)),
    "grid": graph_of(nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 8))),
    "regular": graph_of(nx.random_regular_graph(3, 40, seed=1)),
    "rings": graph_of(nx.disjoint_union_all([nx.cycle_graph(5)] * 8)),
    "nothing": Graph(7, []),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("kinds", [1, 3])
def test_the_same_bits_as_plain_refinement(name, kinds):
    graph = GRAPHS[name]
    rng = np.random.default_rng(kinds)
    arcs = arcs_of(graph, rng.integers(0, kinds, graph.n_edges))
    colours = rng.integers(0, kinds, graph.n_nodes)
    network = make_network(graph.n_nodes, *arcs)
    np.testing.assert_array_equal(refined(colours, network), refined_in_plain(colours, arcs))
    np.testing.assert_array_equal(ordered(colours, network), ordered_in_plain(colours, arcs))


# Each took minutes to hours when a round looked at all nodes; square, 50,000 nodes take 20 GB.
LARGE = """
import resource, sys
import numpy as np
from ddgk.attributes import learn_families
from ddgk.graphs import Graph, from_edges
from ddgk.graphs.matrices import from_matrix
from ddgk.reading import Reader
from ddgk.store.graphs import pack_graphs, unpack_graphs

n = 50_000
nodes = np.arange(n)
rng = np.random.default_rng(0)
shapes = {
    "path": np.stack([nodes[:-1], nodes[1:]], axis=1),
    "pairs": nodes.reshape(-1, 2),
    "tree": np.stack([(rng.random(n - 1) * nodes[1:]).astype(int), nodes[1:]], axis=1),
    "star": np.stack([np.zeros(n - 1, dtype=int), nodes[1:]], axis=1),
}
reader = Reader("node_to_edges", ())
small = Graph(3, [(0, 1)])
reader.canonical_order(small)  # compiled before the room is measured
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), used + (1 << 30)))
graph = Graph(n, shapes[sys.argv[1]], node_labels=(nodes % 3).tolist())
assert len(graph.digest) == 64
assert from_edges(graph.edges).n_edges == graph.n_edges
content = pack_graphs([graph], [0], ["node_labels"])
(again,), _ = unpack_graphs(content, "graphs")
assert again == graph
assert sorted(reader.canonical_order(graph).tolist()) == nodes.tolist()
assert reader.read(graph, quotient=True).partition.n_classes >= 1
from scipy import sparse
ends = graph.edges.T
matrix = sparse.coo_array((np.ones(graph.n_edges), ends), (n, n))
assert from_matrix(matrix + matrix.T).edges.tolist() == graph.edges.tolist()
labelled = Reader("node_to_edges", learn_families([graph], "auto"))
assert labelled.canonical_order(graph.permuted(rng.permutation(n))).shape == (n,)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's limits")
@pytest.mark.parametrize("shape", ["path", "pairs", "tree", "star"])
def test_large_graphs_take_neither_square_room_nor_square_time(shape):
    subprocess.run([sys.executable, "-c", LARGE, shape], check=True, timeout=120)
