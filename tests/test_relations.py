from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk.errors import GraphError, ParameterError
from ddgk.graphs import Graph
from ddgk.relations import AHEAD, DRAWN, PREFIX, RELATIONS, WALKS, node_to_edges, relate
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
    """Entries in [0, 1], members that sum to 1, arcs between nodes."""
    graph = random_graph(seed)
    found = relate(graph, relation)
    matrix = found.dense()
    assert matrix.shape[1] == graph.n_nodes
    assert len(matrix) >= 1
    assert ((matrix >= 0) & (matrix <= 1)).all()
    assert set(np.concatenate([found.arcs.tails, found.arcs.heads])) <= set(range(graph.n_nodes))
    if found.members is None:
        assert len(matrix) == graph.n_nodes
        np.testing.assert_array_equal(matrix, matrix.T)
        values = matrix[found.arcs.tails, found.arcs.heads]
        for code in np.unique(found.arcs.codes):
            assert len(np.unique(values[found.arcs.codes == code])) == 1
        listed = np.zeros(matrix.shape, dtype=bool)
        listed[found.arcs.tails, found.arcs.heads] = True
        assert (matrix[~listed] == 0).all()
    else:
        members = found.members.toarray()
        assert members.shape == matrix.shape
        np.testing.assert_allclose(members.sum(axis=1), 1)


@pytest.mark.parametrize("relation", [name for name in RELATIONS if name not in DRAWN])
@pytest.mark.parametrize("seed", range(10))
def test_sums_over_classes_do_not_depend_on_the_numbering(relation, seed):
    graph = random_graph(seed)
    sums = []
    for one in (relate(graph, relation), relate(shuffled(graph, seed), relation)):
        nodes = equitable_partition(np.zeros(graph.n_nodes, dtype=np.int64), one.arcs)
        units = one.units(nodes)
        total = one.sums(nodes, units)
        sums.append((total.toarray() if hasattr(total, "toarray") else total, units.sizes))
    for one, other in zip(*sums, strict=True):
        np.testing.assert_array_equal(one, other)


def test_edge_to_nodes_is_the_incidence():
    graph = Graph(4, [(0, 1), (1, 2)])
    found = relate(graph, "edge_to_nodes")
    assert found.dense().tolist() == [[1, 1, 0, 0], [0, 1, 1, 0]]
    assert found.members.toarray().tolist() == [[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0]]
    assert found.attends == "units"
    soft = Graph(3, [(0, 1), (1, 2)], edge_weights=[0.25, 1.0])
    assert relate(soft, "edge_to_nodes").dense().tolist() == [[0.25, 0.25, 0], [0, 1, 1]]
    nothing = relate(Graph(2, []), "edge_to_nodes")
    assert nothing.dense().tolist() == [[0, 0]]
    assert nothing.members.toarray().tolist() == [[0.5, 0.5]]


def test_neighborhood_walks_along_edges():
    """Members are the first two nodes of a walk, B the next three; both are seeded."""
    path = Graph(5, [(0, 1), (1, 2), (2, 3)])
    found = relate(path, "neighborhood", 7)
    matrix, members = found.dense(), found.members.toarray()
    assert matrix.shape == (WALKS * 5, 5)
    for unit, (seen, own) in enumerate(zip(matrix, members, strict=True)):
        start = unit // WALKS
        if start == 4:  # nobody to go to
            assert own.tolist() == [0, 0, 0, 0, 1]
            assert not seen.any()
            continue
        (other,) = set(np.flatnonzero(own)) - {start}
        assert abs(other - start) == 1
        assert own[start] == own[other] == 1 / PREFIX
        visited = np.flatnonzero(seen)
        assert 1 <= len(visited) <= AHEAD
        assert (np.abs(visited - other) <= AHEAD).all()
        assert 4 not in visited
    np.testing.assert_array_equal(matrix, relate(path, "neighborhood", 7).dense())
    assert (matrix != relate(path, "neighborhood", 8).dense()).any()


def test_edges_of_a_star_are_one_class():
    star = graph_of(nx.star_graph(4))
    found = relate(star, "edge_to_nodes")
    nodes = equitable_partition(np.zeros(5, dtype=np.int64), found.arcs)
    assert found.units(nodes).n_classes == 1
    coloured = found.units(nodes, np.array([0, 0, 1, 1]))
    assert coloured.classes.tolist() == [0, 0, 1, 1]


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


def test_entropies_of_soft_edges_write_no_row_out(monkeypatch):
    graph = random_graph(9)
    shares = np.random.default_rng(0).uniform(0, 1, graph.n_edges)
    soft = node_to_edges(graph.replace(edge_weights=shares))
    matrix = soft.dense()
    monkeypatch.setattr("scipy.sparse.csr_array.toarray", None)
    found = soft.entropies(Partition.discrete(graph.n_nodes))
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = [
            -np.nan_to_num(part * np.log(part)).sum(axis=1) for part in (matrix, 1 - matrix)
        ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_kept_weights_are_soft_edges():
    graph = Graph(3, [(0, 1), (1, 2)], edge_weights=[0.25, 1.0])
    assert node_to_edges(graph).dense().tolist() == [[0, 0.25, 0], [0.25, 0, 1], [0, 1, 0]]
    too_large = Graph(3, [(0, 1), (1, 2)], edge_weights=[0.25, 3.0], name="roads")
    with pytest.raises(
        GraphError, match=r"'roads': edge \(1, 2\) has weight 3.*divide the weights"
    ):
        node_to_edges(too_large)


def test_unknown_relation():
    with pytest.raises(ParameterError, match="'neighborhood', not 'distance'"):
        relate(Graph(1, []), "distance")
