"""What no divergence may depend on: the node order, the other graphs of a call, names."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk.engine.arrays import dense
from ddgk.graphs import Graph
from ddgk.targets import DRAWN, TARGETS
from scoring import divergences, scorer_of
from specimens import SYMMETRIC, graph_of, random_graph, shuffled

QUICK = {"checkpoints": (1, 5, 12)}

# Every target matrix with both reverse attentions, and layers with each.
COVERING = [
    {"target": "adjacency", "reverse": "tied"},
    {"target": "adjacency", "reverse": "free", "attention_layers": (3, 2)},
    {"target": "closeness", "reverse": "free"},
    {"target": "closeness", "reverse": "tied", "attention_layers": (3,)},
    {"target": "edge_to_nodes", "reverse": "tied"},
    {"target": "edge_to_nodes", "reverse": "free", "attention_layers": (3, 2)},
    {"target": "neighborhood", "reverse": "free"},
    {"target": "neighborhood", "reverse": "tied", "attention_layers": (3,)},
]


@pytest.mark.parametrize("how", COVERING, ids=str)
@pytest.mark.parametrize("labels", [False, True])
def test_renumbered_graphs_have_bitwise_identical_divergences(how, labels):
    graphs = [random_graph(seed, labels=labels) for seed in range(30)]
    copies = [shuffled(graph, seed) for seed, graph in enumerate(graphs)]
    one, other = (divergences(graphs, targets=t, **QUICK, **how) for t in (graphs, copies))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("how", COVERING, ids=str)
def test_symmetric_graphs_have_bitwise_identical_divergences(how):
    graphs = [graph_of(network) for network in SYMMETRIC.values()]
    expected = divergences(graphs, **QUICK, **how)
    for seed in range(2):
        copies = [shuffled(graph, seed) for graph in graphs]
        np.testing.assert_array_equal(divergences(graphs, targets=copies, **QUICK, **how), expected)


def test_real_attributes_and_weights_follow_the_nodes():
    graphs = [
        g.replace(edge_weights=np.random.default_rng(i).uniform(0, 3, g.n_edges))
        for i, g in enumerate(random_graph(seed, attributes=True) for seed in range(20))
    ]
    copies = [shuffled(graph, seed) for seed, graph in enumerate(graphs)]
    one, other = (divergences(graphs, targets=t, **QUICK) for t in (graphs, copies))
    np.testing.assert_array_equal(one, other)


def test_the_numbering_of_sources_does_not_matter():
    graphs = [random_graph(seed, labels=True) for seed in range(8)]
    graphs += [graph_of(n, node_labels=[0] * len(n)) for n in SYMMETRIC.values()]
    graphs = [g.replace(edge_labels=[0] * g.n_edges) for g in graphs]
    copies = [shuffled(graph, seed) for seed, graph in enumerate(graphs)]
    one, other = (
        divergences(sources, len(graphs), graphs, baseline="source", **QUICK)
        for sources in (graphs, copies)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("initialisation", ["equivariant", "glorot"])
def test_a_graph_alone_or_among_others(initialisation):
    graphs = [random_graph(seed, labels=True) for seed in range(30)]
    scorer = scorer_of(graphs, initialisation=initialisation, **QUICK)
    encoders = scorer.encode_sources(graphs[:3])
    none = scorer.baselines(encoders)
    together = scorer.divergences(graphs, encoders, none)
    np.testing.assert_array_equal(scorer.divergences(graphs[::-1], encoders, none), together[::-1])
    for place in (0, 7, 29):
        alone = scorer.divergences([graphs[place]], encoders, none)
        np.testing.assert_array_equal(alone[0], together[place])


def test_names_do_not_matter():
    graphs = [random_graph(seed, labels=True) for seed in range(6)]
    renamed = [
        g.replace(name=f"x{i}", node_names=[f"n{v}" for v in range(g.n_nodes)])
        for i, g in enumerate(graphs)
    ]
    np.testing.assert_array_equal(divergences(graphs, **QUICK), divergences(renamed, **QUICK))


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in DRAWN])
@pytest.mark.parametrize(("reverse", "labels"), [("tied", True), ("free", False), ("tied", False)])
def test_the_quotient_follows_the_path_of_the_full_run(target, reverse, labels):
    """Wherever the full run keeps its symmetry.

    Adam divides by the size of the gradient, so where a gradient is exactly 0, rounding of 1e-18 is
    amplified to full steps, and there is no path to follow. From Y = 0, where a free reverse
    attention starts, that is so for a node whose column of B has mean 1/2.
    """
    pytest.importorskip("torch", reason="double precision needs torch")
    from ddgk.engine.torch import TorchEngine

    graphs = [random_graph(seed, labels=labels) for seed in range(1, 11)]
    for n_leaves in (4, 5):
        star = graph_of(nx.star_graph(n_leaves))
        names = [0] + [1] * n_leaves
        graphs.append(star.replace(node_labels=names, edge_labels=names[1:]) if labels else star)
    scorer = scorer_of(
        graphs, target=target, reverse=reverse, engine=TorchEngine("float64"), **QUICK
    )
    encoding = scorer.encoding
    if reverse == "free":
        shares = [dense(encoding.target_matrix(graph).matrix).mean(axis=0) for graph in graphs]
        graphs = [g for g, s in zip(graphs, shares, strict=True) if not np.isclose(s, 0.5).any()]
    encoders = scorer.encode_sources(graphs[:2])
    pairs = [(t, s) for t in range(len(graphs)) for s in range(2)]
    by_class, by_node = (
        scorer.losses([encoding.encode(g, quotient=q) for g in graphs], encoders, pairs)
        for q in (True, False)
    )
    merged = [len(encoding.encode(g, quotient=True).node_weights) < g.n_nodes for g in graphs]
    assert sum(merged) >= 2
    np.testing.assert_allclose(by_class, by_node, atol=1e-6, rtol=0)


OWN = [
    {"baseline": "source"},
    {"baseline": "source", "symmetric": True},
    {"baseline": "source", "initialisation": "glorot"},
    {"baseline": "source", "target": "neighborhood", "attention_layers": (2,)},
]


@pytest.mark.parametrize("how", OWN, ids=str)
def test_a_source_has_no_divergence_from_itself(how):
    graphs = [random_graph(seed, labels=True) for seed in range(5)]
    grid = divergences(graphs, 5, **QUICK, **how)
    assert (grid[range(5), range(5)] == 0).all()
    assert np.abs(grid).max() > 0


def test_graphs_that_refinement_cannot_distinguish_share_a_row():
    """Two triangles and a hexagon: stated in the documentation, so held by a test."""
    hexagon = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    triangles = graph_of(SYMMETRIC["two triangles"])
    sources = [hexagon, random_graph(3)]
    one, other = divergences(sources, targets=[hexagon, triangles], **QUICK)
    np.testing.assert_array_equal(one, other)
    one, other = divergences(sources, targets=[hexagon, triangles], target="closeness", **QUICK)
    assert not np.array_equal(one, other)
