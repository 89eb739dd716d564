"""Engines agree on whatever may be related to what, and on what a pair is trained by."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk.attributes import learn_families
from ddgk.divergence import Scorer
from ddgk.engine import make_engine
from ddgk.graphs import Graph
from ddgk.method import Method
from ddgk.reading import Reader
from ddgk.relations import RELATIONS
from specimens import random_graph

pytest.importorskip("torch", reason="the torch engine needs torch")
ENGINES = [make_engine(name, precision="float64") for name in ("torch", "fused")]
HOW = {"encoder_epochs": 40, "curve": (1, 5, 12), "precision": "float64"}
# Nodes that are alike and nodes that are not, sparse and dense, two edges on seven nodes, no edge.
SEEDS = (3, 5, 6, 8, 11)


def losses(method, reader, graphs):
    """Return D' of all graphs against the first two by either engine, through the same encoders.

    That engines train the same encoders is a test of its own; the fused one is faster at it.
    """
    encoders = Scorer(method, reader, ENGINES[1], 0).encode(graphs[:2])
    pairs = [(t, s) for t in range(len(graphs)) for s in range(2)]
    for engine in ENGINES:
        scorer = Scorer(method, reader, engine, 0)
        yield scorer.losses([scorer.read(graph) for graph in graphs], encoders, pairs)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("reverse", ["tied", "free"])
@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize("start", ["equivariant", "glorot"])
def test_engines_agree_on_every_relation(relation, reverse, size, start):
    graphs = [random_graph(seed, labels=True) for seed in SEEDS]
    reader = Reader(relation, learn_families(graphs, "auto"))
    for scores in ("linear", "tanh"):
        method = Method(
            relation=relation,
            reverse=reverse,
            start=start,
            scores=scores,
            attention_size=size,
            **HOW,
        )
        one, other = losses(method, reader, graphs)
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)
        assert np.ptp(one) > 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_engines_train_the_same_encoders(relation):
    graphs = [random_graph(seed, labels=True) for seed in range(1, 6)]
    reader = Reader(relation, learn_families(graphs, "auto"))
    method = Method(relation=relation, **HOW)
    one, other = (Scorer(method, reader, engine, 0).encode(graphs) for engine in ENGINES)
    for mine, theirs in zip(one, other, strict=True):
        left, right = mine.source.weights, theirs.source.weights
        np.testing.assert_allclose(left.table, right.table, atol=1e-9)
        np.testing.assert_allclose(left.output[0], right.output[0], atol=1e-9)


def large_graph(n_nodes: int, seed: int, labels: bool) -> Graph:
    rng = np.random.default_rng(seed)
    edges = list(nx.barabasi_albert_graph(n_nodes, 2, seed=seed).edges())
    return Graph(
        n_nodes,
        edges,
        node_labels=rng.integers(0, 3, n_nodes) if labels else None,
        edge_labels=rng.integers(0, 2, len(edges)) if labels else None,
    )


SAMPLED = [
    {},
    {"attention_size": 3},
    {"reverse": "free"},
    {"scores": "tanh"},
    {"reduction": "sum"},
    {"reverse": "free", "attention_size": 3, "start": "glorot"},
]


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("how", SAMPLED, ids=str)
def test_engines_agree_on_samples_and_all_samples_are_exact(labels, how):
    graphs = [large_graph(n, n, labels) for n in (30, 64)]
    reader = Reader("node_to_edges", learn_families(graphs, "auto"))
    found = {}
    for samples, above in ((16, 0), (1000, 0), (16, 1000)):
        method = Method(samples=samples, sampled_above=above, **{**HOW, **how})
        one, other = losses(method, reader, graphs)
        if labels or how.get("reverse") != "free" or (above == 0 and samples == 16):
            # Without labels, nodes related to half of the others have gradients of exactly 0.
            np.testing.assert_allclose(one, other, atol=1e-5, rtol=0)
        found[samples, above] = one
    exact = found[16, 1000]
    if labels or how.get("reverse") != "free":
        np.testing.assert_allclose(found[1000, 0], exact, atol=1e-5, rtol=0)
    assert np.abs(found[16, 0] - exact).max() > 1e-3


def test_sampled_channels_are_near_the_exact_ones():
    graphs = [large_graph(n, n, True) for n in (400, 500, 600)]
    reader = Reader("node_to_edges", learn_families(graphs, "auto"))
    sources = [large_graph(n, n, True) for n in (20, 30)]
    engine, found = make_engine("fused"), []
    for above in (0, 1000):
        method = Method(encoder_epochs=40, sampled_above=above, samples=128)
        scorer = Scorer(method, reader, engine, 0)
        encoders = scorer.encode(sources)
        found.append(scorer.divergences(graphs, encoders, scorer.baselines(encoders)))
    sums = [name.endswith(".sum") for name in scorer.channels]
    sampled, exact = (grid[:, :, scorer.places[sums, :9]] for grid in found)
    spread = np.abs(exact).mean(axis=(0, 1))
    assert (np.abs(sampled - exact).mean(axis=(0, 1)) < 0.05 * spread).all()
