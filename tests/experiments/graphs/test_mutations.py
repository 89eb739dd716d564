from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import GraphError, ParameterError
from ddgk.graphs import Graph
from ddgk.io import karate_club
from experiments.graphs.mutations import family, mutate
from experiments.graphs.synthetic import FAMILIES


def edge_set(graph: Graph) -> set[tuple[int, int]]:
    return {(u, v) for u, v in graph.edges.tolist()}


def test_a_family_as_in_the_paper():
    members = family(karate_club(), seed=3)
    assert [member.name for member in members] == [f"karate-{i}" for i in range(5)]
    assert members[0] == karate_club()
    assert len({member.digest for member in members}) == 5
    for member in members[1:]:
        changed = edge_set(member) ^ edge_set(members[0])
        assert 0 < len(changed) <= 50
        assert len(changed) % 2 == 0  # 50 steps, and a step taken back changes the parity twice


def test_the_seed_decides_and_the_number_of_mutants_does_not():
    graph = karate_club()
    assert mutate(graph, seed=1) == mutate(graph, seed=1)
    assert mutate(graph, seed=1) != mutate(graph, seed=2)
    assert family(graph, 2, seed=1) == family(graph, 4, seed=1)[:3]
    assert family(graph, seed=1)[1:] != family(graph, seed=2)[1:]


def test_runs_start_from_the_seed_graph_or_go_on():
    graph = karate_club()
    apart, chained = (family(graph, 12, seed=0, chained=way) for way in (False, True))
    assert apart[1] == chained[1]
    distance = [len(edge_set(member) ^ edge_set(graph)) for member in apart]
    assert max(distance) <= 50
    assert len(edge_set(chained[-1]) ^ edge_set(graph)) > 80


def test_only_additions_and_only_deletions():
    graph = karate_club()
    assert edge_set(mutate(graph, 20, p_add=1)) > edge_set(graph)
    assert mutate(graph, 20, p_add=1).n_edges == 98
    assert edge_set(mutate(graph, 20, p_add=0)) < edge_set(graph)
    assert mutate(graph, 20, p_add=0).n_edges == 58
    assert mutate(graph, 0) == graph


def test_additions_follow_the_product_of_degrees():
    graph = Graph(5, [(0, 1), (0, 2), (0, 3), (1, 2)])  # degrees 3, 2, 2, 1, 0
    n = 1500
    found = Counter(
        (edge_set(mutate(graph, 1, p_add=1, seed=seed)) - edge_set(graph)).pop()
        for seed in range(n)
    )
    # Of the pairs not joined only (1, 3) and (2, 3) have a weight, 2 * 1 each.
    assert set(found) == {(1, 3), (2, 3)}
    assert abs(found[1, 3] / n - 0.5) < 0.06

    star = Graph(6, [(0, 1), (0, 2), (0, 3), (4, 5)])  # weights 3 for (0, 4), (0, 5), 1 for others
    found = Counter(
        (edge_set(mutate(star, 1, p_add=1, seed=seed)) - edge_set(star)).pop() for seed in range(n)
    )
    weights = {(0, 4): 3, (0, 5): 3} | dict.fromkeys(
        [(1, 2), (1, 3), (2, 3), (1, 4), (1, 5), (2, 4), (2, 5), (3, 4), (3, 5)], 1
    )
    assert set(found) == set(weights)
    for pair, weight in weights.items():
        expected = weight / sum(weights.values())
        assert abs(found[pair] / n - expected) < 5 * np.sqrt(expected / n)


def test_the_degrees_that_attract_are_those_of_the_given_graph():
    """A node without edges there never gets one, not even along a chain that gives others more."""
    graph = Graph(4, [(0, 1), (0, 2)])
    for seed in range(20):
        for member in family(graph, 3, 30, seed=seed, chained=True):
            assert 3 not in member.edges
    # In the given graph 1 is as attractive as 2, whatever happens to them on the way.
    found = Counter(
        pair for seed in range(200) for pair in edge_set(family(graph, 1, 31, seed=seed)[1])
    )
    assert abs(found[0, 1] - found[0, 2]) < 60


def test_deletions_are_uniform():
    ring = FAMILIES["ring"](5)
    n = 1000
    found = Counter(
        (edge_set(ring) - edge_set(mutate(ring, 1, p_add=0, seed=seed))).pop() for seed in range(n)
    )
    assert len(found) == 5
    assert max(found.values()) / n < 0.25


def test_a_step_that_is_impossible_does_the_other_thing():
    complete = FAMILIES["complete"](4)
    assert mutate(complete, 1, p_add=1).n_edges == 5
    assert mutate(complete, 2, p_add=1).n_edges == 6
    single = Graph(2, [(0, 1)])
    assert mutate(single, 1, p_add=0).n_edges == 0
    assert mutate(single, 2, p_add=0).n_edges == 1
    with pytest.raises(GraphError, match=r"bare.* cannot be mutated"):
        mutate(Graph(3, [], name="bare"), 1)


def test_labels_stay_where_they_can():
    graph = Graph(
        4,
        [(0, 1), (1, 2), (2, 3)],
        node_labels="abca",
        edge_labels=["x", "y", "z"],
        edge_weights=[0.1, 0.2, 0.3],
        node_names="pqrs",
        node_attributes=np.eye(4),
    )
    mutant = mutate(graph, 5, seed=2, edge_label="new", edge_weight=1.0)
    assert mutant.node_labels == graph.node_labels
    assert mutant.node_names == graph.node_names
    assert np.array_equal(mutant.node_attributes, graph.node_attributes)
    old = dict(zip(map(tuple, graph.edges.tolist()), graph.edge_labels, strict=True))
    rows = zip(mutant.edges.tolist(), mutant.edge_labels, mutant.edge_weights, strict=True)
    for pair, label, weight in rows:
        assert label in ("new", old.get(tuple(pair)))
        assert (label == "new") == (weight == 1.0)


def test_new_edges_need_what_the_others_have():
    labelled = Graph(3, [(0, 1)], edge_labels=["x"], name="g")
    with pytest.raises(ParameterError, match=r"'g'.*: its edges have edge_labels"):
        mutate(labelled)
    with pytest.raises(ParameterError, match="edge_weights"):
        family(Graph(3, [(0, 1)], edge_weights=[1.0]))
    with pytest.raises(ParameterError, match="leave out edge_label="):
        mutate(karate_club(), edge_label="x")


@pytest.mark.parametrize("options", [{"steps": -1}, {"p_add": 1.5}, {"p_add": -1}, {"seed": -1}])
def test_parameters_out_of_range(options: dict[str, float]):
    with pytest.raises(ParameterError):
        mutate(karate_club(), **options)


@settings(max_examples=50, deadline=None)
@given(n=st.integers(2, 12), seed=st.integers(0, 1000), p_add=st.floats(0, 1))
def test_any_graph_with_an_edge_can_be_mutated(n: int, seed: int, p_add: float):
    graph = FAMILIES["random_tree"](n, seed)
    mutant = mutate(graph, 40, p_add=p_add, seed=seed)
    assert mutant.n_nodes == n
    assert (mutant.n_edges - graph.n_edges) % 2 == 0
