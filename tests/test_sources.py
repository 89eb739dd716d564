"""Choices of sources: blind to classes and to numbering, each as good as its name."""

import numpy as np
import pytest

from ddgk import DDGK
from ddgk.divergence import Scorer
from ddgk.errors import GraphError, ParameterError
from ddgk.graphs import Graph
from ddgk.relations import MOST_NODES
from ddgk.sources import (
    CHOICES,
    MOST_COMPARED,
    N_PILOTS,
    choose,
    choose_by_size,
    facility_location,
    farthest_first,
)
from specimens import random_graph, shuffled

GRAPHS = [random_graph(seed) for seed in range(24)]
QUICK = {"encoder_epochs": 5, "curve": (1,), "random_state": 3}


def chosen(graphs, how, **changes):
    return DDGK(**(QUICK | {"n_sources": 5} | changes), sources=how).fit(graphs).source_indices_


def points(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def never_asked(*_):
    raise AssertionError("this choice has no use for divergences")


@pytest.mark.parametrize("how", CHOICES)
def test_a_choice_is_ascending_distinct_and_repeats(how):
    found = chosen(GRAPHS, how)
    assert len(found) == 5
    assert (np.diff(found) > 0).all()
    assert found.tolist() == chosen(GRAPHS, how).tolist()


@pytest.mark.parametrize("how", CHOICES)
@pytest.mark.parametrize("start", ["equivariant", "glorot"])
def test_a_choice_does_not_see_numbering(how, start):
    """Not even where the method itself does: "glorot" starts depend on the order of nodes."""
    copies = [shuffled(graph, place) for place, graph in enumerate(GRAPHS)]
    left, right = (chosen(graphs, how, start=start) for graphs in (GRAPHS, copies))
    assert left.tolist() == right.tolist()


@pytest.mark.parametrize("how", CHOICES)
def test_the_seed_changes_a_choice(how):
    seen = {tuple(chosen(GRAPHS, how, random_state=seed)) for seed in range(8)}
    assert len(seen) > 1


@pytest.mark.parametrize("how", CHOICES)
def test_all_graphs_where_there_are_fewer(how):
    assert choose(GRAPHS[:3], how, 5, 0, never_asked) == [0, 1, 2]


def test_unknown_choices_are_refused():
    with pytest.raises(ParameterError, match="one of 'random', 'sizes', 'farthest', 'facility'"):
        choose(GRAPHS, "best", 2, 0, never_asked)


def test_graphs_too_large_for_an_encoder_are_targets_only():
    large = Graph(MOST_NODES + 1, [(0, 1)], name="web")
    model = DDGK(**QUICK, n_sources=2).fit([large, *GRAPHS[:2]])
    assert model.source_indices_.tolist() == [1, 2]
    assert np.isfinite(model.transform([large])).all()
    refused = r"graph 0 \('web'\) has 20001 nodes, but at most 20000 .* smaller graphs as sources"
    for sources in ("random", [0], [large]):
        with pytest.raises(GraphError, match=refused):
            DDGK(**QUICK, sources=sources).fit([large])
    both_ways = DDGK(**QUICK, n_sources=2, symmetric=True).fit(GRAPHS[:2])
    with pytest.raises(GraphError, match="leave baseline and symmetric"):
        both_ways.transform([large])
    with pytest.raises(GraphError, match="closeness is a number for every pair of nodes"):
        DDGK(**QUICK, relation="closeness").fit(GRAPHS[:2]).transform([large])


@pytest.mark.parametrize("how", ["farthest", "facility"])
def test_cheap_divergences_sample_as_the_method_does(how, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "ddgk.sources.Scorer", lambda method, *rest: seen.append(method) or Scorer(method, *rest)
    )
    chosen(GRAPHS, how, sampled_above=7, samples=8, relation=["edge_to_nodes", "closeness"])
    assert {(m.sampled_above, m.samples, m.relation) for m in seen} == {(7, 8, "edge_to_nodes")}


def test_strata_hold_one_source_each():
    graphs = [Graph(n, [(0, 1)]) for n in range(2, 42)]
    for seed in range(5):
        sizes = sorted(graphs[place].n_nodes for place in choose_by_size(graphs, 8, seed))
        assert [(size - 2) // 5 for size in sizes] == list(range(8))


def test_graphs_of_one_size_are_told_apart_by_edges():
    graphs = [Graph(30, [(0, i) for i in range(1, m + 1)]) for m in range(1, 21)]
    edges = sorted(graphs[place].n_edges for place in choose_by_size(graphs, 4, 0))
    assert [(m - 1) // 5 for m in edges] == [0, 1, 2, 3]


def test_farthest_first_reaches_outliers_at_once():
    cloud = points(40)
    cloud[17] = 100.0
    cloud[5] = -100.0
    assert set(farthest_first(cloud, 3)[1:]) == {5, 17}


def test_farthest_first_covers_as_it_claims():
    """Its radius is at most twice the best: within twice that of any other choice (Gonzalez)."""
    cloud = points(60, seed=1)
    spread = cloud / cloud.std(axis=0)
    apart = np.linalg.norm(spread[:, None] - spread, axis=-1)
    radius = apart[farthest_first(cloud, 6)].min(axis=0).max()
    generator = np.random.default_rng(0)
    others = [apart[generator.permutation(60)[:6]].min(axis=0).max() for _ in range(200)]
    assert radius <= 2 * min(others)
    assert radius < np.median(others)


def test_copies_come_last():
    cloud = np.repeat(points(4), 5, axis=0)
    assert {place // 5 for place in farthest_first(cloud, 4)} == {0, 1, 2, 3}
    assert len(set(farthest_first(cloud, 12))) == 12
    assert len(set(facility_location(cloud, 12))) == 12


def test_facility_location_is_the_plain_greedy_choice():
    """What is left out by the bound on gains is never what would have been taken."""
    cloud = points(50, seed=2)
    spread = cloud / cloud.std(axis=0)
    apart = np.linalg.norm(spread[:, None] - spread, axis=-1)
    expected: list[int] = []
    for _ in range(9):
        costs = [apart[[*expected, place]].min(axis=0).sum() for place in range(50)]
        expected.append(int(np.argmin(costs)))
    assert facility_location(cloud, 9) == expected


def test_facility_location_is_nearer_to_all_than_chance():
    cloud = points(80, seed=3)
    spread = cloud / cloud.std(axis=0)
    apart = np.linalg.norm(spread[:, None] - spread, axis=-1)
    cost = apart[facility_location(cloud, 8)].min(axis=0).sum()
    generator = np.random.default_rng(0)
    assert cost < min(apart[generator.permutation(80)[:8]].min(axis=0).sum() for _ in range(200))


def test_the_first_of_many_are_the_choice_of_few():
    cloud = points(30, seed=4)
    for rank in (farthest_first, facility_location):
        assert rank(cloud, 20)[:7] == rank(cloud, 7)


def test_points_that_are_not_finite_are_refused():
    with pytest.raises(ParameterError, match="not finite"):
        farthest_first([[0.0], [np.nan]], 1)


def test_of_too_many_graphs_a_sample_is_compared():
    graphs = [Graph(1, [])] * (MOST_COMPARED + 100)
    asked = []

    def divergences(compared, pilots):
        asked.append((len(compared), len(pilots)))
        return np.arange(len(compared), dtype=float)[:, None]

    found = choose(graphs, "farthest", 3, 0, divergences)
    assert asked == [(MOST_COMPARED, N_PILOTS)]
    assert found[-1] >= MOST_COMPARED, "positions are those among all graphs"
