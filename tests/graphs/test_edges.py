from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import GraphError
from ddgk.graphs import Graph, Policies, as_graph
from ddgk.graphs.edges import build_graph, number_ends

MERGE = Policies(parallel_edges="merge")
UNDIRECTED = Policies(directed="undirected")
NAMES = ["a", "b", "c"]


def convert(pairs, *, policies=None, n_nodes=3, **columns):
    given = {key if key == "listing" else f"edge_{key}": value for key, value in columns.items()}
    names = NAMES[:n_nodes]
    return build_graph(n_nodes, pairs, **given, policies=policies, name="g", node_names=names)


def refusal(*arguments, **columns):
    with pytest.raises(GraphError) as caught:
        convert(*arguments, **columns)
    return str(caught.value)


def test_a_clean_table_passes_through():
    graph = convert([(2, 1), (0, 1)], labels=["x", "y"], attributes=[[1.0], [2.0]])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_labels == ("y", "x")
    assert graph.edge_attributes.tolist() == [[2], [1]]
    assert (graph.node_names, graph.name) == (("a", "b", "c"), "g")


@pytest.mark.parametrize("listing", ["once", "both", "directed"])
def test_self_loops_are_kept_dropped_or_refused(listing):
    loops = {"pairs": [(0, 1), (1, 0), (1, 1)][listing == "once" :], "listing": listing}
    kept = convert(**loops)
    assert [1, 1] in kept.edges.tolist()
    dropped = convert(**loops, policies=Policies(self_loops="drop"))
    assert [1, 1] not in dropped.edges.tolist()
    assert refusal(**loops, policies=Policies(self_loops="error")) == (
        "graph 'g': edge ('b', 'b') is a self-loop; remove it, "
        'or use Policies(self_loops="keep") or Policies(self_loops="drop")'
    )


def test_parallel_edges_are_refused_or_merged():
    twice = [(0, 1), (1, 2), (1, 0)]
    assert refusal(twice) == (
        "graph 'g': edge ('a', 'b') is listed more than once; "
        'list it once, or use Policies(parallel_edges="merge")'
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


def test_merged_weights_are_added_and_attributes_averaged():
    graph = convert(
        [(0, 1), (1, 2), (1, 0), (0, 1)],
        weights=[1, 5, 2, 4],
        attributes=[[1, 0], [7, 7], [2, 0], [6, 3]],
        policies=MERGE,
    )
    assert graph.edge_weights.tolist() == [7, 5]
    assert graph.edge_attributes.tolist() == [[3, 1], [7, 7]]


@settings(deadline=None)
@given(st.permutations([0.1, 0.2, 0.3, 1e16, 1.0]))
def test_merged_numbers_do_not_depend_on_the_order_of_edges(numbers):
    def merged(pairs, values):
        attributes = [[value] for value in values]
        return convert(pairs, weights=values, attributes=attributes, policies=MERGE)

    usual = merged([(1, 0)] * 5, [0.1, 0.2, 0.3, 1e16, 1.0])
    assert merged([(0, 1)] * 5, numbers).digest == usual.digest


def test_directed_input_is_kept_joined_or_refused():
    arrows = {"pairs": [(1, 0), (0, 1), (2, 1)], "listing": "directed"}
    kept = convert(**arrows)
    assert kept.directed
    assert kept.edges.tolist() == [[0, 1], [1, 0], [2, 1]]
    joined = convert(**arrows, policies=UNDIRECTED)
    assert not joined.directed
    assert joined.edges.tolist() == [[0, 1], [1, 2]]
    assert refusal(**arrows, policies=Policies(directed="error")) == (
        "graph 'g': it is directed; give an undirected graph, "
        'or use Policies(directed="keep") or Policies(directed="undirected")'
    )


def test_two_directions_are_not_parallel_but_two_arrows_are():
    assert "is listed more than once" in refusal([(0, 1), (0, 1)], listing="directed")
    assert convert([(0, 1), (0, 1)], listing="directed", policies=MERGE).n_edges == 1


def test_joined_directions_agree_on_labels_add_weights_and_average_attributes():
    arrows = {"listing": "directed", "pairs": [(0, 1), (1, 0), (2, 1)]}
    assert refusal(**arrows, labels="xyz", policies=UNDIRECTED) == (
        "graph 'g': edge ('a', 'b') has different labels in its two directions; "
        "give them one label, or convert without edge labels"
    )
    columns = {"labels": "xxz", "weights": [1, 2, 4], "attributes": [[1], [2], [5]]}
    graph = convert(**arrows, **columns, policies=UNDIRECTED)
    assert graph.edge_labels == ("x", "z")
    assert graph.edge_weights.tolist() == [3, 4]
    assert graph.edge_attributes.tolist() == [[1.5], [5]]


def test_edges_listed_both_ways_are_undirected():
    both = [(0, 1), (1, 2), (2, 1), (1, 0)]
    columns = {"labels": "xyyx", "weights": [2, 3, 3, 2], "attributes": [[1], [np.nan]] * 2}
    columns["attributes"] = [[1], [np.nan], [np.nan], [1]]
    graph = convert(both, **columns, listing="both", policies=Policies(missing="mask"))
    assert not graph.directed
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_labels == ("x", "y")
    assert graph.edge_weights.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("pairs", "columns", "found"),
    [
        ([(0, 1), (1, 0), (2, 1)], {}, "edge ('c', 'b') is listed in one direction only"),
        ([(0, 1), (1, 0)], {"labels": "xy"}, "edge ('a', 'b') has another label in each"),
        ([(0, 1), (1, 0)], {"weights": [1, 2]}, "edge ('a', 'b') has another weight in each"),
        ([(0, 1), (1, 0)], {"attributes": [[1], [2]]}, "('a', 'b') has another attribute in each"),
    ],
)
def test_any_asymmetry_makes_a_graph_directed(pairs, columns, found):
    graph = convert(pairs, **columns, listing="both")
    assert graph.directed
    assert graph.n_edges == len(pairs)
    said = refusal(pairs, **columns, listing="both", policies=Policies(directed="error"))
    assert found in said
    assert "so it is directed" in said


def test_parallel_edges_listed_both_ways_are_merged_first():
    four = {"pairs": [(0, 1), (0, 1), (1, 0), (1, 0)], "listing": "both"}
    assert "is listed more than once" in refusal(**four)
    graph = convert(**four, weights=[1, 2, 2, 1], policies=MERGE)
    assert (graph.directed, graph.edge_weights.tolist()) == (False, [3])


def test_weights_are_kept_or_ignored():
    weighted = {"pairs": [(0, 1), (1, 2)], "weights": [1, 2.5]}
    for rule in ("scale", "log", "rank"):
        assert convert(**weighted, policies=Policies(weights=rule)).edge_weights is not None
    assert convert(**weighted, policies=Policies(weights="ignore")).edge_weights is None


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_impossible_weights_are_refused_unless_ignored(weight):
    bad = {"pairs": [(0, 1), (1, 2)], "weights": [1, weight]}
    assert refusal(**bad) == (
        f"graph 'g': edge ('b', 'c') has weight {weight:g}, but weights are finite numbers; "
        'correct it, or use Policies(weights="ignore")'
    )
    assert convert(**bad, policies=Policies(weights="ignore")).n_edges == 2


def test_negative_weights_follow_the_policy():
    signed = {"pairs": [(0, 1), (1, 2), (0, 2)], "weights": [-0.5, 0.25, 0.75]}
    assert refusal(**signed) == (
        "graph 'g': edge ('a', 'b') has weight -0.5, but a weight says how present an edge is; "
        'use Policies(negative_weights="absolute") or Policies(negative_weights="sign") '
        'or Policies(negative_weights="threshold")'
    )
    absolute = convert(**signed, policies=Policies(negative_weights="absolute"))
    assert absolute.edge_weights.tolist() == [0.5, 0.75, 0.25]
    by_sign = convert(**signed, policies=Policies(negative_weights="sign"))
    assert by_sign.edge_labels == ("-", "+", "+")
    labelled = convert(**signed, labels="xyz", policies=Policies(negative_weights="sign"))
    assert labelled.edge_labels == (("x", "-"), ("z", "+"), ("y", "+"))
    above = convert(**signed, policies=Policies(negative_weights="threshold", threshold=0.25))
    assert (above.edges.tolist(), above.edge_weights.tolist()) == ([[0, 2]], [0.75])


@pytest.mark.parametrize("chosen", ["absolute", "sign", "threshold"])
def test_applying_policies_twice_changes_nothing_more(chosen):
    policies = Policies(negative_weights=chosen, directed="undirected", self_loops="drop")
    graph = Graph(
        3, [(0, 1), (1, 2), (1, 1)], directed=True, edge_weights=[-1, 2, 3], edge_labels="xyz"
    )
    once = as_graph(graph, policies=policies)
    assert as_graph(once, policies=policies) == once
    assert once != graph


def test_columns_must_be_as_long_as_the_table():
    assert refusal([(0, 1)], labels="xy") == "graph 'g': 2 edge labels for 1 edges"
    expected = "graph 'g': edge weights must have shape (1,), not (2,)"
    assert refusal([(0, 1)], weights=[1, 2]) == expected


def test_bad_labels_are_named_by_the_callers_edge():
    assert "the label [] of edge ('c', 'a') is not hashable" in refusal([(2, 0)], labels=[[]])


@pytest.mark.parametrize("listing", ["once", "both"])
def test_a_table_without_edges_leaves_isolated_nodes(listing):
    graph = convert([], listing=listing, labels=[], weights=[])
    assert (graph.n_nodes, graph.n_edges, graph.directed) == (3, 0, False)


def test_graphs_without_nodes_follow_the_policy():
    with pytest.raises(GraphError) as caught:
        build_graph(0, [], name="g")
    assert (caught.value.policy, caught.value.choices) == ("empty", ("skip", "keep"))
    assert build_graph(0, [], policies=Policies(empty="keep")).n_nodes == 0


@settings(deadline=None)
@given(data=st.data())
def test_every_listing_of_a_graph_gives_the_same_graph(data):
    possible = [(u, v) for u in range(6) for v in range(u)]
    pairs = data.draw(st.lists(st.sampled_from(possible), unique=True))
    labels = {pair: str(sum(pair)) for pair in pairs}
    arrows = data.draw(st.permutations([*pairs, *((v, u) for u, v in pairs)]))
    listed = [labels.get((u, v)) or labels[v, u] for u, v in arrows]
    once = build_graph(6, pairs, edge_labels=list(labels.values()))
    both = build_graph(6, arrows, edge_labels=listed, listing="both")
    directed = build_graph(6, arrows, edge_labels=listed, listing="directed", policies=UNDIRECTED)
    merged = build_graph(6, arrows, edge_labels=listed, policies=MERGE)
    assert once.digest == both.digest == directed.digest == merged.digest


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([10, 9, 2, 9], [2, 9, 10]),
        (["b", "a"], ["a", "b"]),
        ([(1, "b"), (1, "a")], [(1, "a"), (1, "b")]),
        (["a", 1, None, 1], [None, 1, "a"]),
    ],
)
def test_nodes_found_on_edges_are_numbered_in_sorted_order(found, expected):
    names, pairs = number_ends(found)
    assert names == expected
    assert [names[place] for place in pairs.ravel()] == found


def test_nodes_listed_keep_their_order_and_come_first():
    assert number_ends(["a", "b"], ["z", "b"])[0] == ["z", "b", "a"]


def test_a_large_graph_needs_memory_for_its_edges_only():
    n_nodes, n_edges = 200_000, 400_000
    generator = np.random.default_rng(0)
    ring = np.stack((np.arange(n_nodes), np.roll(np.arange(n_nodes), 1)), axis=1)
    chords = np.stack((np.arange(n_nodes), np.roll(np.arange(n_nodes), 7)), axis=1)
    once = np.concatenate((ring, chords))
    both = generator.permutation(np.concatenate((once, once[:, ::-1])))
    tracemalloc.start()
    try:
        graph = build_graph(n_nodes, both, edge_weights=np.ones(len(both)), listing="both")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (graph.n_nodes, graph.n_edges) == (n_nodes, n_edges)
    # A dense matrix of single bytes would take 40 GB.
    assert peak < 400 * n_edges, f"{peak / n_edges:.0f} bytes per edge"


@pytest.mark.parametrize(
    ("thing", "policies"),
    [
        ({"pairs": [(1, 1)]}, {"self_loops": "error"}),
        ({"pairs": [(0, 1), (0, 1)]}, {}),
        ({"pairs": [(0, 1)], "listing": "directed"}, {"directed": "error"}),
        ({"pairs": [(0, 1)], "weights": [np.inf]}, {}),
        ({"pairs": [(0, 1)], "weights": [-1]}, {}),
        ({"pairs": [(0, 1)], "attributes": [[np.nan]]}, {}),
    ],
)
def test_the_policy_that_a_message_names_helps(thing, policies):
    with pytest.raises(GraphError) as caught:
        convert(**thing, policies=Policies(**policies))
    error = caught.value
    assert error.choices
    for value in error.choices:
        assert f'Policies({error.policy}="{value}")' in str(error)
        changed = Policies(**{**policies, error.policy: value})
        assert convert(**thing, policies=changed).n_nodes == 3
