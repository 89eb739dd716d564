from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from ddgk.config import Config
from ddgk.engine.arrays import dense
from ddgk.errors import GraphError, ParameterError
from ddgk.graphs import Graph, Policies
from ddgk.graphs.weights import WeightScale
from ddgk.targets import (
    AHEAD,
    DRAWN,
    MAX_NODES,
    N_WALKS,
    PREFIX,
    TARGETS,
    Encoding,
    refuse_large,
)
from specimens import graph_of, random_graph, shuffled


def matrix_of(graph, target, scale=None):
    weights = None if scale is None else WeightScale("scale", (scale,))
    return Encoding(target=target, weight_scale=weights).target_matrix(graph)


@pytest.mark.parametrize("seed", range(10))
def test_adjacency(seed):
    graph = random_graph(seed)
    expected = nx.to_numpy_array(graph.to_networkx(), nodelist=range(graph.n_nodes))
    np.testing.assert_array_equal(dense(matrix_of(graph, "adjacency").matrix), expected)


@pytest.mark.parametrize("seed", range(10))
def test_closeness_by_breadth_first_search(seed):
    graph = random_graph(seed)
    steps = dict(nx.all_pairs_shortest_path_length(graph.to_networkx()))
    diameter = max(1, *(max(lengths.values()) for lengths in steps.values()))
    found = matrix_of(graph, "closeness").matrix
    for i in range(graph.n_nodes):
        for j in range(graph.n_nodes):
            expected = 1 - steps[i][j] / diameter if j in steps[i] else 0
            assert found[i, j] == pytest.approx(expected)


def test_closeness_of_a_graph_without_edges():
    np.testing.assert_array_equal(matrix_of(Graph(3, []), "closeness").matrix, np.eye(3))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(6))
def test_every_target_matrix_keeps_the_contract(target, seed):
    """Entries in [0, 1], members that sum to 1, arcs that determine the entries."""
    graph = random_graph(seed)
    found = matrix_of(graph, target)
    matrix = dense(found.matrix)
    assert matrix.shape[1] == graph.n_nodes
    assert ((matrix >= 0) & (matrix <= 1)).all()
    assert set(np.concatenate([found.arcs.tails, found.arcs.heads])) <= set(range(graph.n_nodes))
    if found.members is None:
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


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(8))
def test_a_renumbered_graph_is_encoded_bitwise_identically(target, seed):
    graph = random_graph(seed, labels=True, attributes=True)
    graph = graph.replace(edge_weights=np.linspace(0.1, 1, graph.n_edges))
    encoding = Encoding.learn([graph], Config(attention="global", target=target))
    one, other = (encoding.encode(g, quotient=True) for g in (graph, shuffled(graph, seed)))
    assert one.digest == other.digest
    by_node = encoding.encode(graph, quotient=False)
    assert by_node.unit_weights.sum() == one.unit_weights.sum()
    if target not in DRAWN:
        np.testing.assert_array_equal(dense(one.full), dense(by_node.full))


def test_edge_to_nodes_is_the_incidence():
    graph = Graph(4, [(0, 1), (1, 2)])
    found = matrix_of(graph, "edge_to_nodes")
    assert dense(found.matrix).tolist() == [[1, 1, 0, 0], [0, 1, 1, 0]]
    assert found.members.toarray().tolist() == [[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0]]
    assert not found.nodes_attend
    soft = Graph(3, [(0, 1), (1, 2)], edge_weights=[0.25, 1.0])
    assert dense(matrix_of(soft, "edge_to_nodes", 1.0).matrix).tolist() == [
        [0.25, 0.25, 0],
        [0, 1, 1],
    ]
    nothing = matrix_of(Graph(2, []), "edge_to_nodes")
    assert dense(nothing.matrix).tolist() == [[0, 0]]
    assert nothing.members.toarray().tolist() == [[0.5, 0.5]]


def test_neighborhood_walks_along_edges():
    """Members are the first two nodes of a walk, B the next three."""
    path = Graph(5, [(0, 1), (1, 2), (2, 3)])
    found = matrix_of(path, "neighborhood")
    matrix, members = dense(found.matrix), found.members.toarray()
    assert matrix.shape == (N_WALKS * 5, 5)
    for unit, (seen, own) in enumerate(zip(matrix, members, strict=True)):
        start = unit // N_WALKS
        if start == 4:  # an isolated node
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
    again = matrix_of(path, "neighborhood")
    np.testing.assert_array_equal(matrix, dense(again.matrix))


def test_the_edges_of_a_star_are_one_class():
    star = graph_of(nx.star_graph(4))
    found = Encoding(target="edge_to_nodes").encode(star, quotient=True)
    assert found.unit_weights.tolist() == [4]
    coloured = star.replace(edge_labels="aabb")
    encoding = Encoding.learn([coloured], Config(attention="global", target="edge_to_nodes"))
    assert sorted(encoding.encode(coloured, quotient=True).unit_weights) == [2, 2]


def test_densities_of_a_quotient():
    """A star of four leaves: a leaf sees the centre, the centre sees all leaves."""
    found = Encoding().encode(graph_of(nx.star_graph(4)), quotient=True)
    leaves = int(np.argmax(found.node_weights))
    assert found.node_weights[leaves] == 4
    matrix = found.dense_matrix()
    assert matrix[leaves, 1 - leaves] == matrix[1 - leaves, leaves] == 1
    assert matrix[leaves, leaves] == 0
    assert (found.entropies == 0).all()


def test_entropies_are_zero_for_binary_and_the_best_loss_for_soft():
    ring = graph_of(nx.cycle_graph(5))
    assert not Encoding().encode(ring, quotient=False).entropies.any()
    soft = Encoding(target="closeness").encode(ring, quotient=False)
    inner = soft.matrix[(soft.matrix > 0) & (soft.matrix < 1)]
    total = -(inner * np.log(inner) + (1 - inner) * np.log(1 - inner)).sum()
    assert soft.entropies.sum() == pytest.approx(total)
    graph = random_graph(9)
    weighted = graph.replace(edge_weights=np.random.default_rng(0).uniform(0, 1, graph.n_edges))
    found = Encoding(weight_scale=WeightScale("scale", (1.0,))).encode(weighted, quotient=False)
    matrix = found.dense_matrix()
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = [-np.nan_to_num(p * np.log(p)).sum(axis=1) for p in (matrix, 1 - matrix)]
    np.testing.assert_allclose(found.entropies, expected, rtol=1e-12)


def test_edge_weights_are_scaled_and_clipped():
    graph = Graph(3, [(0, 1), (1, 2)], edge_weights=[1.0, 4.0])
    assert Encoding.learn([graph], Config()).weight_scale == WeightScale("scale", (4.0,))
    assert Encoding.learn([graph.replace(edge_weights=None)], Config()).weight_scale is None
    ignored = Encoding.learn([graph], Config(), Policies(weights="ignore"))
    assert ignored.weight_scale is None
    found = dense(matrix_of(graph, "adjacency", 4.0).matrix)
    assert found.tolist() == [[0, 0.25, 0], [0.25, 0, 1], [0, 1, 0]]
    assert dense(matrix_of(graph, "adjacency", 2.0).matrix).max() == 1
    assert set(dense(matrix_of(graph, "adjacency").matrix).ravel()) == {0, 1}


class Directed:
    """A graph whose edges have a direction, as far as target matrices read it."""

    def __init__(self, n_nodes, edges):
        self.n_nodes, self.edges = n_nodes, np.asarray(edges)
        self.n_edges, self.edge_weights, self.directed, self.name = len(edges), None, True, None


def test_a_directed_graph_has_an_asymmetric_matrix():
    """0 -> 1 -> 2: the ends of the path differ, though each has one neighbour."""
    path = Directed(3, [(0, 1), (1, 2)])
    encoding = Encoding()
    assert dense(encoding.target_matrix(path).matrix).tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert len(set(encoding.encode(path, quotient=True).classes)) == 3
    undirected = encoding.encode(Graph(3, [(0, 1), (1, 2)]), quotient=True)
    assert len(set(undirected.classes)) == 2
    close = matrix_of(path, "closeness").matrix
    assert close.tolist() == [[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]]
    ring = Directed(3, [(0, 1), (1, 2), (2, 0)])
    assert len(set(encoding.encode(ring, quotient=True).classes)) == 1


def test_a_self_loop_is_one_entry():
    loop = Directed(2, [(0, 1), (1, 1)])
    loop.directed = False
    assert dense(matrix_of(loop, "adjacency").matrix).tolist() == [[0, 1], [1, 1]]
    edges = matrix_of(loop, "edge_to_nodes")
    assert dense(edges.matrix).tolist() == [[1, 1], [0, 1]]
    assert edges.members.toarray().tolist() == [[0.5, 0.5], [0, 1]]


def test_the_digest_knows_the_content_alone():
    encoding = Encoding()
    graph = random_graph(4)
    one = encoding.encode(graph, quotient=True)
    assert one.digest == encoding.encode(graph.replace(name="other"), quotient=True).digest
    assert one.digest != encoding.encode(random_graph(5), quotient=True).digest


def test_json_round_trip():
    graph = random_graph(3, labels=True, attributes=True)
    encoding = Encoding.learn([graph], Config(attention="global", target="closeness"))
    again = Encoding.from_json(json.loads(json.dumps(encoding.as_json())))
    assert again == encoding
    assert again.encode(graph, quotient=True).digest == encoding.encode(graph, quotient=True).digest


def test_unknown_target_and_too_large_a_graph():
    with pytest.raises(ParameterError, match="'neighborhood', not 'distance'"):
        Encoding(target="distance")
    with pytest.raises(GraphError, match=r"'web'.*at most 20000 are possible here: because"):
        refuse_large(Graph(MAX_NODES + 1, [], name="web"), "because")
    assert set(TARGETS) >= DRAWN
