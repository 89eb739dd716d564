from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import GraphError
from ddgk.graphs import Graph
from ddgk.graphs.graph import at_position, describe, label_key


def labelled() -> Graph:
    return Graph(
        4,
        [(2, 1), (0, 1)],
        node_labels=["a", "b", "c", "d"],
        edge_labels=["late", "early"],
        node_attributes=[[0, 1], [1, 0], [0.5, 0.5], [0, 0]],
        edge_attributes=[[-1, 5], [2, 6]],
        edge_weights=[0.25, 0.75],
        name="four",
        node_names=["w", "x", "y", "z"],
    )


def test_edges_are_sorted_and_their_labels_and_weights_follow():
    graph = labelled()
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_labels == ("early", "late")
    assert graph.edge_weights.tolist() == [0.75, 0.25]
    assert graph.edge_attributes.tolist() == [[2, 6], [-1, 5]]


def test_directed_edges_keep_their_direction_and_self_loops_their_place():
    graph = Graph(3, [(2, 0), (0, 2), (1, 1), (0, 1)], directed=True, edge_labels="abcd")
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 1], [2, 0]]
    assert graph.edge_labels == ("d", "b", "c", "a")
    loops = Graph(2, [(1, 1), (1, 0)])
    assert loops.edges.tolist() == [[0, 1], [1, 1]]
    assert Graph(3, [(0, 1)], directed=True) != Graph(3, [(0, 1)])


def test_digests_of_undirected_graphs_are_those_of_the_first_version():
    """Written down, since runs and models compare graphs by them."""
    path = Graph(3, [(0, 1), (1, 2)], node_labels="COC", edge_weights=[1, 0.5])
    assert path.digest == "f3f50abf7948d8b9aa2b95c13377359d9b274a84fb7fc36d3af9aeff2dc7d2e3"


def test_missing_attributes_are_an_error_or_kept():
    hole = {"node_attributes": [[1.0], [np.nan]], "node_names": "xy"}
    with pytest.raises(GraphError) as caught:
        Graph(2, [(0, 1)], **hole)
    assert str(caught.value) == (
        "graph: attribute 0 of node 'y' is missing (NaN); use Policies(missing=\"mask\")"
    )
    masked = Graph(2, [(0, 1)], **hole, missing="mask")
    assert masked.has_missing
    for copied in (masked.replace(name="b"), masked.permuted([0, 1]), copy.deepcopy(masked)):
        assert copied == masked
    other = np.array([[1.0], [-np.nan]])
    assert Graph(2, [(0, 1)], node_attributes=other, missing="mask") == masked
    assert not labelled().has_missing


def test_a_graph_may_have_no_nodes():
    graph = Graph(0, [])
    assert (graph.n_nodes, graph.edges.shape, graph.node_names) == (0, (0, 2), ())
    assert graph.permuted([]) == graph


def test_arrays_have_the_promised_types():
    graph = labelled()
    assert graph.edges.dtype == np.int64
    assert graph.node_attributes.dtype == np.float64
    assert graph.edge_weights.dtype == np.float64
    assert Graph(1, []).edges.shape == (0, 2)


def test_fields_cannot_be_changed():
    graph = labelled()
    with pytest.raises(AttributeError, match=r"use graph.replace\(name=...\)"):
        graph.name = "other"
    with pytest.raises(AttributeError, match="cannot be changed"):
        del graph.name
    with pytest.raises(AttributeError):
        graph.something_new = 1


@pytest.mark.parametrize("field", ["edges", "node_attributes", "edge_attributes", "edge_weights"])
def test_arrays_cannot_be_written_to(field):
    with pytest.raises(ValueError, match="read-only"):
        getattr(labelled(), field)[0] = 7


def test_the_callers_arrays_are_copied():
    edges = np.array([[0, 1]])
    attributes, weights = np.ones((2, 1)), np.ones(1)
    graph = Graph(2, edges, node_attributes=attributes, edge_weights=weights)
    edges[:] = attributes[:] = weights[:] = 0
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.node_attributes.tolist() == [[1], [1]]
    assert graph.edge_weights.tolist() == [1]
    assert edges.flags.writeable
    assert attributes.flags.writeable


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_are_equal_and_still_frozen(copied):
    graph = labelled()
    twin = copied(graph)
    assert twin == graph
    assert hash(twin) == hash(graph)
    assert (twin.name, twin.node_names) == (graph.name, graph.node_names)
    assert not twin.edges.flags.writeable


@settings(deadline=None)
@given(data=st.data())
def test_pickling_keeps_everything(data, any_graph):
    graph = data.draw(any_graph)
    twin = pickle.loads(pickle.dumps(graph))
    assert twin.digest == graph.digest
    assert (twin.name, twin.node_names) == (graph.name, graph.node_names)


@settings(deadline=None)
@given(data=st.data())
def test_permuting_there_and_back_is_the_identity(data, any_graph):
    graph = data.draw(any_graph)
    order = data.draw(st.permutations(range(graph.n_nodes)))
    back = graph.permuted(order).permuted(np.argsort(order))
    assert back.digest == graph.digest
    assert back.node_names == graph.node_names


@settings(deadline=None)
@given(data=st.data())
def test_permuting_moves_labels_and_names_with_their_nodes(data, any_graph):
    graph = data.draw(any_graph)
    order = data.draw(st.permutations(range(graph.n_nodes)))
    moved = graph.permuted(order)
    assert moved.node_names == tuple(graph.node_names[i] for i in order)
    kind = tuple if graph.directed else frozenset
    before = {kind(graph.node_names[i] for i in edge) for edge in graph.edges}
    after = {kind(moved.node_names[i] for i in edge) for edge in moved.edges}
    assert after == before


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1, 2], [0.0, 1.0, 2.0, 3.0], [[0, 1, 2, 3]]])
def test_an_order_must_be_a_permutation(order):
    with pytest.raises(
        GraphError, match="graph 'four': an order must list each of the 4 nodes once"
    ):
        labelled().permuted(order)


@settings(deadline=None)
@given(data=st.data())
def test_the_digest_ignores_names_and_edge_order(data, any_graph):
    graph = data.draw(any_graph)
    anonymous = graph.replace(name="another", node_names=None)
    assert anonymous.digest == graph.digest

    rows = data.draw(st.permutations(range(graph.n_edges)))
    flips = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    pairs = [
        tuple(graph.edges[i])[:: -1 if flip and not graph.directed else 1]
        for i, flip in zip(rows, flips, strict=True)
    ]
    shuffled = graph.replace(
        edges=pairs,
        edge_labels=graph.edge_labels and [graph.edge_labels[i] for i in rows],
        edge_attributes=None if graph.edge_attributes is None else graph.edge_attributes[rows],
        edge_weights=None if graph.edge_weights is None else graph.edge_weights[rows],
    )
    assert shuffled.digest == graph.digest


@pytest.mark.parametrize(
    "change",
    [
        {"n_nodes": 5, "node_labels": None, "node_attributes": None, "node_names": None},
        {"edges": [(0, 1), (1, 3)]},
        {"node_labels": ["a", "b", "d", "c"]},
        {"node_labels": None},
        {"edge_labels": ["early", "early"]},
        {"edge_labels": None},
        {"node_attributes": [[1, 0], [1, 0], [0.5, 0.5], [0, 0]]},
        {"node_attributes": None},
        {"edge_attributes": [[2, 6], [-1, 6]]},
        {"edge_attributes": None},
        {"directed": True},
        {"edge_weights": [0.75, 0.5]},
        {"edge_weights": None},
    ],
)
def test_the_digest_sees_all_content(change):
    graph = labelled()
    changed = graph.replace(**change)
    assert changed.digest != graph.digest
    assert changed != graph


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["a", "b"], ["a,str:'b'", ""]),
        (["1", 1], [1, "1"]),
        ([1, True], [True, 1]),
        ([("a",), "a"], ["a", ("a",)]),
        (["a\x00", "b"], ["a", "\x00b"]),
    ],
)
def test_the_digest_tells_labels_apart(one, other):
    assert Graph(2, [], node_labels=one) != Graph(2, [], node_labels=other)


def test_minus_zero_is_zero():
    assert Graph(2, [(0, 1)], edge_weights=[-0.0]) == Graph(2, [(0, 1)], edge_weights=[0.0])


def test_the_digest_is_the_same_in_every_process():
    program = (
        "from ddgk.graphs import Graph;"
        "labels = [frozenset('abcdef'), ('x', frozenset('uvw'))];"
        "print(Graph(2, [(0, 1)], node_labels=labels).digest)"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(digests) == 1


def test_labels_of_every_kind_are_kept(odd_labels):
    count = len(odd_labels)
    edges = [(i, i + 1) for i in range(count)]
    graph = Graph(count + 1, edges, node_labels=[*odd_labels, "end"], edge_labels=odd_labels)
    assert graph.node_labels == (*odd_labels, "end")
    assert graph.edge_labels == tuple(odd_labels)
    assert [type(label) for label in graph.edge_labels] == [type(label) for label in odd_labels]
    assert len(graph.digest) == 64


def test_numpy_scalars_become_python_scalars():
    graph = Graph(
        2,
        [(0, 1)],
        node_labels=np.array([3, 4]),
        edge_labels=[(np.str_("a"), np.float32(0.5))],
        node_names=np.array([7, 8]),
    )
    assert [type(label) for label in graph.node_labels + graph.node_names] == [int] * 4
    assert [type(part) for part in graph.edge_labels[0]] == [str, float]


def test_replace_refuses_unknown_fields():
    with pytest.raises(
        TypeError, match="Graph has no field 'label'; it has n_nodes, edges, directed"
    ):
        labelled().replace(label="x")


def test_comparing_with_other_types_is_false():
    assert labelled() != "four"
    assert labelled() in {labelled()}


def test_repr_counts_what_there_is():
    assert repr(labelled()) == (
        "Graph(n_nodes=4, n_edges=2, name='four', node_labels=4, edge_labels=2, "
        "node_attributes=2, edge_attributes=2, weighted)"
    )
    assert repr(Graph(2, [(0, 1)], directed=True)) == "Graph(n_nodes=2, n_edges=1, directed)"
    assert len(repr(Graph(1, [], name="x" * 10**6))) < 100
    assert "\\x1b" in repr(Graph(1, [], name="\x1b[31m"))
    assert repr(Graph(1, [])) == "Graph(n_nodes=1, n_edges=0)"


@pytest.mark.parametrize(
    ("name", "position", "expected"),
    [
        (None, None, "graph"),
        ("a", None, "graph 'a'"),
        (None, 0, "graph 0"),
        ("a", 3, "graph 3 ('a')"),
        (17, None, "graph '17'"),
    ],
)
def test_describe(name, position, expected):
    assert describe(name, position) == expected


def test_a_position_reaches_the_constructor_and_ends_with_its_block():
    with at_position(5), pytest.raises(GraphError, match=r"^graph 5 \('a'\): n_nodes must not"):
        Graph(-1, [], name="a")
    assert describe("a") == "graph 'a'"


def test_a_position_stays_in_its_thread():
    with at_position(5), ThreadPoolExecutor(1) as pool:
        assert pool.submit(describe, None).result() == "graph"


def test_label_keys_differ_between_types_and_sort_the_members_of_sets():
    assert len({label_key(label) for label in (1, 1.0, True, "1", (1,), frozenset({1}))}) == 6
    assert label_key((frozenset("ba"),)) == "tuple:(frozenset:{str:'a',str:'b'})"
