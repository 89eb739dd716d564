from __future__ import annotations

import numpy as np
import pytest

from ddgk.errors import GraphError
from ddgk.graphs import Graph
from ddgk.graphs.validation import plain

PAIR = {"n_nodes": 2, "edges": [(0, 1)], "name": "g"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_nodes": -1, "edges": []}, "n_nodes must not be negative, not -1"),
        ({"n_nodes": 0}, "edge (0, 1) names node 0, but it has no nodes"),
        ({"directed": 1}, "directed must be True or False, not 1"),
        ({"missing": "keep"}, "missing must be 'error' or 'mask', not 'keep'"),
        ({"n_nodes": 2.0}, "n_nodes must be a whole number, not 2.0"),
        ({"n_nodes": True}, "n_nodes must be a whole number, not True"),
        ({"edges": [(0, 2)]}, "edge (0, 2) names node 2, but it has 2 nodes (0..1)"),
        ({"edges": [(-1, 0)]}, "edge (-1, 0) names node -1, but it has 2 nodes (0..1)"),
        (
            {"edges": np.array([[0, 2**64 - 1]], dtype=np.uint64)},
            "edge (0, 18446744073709551615) names node 18446744073709551615, "
            "but it has 2 nodes (0..1)",
        ),
        (
            {"edges": [(0, 1), (1, 0)]},
            "edge (0, 1) is listed more than once; "
            'list it once, or convert with from_edges, or use Policies(parallel_edges="merge")',
        ),
        ({"edges": [(0, 1, 2)]}, "edges must have shape (n_edges, 2), not (1, 3)"),
        ({"edges": np.empty((2, 0))}, "edges must have shape (n_edges, 2), not (2, 0)"),
        ({"edges": np.array(3)}, "edges must have shape (n_edges, 2), not ()"),
        ({"edges": [(0, 1), (1,)]}, "edges must be pairs of node numbers"),
        ({"edges": 3}, "edges must be pairs of node numbers"),
        ({"edges": [(0.0, 1.0)]}, "edges must be whole numbers, not float64"),
        ({"edges": [("a", "b")]}, "edges must be whole numbers, not <U1"),
        ({"node_labels": "a"}, "1 node labels for 2 nodes"),
        ({"edge_labels": "ab"}, "2 edge labels for 1 edges"),
        (
            {"node_labels": ["a", ["b"]]},
            "the label ['b'] of node 1 is not hashable; use a number, a text or a tuple",
        ),
        (
            {"edge_labels": [{}], "node_names": "xy"},
            "the label {} of edge ('x', 'y') is not hashable; use a number, a text or a tuple",
        ),
        (
            {"node_labels": ["a", float("nan")], "node_names": "xy"},
            "the label of node 'y' is NaN, which equals no label, not even itself; "
            "use None or a text",
        ),
        (
            {"edge_labels": [("a", (np.float64("nan"),))]},
            "the label of edge (0, 1) is NaN, which equals no label, not even itself; "
            "use None or a text",
        ),
        (
            {"node_attributes": [[[1]], [[2]]]},
            "node attributes must have shape (2, k) with k > 0, not (2, 1, 1)",
        ),
        (
            {"node_attributes": np.empty((2, 0))},
            "node attributes must have shape (2, k) with k > 0, not (2, 0)",
        ),
        (
            {"node_attributes": [[1], [np.inf]]},
            "attribute 0 of node 1 is inf; attributes must be finite",
        ),
        (
            {"edge_attributes": [[np.nan]]},
            'attribute 0 of edge (0, 1) is missing (NaN); use Policies(missing="mask")',
        ),
        (
            {"edge_attributes": [[1], [2]]},
            "edge attributes must have shape (1, k) with k > 0, not (2, 1)",
        ),
        (
            {"node_attributes": [["1"], ["2"]]},
            "node attributes must be numbers, as many in every row ('1' is text)",
        ),
        ({"edge_weights": [1, 2]}, "edge weights must have shape (1,), not (2,)"),
        (
            {"edge_weights": [np.nan]},
            "edge (0, 1) has weight nan, but weights are finite numbers; correct it",
        ),
        ({"node_names": "a"}, "1 node names for 2 nodes"),
        ({"node_names": "aa"}, "node names must be all different, but 'a' stands twice"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(GraphError) as caught:
        Graph(**{**PAIR, **arguments})
    assert str(caught.value) == f"graph 'g': {message}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"node_attributes": [[1, 2], [3]]}, "node attributes must be numbers"),
        ({"node_attributes": [[1j], [2]]}, "node attributes must be numbers"),
        ({"edge_weights": np.array([1j])}, "edge weights must be numbers"),
        ({"edge_weights": [None]}, "edge weights must be numbers"),
        ({"node_names": [[], {}]}, "node names must be hashable"),
    ],
)
def test_what_cannot_be_a_number_or_a_name_is_refused(arguments, message):
    with pytest.raises(GraphError, match=f"graph 'g': {message}"):
        Graph(**{**PAIR, **arguments})


def test_booleans_and_whole_numbers_count_as_numbers():
    graph = Graph(2, [(0, 1)], edge_weights=[True], node_attributes=np.eye(2, dtype=np.int8))
    assert graph.edge_weights.tolist() == [1.0]
    assert graph.node_attributes.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_torch_scalars_become_plain_and_tensors_are_no_labels():
    torch = pytest.importorskip("torch", reason="labels may come as torch scalars")
    assert type(plain(torch.tensor(3))) is int
    assert plain((torch.tensor(0.5), "a")) == (0.5, "a")
    with pytest.raises(GraphError, match=r"the label tensor.* of node 0 is not hashable"):
        Graph(1, [], node_labels=[torch.tensor([1])])
