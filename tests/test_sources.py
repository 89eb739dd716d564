"""Which graphs become sources, and which part of a large one."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk import DDGK
from ddgk.encoder import MAX_SOURCE_NODES, choose_sources, induced, source_part
from ddgk.errors import ParameterError
from ddgk.targets import Encoding
from specimens import graph_of, random_graph, shuffled

GRAPHS = [random_graph(seed, labels=True) for seed in range(24)]


def test_random_sources_are_distinct_ascending_and_repeat():
    chosen, positions = choose_sources(GRAPHS, "random", 5, 3, None)
    assert len(chosen) == 5
    assert (np.diff(positions) > 0).all()
    assert positions.tolist() == choose_sources(GRAPHS, "random", 5, 3, None)[1].tolist()
    seen = {tuple(choose_sources(GRAPHS, "random", 5, seed, None)[1]) for seed in range(8)}
    assert len(seen) > 1


def test_fewer_graphs_than_sources_are_all_sources():
    assert len(choose_sources(GRAPHS[:3], "random", 16, 0, None)[0]) == 3


def test_sources_are_given_as_graphs_or_positions():
    model = DDGK(sources=[2, 5], random_state=0).fit(GRAPHS)
    assert model.sources_ == [GRAPHS[2], GRAPHS[5]]
    assert model.source_indices_.tolist() == [2, 5]
    model = DDGK(sources=[GRAPHS[7]], random_state=0).fit(GRAPHS)
    assert model.sources_ == [GRAPHS[7]]
    assert model.source_indices_ is None


@pytest.mark.parametrize("bad", ["farthest", [], [99], 7])
def test_other_sources_are_refused(bad):
    with pytest.raises(ParameterError, match="sources"):
        DDGK(sources=bad).fit(GRAPHS)


def test_a_part_of_a_large_graph_is_connected_and_blind_to_node_order():
    large = graph_of(nx.barabasi_albert_graph(400, 2, seed=1))
    part = source_part(large, Encoding(), 5)
    assert part.n_nodes == MAX_SOURCE_NODES
    assert nx.is_connected(part.to_networkx())
    assert source_part(shuffled(large, 1), Encoding(), 5) == part
    assert source_part(GRAPHS[0], Encoding(), 5) is GRAPHS[0]


def test_a_large_graph_of_small_components_gives_enough_nodes():
    many = graph_of(nx.disjoint_union_all([nx.path_graph(3)] * 60))
    assert source_part(many, Encoding(), 0).n_nodes == MAX_SOURCE_NODES


def test_an_induced_subgraph_keeps_what_its_nodes_carry():
    graph = GRAPHS[4].replace(edge_weights=np.arange(GRAPHS[4].n_edges) + 1.0)
    nodes = np.arange(0, graph.n_nodes, 2)
    found = induced(graph, nodes)
    assert found.node_labels == tuple(graph.node_labels[i] for i in nodes)
    for place, (u, v) in enumerate(found.edges):
        old = graph.edges.tolist().index([nodes[u], nodes[v]])
        assert found.edge_labels[place] == graph.edge_labels[old]
        assert found.edge_weights[place] == graph.edge_weights[old]
