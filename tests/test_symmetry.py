"""Partitions and orders that do not depend on numbering, in time that grows with the edges."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from ddgk.graphs import Graph
from ddgk.symmetry import (
    Arcs,
    Partition,
    block_sums,
    canonical_order,
    equitable_partition,
)
from specimens import SYMMETRIC, graph_of, random_graph, shuffled


def arcs_of(graph: Graph, codes: np.ndarray | None = None) -> Arcs:
    """Arcs with the codes of their edges; those against a direction have codes of their own."""
    tails, heads = graph.edges.T
    positions = np.arange(graph.n_edges)
    if not graph.directed:
        back = np.flatnonzero(tails != heads)
        tails, heads = np.append(tails, heads[back]), np.append(heads, tails[back])
        positions = np.append(positions, back)
    own = np.zeros(graph.n_edges, dtype=np.int64) if codes is None else codes
    arcs = Arcs(tails, heads, own[positions])
    return arcs.concatenated(Arcs(heads, tails, own[positions])) if graph.directed else arcs


def plain(graph: Graph) -> np.ndarray:
    return np.zeros(graph.n_nodes, dtype=np.int64)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_classes_of_known_graphs(name):
    expected = {"windmill": 2, "star": 2, "barbell": 3}.get(name, 1)
    graph = graph_of(SYMMETRIC[name])
    assert equitable_partition(plain(graph), arcs_of(graph)).n_classes == expected


@pytest.mark.parametrize("seed", range(40))
def test_equitable_and_coarsest(seed):
    """Classes see classes alike; and no coarser partition does (checked by plain refinement)."""
    graph = random_graph(seed)
    partition = equitable_partition(plain(graph), arcs_of(graph))
    adjacency = nx.to_numpy_array(graph.to_networkx(), weight=None)
    member = np.eye(partition.n_classes)[partition.classes]
    counts = adjacency @ member
    for c in range(partition.n_classes):
        rows = counts[partition.classes == c]
        assert (rows == rows[0]).all()
    assert partition.n_classes == _number_of_classes_by_sets(graph)


def _number_of_classes_by_sets(graph: Graph) -> int:
    network = graph.to_networkx()
    colour = dict.fromkeys(network, 0)
    while True:
        seen = {v: (colour[v], tuple(sorted(colour[u] for u in network[v]))) for v in network}
        palette = {signature: i for i, signature in enumerate(sorted(set(seen.values())))}
        refined = {v: palette[seen[v]] for v in network}
        if len(palette) == len(set(colour.values())):
            return len(palette)
        colour = refined


@pytest.mark.parametrize("seed", range(30))
def test_class_order_does_not_depend_on_numbering(seed):
    graph = random_graph(seed)
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    copy = graph.permuted(order)
    one, other = (equitable_partition(plain(g), arcs_of(g)) for g in (graph, copy))
    np.testing.assert_array_equal(one.classes[order], other.classes)
    np.testing.assert_array_equal(one.sizes, other.sizes)


def test_colours_and_codes_split_classes():
    ring = graph_of(nx.cycle_graph(6))
    arcs = arcs_of(ring)
    assert equitable_partition(np.array([1, 0, 0, 0, 0, 0]), arcs).n_classes == 4
    codes = np.where((arcs.tails + arcs.heads) == 1, 7, 0)  # the edge (0, 1) is of another kind
    assert equitable_partition(plain(ring), Arcs(arcs.tails, arcs.heads, codes)).n_classes == 3


def test_concatenated_arcs_keep_their_kinds():
    one = Arcs(np.array([0]), np.array([1]), np.array([3]))
    both = one.concatenated(Arcs(np.array([1]), np.array([0]), np.array([0])))
    assert both.codes.tolist() == [3, 4]


@pytest.mark.parametrize("name", SYMMETRIC)
def test_canonical_order_of_symmetric_graphs(name):
    graph = graph_of(SYMMETRIC[name])
    first = graph.permuted(canonical_order(plain(graph), arcs_of(graph)))
    for seed in range(5):
        copy = shuffled(graph, seed)
        assert copy.permuted(canonical_order(plain(copy), arcs_of(copy))) == first


@pytest.mark.parametrize("seed", range(40))
def test_canonical_order_of_random_graphs(seed):
    graph = random_graph(seed)
    copy = shuffled(graph, seed + 1)
    one, other = (g.permuted(canonical_order(plain(g), arcs_of(g))) for g in (graph, copy))
    assert one == other


def test_many_twins_are_ordered_at_once():
    """A star of 3,000 leaves would take thousands of refinements one by one."""
    star = graph_of(nx.star_graph(3000))
    order = canonical_order(plain(star), arcs_of(star))
    assert sorted(order.tolist()) == list(range(3001))


def test_block_sums_forget_the_order():
    rng = np.random.default_rng(0)
    values = rng.uniform(size=(4, 50))
    partition = Partition(rng.integers(0, 3, 50))
    order = rng.permutation(50)
    np.testing.assert_array_equal(
        block_sums(values, partition),
        block_sums(values[:, order], Partition(partition.classes[order])),
    )
    expected = np.stack([values[:, partition.classes == c].sum(1) for c in range(3)], axis=1)
    np.testing.assert_allclose(block_sums(values, partition), expected)


def test_discrete_partition():
    partition = Partition.discrete(4)
    assert partition.n_classes == 4
    assert partition.representatives.tolist() == [0, 1, 2, 3]


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


def plainly_ordered(classes: np.ndarray, arcs: Arcs) -> np.ndarray:
    """Give the first node of the first shared class a class of its own, and refine again."""
    while len(shared := np.flatnonzero(np.bincount(classes) > 1)):
        members = np.flatnonzero(classes == shared[0])
        classes = classes + (classes > shared[0])
        classes[members[1:]] += 1
        classes = equitable_partition(classes, arcs).classes
    return np.argsort(classes)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("kinds", [1, 3])
def test_rounds_may_look_at_some_nodes_or_at_all(name, kinds, monkeypatch):
    graph = GRAPHS[name]
    rng = np.random.default_rng(kinds)
    arcs = arcs_of(graph, rng.integers(0, kinds, graph.n_edges))
    colours = rng.integers(0, kinds, graph.n_nodes)
    found = []
    for many in (0, graph.n_nodes):
        monkeypatch.setattr("ddgk.symmetry.MANY", many)
        classes = equitable_partition(colours, arcs).classes
        found.append((classes, canonical_order(colours, arcs)))
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0][1], plainly_ordered(found[0][0], arcs))


def random_digraph(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(2, 20))
    pairs = np.unique(rng.integers(0, n_nodes, (2 * n_nodes, 2)), axis=0)
    return Graph(n_nodes, pairs, directed=True)


@pytest.mark.parametrize("seed", range(25))
def test_directed_graphs_with_loops_have_canonical_partitions_and_orders(seed):
    graph = random_digraph(seed)
    copy = shuffled(graph, seed)
    one, other = (equitable_partition(plain(g), arcs_of(g)) for g in (graph, copy))
    np.testing.assert_array_equal(one.sizes, other.sizes)
    first, second = (g.permuted(canonical_order(plain(g), arcs_of(g))) for g in (graph, copy))
    assert first == second


def test_direction_splits_classes_that_a_ring_does_not_have():
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    turned = [(0, 1), (1, 2), (3, 2), (0, 3)]
    for edges, directed, expected in ((ring, True, 1), (turned, True, 3), (turned, False, 1)):
        graph = Graph(4, edges, directed=directed)
        assert equitable_partition(plain(graph), arcs_of(graph)).n_classes == expected


# Each took minutes to hours when a round looked at all nodes; square, 50,000 nodes take 20 GB.
LARGE = """
import resource, sys
import numpy as np
from ddgk.graphs import Graph
from ddgk.symmetry import Arcs, canonical_order, equitable_partition

def both(graph):
    tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    arcs = Arcs(tails, heads, np.zeros(len(tails), dtype=np.int64))
    colours = np.zeros(graph.n_nodes, dtype=np.int64)
    return canonical_order(colours, arcs), equitable_partition(colours, arcs)

n = 50_000
nodes = np.arange(n)
rng = np.random.default_rng(0)
shapes = {
    "path": np.stack([nodes[:-1], nodes[1:]], axis=1),
    "pairs": nodes.reshape(-1, 2),
    "tree": np.stack([(rng.random(n - 1) * nodes[1:]).astype(int), nodes[1:]], axis=1),
    "star": np.stack([np.zeros(n - 1, dtype=int), nodes[1:]], axis=1),
}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), used + (1 << 30)))
graph = Graph(n, shapes[sys.argv[1]])
order, partition = both(graph)
assert sorted(order.tolist()) == nodes.tolist()
assert partition.n_classes >= 1
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's limits")
@pytest.mark.parametrize("shape", ["path", "pairs", "tree", "star"])
def test_large_graphs_take_neither_square_room_nor_square_time(shape):
    subprocess.run([sys.executable, "-c", LARGE, shape], check=True, timeout=120)
