from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from ddgk.attributes import (
    Alphabet,
    AttributeModel,
    EdgeLabels,
    EdgeValues,
    NodeLabels,
    NodeValues,
    learn_attributes,
    normalised,
    pooled,
)
from ddgk.errors import LabelError, ParameterError, UnseenLabelWarning
from ddgk.graphs import Graph
from ddgk.targets import Encoding

PATH = Graph(
    4,
    [(0, 1), (1, 2)],
    node_labels=["a", "b", "a", "c"],
    edge_labels=["x", "y"],
    node_attributes=[[1, 1], [0, 4], [2, 0], [1, 3]],
    name="path",
)


def arrays(graph: Graph, name: str, **settings):
    encoding = Encoding(learn_attributes([graph], (name,)), **settings)
    return encoding.encode(graph, quotient=False).attributes[0]


def test_node_labels():
    found = arrays(PATH, "node_labels")
    a, b, c = np.eye(3)
    np.testing.assert_array_equal(found.units, [a, b, a, c])
    np.testing.assert_array_equal(found.nodes, found.units)
    np.testing.assert_array_equal(found.neighbours, [b, a, b, 0 * a])
    assert not found.is_real


def test_edge_labels_pooled():
    """The neighbour of node 0 has edges x and y; the neighbours of node 1 have x, and y."""
    found = arrays(PATH, "edge_labels")
    np.testing.assert_array_equal(found.units, [[1, 0], [0.5, 0.5], [0, 1], [0, 0]])
    np.testing.assert_array_equal(found.nodes, [[1, 0], [1, 1], [0, 1], [0, 0]])
    np.testing.assert_array_equal(found.neighbours, [[0.5, 0.5]] * 3 + [[0, 0]])


def test_edge_labels_two_hops_away():
    """From node 0 the edge y is two hops away; from node 1 nothing is."""
    found = arrays(PATH, "edge_labels", edge_label_neighbourhood="two_hop")
    np.testing.assert_array_equal(found.neighbours, [[0, 1], [0, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(found.nodes, found.units)


@pytest.mark.parametrize("name", ["node_labels", "edge_labels"])
def test_a_perfect_prediction_is_optimal(name):
    """rownorm(B C) is the observed neighbourhood itself, so its cross-entropy is the entropy."""
    found = arrays(PATH, name)
    matrix = Encoding().encode(PATH, quotient=False).dense_matrix()
    np.testing.assert_allclose(normalised(matrix @ found.nodes), found.neighbours)


def test_real_values_are_standardised():
    """Columns (1, 0, 2, 1) and (1, 4, 0, 3): means 1 and 2, variances 1/2 and 5/2."""
    found = arrays(PATH, "node_attributes")
    expected = np.array([[0, -1], [-1, 2], [1, -2], [0, 1]]) / np.sqrt([0.5, 2.5])
    np.testing.assert_allclose(found.units, expected)
    np.testing.assert_allclose(found.neighbours[1], (expected[0] + expected[2]) / 2)
    np.testing.assert_allclose(found.neighbours[0], expected[1])
    assert found.is_real
    assert np.isnan(found.neighbours).tolist() == [[False, False]] * 3 + [[True, True]]


class Valued:
    """A graph with real values of edges, as far as attributes read it."""

    n_nodes, n_edges, name, edges = 3, 2, None, np.array([[0, 1], [1, 2]])
    directed = False

    def __init__(self, edge_attributes, node_attributes=None):
        self.edge_attributes = np.asarray(edge_attributes, dtype=float)
        self.node_attributes = node_attributes


def test_a_node_has_the_mean_of_its_edges():
    graph = Valued([[1.0], [3.0]])
    learned = EdgeValues.learn([graph])
    assert (learned.means, learned.deviations) == ((2.0,), (1.0,))
    np.testing.assert_array_equal(learned.units(graph), [[-1], [0], [1]])
    np.testing.assert_array_equal(learned.edges(graph), [[-1], [1]])
    assert learned.codes(graph).tolist() == [0, 1]


def test_missing_values_are_masked():
    graph = Valued([[1.0], [np.nan]], np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, 5.0]]))
    edges, nodes = EdgeValues.learn([graph]), NodeValues.learn([graph])
    assert (nodes.means, nodes.deviations) == ((2.0, 5.0), (1.0, 1.0))
    found = nodes.units(graph)
    np.testing.assert_array_equal(found, [[-1, np.nan], [1, 0], [np.nan, 0]])
    assert np.isnan(edges.units(graph)).tolist() == [[False], [False], [True]]
    matrix = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(pooled(matrix, found, True), [[1, 0], [-1, 0], [1, 0]])
    assert len(set(nodes.codes(graph).tolist())) == 3


def test_a_constant_column_is_centred():
    graph = PATH.replace(node_attributes=np.full((4, 1), 7.0))
    assert not NodeValues.learn([graph]).units(graph).any()


def test_labels_of_any_hashable_kind_in_one_order():
    labels = [("C", 4), "C", 6, None, frozenset({1, 2}), 1.5, b"x"]
    assert Alphabet.of(labels) == Alphabet.of(labels[::-1])
    graph = Graph(7, [], node_labels=labels)
    model = learn_attributes([graph], "auto")
    np.testing.assert_array_equal(model.attributes[0].units(graph).sum(0), np.ones(7))
    assert AttributeModel.from_json(json.loads(json.dumps(model.as_json()))) == model


def test_a_label_that_a_file_cannot_hold():
    model = learn_attributes([Graph(1, [], node_labels=[complex(1, 2)])], "auto")
    with pytest.raises(LabelError, match=r"\(1\+2j\) is a complex, which no file can hold"):
        model.as_json()


def test_json_of_real_values_and_damage():
    model = learn_attributes([PATH], "auto")
    assert AttributeModel.from_json(json.loads(json.dumps(model.as_json()))) == model
    described = model.as_json()
    described[2]["deviations"] = [0.0, 1.0]
    with pytest.raises(ValueError, match="statistics of node_attributes are damaged"):
        AttributeModel.from_json(described)
    with pytest.raises(ValueError, match="labels of node_labels repeat"):
        AttributeModel.from_json([{"name": "node_labels", "labels": ["a", "a"]}])


OTHER = Graph(
    2, [(0, 1)], node_labels=["a", "N"], edge_labels=["z"], name="new", node_names=["p", "q"]
)


def test_unseen_labels_have_no_mass():
    nodes, edges = NodeLabels.learn([PATH]), EdgeLabels.learn([PATH])
    np.testing.assert_array_equal(nodes.units(OTHER), [[1, 0, 0], [0] * 3])
    np.testing.assert_array_equal(edges.nodes(OTHER), np.zeros((2, 2)))


def test_one_warning_names_unseen_labels():
    model = learn_attributes([PATH], ("node_labels", "edge_labels"))
    with pytest.warns(UnseenLabelWarning, match=r"node labels 'N'; edge labels 'z'") as caught:
        model.check_labels([PATH, OTHER, OTHER], "warn")
    assert len(caught) == 1
    many = Graph(9, [], node_labels=range(9))
    with pytest.warns(UnseenLabelWarning, match="0, 1, 2, 3, 4 and 4 more"):
        model.check_labels([many])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.check_labels([PATH], "warn")
        model.check_labels([OTHER], "ignore")


def test_unseen_labels_as_an_error():
    model = learn_attributes([PATH], ("node_labels", "edge_labels"))
    with pytest.raises(LabelError, match=r"graph 1 \('new'\): the node label 'N' of node 'q'"):
        model.check_labels([PATH, OTHER], "error")
    with pytest.raises(LabelError, match=r"edge label 'z' of edge \('p', 'q'\)"):
        model.check_labels([OTHER.replace(node_labels="ab")], "error")
    with pytest.raises(ParameterError, match="unseen_labels must be one of 'warn', 'ignore'"):
        model.check_labels([PATH], "drop")


def test_which_attributes_are_learned():
    bare = PATH.replace(node_labels=None, edge_labels=None, node_attributes=None)
    every = ("node_labels", "edge_labels", "node_attributes")
    assert learn_attributes([PATH], "auto").names == every
    assert learn_attributes([PATH], "none").names == ()
    assert learn_attributes([bare], "auto").names == ()
    assert learn_attributes([PATH], "auto").has_values
    assert not learn_attributes([PATH], ("node_labels",)).has_values
    with pytest.raises(LabelError, match=r"graph 1 \('path'\) has no node labels, but 1 of 2"):
        learn_attributes([PATH, bare], "auto")
    with pytest.raises(LabelError, match="has no node attributes"):
        learn_attributes([bare], ("node_attributes",))


def test_a_graph_without_edges_lacks_no_edge_labels():
    lonely = Graph(2, [], node_labels="ab", node_attributes=[[1, 0], [0, 1]])
    assert "edge_labels" in learn_attributes([PATH, lonely], "auto").names
    assert learn_attributes([lonely], "auto").names == ("node_labels", "node_attributes")


def test_a_target_must_carry_what_was_fitted():
    model = learn_attributes([PATH], "auto")
    with pytest.raises(LabelError, match="it has no node labels, but the model was fitted"):
        model.check(PATH.replace(node_labels=None))
    wider = PATH.replace(node_attributes=np.ones((4, 3)))
    with pytest.raises(LabelError, match=r"it has 3 columns of node attributes.*with 2"):
        model.check(wider)
    with pytest.raises(LabelError, match="graphs have 2 and 3 columns of node attributes"):
        learn_attributes([PATH, wider], "auto")


def test_codes_tell_what_nodes_carry():
    assert NodeLabels.learn([PATH]).codes(PATH).tolist() == [0, 1, 0, 2]
    assert len(set(NodeValues.learn([PATH]).codes(PATH).tolist())) == 4
