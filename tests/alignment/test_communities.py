from __future__ import annotations

import json

import networkx
import numpy as np
import pytest

from ddgk import Graph, align
from ddgk.alignment import Alignment, find_communities
from ddgk.alignment.communities import shrink
from ddgk.errors import ParameterError

RINGS = np.arange(10) // 5


def barbell():
    """Two rings of five nodes, joined by an edge."""
    edges = [(i, (i + 1) % 5) for i in range(5)] + [(5 + i, 5 + (i + 1) % 5) for i in range(5)]
    return Graph(10, [*edges, (0, 5)])


def karate_club():
    return Graph.from_networkx(networkx.karate_club_graph(), edge_weights=None)


@pytest.fixture
def found():
    """Six nodes in two triangles joined by an edge, and attention made by hand."""
    edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
    graph = Graph(6, edges, node_names="abcdef")
    attention = np.zeros((6, 6))
    attention[:3, 3:] = 0.3
    attention[:3, 0] = 0.1
    attention[3:, :3] = 1 / 3
    pairs = np.stack([np.arange(6), [3, 4, 5, 0, 1, 2]], axis=1)
    return Alignment(graph, graph, pairs, attention, attention[pairs[:, 0], pairs[:, 1]])


def test_attention_is_summed_over_source_groups_and_averaged_over_target_groups(found):
    groups = found.coarsen("xxxyyy", [{"a", "b", "c"}, {"d", "e", "f"}])
    np.testing.assert_allclose(groups.attention, [[0.1, 0.9], [1.0, 0.0]])
    assert groups.matching == {"x": 1, "y": 0}
    assert groups.confidence == {"x": pytest.approx(0.9), "y": pytest.approx(1.0)}
    assert groups.share_within == pytest.approx(0.95)
    assert groups.target_groups.as_json(found.target)[1] == {"name": "y", "nodes": list("def")}


def test_all_ways_to_give_groups_agree(found):
    given = [
        "xxxyyy",
        np.array([0, 0, 0, 1, 1, 1]),
        {"f": 1, "e": 1, "d": 1, "a": 0, "b": 0, "c": 0},
        [["a", "b", "c"], ["d", "e", "f"]],
        (frozenset("abc"), frozenset("def")),
        None,  # Louvain finds the triangles
    ]
    for groups in given:
        coarse = found.coarsen(groups)
        assert coarse.target_groups.codes.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])


def test_rows_sum_to_one_whatever_the_groups(found):
    rng = np.random.default_rng(0)
    for _ in range(5):
        groups = found.coarsen(rng.integers(0, 3, 6), rng.integers(0, 4, 6))
        np.testing.assert_allclose(groups.attention.sum(axis=1), 1)
        pairs = groups.pairs
        assert len(set(pairs[:, 0].tolist())) == len(set(pairs[:, 1].tolist())) == len(pairs)
        assert all(0 <= value <= 1 for value in groups.confidence.values())


def test_a_group_that_attends_nothing_left_has_no_partner(found):
    groups = found.coarsen("xxxyyz", "uuuvvv")
    assert set(groups.matching) == {"x", "y"}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("xx", "target_groups has 2 labels; the graph has 6 nodes"),
        ({"a": 0}, "target_groups has no node 'b'"),
        ({**dict.fromkeys("abcdef", 0), "g": 1}, "target_groups names node 'g'; it needs all 6"),
        ([["a", "b"], ["c"]], "target_groups has no node 'd'"),
        ([list("abc"), list("cdef")], "node 'c' is in more than one group"),
        ([list("abcdefg")], "names node 'g'"),
    ],
)
def test_groups_that_are_none_are_refused(found, groups, message):
    with pytest.raises(ParameterError, match=message):
        found.coarsen(groups)


def test_communities_do_not_depend_on_the_numbering():
    club = karate_club()
    first = find_communities(club)
    order = np.random.default_rng(1).permutation(club.n_nodes)
    again = find_communities(club.permuted(order))
    np.testing.assert_array_equal(again.sizes, first.sizes)
    alike = first.codes[order] == again.codes
    assert alike.mean() > 0.9  # nodes that are images of each other may be exchanged
    assert (np.diff(first.sizes) <= 0).all()


def test_communities_of_a_graph_without_edges():
    assert find_communities(Graph(3, [])).sizes.tolist() == [1, 1, 1]


def test_a_shrunk_graph_counts_what_runs_between():
    graph = Graph(5, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)])
    groups = find_communities(graph)
    by_hand = type(groups)(np.array([0, 0, 0, 1, 1]), ("x", "y"))
    small = shrink(graph, by_hand)
    assert small.edges.tolist() == [[0, 1]]
    assert small.edge_weights.tolist() == [pytest.approx(1 / 6)]
    assert small.node_names == ("x", "y")
    assert shrink(Graph(2, [(0, 1)]), type(groups)(np.array([0, 0]), ("x",))).n_edges == 0


def test_json_holds_the_groups(found):
    written = json.loads(json.dumps(found.coarsen("xxxyyy", "uuuvvv").as_json()))
    assert written["target_groups"][0] == {"name": "x", "nodes": ["a", "b", "c"]}
    assert written["matching"][0]["source"] == "v"
    assert np.shape(written["attention"]) == (2, 2)


def test_rings_of_the_barbell_correspond():
    graph = barbell()
    found = align(graph, graph)
    groups = found.coarsen(RINGS, RINGS)
    assert sorted(groups.matching.values()) == [0, 1]
    assert groups.share_within == pytest.approx(1, abs=0.01)


def test_planted_groups_correspond():
    graph = Graph.from_networkx(networkx.random_partition_graph([8, 7, 6], 0.7, 0.05, seed=2))
    planted = np.repeat([0, 1, 2], [8, 7, 6])
    order = np.random.default_rng(0).permutation(21)
    copy = graph.permuted(order)
    found = align(graph, copy)
    assert found.is_isomorphism
    groups = found.coarsen(planted, planted[order])
    assert groups.matching == {0: 0, 1: 1, 2: 2}
    kept = found.reordered(np.argsort(order))
    assert kept.is_isomorphism
    assert kept.coarsen(planted, planted).matching == {0: 0, 1: 1, 2: 2}


def test_groups_of_graphs_of_different_size():
    large = Graph.from_networkx(networkx.random_partition_graph([8, 7], 0.8, 0.05, seed=1))
    small = Graph(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])
    for target, source in ((small, large), (large, small)):
        found = align(target, source)
        assert 3 <= len(found.pairs) <= 6
        np.testing.assert_allclose(found.coarsen().attention.sum(axis=1), 1, atol=1e-6)


def test_groups_that_cannot_be_meant():
    graph = barbell()
    with pytest.raises(ParameterError, match="source_groups has 3 labels"):
        align(graph, graph).coarsen(RINGS, [0, 1, 1])
