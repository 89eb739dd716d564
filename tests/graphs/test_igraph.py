from __future__ import annotations

import pytest

from ddgk.errors import GraphError
from ddgk.graphs import Policies, from_edges, from_igraph

igraph = pytest.importorskip("igraph", reason="converts its Graph")


def refusal(graph, **options):
    with pytest.raises(GraphError) as caught:
        from_igraph(graph, **options)
    return str(caught.value)


def named():
    graph = igraph.Graph([(0, 1), (1, 2)])
    graph.vs["name"] = ["a", "b", "c"]
    return graph


def test_structure_names_and_labels_are_read():
    graph = named()
    graph["name"] = "path"
    graph.vs["label"] = ["x", ("t", 1), "x"]
    graph.vs["attributes"] = [[1, 0], [0, 1], [1, 1]]
    graph.es["label"] = [1, 2]
    found = from_igraph(graph)
    expected = from_edges(
        [("a", "b", 1), ("b", "c", 2)],
        third="label",
        node_labels={"a": "x", "b": ("t", 1), "c": "x"},
    ).replace(node_attributes=[[1, 0], [0, 1], [1, 1]])
    assert found == expected
    assert (found.name, found.node_names) == ("path", ("a", "b", "c"))


def test_without_names_nodes_are_numbered_and_isolated_ones_stay():
    found = from_igraph(igraph.Graph(4, [(2, 3)]))
    assert found.node_names == (0, 1, 2, 3)
    assert found.edges.tolist() == [[2, 3]]
    assert found.name is None


def test_other_attributes_can_be_read():
    graph = named()
    graph.vs["element"] = list("COC")
    graph.es["strength"] = [0.5, 0.25]
    found = from_igraph(
        graph,
        node_labels="element",
        edge_weights="strength",
        name="own",
        policies=Policies(),
    )
    assert found.node_labels == ("C", "O", "C")
    assert found.edge_weights.tolist() == [0.5, 0.25]
    assert found.name == "own"


def test_an_attribute_that_is_not_set_everywhere_is_refused():
    graph = named()
    graph.vs[0]["label"] = "x"
    assert refusal(graph) == (
        "graph: node 'b' has no 'label', but others have; give it one, or pass node_labels=None"
    )
    assert from_igraph(graph, node_labels=None).node_labels is None
    graph.es[1]["label"] = "y"
    assert "edge ('a', 'b') has no 'label'" in refusal(graph, node_labels=None)


def test_an_attribute_asked_for_by_name_must_be_there():
    assert "node 'a' has no 'element', nor has any other" in refusal(named(), node_labels="element")


def test_directions_follow_the_policy():
    graph = igraph.Graph([(0, 1), (1, 0)], directed=True)
    assert from_igraph(graph).directed
    assert from_igraph(graph, policies=Policies(directed="undirected")).n_edges == 1


def test_loops_and_parallel_edges_follow_the_policy():
    assert from_igraph(igraph.Graph([(0, 1), (1, 1)])).n_edges == 2
    assert "edge (0, 1) is listed more than once" in refusal(igraph.Graph([(0, 1), (0, 1)]))
    both = Policies(self_loops="drop", parallel_edges="merge")
    assert from_igraph(igraph.Graph([(0, 1), (1, 1), (1, 0)]), policies=both).n_edges == 1


def test_weights_follow_the_policy():
    graph = named()
    graph.es["weight"] = [1, 2]
    assert from_igraph(graph, policies=Policies(weights="ignore")).edge_weights is None
    kept = from_igraph(graph, policies=Policies())
    assert kept.edge_weights.tolist() == [1, 2]


def test_names_must_differ():
    graph = named()
    graph.vs["name"] = ["a", "a", "b"]
    assert "node names must be all different, but 'a' stands twice" in refusal(graph)


def test_other_things_and_empty_graphs_are_refused():
    assert "from_igraph reads an igraph.Graph, not a list" in refusal([])
    assert "it has no nodes" in refusal(igraph.Graph())
