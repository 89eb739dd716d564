"""Images: the formula, what stands for several, units that are not nodes, both engines."""

import numpy as np
import pytest
from scipy import sparse

from ddgk.divergence import Scorer
from ddgk.engine import make_engine
from ddgk.engine.images import carry_relation, image_names, image_size
from ddgk.engine.problem import Problem
from ddgk.graphs.graph import Graph
from ddgk.method import Method
from ddgk.reading import Reader
from ddgk.relations import RELATIONS
from specimens import random_graph

RNG = np.random.default_rng(0)
CYCLE = Graph(6, [(i, (i + 1) % 6) for i in range(6)])


def shares(*shape):
    drawn = RNG.random(shape)
    return drawn / drawn.sum(axis=-1, keepdims=True)


def plainly(relation, unit_weights, node_weights, nodes):
    seen = (relation * node_weights) @ nodes
    found = (seen * unit_weights[:, None]).T @ seen
    return found[np.triu_indices(nodes.shape[1])]


def test_an_image_is_what_its_equation_says():
    relation = (RNG.random((5, 7)) < 0.4) * RNG.random((5, 7))
    unit_weights, node_weights = RNG.integers(1, 4, 5) * 1.0, RNG.integers(1, 4, 7) * 1.0
    nodes = shares(3, 7, 4)
    for given in (relation, sparse.csr_array(relation)):
        found = carry_relation(Problem(given, unit_weights, node_weights), nodes)
        for image, own in zip(found, nodes, strict=True):
            expected = plainly(relation, unit_weights, node_weights, own)
            np.testing.assert_allclose(image, expected, rtol=1e-12)
    assert found.shape == (3, image_size(4)) == (3, len(image_names(4)))


def test_a_class_counts_as_its_members_do():
    adjacency = np.zeros((6, 6))
    adjacency[tuple(CYCLE.edges.T)] = adjacency[tuple(CYCLE.edges.T[::-1])] = 1
    own = shares(1, 1, 3)
    whole = carry_relation(Problem(adjacency, np.ones(6), np.ones(6)), np.repeat(own, 6, axis=1))
    quotient = carry_relation(Problem(np.array([[2 / 6]]), np.array([6.0]), np.array([6.0])), own)
    np.testing.assert_allclose(quotient, whole, rtol=1e-12)


def test_all_that_meets_is_all_pairs_of_neighbours():
    model = Method(encoder_epochs=20, reduction="sum", baseline="none", families="none")
    graph = random_graph(3)
    scorer = Scorer(model, Reader("node_to_edges"), make_engine("fused"), 0)
    encoders = scorer.encode([random_graph(5)])
    row = scorer.divergences([graph], encoders, scorer.baselines(encoders))[0, 0]
    degrees = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
    both_ways = [1 if a == b else 2 for a in range(16) for b in range(a, 16)]
    for image in np.split(row[scorer.places.size :], 2):
        assert image @ both_ways == pytest.approx((degrees**2).sum(), rel=1e-5)


@pytest.mark.parametrize("relation", sorted(RELATIONS))
@pytest.mark.parametrize("how", [{}, {"attention_size": 3}, {"sampled_above": 3, "samples": 99}])
def test_engines_attend_to_the_same_regions(relation, how):
    pytest.importorskip("torch", reason="the other engine is torch's")
    method = Method(
        relation=relation,
        encoder_epochs=30,
        curve=(1, 7),
        regions=3,
        precision="float64",
        **how,
    )
    graphs = [random_graph(seed) for seed in (1, 2, 4)]
    fused, torch = (make_engine(name, precision="float64") for name in ("fused", "torch"))
    scorers = [Scorer(method, Reader(relation), engine, 0) for engine in (fused, torch)]
    encoders = scorers[0].encode(graphs[:2])
    readings = [scorers[0].read(graph) for graph in graphs]
    pairs = [(t, s) for t in range(3) for s in range(2)]
    one, other = (scorer.train(readings, encoders, pairs, detail=True) for scorer in scorers)
    for mine, yours in zip(one, other, strict=True):
        assert mine.regional.shape == (2, len(mine.attention), 3)
        np.testing.assert_allclose(mine.regional, yours.regional, atol=1e-6)
        np.testing.assert_allclose(mine.regional.sum(axis=-1), 1, atol=1e-12)
    for (_, s), mine in zip(pairs, one, strict=True):
        members = np.eye(3)[encoders[s].regions(3)]
        np.testing.assert_allclose(mine.regional[-1], mine.attention @ members, atol=1e-12)
