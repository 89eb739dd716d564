"""Every option does something, and its explanation adds up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ddgk import DDGK
from ddgk.errors import DDGKError, NonFiniteLossError, ParameterError
from ddgk.graphs import Graph
from ddgk.relations import RELATIONS
from specimens import random_graph

GRAPHS = [random_graph(seed, labels=True, attributes=True) for seed in (1, 5, 8, 9)]
QUICK = {"n_sources": 2, "encoder_epochs": 40, "curve": (1, 5, 12), "random_state": 0}

OPTIONS = {
    "relation": ["closeness", "edge_to_nodes", "neighborhood", ("node_to_edges", "edge_to_nodes")],
    "dimension": [2],
    "width": [5],
    "depth": [1],
    "encoder_epochs": [10],
    "encoder_rate": [0.05],
    "encoder_drop": [0.2],
    "encoder_decay": [0.1],
    "encoder_patience": [5],
    "scores": ["tanh"],
    "reverse": ["free"],
    "start": ["glorot"],
    "rate": [0.01],
    "window": [3],
    "regions": [0, 2],
    "images": [0, 1],
    "attention_size": [3],
    "sampled_above": [3],
    "coefficients": [0.0, 2.0, {"node_labels": 1.0}],
    "smoothing": [0.0, 0.1],
    "surroundings": ["two_hop"],
    "reduction": ["sum", "mean"],
    "output": ["total", "edges"],
    "baseline": ["target", "none"],
    "symmetric": [True],
    "precision": ["float64"],
    "families": ["none", ("node_labels",)],
    "preset": ["paper", "authors"],
}
CASES = [(name, value) for name, values in OPTIONS.items() for value in values]


@pytest.fixture(scope="module")
def plain():
    return DDGK(**QUICK).fit_transform(GRAPHS)


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{n}={v}" for n, v in CASES])
def test_every_option_changes_the_result_and_adds_up(name, value, plain):
    model = DDGK(**{**QUICK, name: value}).fit(GRAPHS)
    found = model.transform(GRAPHS)
    assert np.isfinite(found).all()
    assert found.shape != plain.shape or not np.array_equal(found, plain)
    assert_explanations_add_up(model, found)


def test_channels_of_several_relations_are_those_of_each_alone():
    names = ["neighborhood", "node_to_edges", "edge_to_nodes"]
    together = DDGK(relation=names, **QUICK).fit(GRAPHS)
    grid = together.transform(GRAPHS).reshape(len(GRAPHS), 2, -1)
    for name, part in zip(names, np.split(grid, len(names), axis=2), strict=True):
        alone = DDGK(relation=name, **QUICK).fit(GRAPHS)
        np.testing.assert_array_equal(alone.transform(GRAPHS), part.reshape(len(GRAPHS), -1))
        assert all(f"{name}.{channel}" in together.channels_ for channel in alone.channels_)


def test_every_parameter_of_the_method_is_covered():
    from dataclasses import fields

    from ddgk.method import Method

    assert {f.name for f in fields(Method)} - set(OPTIONS) == {"curve", "samples"}


def test_samples_matter_where_entries_are_sampled():
    graphs = [random_graph(seed) for seed in range(40, 44)]
    one, few, all_of_them, exact = (
        DDGK(**QUICK, **settings).fit_transform(graphs)
        for settings in (
            {"sampled_above": 0, "samples": 1},
            {"sampled_above": 0, "samples": 8},
            {"sampled_above": 0, "samples": 1000},
            {"samples": 1},
        )
    )
    assert max(graph.n_nodes for graph in graphs) > 9
    assert np.array_equal(one, few)  # shifts come in runs of eight
    assert not np.array_equal(few, all_of_them)
    np.testing.assert_allclose(all_of_them, exact, rtol=1e-3, atol=1e-3)


COMBINATIONS = list(
    itertools.product(
        ["node_to_edges", "closeness", "edge_to_nodes", "neighborhood"],
        ["linear", "tanh"],
        ["tied", "free"],
        ["equivariant", "glorot"],
        ["mean", "sum", "both"],
    )
)


@pytest.mark.parametrize(("relation", "scores", "reverse", "start", "reduction"), COMBINATIONS)
def test_explanations_add_up_for_every_combination(relation, scores, reverse, start, reduction):
    model = DDGK(
        **{**QUICK, "encoder_epochs": 10, "curve": (1, 4)},
        relation=relation,
        scores=scores,
        reverse=reverse,
        start=start,
        reduction=reduction,
    ).fit(GRAPHS[:2])
    assert_explanations_add_up(model, model.transform(GRAPHS[:2]))


def assert_explanations_add_up(model, found):
    grid, regions = np.split(model.by_channel(found), [len(model.steps_)], axis=-1)
    one_way = model.method_.baseline != "target" and not model.method_.symmetric
    if model.method_.split_regions and one_way:
        scale = max(1.0, float(np.abs(grid).max()))
        assert np.abs(regions.sum(-1) - grid[..., -1]).max() < 1e-5 * scale
    for target, source in ((1, 0), (0, 1)):
        why = model.explain(GRAPHS[target], source)
        own = grid[target, source, : len(why.channels)]
        parts = [why] if why.mirror is None else [why, why.mirror]
        total = sum(part.nodes.sum(-1) - part.baseline for part in parts)
        scale = max(1.0, float(np.abs(own).max()))
        assert np.abs(total - own).max() < 1e-6 * scale
        np.testing.assert_allclose(why.divergence, total)
        n_nodes = GRAPHS[target].n_nodes
        sampled = model.method_.sampled_above < n_nodes
        assert (why.entries is None) == sampled
        for channel, place in (("edges", 0), ("non_edges", 1)):
            if channel in why.channels and not sampled:
                assert why.entries.shape[2] == n_nodes
                share = why.nodes[why.channels.index(channel), -1].sum()
                assert abs(why.entries[place].sum() - share) < 1e-6 * scale
        assert why.attention.shape == (n_nodes, why.source.n_nodes)
        in_a_unit = np.ones(n_nodes)
        if why.relation == "edge_to_nodes":
            in_a_unit[:] = np.isin(np.arange(n_nodes), GRAPHS[target].edges)
        np.testing.assert_allclose(why.attention.sum(1), in_a_unit, atol=1e-5)


@pytest.mark.parametrize("relation", ["node_to_edges", "edge_to_nodes"])
def test_per_edge_shares_add_up_to_the_channel(relation):
    model = DDGK(relation=relation, **QUICK).fit(GRAPHS)
    why = model.explain(GRAPHS[2], 1)
    assert sum(why.by_edge().values()) == pytest.approx(
        why.nodes[why.channels.index("edges"), -1].sum(), abs=1e-9
    )
    assert sum(why.by_node("edges").values()) == pytest.approx(
        why.nodes[why.channels.index("edges"), -1].sum(), abs=1e-9
    )
    assert sum(why.by_node().values()) == pytest.approx(why.nodes[:, -1].sum(), abs=1e-9)
    with pytest.raises(KeyError, match="there are edges, non_edges"):
        why.by_node("nothing")


def test_what_cannot_be_explained_says_so():
    together = DDGK(relation=["node_to_edges", "neighborhood"], **QUICK).fit(GRAPHS)
    assert together.explain(GRAPHS[2], 1, relation="neighborhood").relation == "neighborhood"
    with pytest.raises(ParameterError, match="walks have no shares of edges"):
        together.explain(GRAPHS[2], 1, relation="neighborhood").by_edge()
    with pytest.raises(ParameterError, match="'node_to_edges', 'neighborhood', not 'closeness'"):
        together.explain(GRAPHS[2], 1, relation="closeness")
    sampled = DDGK(sampled_above=2, **QUICK).fit(GRAPHS)
    with pytest.raises(ParameterError, match="raise sampled_above"):
        sampled.explain(GRAPHS[2], 1).by_edge()


def test_profiles_average_to_the_divergence():
    model = DDGK(**QUICK, regions=0, baseline="none", reduction="mean").fit(GRAPHS)
    for graph, row in zip(GRAPHS, model.transform(GRAPHS), strict=True):
        profiles = model.node_profiles(graph)
        assert profiles.shape == (graph.n_nodes, len(row))
        np.testing.assert_allclose(profiles.mean(0), row, atol=1e-9)


@pytest.mark.parametrize("reduction", ["sum", "both"])
def test_shares_of_a_sum_add_up_to_it_whatever_the_size(reduction):
    model = DDGK(**QUICK, regions=0, baseline="none", reduction=reduction).fit(GRAPHS)
    names = model.get_feature_names_out()
    summed = np.array([reduction == "sum" or ".sum/" in name for name in names])
    for graph, row in zip(GRAPHS, model.transform(GRAPHS), strict=True):
        profiles = model.node_profiles(graph)
        np.testing.assert_allclose(profiles.sum(0)[summed], row[summed], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(profiles.mean(0)[~summed], row[~summed], atol=1e-9)


@pytest.mark.parametrize(
    "graph",
    [
        Graph(1, []),
        Graph(4, []),
        Graph(5, [(0, 1)]),
        Graph(6, [(0, 1), (1, 2), (3, 4), (4, 5)]),
        Graph(2, [(0, 1)]),
    ],
    ids=["one node", "no edges", "isolated nodes", "two components", "one edge"],
)
@pytest.mark.parametrize(("engine", "labels"), [("fused", False), ("fused", True), ("torch", True)])
def test_odd_graphs_work_as_target_and_as_source(graph, engine, labels):
    if engine == "torch":
        pytest.importorskip("torch", reason="the torch engine needs torch")
    graphs = [graph, Graph(5, [(i, (i + 1) % 5) for i in range(5)])]
    if labels:
        graphs = [
            g.replace(node_labels=[0] * g.n_nodes, edge_labels=[0] * g.n_edges) for g in graphs
        ]
    quick = {**QUICK, "encoder_epochs": 10, "curve": (1, 3), "engine": engine}
    every = {"relation": tuple(RELATIONS)}
    for settings in (
        every,
        {**every, "reverse": "free", "start": "glorot"},
        {**every, "attention_size": 50},
        {"encoder_drop": 0.5, "encoder_patience": 3},
        {"sampled_above": 0},
        {"sampled_above": 0, "samples": 1, "reverse": "free"},
        {"sampled_above": 0, "attention_size": 50, "reverse": "free", "start": "glorot"},
    ):
        model = DDGK(**{**quick, **settings}).fit(graphs)
        found = model.transform(graphs)
        assert np.isfinite(found).all()
        assert (found.reshape(2, 2, -1)[0, 0] == 0).all()
        for relation in model.method_.relations:
            assert np.isfinite(model.explain(graphs[0], 1, relation=relation).nodes).all()


def test_soft_edges_are_sampled_too():
    weights = np.random.default_rng(0).uniform(0.1, 1, 97)
    ring = Graph(97, [(i, (i + 1) % 97) for i in range(97)], edge_weights=weights)
    sources = [Graph(5, [(i, (i + 1) % 5) for i in range(5)])]
    how = {**QUICK, "sources": sources, "weights": "keep", "precision": "float64"}
    exact, sampled = (
        DDGK(**how, samples=1000, sampled_above=above).fit(sources).transform([ring])
        for above in (1000, 10)
    )
    np.testing.assert_allclose(sampled, exact, atol=1e-9)


def test_isolated_nodes_with_labels_work():
    graphs = [
        Graph(3, [(0, 1)], node_labels="aab", edge_labels="x"),
        Graph(4, [], node_labels="abab", edge_labels=[]),
    ]
    assert np.isfinite(DDGK(**QUICK).fit_transform(graphs)).all()


def test_five_hundred_nodes_work():
    import networkx as nx

    big = nx.barabasi_albert_graph(500, 2, seed=0)
    model = DDGK(**{**QUICK, "encoder_epochs": 5, "curve": (1, 2)}).fit([nx.cycle_graph(6), big])
    assert np.isfinite(model.transform([big])).all()


def test_divergence_to_infinity_names_the_pair():
    ring, star = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], name="ring"), Graph(3, [(0, 1)])
    with pytest.raises(NonFiniteLossError, match=r"encoder of graph 0 \('ring'\) diverged"):
        DDGK(**{**QUICK, "encoder_rate": 1e38}).fit([ring, star])
    with pytest.raises(NonFiniteLossError, match=r"encoder of graph 0 \('ring'\) diverged"):
        DDGK(**{**QUICK, "encoder_rate": 1e38, "encoder_patience": 5}).fit([ring, star])
    with pytest.raises(NonFiniteLossError, match=r"target graph \d.* against source graph 0.*rate"):
        DDGK(**{**QUICK, "rate": 1e38, "reduction": "sum", "start": "glorot"}).fit_transform(
            [ring, star]
        )
    assert issubclass(NonFiniteLossError, DDGKError)
