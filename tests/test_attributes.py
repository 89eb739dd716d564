from __future__ import annotations

import numpy as np
import pytest

from ddgk.attributes import (
    FAMILIES,
    Alphabet,
    Attributes,
    EdgeLabels,
    NodeLabels,
    check_families,
    learn_families,
)
from ddgk.errors import LabelError
from ddgk.graphs import Graph
from ddgk.reading import Reader

PATH = Graph(
    4,
    [(0, 1), (1, 2)],
    node_labels=["a", "b", "a", "c"],
    edge_labels=["x", "y"],
    node_attributes=[[1, 1], [0, 4], [0, 0], [3, 1]],
    name="path",
)


def arrays(graph: Graph, name: str, **settings):
    reader = Reader("node_to_edges", learn_families([graph], (name,)), **settings)
    return reader.read(graph, quotient=False).problem.families[0]


def test_node_labels():
    found = arrays(PATH, "node_labels")
    a, b, c = np.eye(3)
    np.testing.assert_array_equal(found.units, [a, b, a, c])
    np.testing.assert_array_equal(found.nodes, found.units)
    np.testing.assert_array_equal(found.surroundings, [b, a, b, 0 * a])


def test_edge_labels_pooled():
    """Around node 0 stands node 1 with edges x and y; around node 1 stand 0 (x) and 2 (y)."""
    found = arrays(PATH, "edge_labels")
    np.testing.assert_array_equal(found.units, [[1, 0], [0.5, 0.5], [0, 1], [0, 0]])
    np.testing.assert_array_equal(found.nodes, [[1, 0], [1, 1], [0, 1], [0, 0]])
    np.testing.assert_array_equal(found.surroundings, [[0.5, 0.5]] * 3 + [[0, 0]])


def test_edge_labels_two_hops_away():
    """From node 0 the edge y is two hops away; from node 1 nothing is."""
    found = arrays(PATH, "edge_labels", surroundings="two_hop")
    np.testing.assert_array_equal(found.surroundings, [[0, 1], [0, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(found.nodes, found.units)


def test_a_perfect_prediction_is_optimal_for_every_family():
    """rownorm(B C) is the observed surrounding itself, so its cross-entropy is the entropy."""
    for name in FAMILIES:
        found = arrays(PATH, name)
        adjacency = Reader("node_to_edges").read(PATH, quotient=False).problem.dense_relation()
        inferred = adjacency @ found.nodes
        sums = inferred.sum(1, keepdims=True)
        np.testing.assert_allclose(
            np.divide(inferred, sums, out=np.zeros_like(inferred), where=sums > 0),
            found.surroundings,
        )


def test_attributes_are_distributions():
    found = arrays(PATH, "attributes")
    np.testing.assert_array_equal(found.units, [[0.5, 0.5], [0, 1], [0, 0], [0.75, 0.25]])


def test_labels_of_any_hashable_kind_in_one_order():
    labels = [("C", 4), "C", 6, None, frozenset({1, 2}), 1.5]
    assert Alphabet.of(labels) == Alphabet.of(labels[::-1])
    graph = Graph(6, [], node_labels=labels)
    (family,) = learn_families([graph], "auto")
    assert family.width == 6
    np.testing.assert_array_equal(family.unit_distributions(graph, "error").sum(0), np.ones(6))


def test_unseen_labels():
    (family,) = learn_families([PATH], ("node_labels",))
    other = Graph(2, [(0, 1)], node_labels=["a", "N"], name="new", node_names=["p", "q"])
    with pytest.raises(
        LabelError, match=r"graph 'new': the node label 'N' of node 'q'.*unseen_labels=\"ignore\""
    ):
        family.unit_distributions(other, "error")
    np.testing.assert_array_equal(family.unit_distributions(other, "ignore"), [[1, 0, 0], [0] * 3])
    edges = EdgeLabels.learn([PATH])
    with pytest.raises(LabelError, match=r"edge label 'z' of edge \('p', 'q'\)"):
        edges.contributions(other.replace(edge_labels=["z"]), "error")
    ignored = edges.contributions(other.replace(edge_labels=["z"]), "ignore")
    np.testing.assert_array_equal(ignored, np.zeros((2, 2)))


def test_which_families_are_learned():
    bare = PATH.replace(node_labels=None, edge_labels=None, node_attributes=None)
    assert [f.name for f in learn_families([PATH], "auto")] == list(FAMILIES)
    assert learn_families([PATH], "none") == ()
    assert learn_families([bare], "auto") == ()
    with pytest.raises(LabelError, match=r"graph 1 \('path'\) has no node labels, but 1 of 2"):
        learn_families([PATH, bare], "auto")
    with pytest.raises(LabelError, match="has no attributes"):
        learn_families([bare], ("attributes",))


def test_a_graph_without_edges_lacks_no_edge_labels():
    lonely = Graph(2, [], node_labels="ab", node_attributes=[[1, 0], [0, 1]])
    assert [f.name for f in learn_families([PATH, lonely], "auto")] == list(FAMILIES)
    assert [f.name for f in learn_families([lonely], "auto")] == ["node_labels", "attributes"]


def test_a_target_must_carry_what_was_fitted():
    families = learn_families([PATH], "auto")
    with pytest.raises(LabelError, match="it has no node labels, but the model was fitted"):
        check_families(PATH.replace(node_labels=None), families)
    with pytest.raises(LabelError, match=r"it has 3 attributes a node, but the model.*with 2"):
        Attributes(2).unit_distributions(PATH.replace(node_attributes=np.ones((4, 3))), "error")
    with pytest.raises(LabelError, match="was fitted with 2"):
        Attributes.learn([PATH, PATH.replace(node_attributes=np.ones((4, 3)))])


def test_colours_tell_what_nodes_carry():
    assert NodeLabels.learn([PATH]).colours(PATH, "error").tolist() == [0, 1, 0, 2]
    assert len(set(Attributes(2).colours(PATH, "error").tolist())) == 4
    assert set(EdgeLabels.learn([PATH]).colours(PATH, "error").tolist()) == {0}
