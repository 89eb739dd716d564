from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk.graphs import Graph
from ddgk.relations import relate
from ddgk.symmetry import Arcs, Partition, block_sums, canonical_order, equitable_partition
from specimens import SYMMETRIC, graph_of, random_graph, shuffled


def arcs_of(graph: Graph) -> Arcs:
    return relate(graph, "node_to_edges").arcs


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
    adjacency = relate(graph, "node_to_edges").dense()
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


def test_arcs_beside_each_other_keep_their_kinds():
    one = Arcs(np.array([0]), np.array([1]), np.array([3]))
    both = one.beside(Arcs(np.array([1]), np.array([0]), np.array([0])))
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
