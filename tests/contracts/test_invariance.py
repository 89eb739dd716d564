"""What no result may depend on: the numbering of nodes, the company of other graphs, names."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk import DDGK
from ddgk.attributes import learn_families
from ddgk.divergence import Scorer
from ddgk.engine import make_engine
from ddgk.graphs import Graph
from ddgk.method import Method
from ddgk.reading import Reader
from ddgk.relations import DRAWN, RELATIONS, relate
from specimens import SYMMETRIC, graph_of, random_graph, shuffled

QUICK = {"encoder_epochs": 60, "random_state": 0}


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("relation", [*RELATIONS, tuple(RELATIONS)])
def test_permuted_copies_agree_to_the_bit(labels, relation):
    graphs = [random_graph(seed, labels=labels) for seed in range(100)]
    model = DDGK(n_sources=3, relation=relation, **QUICK).fit(graphs)
    copies = [shuffled(graph, seed) for seed, graph in enumerate(graphs)]
    np.testing.assert_array_equal(model.transform(graphs), model.transform(copies))


@pytest.mark.parametrize("relation", [*RELATIONS, tuple(RELATIONS)])
@pytest.mark.parametrize("reverse", ["tied", "free"])
@pytest.mark.parametrize("size", [0, 3])
def test_symmetric_graphs_agree_to_the_bit(relation, reverse, size):
    graphs = [graph_of(network) for network in SYMMETRIC.values()]
    how = {"relation": relation, "reverse": reverse, "attention_size": size}
    model = DDGK(n_sources=3, **how, **QUICK).fit(graphs)
    expected = model.transform(graphs)
    for seed in range(3):
        copies = [shuffled(graph, seed) for graph in graphs]
        np.testing.assert_array_equal(model.transform(copies), expected)


def test_permuted_attributes_and_soft_edges_agree_to_the_bit():
    graphs = [
        g.replace(edge_weights=np.random.default_rng(i).uniform(0, 1, g.n_edges))
        for i, g in enumerate(random_graph(seed, attributes=True) for seed in range(20))
    ]
    model = DDGK(n_sources=3, weights="keep", **QUICK).fit(graphs)
    copies = [shuffled(graph, seed) for seed, graph in enumerate(graphs)]
    np.testing.assert_array_equal(model.transform(graphs), model.transform(copies))


def test_the_numbering_of_sources_does_not_matter():
    graphs = [random_graph(seed, labels=True) for seed in range(8)]
    graphs += [graph_of(n, node_labels=[0] * len(n)) for n in SYMMETRIC.values()]
    graphs = [g.replace(edge_labels=[0] * g.n_edges) for g in graphs]
    copies = [shuffled(graph, seed) for seed, graph in enumerate(graphs)]
    one, other = (DDGK(sources=s, **QUICK).fit(graphs) for s in (graphs, copies))
    np.testing.assert_array_equal(one.transform(graphs), other.transform(graphs))


@pytest.mark.parametrize("start", ["equivariant", "glorot"])
def test_a_graph_alone_or_among_others(start):
    graphs = [random_graph(seed, labels=True) for seed in range(30)]
    model = DDGK(n_sources=3, start=start, **QUICK).fit(graphs)
    together = model.transform(graphs)
    np.testing.assert_array_equal(model.transform(graphs[::-1]), together[::-1])
    for place in (0, 7, 29):
        np.testing.assert_array_equal(model.transform([graphs[place]])[0], together[place])


def test_glorot_repeats_and_follows_its_seed():
    graphs = [random_graph(seed) for seed in range(6)]
    settings = {"n_sources": 3, "start": "glorot", "encoder_epochs": 60}
    one, again = (DDGK(random_state=5, **settings).fit_transform(graphs) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, DDGK(random_state=6, **settings).fit_transform(graphs))


def test_names_do_not_matter():
    graphs = [random_graph(seed, labels=True) for seed in range(6)]
    renamed = [
        g.replace(name=f"x{i}", node_names=[f"n{v}" for v in range(g.n_nodes)])
        for i, g in enumerate(graphs)
    ]
    one, other = (DDGK(n_sources=2, **QUICK).fit_transform(g) for g in (graphs, renamed))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("relation", [name for name in RELATIONS if name not in DRAWN])
@pytest.mark.parametrize("reverse", ["tied", "free"])
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("size", [0, 3])
def test_the_quotient_follows_the_path_of_the_full_run(engine64, relation, reverse, labels, size):
    """Wherever the full run keeps its symmetry.

    Adam divides by the size of the gradient, so where a gradient is exactly 0, rounding of 1e-18 is
    blown up to full steps within a few of them, and there is no path to follow. From Y = 0, where a
    free reverse attention starts, that is so for a node that exactly half of the units relate to.
    """
    graphs = [random_graph(seed, labels=labels) for seed in range(1, 11)]
    for n_leaves in (4, 5):
        star = graph_of(nx.star_graph(n_leaves))
        names = [0] + [1] * n_leaves
        graphs.append(star.replace(node_labels=names, edge_labels=names[1:]) if labels else star)
    if reverse == "free" and not labels:
        graphs = [graph for graph in graphs if not _half_relate_to_a_node(graph, relation)]
    reader = Reader(relation, learn_families(graphs, "auto"))
    method = Method(
        relation=relation,
        reverse=reverse,
        attention_size=size,
        encoder_epochs=60,
        curve=(1, 5, 12),
        precision="float64",
    )
    scorer = Scorer(method, reader, engine64, 0)
    fast = make_engine("fused", precision="float64")  # engines train the same encoders
    encoders = Scorer(method, reader, fast, 0).encode(graphs[:2])
    pairs = [(t, s) for t in range(len(graphs)) for s in range(2)]
    by_class, by_node = (
        scorer.losses([reader.read(g, quotient=quotient) for g in graphs], encoders, pairs)
        for quotient in (True, False)
    )
    merged = [reader.read(g, quotient=True).partition.n_classes < g.n_nodes for g in graphs]
    assert sum(merged) >= 2
    np.testing.assert_allclose(by_class, by_node, atol=1e-6, rtol=0)


def _half_relate_to_a_node(graph, relation) -> bool:
    shares = relate(graph, relation).dense().mean(axis=0)
    return bool(np.isclose(shares, 0.5).any())


def test_a_source_has_no_divergence_from_itself():
    graphs = [random_graph(seed, labels=True) for seed in range(6)]
    others = ({"relation": tuple(RELATIONS)}, {"attention_size": 2}, {"sampled_above": 3})
    for settings in (
        {}, {"baseline": "target"}, {"symmetric": True}, {"start": "glorot"}, *others
    ):  # fmt: skip
        model = DDGK(sources=range(6), **{**QUICK, **settings}).fit(graphs)
        grid = model.transform(graphs).reshape(6, 6, -1)
        own = grid[range(6), range(6)]
        assert (own == 0).all(), settings
        assert np.abs(grid).max() > 0


def test_graphs_that_refinement_cannot_tell_apart_share_a_row():
    """Two triangles and a hexagon: stated in the documentation, so held by a test."""
    hexagon = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    triangles = graph_of(SYMMETRIC["two triangles"])
    model = DDGK(n_sources=2, **QUICK).fit([hexagon, random_graph(3)])
    np.testing.assert_array_equal(*model.transform([hexagon, triangles]))
    closeness = DDGK(n_sources=2, relation="closeness", **QUICK).fit([hexagon, random_graph(3)])
    assert not np.array_equal(*closeness.transform([hexagon, triangles]))


def test_large_graphs_that_refinement_tells_apart_agree_to_the_bit():
    """Their entries are sampled, in an order that the numbering has no say in."""
    graphs = [Graph(60, list(nx.barabasi_albert_graph(60, 3, seed=s).edges())) for s in range(6)]
    apart = [
        graph
        for graph in graphs
        if Reader("node_to_edges").read(graph, quotient=True).partition.n_classes == 60
    ]
    assert len(apart) >= 3
    model = DDGK(n_sources=2, sampled_above=20, samples=16, **QUICK).fit(apart)
    copies = [shuffled(graph, seed) for seed, graph in enumerate(apart)]
    np.testing.assert_array_equal(model.transform(apart), model.transform(copies))
