"""Every option changes the result, and explanations add up."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from ddgk.config import PRESETS, Config
from ddgk.errors import NonFiniteLossError, ParameterError
from ddgk.graphs import Graph
from scoring import divergences, scorer_of
from specimens import random_graph

GRAPHS = [random_graph(seed, labels=True) for seed in (1, 5, 8, 9)]
QUICK = {"checkpoints": (1, 5, 12), "baseline": "source"}

OPTIONS = {
    "target": ["closeness", "edge_to_nodes", "neighborhood"],
    "dimension": [2],
    "width": [5],
    "depth": [1],
    "encoder_epochs": [10],
    "encoder_learning_rate": [0.05],
    "encoder_edge_dropout": [0.2],
    "encoder_weight_decay": [0.1],
    "scores": ["tanh"],
    "reverse": ["tied"],
    "initialisation": ["glorot"],
    "learning_rate": [0.01],
    "checkpoints": [(2, 9)],
    "attention_layers": [(3,), (3, 2)],
    "attributes": ["none", ("node_labels",)],
    "coefficients": [0.0, 2.0, {"node_labels": 1.0}],
    "smoothing": [0.0, 0.1],
    "edge_label_neighbourhood": ["two_hop"],
    "reduction": ["sum"],
    "output": ["total", "edges"],
    "baseline": ["none"],
    "symmetric": [True],
}
OF_LOCAL_ATTENTION = {
    "neighbourhood_weight",
    "size_weight",
    "attribute_weight",
    "n_anchors",
}
CASES = [(name, value) for name, values in OPTIONS.items() for value in values]


@pytest.fixture(scope="module")
def plain():
    return divergences(GRAPHS, **QUICK)


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{n}={v}" for n, v in CASES])
def test_every_option_changes_the_result_and_adds_up(name, value, plain):
    found = assert_explanations_add_up(GRAPHS, **{**QUICK, name: value})
    assert np.isfinite(found).all()
    assert found.shape != plain.shape or not np.array_equal(found, plain)


def test_every_field_of_the_config_is_covered():
    names = {field.name for field in fields(Config)}
    assert names - set(OPTIONS) == {"attention"} | OF_LOCAL_ATTENTION


COVERING = [
    ("closeness", "tanh", "tied", "glorot", "sum"),
    ("closeness", "linear", "free", "equivariant", "mean"),
    ("edge_to_nodes", "linear", "tied", "glorot", "mean"),
    ("edge_to_nodes", "tanh", "free", "equivariant", "sum"),
    ("neighborhood", "linear", "tied", "equivariant", "sum"),
    ("neighborhood", "tanh", "free", "glorot", "mean"),
    ("adjacency", "tanh", "free", "glorot", "sum"),
    ("adjacency", "linear", "tied", "equivariant", "mean"),
]


@pytest.mark.parametrize("case", COVERING, ids=str)
def test_explanations_add_up_for_a_covering_choice(case):
    names = ("target", "scores", "reverse", "initialisation", "reduction")
    changes = dict(zip(names, case, strict=True))
    assert_explanations_add_up(GRAPHS[:2], **{**QUICK, **changes})


@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_explanations_of_presets_add_up(preset):
    config = PRESETS[preset].replace(checkpoints=(1, 9), encoder_epochs=20)
    assert_explanations_add_up(GRAPHS, **config.get_params())


def test_explanations_of_real_attributes_add_up():
    graphs = [random_graph(seed, attributes=True) for seed in (1, 5, 8)]
    found = assert_explanations_add_up(graphs, **QUICK)
    assert found.shape == (3, 2, 4, 3)


def assert_explanations_add_up(graphs, **changes):
    scorer = scorer_of(graphs, **changes)
    encoders = scorer.encode_sources(graphs[:2])
    grid = scorer.divergences(graphs, encoders, scorer.baselines(encoders))
    assert grid.shape == (len(graphs), 2, *scorer.shape)
    for target, source in ((1, 0), (0, 1)):
        why = scorer.explain(graphs[target], encoders[source])
        own, n_nodes = grid[target, source], graphs[target].n_nodes
        scale = max(1.0, float(np.abs(own).max()))
        assert np.abs(why.divergence - own).max() < 1e-6 * scale
        assert why.terms == tuple(scorer.term_names)
        for term, place in (("edges", 0), ("non_edges", 1)):
            if term in why.terms:
                share = why.nodes[why.terms.index(term), -1].sum()
                assert abs(why.entries[place].sum() - share) < 1e-6 * scale
        assert why.attention.shape == (n_nodes, why.source.n_nodes)
        in_a_unit = np.ones(n_nodes)
        if why.matrix == "edge_to_nodes":
            in_a_unit[:] = np.isin(np.arange(n_nodes), graphs[target].edges)
        np.testing.assert_allclose(why.attention.sum(1), in_a_unit, atol=1e-5)
    return grid


@pytest.mark.parametrize("target", ["adjacency", "edge_to_nodes"])
def test_shares_of_edges_and_nodes_add_up(target):
    scorer = scorer_of(GRAPHS, target=target, **QUICK)
    why = scorer.explain(GRAPHS[2], scorer.encode_sources(GRAPHS[:1])[0])
    edges = why.nodes[why.terms.index("edges"), -1].sum()
    assert sum(why.by_edge().values()) == pytest.approx(edges, abs=1e-9)
    assert sum(why.by_node("edges").values()) == pytest.approx(edges, abs=1e-9)
    assert sum(why.by_node().values()) == pytest.approx(why.nodes[:, -1].sum(), abs=1e-9)
    with pytest.raises(ParameterError, match="there are edges, non_edges"):
        why.by_node("nothing")
    assert len(repr(why)) < 400
    assert "edges" in repr(why)


def test_walks_have_no_shares_of_edges():
    scorer = scorer_of(GRAPHS, target="neighborhood", **QUICK)
    why = scorer.explain(GRAPHS[2], scorer.encode_sources(GRAPHS[:1])[0])
    with pytest.raises(ParameterError, match="random walks have no shares of edges"):
        why.by_edge()


ODD = {
    "one node": Graph(1, []),
    "no edges": Graph(4, []),
    "isolated nodes": Graph(5, [(0, 1)]),
    "two components": Graph(6, [(0, 1), (1, 2), (3, 4), (4, 5)]),
    "one edge": Graph(2, [(0, 1)]),
}
HOW = [
    {},
    {"reverse": "free", "initialisation": "glorot", "target": "closeness"},
    {"target": "edge_to_nodes", "attention_layers": (5,)},
    {"target": "neighborhood", "reverse": "free"},
    {"encoder_edge_dropout": 0.5, "encoder_weight_decay": 0.1},
]


@pytest.mark.parametrize("graph", ODD.values(), ids=ODD)
@pytest.mark.parametrize("labels", [False, True])
def test_odd_graphs_work_as_target_and_as_source(graph, labels):
    graphs = [graph, Graph(5, [(i, (i + 1) % 5) for i in range(5)])]
    if labels:
        graphs = [
            g.replace(node_labels=[0] * g.n_nodes, edge_labels=[0] * g.n_edges) for g in graphs
        ]
    for how in HOW:
        scorer = scorer_of(graphs, **{**QUICK, **how, "encoder_epochs": 10, "checkpoints": (1, 3)})
        encoders = scorer.encode_sources(graphs)
        found = scorer.divergences(graphs, encoders, scorer.baselines(encoders))
        assert np.isfinite(found).all()
        assert (found[0, 0] == 0).all()
        assert np.isfinite(scorer.explain(graphs[0], encoders[1]).nodes).all()


def test_a_diverging_pair_is_named():
    graphs = [Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], name="ring"), Graph(3, [(0, 1)])]
    how = {**QUICK, "learning_rate": 1e38, "reduction": "sum", "initialisation": "glorot"}
    scorer = scorer_of(graphs, **{**how, "baseline": "none"})
    encoders = scorer.encode_sources(graphs[:1])
    none = scorer.baselines(encoders)
    with pytest.raises(NonFiniteLossError, match=r"target graph 8.*against source graph 0.*lower"):
        scorer.divergences(graphs, encoders, none, [8, 9])


def test_the_two_baselines():
    """D' is the same; what is subtracted is D'(S||S) or nothing."""
    none, source = (
        divergences(GRAPHS[:3], 3, checkpoints=(4,), baseline=name) for name in ("none", "source")
    )
    own = none[range(3), range(3)]
    np.testing.assert_allclose(none - own[None], source, atol=1e-12)
    both = divergences(GRAPHS[:3], 3, checkpoints=(4,), symmetric=True)
    np.testing.assert_allclose(both, none + none.swapaxes(0, 1), atol=1e-12)
