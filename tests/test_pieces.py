"""Pieces are connected, carry what their nodes and edges carry, and are drawn as the seed says."""

import networkx as nx
import numpy as np
import pytest

from ddgk.errors import ParameterError
from ddgk.graphs import Graph
from ddgk.pieces import sample_pieces
from specimens import random_graph


def ring_of(n):
    return Graph(n, [(i, (i + 1) % n) for i in range(n)])


def test_a_piece_of_a_ring_is_a_path_around_its_centre():
    for piece in sample_pieces(ring_of(50), 10, 7):
        drawn = piece.to_networkx()
        assert sorted(degree for _, degree in drawn.degree) == [1, 1, 2, 2, 2, 2, 2]
        assert nx.is_connected(drawn)
        away = nx.single_source_shortest_path_length(drawn, piece.node_names[0])
        assert sorted(away.values()) == [0, 1, 1, 2, 2, 3, 3]


def test_all_edges_among_its_nodes_and_what_they_carry():
    graph = random_graph(3, labels=True)
    graph = graph.replace(edge_weights=np.linspace(0.1, 0.9, graph.n_edges))
    known = {tuple(edge): place for place, edge in enumerate(graph.edges.tolist())}
    for piece in sample_pieces(graph, 20, 5, seed=4):
        nodes = list(piece.node_names)
        among = {edge for edge in known if set(edge) <= set(nodes)}
        assert piece.n_edges == len(among)
        assert list(piece.node_labels) == [graph.node_labels[node] for node in nodes]
        for place, (a, b) in enumerate(piece.edges.tolist()):
            edge = known[tuple(sorted((nodes[a], nodes[b])))]
            assert piece.edge_labels[place] == graph.edge_labels[edge]
            assert piece.edge_weights[place] == graph.edge_weights[edge]


def test_pieces_begin_at_different_nodes_and_follow_the_seed():
    graph = ring_of(12)
    pieces = sample_pieces(graph, 12, 3)
    assert {piece.node_names[0] for piece in pieces} == set(range(12))
    names = [piece.node_names for piece in pieces]
    assert [piece.node_names for piece in sample_pieces(graph, 12, 3)] == names
    assert [piece.node_names for piece in sample_pieces(graph, 12, 3, seed=1)] != names
    assert len(sample_pieces(graph, 30, 3)) == 30


def test_components_that_are_smaller_and_nodes_alone():
    graph = Graph(5, [(0, 1), (1, 2)])
    sizes = {piece.node_names[0]: piece.n_nodes for piece in sample_pieces(graph, 5, 100)}
    assert sizes == {0: 3, 1: 3, 2: 3, 3: 1, 4: 1}


@pytest.mark.parametrize(("n_pieces", "n_nodes"), [(0, 5), (3, 0), (2.5, 5), (True, 5), (1, "5")])
def test_numbers_that_cannot_be(n_pieces, n_nodes):
    with pytest.raises(ParameterError, match="whole number of at least 1"):
        sample_pieces(ring_of(5), n_pieces, n_nodes)
