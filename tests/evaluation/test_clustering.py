import json

import numpy as np
import pytest

from ddgk.datasets import FAMILIES, family
from ddgk.errors import RunError
from ddgk.evaluation import clustering
from ddgk.evaluation.clustering import Clustering, Trial, cluster
from specimens import random_graph, shuffled

KINDS = {"ring": 30, "star": 30, "complete": 12}


@pytest.fixture
def small():
    """Three families of three, of sizes that say little."""
    graphs, families = [], []
    for kind, size in KINDS.items():
        plain = [FAMILIES[kind](size + extra) for extra in (0, 1, 2)]
        graphs += [clustering.bare(graph, f"{kind}-{i}") for i, graph in enumerate(plain)]
        families += [kind] * 3
    return graphs, families


def found(clusters, families="xxyy"):
    return Clustering(list("abcd"), list(families), np.zeros((4, 4)), np.array(clusters), 0.0)


def test_which_families_are_recovered():
    assert found([1, 1, 1, 2]).recovered("x") == (2, 1)
    assert found([1, 1, 1, 2]).recovered("y")[0] == 1


@pytest.mark.parametrize(
    ("clusters", "perfect"),
    [([1, 1, 2, 2], ["x", "y"]), ([1, 1, 1, 2], []), ([1, 1, 2, 3], ["x"]), ([1, 1, 1, 1], [])],
)
def test_a_family_is_perfect_when_it_is_a_cluster(clusters, perfect):
    assert found(clusters).perfect == perfect


def test_trees_are_cut_into_as_many_clusters_as_families():
    points = np.array([0.0, 0.1, 5.0, 5.2, 9.0, 9.1])
    apart = abs(points[:, None] - points)
    right = cluster(apart, "abcdef", "xxyyzz")
    assert right.agreement == 1.0
    assert right.perfect == ["x", "y", "z"]
    wrong = cluster(apart, "abcdef", "xyxyzz")
    assert wrong.agreement < 0.5
    assert wrong.perfect == ["z"]


def test_structure_finds_what_counting_does_not(small):
    graphs, families = small
    tried = clustering.compare(graphs, families, 0)
    assert set(tried) == set(clustering.WAYS)
    assert tried["ddgk"].agreement == 1.0
    assert tried["counts"].agreement < 1.0


def test_rows_do_not_depend_on_numbering_nor_on_threads(small):
    graphs, _ = small
    graphs = [*graphs, *(random_graph(seed) for seed in range(3))]
    copies = [shuffled(graph, seed) for seed, graph in enumerate(graphs)]
    once = clustering.describe_by_nodes(graphs, 0)
    np.testing.assert_allclose(clustering.describe_by_nodes(copies, 0), once, rtol=1e-6)
    np.testing.assert_array_equal(clustering.describe_by_nodes(graphs, 0, n_jobs=2), once)


def test_labels_are_dropped():
    labelled = random_graph(3, labels=True)
    plain = clustering.bare(labelled, "plain")
    assert plain.node_labels is None
    assert plain.edge_labels is None
    assert plain.edges.tolist() == labelled.edges.tolist()


def test_quantiles_of_a_larger_copy_are_the_same():
    values = np.random.default_rng(0).normal(size=(400, 2))
    np.testing.assert_allclose(
        clustering.quantiles(np.repeat(values, 3, axis=0)), clustering.quantiles(values), atol=0.02
    )


@pytest.fixture
def tiny(monkeypatch, small):
    monkeypatch.setattr(clustering, "make_universe", lambda _: small)
    return clustering.measure(0)


def test_what_is_kept_comes_back(tiny):
    again = clustering.restored(json.loads(json.dumps(tiny)))
    for way, one in again.items():
        assert one.distances.tolist() == tiny[way]["distances"]
        assert one.agreement == tiny[way]["agreement"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: None,
        lambda _: {},
        lambda kept: {**kept, "ddgk": 5},
        lambda kept: {**kept, "ddgk": {**kept["ddgk"], "distances": [[0.0]]}},
        lambda kept: {**kept, "ddgk": {**kept["ddgk"], "clusters": ["a"] * 9}},
        lambda kept: {**kept, "ddgk": {**kept["ddgk"], "agreement": 7}},
    ],
)
def test_damaged_parts_are_refused(tiny, damage):
    with pytest.raises(RunError, match="damaged"):
        clustering.restored(damage(tiny))


def test_tables_take_the_median_over_seeds():
    trials = [
        Trial(seed, way, ("karate", "words")[: seed + 1], 0.5 + seed / 10)
        for way in clustering.WAYS
        for seed in (0, 1)
    ]
    first, second, third = clustering.tables(trials)
    assert first.rows[0][1:] == ("1.5", "1 to 2", "0.550", "0.500 to 0.600")
    assert dict(zip(second.columns, second.rows[0], strict=True))["words"] == "1 of 2"
    assert third.rows[1] == ("1", "2", "0.600", "karate, words")


def test_the_universe_of_the_paper(data_folder, monkeypatch):
    monkeypatch.setenv("DDGK_DATA", str(data_folder))
    graphs, families = clustering.make_universe(3)
    assert [families.count(name) for name in dict.fromkeys(families)] == [5] * 6
    assert {graph.n_nodes for graph in graphs[:5]} == {297}
    assert all(graph.node_labels is None and graph.edge_labels is None for graph in graphs)
    other = clustering.make_universe(4)[0]
    assert [g.name for g in other[15:]] != [g.name for g in graphs[15:]]
    assert other[1].edges.tolist() != graphs[1].edges.tolist()
    assert family(clustering.bare(graphs[5], "karate"), 1, 50, seed=3)[1].edges.tolist() == (
        graphs[6].edges.tolist()
    )
