from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import GraphError
from ddgk.graphs import Graph, Policies, as_graph, from_networkx, to_networkx

KEEP = Policies(negative_weights="absolute", missing="mask")


def refusal(graph, **options):
    with pytest.raises(GraphError) as caught:
        from_networkx(graph, **options)
    return str(caught.value)


@settings(deadline=None)
@given(data=st.data())
def test_there_and_back_changes_nothing(data, any_graph):
    graph = as_graph(data.draw(any_graph), policies=KEEP)
    back = from_networkx(to_networkx(graph), policies=KEEP)
    assert back.digest == graph.digest
    assert (back.name, back.node_names) == (graph.name, graph.node_names)


@settings(deadline=None)
@given(data=st.data())
def test_the_order_of_edges_does_not_matter_and_that_of_nodes_only_numbers_them(data, any_graph):
    graph = as_graph(data.draw(any_graph), policies=KEEP)
    original = to_networkx(graph)
    shuffled = type(original)()
    shuffled.add_nodes_from(data.draw(st.permutations(list(original.nodes(data=True)))))
    shuffled.add_edges_from(data.draw(st.permutations(list(original.edges(data=True)))))
    found = from_networkx(shuffled, policies=KEEP)
    place = {name: number for number, name in enumerate(found.node_names)}
    assert found.permuted([place[name] for name in graph.node_names]).digest == graph.digest


def test_the_methods_of_graph_are_the_same_functions():
    path = networkx.path_graph(["a", "b", "c"])
    assert Graph.from_networkx(path) == from_networkx(path)
    assert networkx.utils.graphs_equal(from_networkx(path).to_networkx(), path)


def test_keys_can_be_chosen_or_left_out():
    graph = networkx.Graph(name="chosen")
    graph.add_node(0, element="C", position=[0.0, 1.0], label="unread")
    graph.add_node(1, element="O", position=[1.0, 0.0], label="unread")
    graph.add_edge(0, 1, kind="double", strength=0.5, label="unread", weight=7)
    found = from_networkx(
        graph,
        node_labels="element",
        edge_labels="kind",
        node_attributes="position",
        edge_weights="strength",
        policies=KEEP,
    )
    assert found.node_labels == ("C", "O")
    assert found.edge_labels == ("double",)
    assert found.node_attributes.tolist() == [[0, 1], [1, 0]]
    assert found.edge_weights.tolist() == [0.5]
    keys = ["node_labels", "edge_labels", "node_attributes", "edge_attributes", "edge_weights"]
    nothing = dict.fromkeys(keys)
    assert repr(from_networkx(graph, **nothing)) == "Graph(n_nodes=2, n_edges=1, name='chosen')"


def test_a_column_with_holes_is_refused():
    graph = networkx.path_graph(["a", "b", "c"])
    graph.nodes["a"]["label"] = "x"
    assert refusal(graph, name="holes") == (
        "graph 'holes': node 'b' has no 'label', but others have; "
        "give it one, or pass node_labels=None"
    )
    graph.edges["b", "c"]["weight"] = 1
    assert refusal(graph, node_labels=None) == (
        "graph: edge ('a', 'b') has no 'weight', but others have; "
        "give it one, or pass edge_weights=None"
    )
    ignore = Policies(weights="ignore")
    assert from_networkx(graph, node_labels=None, policies=ignore).edge_weights is None


def test_a_key_asked_for_by_name_must_be_there():
    graph = networkx.path_graph(2)
    assert refusal(graph, node_labels="element") == (
        "graph: node 0 has no 'element', nor has any other; "
        "pass a node_labels that exists, or node_labels=None"
    )
    assert "edge (0, 1) has no 'kind', nor has any other" in refusal(graph, edge_labels="kind")


def test_none_is_a_label_like_others():
    graph = networkx.path_graph(2)
    networkx.set_node_attributes(graph, {0: None, 1: "x"}, "label")
    assert from_networkx(graph).node_labels == (None, "x")


def test_names_are_plain_and_the_name_is_that_of_the_graph():
    graph = networkx.Graph([(np.int64(4), np.int64(5))], name="mol-0017")
    found = from_networkx(graph)
    assert [type(name) for name in found.node_names] == [int, int]
    assert found.name == "mol-0017"
    assert from_networkx(graph, name="other").name == "other"
    assert from_networkx(networkx.path_graph(2)).name is None


@pytest.mark.parametrize("kind", [networkx.DiGraph, networkx.MultiDiGraph])
def test_directed_graphs_follow_the_policy(kind):
    graph = kind([("a", "b"), ("b", "a"), ("b", "c")])
    assert from_networkx(graph).directed
    assert networkx.utils.graphs_equal(to_networkx(from_networkx(graph)), networkx.DiGraph(graph))
    found = from_networkx(graph, policies=Policies(directed="undirected"))
    assert found.edges.tolist() == [[0, 1], [1, 2]]


def test_multiple_edges_follow_the_policy():
    graph = networkx.MultiGraph()
    graph.add_edge("a", "b", label="x", weight=1)
    graph.add_edge("b", "a", label="x", weight=2)
    assert "edge ('a', 'b') is listed more than once" in refusal(graph, edge_weights=None)
    merge = Policies(parallel_edges="merge")
    found = from_networkx(graph, policies=merge)
    assert (found.edge_labels, found.edge_weights.tolist()) == (("x",), [3])
    simple = networkx.MultiGraph([("a", "b"), ("b", "c")])
    assert from_networkx(simple).n_edges == 2


def test_self_loops_and_weights_follow_the_policy():
    graph = networkx.Graph([(0, 1), (1, 1)])
    assert from_networkx(graph).edges.tolist() == [[0, 1], [1, 1]]
    assert from_networkx(graph, policies=Policies(self_loops="drop")).n_edges == 1
    club = networkx.karate_club_graph()
    assert from_networkx(club, policies=Policies(weights="ignore")).edge_weights is None
    assert from_networkx(club, policies=KEEP).edge_weights.max() == 7


def test_isolated_nodes_stay_and_an_empty_graph_is_refused():
    graph = networkx.empty_graph(3)
    assert (from_networkx(graph).n_nodes, from_networkx(graph).n_edges) == (3, 0)
    assert "it has no nodes" in refusal(networkx.Graph())


def test_views_and_subclasses_are_read():
    class Road(networkx.Graph):
        pass

    assert from_networkx(Road([(0, 1)])).n_edges == 1
    assert from_networkx(networkx.path_graph(5).subgraph([3, 4])).node_names == (3, 4)


def test_attributes_must_be_vectors_of_one_length():
    graph = networkx.path_graph(2)
    networkx.set_node_attributes(graph, {0: [1.0, 2.0], 1: [1.0]}, "attributes")
    assert "node attributes must be numbers, as many in every row" in refusal(graph)


def test_other_things_are_refused():
    assert refusal([(0, 1)]) == (
        "graph: from_networkx reads a networkx.Graph, not a list; "
        "as_graph chooses the reader by itself"
    )


def test_a_node_named_none_cannot_go_to_networkx():
    graph = Graph(1, [], node_names=[None], name="g")
    with pytest.raises(GraphError, match="graph 'g': networkx cannot hold a node named None"):
        to_networkx(graph)
