from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import GraphError, ParameterError
from ddgk.graphs import Policies, from_edges


def refusal(edges, **options):
    with pytest.raises(GraphError) as caught:
        from_edges(edges, **options)
    return str(caught.value)


@settings(deadline=None)
@given(data=st.data())
def test_the_order_of_edges_and_of_their_ends_does_not_matter(data):
    names = data.draw(
        st.lists(st.integers() | st.text(max_size=2) | st.none(), min_size=2, unique=True)
    )
    pairs = [(u, v) for i, u in enumerate(names) for v in names[:i]]
    labelled = {pair: str(number) for number, pair in enumerate(pairs)}
    edges = [(u, v, label) for (u, v), label in labelled.items()]
    shuffled = [
        (v, u, label) if data.draw(st.booleans()) else (u, v, label)
        for u, v, label in data.draw(st.permutations(edges))
    ]
    one, other = from_edges(edges, third="label"), from_edges(shuffled, third="label")
    assert one.digest == other.digest
    assert one.node_names == other.node_names


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1))
def test_arrays_and_lists_are_read_alike(edges):
    easy = Policies(self_loops="drop", parallel_edges="merge")
    listed = from_edges(edges, nodes=[7, 3], policies=easy)
    array = from_edges(np.array(edges), nodes=[7, 3], policies=easy)
    assert listed.digest == array.digest
    assert listed.node_names == array.node_names
    assert {type(name) for name in array.node_names} == {int}


def test_names_of_any_hashable_kind():
    names = ["a", 1, None, (1, 2), frozenset({"x", "y"}), b"b", 2.5, "nul\x00"]
    ring = list(zip(names, names[1:] + names[:1], strict=True))
    graph = from_edges(ring, nodes=names)
    assert graph.node_names == tuple(names)
    assert graph.n_edges == len(names)


def test_numpy_names_become_plain():
    rows = [(np.int64(1), np.str_("a"))]
    assert [type(name) for name in from_edges(rows).node_names] == [int, str]
    assert from_edges(np.array([["b", "a"]])).node_names == ("a", "b")


def test_generators_and_sets_are_read():
    assert from_edges((i, i + 1) for i in range(3)).n_edges == 3
    assert from_edges({("b", "c"), ("a", "b")}).node_names == ("a", "b", "c")


def test_nodes_adds_isolated_ones_and_fixes_the_order():
    graph = from_edges([("a", "b")], nodes=["z", "b", "b"])
    assert graph.node_names == ("z", "b", "a")
    assert graph.edges.tolist() == [[1, 2]]
    assert from_edges([], nodes=["alone"]).n_nodes == 1
    assert refusal([]) == (
        'graph: it has no nodes; use Policies(empty="skip") or Policies(empty="keep")'
    )


def test_node_labels_follow_the_names():
    graph = from_edges([("b", "a")], node_labels={"b": 1, "a": 2})
    assert graph.node_labels == (2, 1)
    assert refusal([("a", "b")], node_labels={"a": 1}, name="g") == (
        "graph 'g': node 'b' has no label, but others have; give it one"
    )
    assert refusal([("a", "b")], node_labels=["x", "y"]) == (
        "graph: node_labels must map names to labels, not be ['x', 'y']"
    )
    assert "'c' has a label, but there is no such node" in refusal(
        [("a", "b")], node_labels={"a": 1, "b": 1, "c": 1}
    )


def test_the_third_item_is_what_the_caller_says():
    triples = [("a", "b", 2), ("b", "c", 3)]
    assert from_edges(triples, third="label").edge_labels == (2, 3)
    weighted = from_edges(triples, third="weight", policies=Policies())
    assert weighted.edge_weights.tolist() == [2, 3]
    assert from_edges(triples, third="weight", policies=Policies(weights="ignore")).n_edges == 2
    assert refusal(triples) == (
        "graph: edge ('a', 'b', 2) has 3 items; "
        'say what the third is with third="label" or third="weight"'
    )
    assert refusal([*triples, ("c", "d")], third="label") == (
        "graph: edge ('c', 'd') has 2 items; give it a label"
    )
    with pytest.raises(ParameterError, match="third must be one of 'label', 'weight', or None"):
        from_edges(triples, third="colour")


@pytest.mark.parametrize("row", ["ab", ("a",), ("a", "b", "c", "d"), 3])
def test_what_is_no_edge_is_refused(row):
    assert refusal([("a", "b"), row]) == (f"graph: an edge is a pair of node names, not {row!r}")


def test_names_must_be_hashable():
    assert refusal([([], "a")]) == "graph: the node name [] is not hashable"
    assert refusal([("a", "b")], nodes=[{}]) == "graph: the node name {} is not hashable"


def test_a_missing_value_is_no_node():
    assert "a node is named NaN" in refusal([("a", float("nan"))])


def test_policies_apply():
    assert from_edges([("a", "a")]).edges.tolist() == [[0, 0]]
    assert from_edges([("a", "a")], policies=Policies(self_loops="drop")).n_nodes == 1
    assert "edge ('a', 'b') is listed more than once" in refusal([("b", "a"), ("a", "b")])
    merge = Policies(parallel_edges="merge")
    assert from_edges([("b", "a"), ("a", "b")], policies=merge).n_edges == 1
    assert from_edges([("a", "b")], directed=True).directed
    undirected = Policies(directed="undirected")
    assert from_edges([("b", "a"), ("a", "b")], directed=True, policies=undirected).n_edges == 1
