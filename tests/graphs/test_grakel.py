from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ddgk.errors import GraphError
from ddgk.graphs import Policies, from_edges, from_grakel
from ddgk.graphs.grakel import is_grakel

PATH = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
ARROWS = [(0, 1), (1, 0), (1, 2), (2, 1)]
LABELS = {0: "C", 1: "O", 2: "C"}


def refusal(*items, **options):
    with pytest.raises(GraphError) as caught:
        from_grakel(items, **options)
    return str(caught.value)


STRUCTURES = {
    "set of pairs": set(ARROWS),
    "list of pairs": ARROWS,
    "tuple of pairs": tuple(ARROWS),
    "triples with weight 1": [(u, v, 1.0) for u, v in ARROWS],
    "dict of pairs": dict.fromkeys(ARROWS, 1.0),
    "numpy": np.array(PATH),
    "scipy": sparse.csr_matrix(PATH),
    "scipy array": sparse.coo_array(PATH),
    "list of lists": PATH,
}


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("wrap", [list, tuple])
def test_every_structure_gives_the_same_graph(structure, wrap):
    plain = from_edges([(0, 1), (1, 2)])
    assert from_grakel(wrap([structure])) == plain
    assert from_grakel(wrap([structure, {}, None])) == plain
    labelled = from_grakel(
        wrap([structure, LABELS, {(0, 1): "s", (1, 0): "s", (1, 2): "d", (2, 1): "d"}])
    )
    assert labelled == plain.replace(node_labels="COC", edge_labels="sd")


def test_a_label_of_one_direction_serves_both():
    assert from_grakel([ARROWS, None, {(1, 0): "s", (1, 2): "d"}]).edge_labels == ("s", "d")


def test_two_labels_for_two_directions_are_directed():
    labels = {(0, 1): "s", (1, 0): "d", (1, 2): "d", (2, 1): "d"}
    assert from_grakel([ARROWS, {}, labels]).directed


def test_labelled_nodes_without_edges_are_isolated_and_labels_give_the_order():
    graph = from_grakel([{("b", "a"), ("a", "b")}, {"z": 1, "b": 2, "a": 3}, {}], name="g")
    assert graph.node_names == ("z", "b", "a")
    assert graph.node_labels == (1, 2, 3)
    assert graph.edges.tolist() == [[1, 2]]
    assert graph.name == "g"


def test_without_labels_nodes_are_sorted():
    assert from_grakel([{(10, 9), (9, 10)}]).node_names == (9, 10)


def test_vectors_in_place_of_labels_are_attributes():
    graph = from_grakel([ARROWS, {0: [1, 0], 1: np.array([0, 1]), 2: [0.5, 0.5]}])
    assert graph.node_labels is None
    assert graph.node_attributes.tolist() == [[1, 0], [0, 1], [0.5, 0.5]]


def test_tuples_may_be_node_names():
    grid = {((0, 0), (0, 1)), ((0, 1), (0, 0))}
    assert from_grakel([grid]).node_names == ((0, 0), (0, 1))


def test_one_direction_only_is_directed():
    assert from_grakel([[(0, 1), (1, 0), (2, 1)]]).directed
    found = from_grakel([[(0, 1)], {0: "a", 1: "b"}], policies=Policies(directed="undirected"))
    assert found.n_edges == 1


def test_loops_repeats_and_weights_follow_the_policy():
    assert from_grakel([{(1, 1)}]).edges.tolist() == [[0, 0]]
    assert from_grakel([[*ARROWS, (1, 1)]], policies=Policies(self_loops="drop")).n_edges == 2
    assert "edge (0, 1) is listed more than once" in refusal(ARROWS + ARROWS)
    merge = Policies(parallel_edges="merge")
    assert from_grakel([ARROWS + ARROWS], policies=merge).n_edges == 2
    assert from_grakel([{(0, 1): 1, (1, 0): 1}]).edge_weights is None
    kept = from_grakel([{(0, 1): 0.5, (1, 0): 0.5}], policies=Policies())
    assert kept.edge_weights.tolist() == [0.5]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((ARROWS, {0: "C"}), "node 1 has no label, but others have; give it one"),
        (
            (np.array(PATH), {**LABELS, 3: "N"}),
            "3 has a label, but there is no such node; remove the label, or add the node",
        ),
        ((ARROWS, {}, {(0, 1): "s"}), "edge (1, 2) has no label, but others have"),
        (
            (ARROWS, {}, {(0, 1): "s", (1, 2): "s", (0, 2): "s"}),
            "(0, 2) has an edge label, but there is no such edge",
        ),
        ((ARROWS, ["C", "O", "C"]), "node labels must be a dict or None, not a list"),
        ((ARROWS, {}, [1]), "edge labels must be a dict or None, not a list"),
        (
            ([(0, 1), (1, 0, 2.0)],),
            "edge (0, 1) has no weight, but others have; give all one, or none",
        ),
        ((["ab", "ba"],), "an edge is a tuple (u, v) or (u, v, weight), not 'ab'"),
        (({0: [1]},), "an edge is a tuple (u, v) or (u, v, weight), not 0"),
        ((3,), "cannot read edges from an int"),
        (
            (),
            "from_grakel reads [structure, node labels, edge labels], not a tuple",
        ),
    ],
)
def test_what_cannot_be_read_is_named(items, message):
    assert refusal(*items) == f"graph: {message}"


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        ([set(ARROWS), LABELS, {}], True),
        ((ARROWS, LABELS), True),
        ([np.array(PATH)], True),
        ([{(0, 1): 1}], True),
        ([ARROWS, ARROWS], False),
        ([ARROWS], False),
        (ARROWS, False),
        ((0, 1), False),
        ([], False),
    ],
)
def test_grakel_is_told_from_lists_of_edges_and_graphs(thing, expected):
    assert is_grakel(thing) is expected
