"""Images: the formula, what they estimate, classes, units that are not nodes, both engines."""

import numpy as np
import pytest
from scipy import sparse

from ddgk.divergence import Scorer
from ddgk.engine import make_engine
from ddgk.engine.images import N_WAVES, WIDTH, draw_waves, read_images
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


def views(relation, node_weights, units, nodes):
    related = relation * node_weights
    seen = related @ nodes / np.sqrt(np.maximum(related.sum(axis=1, keepdims=True), 1e-300))
    return np.hstack([units, seen])


def plainly(seen, unit_weights, waves):
    return unit_weights @ np.cos(2 * np.pi * (seen @ waves[:-1] + waves[-1]))


def test_an_image_is_what_its_equation_says():
    relation = (RNG.random((7, 7)) < 0.4) * RNG.random((7, 7))
    relation[3] = 0
    unit_weights, node_weights = RNG.integers(1, 4, 7) * 1.0, RNG.integers(1, 4, 7) * 1.0
    attention = shares(3, 7, 4)
    waves = draw_waves(5, 4)
    for given in (relation, sparse.csr_array(relation)):
        problem = Problem(given, unit_weights, node_weights)
        (found,) = read_images(problem, [(attention, waves)])
        for image, own in zip(found, attention, strict=True):
            expected = plainly(views(relation, node_weights, own, own), unit_weights, waves)
            np.testing.assert_allclose(image, expected, atol=1e-9)
    assert found.shape == (3, N_WAVES)


def test_units_that_are_not_nodes_have_a_place_of_their_own():
    relation = (RNG.random((5, 7)) < 0.5) * 1.0
    ones, waves = (np.ones(5), np.ones(7)), draw_waves(1, 3)
    spreads, gathers = shares(7, 5), shares(5, 7)
    attending = shares(1, 5, 3)
    (found,) = read_images(Problem(relation, *ones, spreads=spreads), [(attending, waves)])
    seen = views(relation, ones[1], attending[0], spreads @ attending[0])
    np.testing.assert_allclose(found[0], plainly(seen, ones[0], waves), atol=1e-9)
    attending = shares(1, 7, 3)
    (found,) = read_images(Problem(relation, *ones, gathers=gathers), [(attending, waves)])
    seen = views(relation, ones[1], gathers @ attending[0], attending[0])
    np.testing.assert_allclose(found[0], plainly(seen, ones[0], waves), atol=1e-9)


def test_products_of_images_count_views_that_are_near_each_other():
    waves = draw_waves(2, 3, n_waves=20000)
    seen, images = [], []
    for n_nodes in (6, 9):
        relation = np.triu(RNG.random((n_nodes, n_nodes)) < 0.4, 1) * 1.0
        relation += relation.T
        attention = shares(1, n_nodes, 3)
        problem = Problem(relation, np.ones(n_nodes), np.ones(n_nodes))
        images.append(read_images(problem, [(attention, waves)])[0, 0])
        seen.append(views(relation, np.ones(n_nodes), attention[0], attention[0]))
    squares = ((seen[0][:, None] - seen[1][None]) ** 2).sum(axis=-1)
    expected = np.exp(-squares / (2 * WIDTH**2)).sum()
    assert 2 * np.mean(images[0] * images[1]) == pytest.approx(expected, rel=0.05)


def test_a_class_counts_as_its_members_do():
    adjacency = np.zeros((6, 6))
    adjacency[tuple(CYCLE.edges.T)] = adjacency[tuple(CYCLE.edges.T[::-1])] = 1
    own, waves = shares(1, 1, 3), draw_waves(0, 3)
    members = [(np.repeat(own, 6, axis=1), waves)]
    whole = read_images(Problem(adjacency, np.ones(6), np.ones(6)), members)
    problem = Problem(np.array([[2 / 6]]), np.array([6.0]), np.array([6.0]))
    np.testing.assert_allclose(read_images(problem, [(own, waves)]), whole, atol=1e-9)


def test_waves_are_a_source_s_own():
    first, again, other = (draw_waves(seed, 4) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    directions, phases = np.split(draw_waves(3, 16, n_waves=5000), [-1])
    assert directions.std() == pytest.approx(1 / (2 * np.pi * WIDTH), rel=0.01)
    assert phases.min() >= 0
    assert phases.max() <= 1


def test_each_source_reads_by_waves_drawn_from_its_seed():
    method = Method(encoder_epochs=20, reduction="sum", baseline="none", families="none")
    graph = random_graph(3)
    scorer = Scorer(method, Reader("node_to_edges"), make_engine("fused"), 0)
    encoders = scorer.encode([random_graph(5), random_graph(6)])
    rows = scorer.divergences([graph], encoders, scorer.baselines(encoders))[0]
    reading = scorer.read(graph)
    for s, encoder in enumerate(encoders):
        (outcome,) = scorer.train([reading], encoders, [(0, s)])
        seen = [(outcome.regional, draw_waves(encoder.seed, method.regions))]
        expected = read_images(reading.problem, seen).ravel()
        np.testing.assert_array_equal(rows[s, scorer.places.size :], expected)


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
