from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import GraphError
from ddgk.graphs import Policies
from ddgk.graphs.edges import EdgeTable, number_nodes, simple_graph

MERGE = Policies(parallel_edges="merge")
UNDIRECTED = Policies(directed="undirected")
NAMES = ["a", "b", "c"]


def convert(pairs, *, policies=None, n_nodes=3, **columns):
    table = EdgeTable(pairs, **columns)
    return simple_graph(n_nodes, table, policies=policies, name="g", node_names=NAMES[:n_nodes])


def refusal(*arguments, **columns):
    with pytest.raises(GraphError) as caught:
        convert(*arguments, **columns)
    return str(caught.value)


def test_a_clean_table_passes_through():
    graph = convert([(2, 1), (0, 1)], labels=["x", "y"])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_labels == ("y", "x")
    assert graph.node_names == ("a", "b", "c")
    assert graph.name == "g"


def test_self_loops_are_refused_or_dropped():
    loops = [(0, 1), (1, 1)]
    assert refusal(loops) == (
        "graph 'g': edge ('b', 'b') is a self-loop; "
        'remove it, or convert with Policies(self_loops="drop")'
    )
    drop = Policies(self_loops="drop")
    graph = convert(loops, labels=["kept", "dropped"], policies=drop)
    assert (graph.edges.tolist(), graph.edge_labels) == ([[0, 1]], ("kept",))
    assert convert(loops, weights=[1, 9], policies=drop).edge_weights is None


@pytest.mark.parametrize("listing", ["once", "both", "directed"])
def test_self_loops_are_seen_in_every_listing(listing):
    assert "is a self-loop" in refusal([(1, 1)], listing=listing)


def test_parallel_edges_are_refused_or_merged():
    twice = [(0, 1), (1, 2), (1, 0)]
    assert refusal(twice) == (
        "graph 'g': edge ('a', 'b') is listed more than once; "
        'list it once, or convert with Policies(parallel_edges="merge")'
    )
    assert convert(twice, policies=MERGE).edges.tolist() == [[0, 1], [1, 2]]


def test_merged_labels_must_agree():
    twice = [(0, 1), (1, 2), (1, 0)]
    assert convert(twice, labels=["x", "y", "x"], policies=MERGE).edge_labels == ("x", "y")
    assert refusal(twice, labels=["x", "y", "z"], policies=MERGE) == (
        "graph 'g': edge ('a', 'b') has parallel edges with different labels; "
        "give them one label, or convert without edge labels"
    )
    assert "different labels" in refusal(twice, labels=[1, 2, True], policies=MERGE)


def test_merged_weights_are_added():
    keep = Policies(parallel_edges="merge", weights="keep")
    graph = convert([(0, 1), (1, 2), (1, 0), (0, 1)], weights=[1, 5, 2, 4], policies=keep)
    assert graph.edge_weights.tolist() == [7, 5]


@settings(deadline=None)
@given(st.permutations([0.1, 0.2, 0.3, 1e16, 1.0]))
def test_merged_weights_do_not_depend_on_the_order_of_edges(weights):
    keep = Policies(parallel_edges="merge", weights="keep")
    graph = convert([(0, 1)] * 5, weights=weights, policies=keep)
    usual = convert([(1, 0)] * 5, weights=[0.1, 0.2, 0.3, 1e16, 1.0], policies=keep)
    assert graph.digest == usual.digest


def test_merging_without_weights_counts_nothing():
    keep = Policies(parallel_edges="merge", weights="keep")
    assert convert([(0, 1), (0, 1)], policies=keep).edge_weights is None


def test_directed_input_is_refused_or_made_undirected():
    assert refusal([(0, 1)], listing="directed") == (
        "graph 'g': it is directed; give an undirected one, "
        'or convert with Policies(directed="undirected")'
    )
    arrows = [(1, 0), (0, 1), (2, 1)]
    graph = convert(arrows, listing="directed", policies=UNDIRECTED)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]


def test_two_directions_are_not_parallel_but_two_arrows_are():
    assert "is listed more than once" in refusal(
        [(0, 1), (0, 1)], listing="directed", policies=UNDIRECTED
    )
    both = Policies(directed="undirected", parallel_edges="merge")
    assert convert([(0, 1), (0, 1)], listing="directed", policies=both).n_edges == 1


def test_the_two_directions_must_agree_on_their_label_and_add_their_weights():
    arrows = {"listing": "directed", "pairs": [(0, 1), (1, 0), (2, 1)]}
    assert refusal(**arrows, labels="xyz", policies=UNDIRECTED) == (
        "graph 'g': edge ('a', 'b') has different labels in its two directions; "
        "give them one label, or convert without edge labels"
    )
    keep = Policies(directed="undirected", weights="keep")
    graph = convert(**arrows, labels="xxz", weights=[1, 2, 4], policies=keep)
    assert graph.edge_labels == ("x", "z")
    assert graph.edge_weights.tolist() == [3, 4]


def test_edges_listed_both_ways_are_undirected():
    both = [(0, 1), (1, 2), (2, 1), (1, 0)]
    keep = Policies(weights="keep")
    graph = convert(both, labels="xyyx", weights=[2, 3, 3, 2], listing="both", policies=keep)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_labels == ("x", "y")
    assert graph.edge_weights.tolist() == [2, 3]


def test_an_edge_listed_one_way_only_makes_the_graph_directed():
    some = {"pairs": [(0, 1), (1, 0), (2, 1)], "listing": "both"}
    assert refusal(**some) == (
        "graph 'g': edge ('c', 'b') is listed in one direction only, so the graph is directed; "
        'make both the same, or convert with Policies(directed="undirected")'
    )
    assert convert(**some, policies=UNDIRECTED).edges.tolist() == [[0, 1], [1, 2]]


def test_directions_with_different_labels_or_weights_make_the_graph_directed():
    both = {"pairs": [(0, 1), (1, 0)], "listing": "both"}
    assert "edge ('a', 'b') has another label in each direction" in refusal(**both, labels="xy")
    assert "different labels in its two directions" in refusal(
        **both, labels="xy", policies=UNDIRECTED
    )
    keep, keep_all = Policies(weights="keep"), Policies(weights="keep", directed="undirected")
    assert "has another weight in each direction" in refusal(**both, weights=[1, 2], policies=keep)
    assert convert(**both, weights=[1, 2], policies=keep_all).edge_weights.tolist() == [3]


def test_parallel_edges_listed_both_ways_are_merged_first():
    four = {"pairs": [(0, 1), (0, 1), (1, 0), (1, 0)], "listing": "both"}
    assert "is listed more than once" in refusal(**four)
    keep = Policies(parallel_edges="merge", weights="keep")
    assert convert(**four, weights=[1, 2, 2, 1], policies=keep).edge_weights.tolist() == [3]


def test_weights_are_refused_ignored_or_kept():
    weighted = {"pairs": [(0, 1), (1, 2)], "weights": [1, 2.5]}
    assert refusal(**weighted) == (
        "graph 'g': edge ('b', 'c') has weight 2.5, and weights are not read unless asked for; "
        'convert with Policies(weights="ignore") or Policies(weights="keep")'
    )
    assert convert(**weighted, policies=Policies(weights="ignore")).edge_weights is None
    kept = convert(**weighted, policies=Policies(weights="keep"))
    assert kept.edge_weights.tolist() == [1, 2.5]


def test_weights_that_are_all_one_say_nothing():
    ones = {"pairs": [(0, 1), (1, 2)], "weights": [1, 1]}
    assert convert(**ones).edge_weights is None
    assert convert(**ones, policies=Policies(weights="keep")).edge_weights.tolist() == [1, 1]


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0])
def test_impossible_weights_are_refused_unless_ignored(weight):
    bad = {"pairs": [(0, 1), (1, 2)], "weights": [1, weight]}
    assert refusal(**bad, policies=Policies(weights="keep")) == (
        f"graph 'g': edge ('b', 'c') has weight {weight:g}; weights must be finite and not "
        'negative, or left out with Policies(weights="ignore")'
    )
    assert f"has weight {weight:g}" in refusal(**bad)
    assert convert(**bad, policies=Policies(weights="ignore")).n_edges == 2


def test_columns_must_be_as_long_as_the_table():
    assert refusal([(0, 1)], labels="xy") == "graph 'g': 2 edge labels for 1 edges"
    assert refusal([(0, 1)], weights=[1, 2]) == "graph 'g': 2 edge weights for 1 listed edges"


def test_bad_labels_are_named_by_the_callers_edge():
    assert "the label [] of edge ('c', 'a') is not hashable" in refusal([(2, 0)], labels=[[]])


@pytest.mark.parametrize("listing", ["once", "both", "directed"])
def test_a_table_without_edges_leaves_isolated_nodes(listing):
    graph = convert([], listing=listing, labels=[], weights=[], policies=UNDIRECTED)
    assert (graph.n_nodes, graph.n_edges) == (3, 0)


@settings(deadline=None)
@given(data=st.data())
def test_every_listing_of_a_graph_gives_the_same_graph(data):
    possible = [(u, v) for u in range(6) for v in range(u)]
    pairs = data.draw(st.lists(st.sampled_from(possible), unique=True))
    labels = {pair: str(sum(pair)) for pair in pairs}
    arrows = data.draw(st.permutations([*pairs, *((v, u) for u, v in pairs)]))
    listed = [labels.get((u, v)) or labels[v, u] for u, v in arrows]
    once = simple_graph(6, EdgeTable(pairs, labels=list(labels.values())))
    both = simple_graph(6, EdgeTable(arrows, labels=listed, listing="both"))
    directed = simple_graph(
        6, EdgeTable(arrows, labels=listed, listing="directed"), policies=UNDIRECTED
    )
    merged = simple_graph(6, EdgeTable(arrows, labels=listed), policies=MERGE)
    assert once.digest == both.digest == directed.digest == merged.digest


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({10, 9, 2}, [2, 9, 10]),
        ({"b", "a"}, ["a", "b"]),
        ({(1, "b"), (1, "a")}, [(1, "a"), (1, "b")]),
        ({"a", 1, None}, [None, 1, "a"]),
    ],
)
def test_nodes_found_on_edges_are_numbered_in_sorted_order(found, expected):
    assert list(number_nodes([], found)) == expected


def test_nodes_listed_keep_their_order_and_come_first():
    assert number_nodes(["z", "b"], ["a", "b", "z"]) == {"z": 0, "b": 1, "a": 2}


def test_a_large_graph_needs_memory_for_its_edges_only():
    n_nodes, n_edges = 200_000, 400_000
    generator = np.random.default_rng(0)
    ring = np.stack((np.arange(n_nodes), np.roll(np.arange(n_nodes), 1)), axis=1)
    chords = np.stack((np.arange(n_nodes), np.roll(np.arange(n_nodes), 7)), axis=1)
    once = np.concatenate((ring, chords))
    both = generator.permutation(np.concatenate((once, once[:, ::-1])))
    tracemalloc.start()
    try:
        graph = simple_graph(n_nodes, EdgeTable(both, weights=np.ones(len(both)), listing="both"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (graph.n_nodes, graph.n_edges) == (n_nodes, n_edges)
    # A dense matrix of single bytes would take 40 GB.
    assert peak < 400 * n_edges, f"{peak / n_edges:.0f} bytes per edge"


def test_messages_name_the_policy_that_helps():
    pattern = re.compile(r'Policies\((\w+)="(\w+)"\)')
    for message in (
        refusal([(1, 1)]),
        refusal([(0, 1), (0, 1)]),
        refusal([(0, 1)], listing="directed"),
        refusal([(0, 1)], weights=[2]),
    ):
        field, value = pattern.search(message).groups()
        assert getattr(Policies(**{field: value}), field) == value
