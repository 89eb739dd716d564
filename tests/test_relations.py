from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk.errors import GraphError, ParameterError
from ddgk.graphs import Graph
from ddgk.relations import RELATIONS, node_to_edges, relate
from ddgk.symmetry import Partition, equitable_partition
from specimens import graph_of, random_graph, shuffled


@pytest.mark.parametrize("seed", range(20))
def test_node_to_edges_is_the_adjacency(seed):
    graph = random_graph(seed)
    expected = nx.to_numpy_array(graph.to_networkx(), nodelist=range(graph.n_nodes))
    np.testing.assert_array_equal(relate(graph, "node_to_edges").dense(), expected)


@pytest.mark.parametrize("seed", range(20))
def test_closeness_by_breadth_first_search(seed):
    graph = random_graph(seed)
    steps = dict(nx.all_pairs_shortest_path_length(graph.to_networkx()))
    diameter = max(1, *(max(lengths.values()) for lengths in steps.values()))
    found = relate(graph, "closeness").dense()
    for i in range(graph.n_nodes):
        for j in range(graph.n_nodes):
            expected = 1 - steps[i][j] / diameter if j in steps[i] else 0
            assert found[i, j] == pytest.approx(expected)


def test_closeness_of_a_graph_without_edges():
    np.testing.assert_array_equal(relate(Graph(3, []), "closeness").dense(), np.eye(3))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("seed", range(10))
def test_every_relation_keeps_the_contract(relation, seed):
    """Entries in [0, 1], symmetric, arcs that code them, sums that the numbering cannot change."""
    graph = random_graph(seed)
    found = relate(graph, relation)
    matrix = found.dense()
    assert matrix.shape == (graph.n_nodes, graph.n_nodes)
    assert ((matrix >= 0) & (matrix <= 1)).all()
    np.testing.assert_array_equal(matrix, matrix.T)
    values = matrix[found.arcs.tails, found.arcs.heads]
    for code in np.unique(found.arcs.codes):
        assert len(np.unique(values[found.arcs.codes == code])) == 1
    listed = np.zeros(matrix.shape, dtype=bool)
    listed[found.arcs.tails, found.arcs.heads] = True
    assert (matrix[~listed] == 0).all()

    copy = relate(shuffled(graph, seed), relation)
    sums = []
    for one in (found, copy):
        partition = equitable_partition(np.zeros(graph.n_nodes, dtype=np.int64), one.arcs)
        total = one.sums(partition)
        sums.append(total.toarray() if hasattr(total, "toarray") else total)
    np.testing.assert_array_equal(*sums)


def test_sums_of_the_discrete_partition_are_the_matrix():
    graph = random_graph(5)
    found = relate(graph, "node_to_edges")
    sums = found.sums(Partition.discrete(graph.n_nodes))
    np.testing.assert_array_equal(sums.toarray(), found.dense())


def test_entropies_are_zero_for_binary_and_the_best_loss_for_soft():
    ring = graph_of(nx.cycle_graph(5))
    nothing = relate(ring, "node_to_edges").entropies(Partition.discrete(5))
    np.testing.assert_array_equal(nothing, np.zeros((2, 5)))
    soft = relate(ring, "closeness")
    matrix = soft.dense()
    inner = matrix[(matrix > 0) & (matrix < 1)]
    total = -(inner * np.log(inner) + (1 - inner) * np.log(1 - inner)).sum()
    assert soft.entropies(Partition.discrete(5)).sum() == pytest.approx(total)


def test_kept_weights_are_soft_edges():
    graph = Graph(3, [(0, 1), (1, 2)], edge_weights=[0.25, 1.0])
    assert node_to_edges(graph).dense().tolist() == [[0, 0.25, 0], [0.25, 0, 1], [0, 1, 0]]
    too_large = Graph(3, [(0, 1), (1, 2)], edge_weights=[0.25, 3.0], name="roads")
    with pytest.raises(
        GraphError, match=r"'roads': edge \(1, 2\) has weight 3.*divide the weights"
    ):
        node_to_edges(too_large)


def test_unknown_relation():
    with pytest.raises(ParameterError, match="'node_to_edges', 'closeness', not 'distance'"):
        relate(Graph(1, []), "distance")
