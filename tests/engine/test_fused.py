"""The fused engine: as the oracle on every option, and to the bit whatever the company."""

from __future__ import annotations

import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from ddgk.attributes import learn_families
from ddgk.divergence import Scorer
from ddgk.engine.fused import FusedEngine
from ddgk.engine.fused.arrays import aligned
from ddgk.engine.fused.groups import comes_alone, plan_groups
from ddgk.engine.problem import (
    EncoderTraining,
    FamilyArrays,
    PairTraining,
    Problem,
    Source,
)
from ddgk.engine.starts import first_weights
from ddgk.graphs import Graph
from ddgk.method import Method
from ddgk.reading import Reader
from specimens import random_graph

FIELDS = ("channels", "shares", "unit_terms", "attention", "costs")
PLAIN = PairTraining("linear", "tied", "glorot", 0.02, (1, 5, 50), 1, (1.0, 0.5))
SHAPE = EncoderTraining(3, 5, 2, 20, 0.05, "linear")


@pytest.fixture(scope="module")
def oracle():
    pytest.importorskip("torch", reason="the oracle needs torch")
    from ddgk.engine.torch import TorchEngine

    return TorchEngine("float64")


def distributions(rng, n_rows: int, width: int, *, one_hot: bool):
    if one_hot:
        return np.eye(width)[rng.integers(0, width - 1, n_rows)]
    rows = rng.uniform(0, 1, (n_rows, width)) * (rng.uniform(0, 1, (n_rows, width)) < 0.6)
    return rows / np.maximum(rows.sum(1, keepdims=True), 1e-9)


def a_problem(
    seed: int, n_units: int, n_nodes: int | None = None, *, kind: str = "sparse", weights=False
) -> Problem:
    """A relation of the wanted kind, with one family of labels and one of frequencies."""
    rng = np.random.default_rng(seed)
    n_nodes = n_units if n_nodes is None else n_nodes
    dense = (rng.uniform(0, 1, (n_units, n_nodes)) < 0.3).astype(float)
    if kind == "soft":
        dense = dense * rng.uniform(0, 1, dense.shape)
    relation = sparse.csr_array(dense) if kind == "sparse" else dense
    sizes = [rng.integers(1, 4, n).astype(float) if weights else np.ones(n) for n in dense.shape]
    if n_units == n_nodes:
        sizes[1] = sizes[0]
    families = []
    for width, one_hot in ((5, True), (3, False)):
        units, around = (distributions(rng, n_units, width, one_hot=one_hot) for _ in range(2))
        around[: n_units // 4] = 0  # a unit without neighbours
        nodes = distributions(rng, n_nodes, width, one_hot=one_hot)
        families.append(FamilyArrays(units, around, nodes * (1 if one_hot else 3)))
    return Problem(relation, *sizes, tuple(families))


def a_source(seed: int, n_nodes: int, training: EncoderTraining = SHAPE, n_units=None) -> Source:
    rng = np.random.default_rng(seed)
    n_units = n_nodes if n_units is None else n_units
    weights = first_weights((n_units, n_nodes), seed, training)
    biased = tuple((w, rng.normal(size=b.shape) * 0.2) for w, b in weights.hidden)
    output = (weights.output[0], rng.normal(size=n_nodes) * 0.2)
    families = tuple(
        distributions(rng, n_units, width, one_hot=hot) for width, hot in ((5, True), (3, False))
    )
    return Source(replace(weights, hidden=biased, output=output), families)


def assert_close(found, expected, tolerance=1e-6):
    for one, other in zip(found, expected, strict=True):
        for field in FIELDS:
            np.testing.assert_allclose(
                getattr(one, field), getattr(other, field), rtol=tolerance, atol=1e-9
            )


def assert_same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


# 3 source nodes: fewer than h, so linear scores are not taken apart; 9: more, so they are.
PAIRS = [
    (a_problem(place, n, kind=kind, weights=weights), source)
    for source in (a_source(50, 3), a_source(51, 9))
    for place, (n, kind, weights) in enumerate(
        [(1, "sparse", False), (7, "dense", False), (8, "soft", True), (12, "sparse", True)]
    )
]
LARGE = [(a_problem(60, 75, kind="sparse", weights=True), a_source(61, n)) for n in (4, 70)]
SEEDS = list(range(100, 100 + len(PAIRS)))


@pytest.mark.parametrize("scores", ["linear", "tanh"])
@pytest.mark.parametrize("reverse", ["free", "tied"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.01, 0.0])
@pytest.mark.parametrize("coefficients", [(1.0, 0.5), (0.0, 0.0)])
def test_parity_with_the_oracle(oracle, scores, reverse, reduction, smoothing, coefficients):
    training = replace(
        PLAIN,
        scores=scores,
        reverse=reverse,
        reduction=reduction,
        smoothing=smoothing,
        coefficients=coefficients,
    )
    found, expected = (
        engine.score_pairs(PAIRS, SEEDS, training, detail=True)
        for engine in (FusedEngine("float64"), oracle)
    )
    assert_close(found, expected)


@pytest.mark.parametrize("scores", ["linear", "tanh"])
@pytest.mark.parametrize("reverse", ["free", "tied"])
@pytest.mark.parametrize("smoothing", [0.01, 0.0])
def test_parity_of_large_pairs(oracle, scores, reverse, smoothing):
    assert all(comes_alone(*pair) == (place == 1) for place, pair in enumerate(LARGE))
    training = replace(
        PLAIN, scores=scores, reverse=reverse, smoothing=smoothing, report=(0, 3, 12)
    )
    found, expected = (
        engine.score_pairs(LARGE, [1, 2], training, detail=True)
        for engine in (FusedEngine("float64"), oracle)
    )
    assert_close(found, expected)


@pytest.mark.parametrize("window", [1, 4, 100])
def test_windows_and_reports(oracle, window):
    training = replace(PLAIN, window=window, report=(0, 2, 3, 9))
    found, expected = (
        engine.score_pairs(PAIRS, SEEDS, training, detail=True)
        for engine in (FusedEngine("float64"), oracle)
    )
    assert_close(found, expected)


@pytest.mark.parametrize(
    ("dimension", "width", "depth"), [(1, 1, 1), (4, 16, 4), (9, 2, 1), (5, 7, 3)]
)
def test_any_encoder_shape(oracle, dimension, width, depth):
    shape = EncoderTraining(dimension, width, depth, 30, 0.05, "linear")
    source = a_source(3, 11, shape)
    pairs = [(a_problem(seed, n), source) for seed, n in enumerate((4, 9, 10))]
    for reverse, scores in itertools.product(("free", "tied"), ("linear", "tanh")):
        training = replace(PLAIN, reverse=reverse, scores=scores)
        found, expected = (
            engine.score_pairs(pairs, [7, 8, 9], training, detail=True)
            for engine in (FusedEngine("float64"), oracle)
        )
        assert_close(found, expected)
    for scores in ("linear", "tanh"):
        training = replace(shape, scores=scores)
        problems = [a_problem(20 + n, n) for n in (1, 6, 13, 70)]
        starts = [first_weights(p.relation.shape, n, shape) for n, p in enumerate(problems)]
        found, expected = (
            engine.train_encoders(problems, starts, training)
            for engine in (FusedEngine("float64"), oracle)
        )
        for one, other in zip(found, expected, strict=True):
            for a, b in zip(_parameters(one), _parameters(other), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def _parameters(weights):
    return [weights.table, *weights.output, *(part for layer in weights.hidden for part in layer)]


def test_units_other_than_nodes(oracle):
    source = a_source(5, 6, n_units=10)
    pairs = [(a_problem(seed, n, n + 3), source) for seed, n in enumerate((2, 9, 90))]
    for scores in ("linear", "tanh"):
        training = replace(PLAIN, reverse="free", scores=scores)
        found, expected = (
            engine.score_pairs(pairs, [1, 2, 3], training, detail=True)
            for engine in (FusedEngine("float64"), oracle)
        )
        assert_close(found, expected)


@pytest.mark.parametrize("reverse", ["free", "tied"])
def test_parity_on_quotients_from_the_equivariant_start(oracle, reverse):
    graphs = [random_graph(seed, labels=True) for seed in range(1, 24)]
    reader = Reader("node_to_edges", learn_families(graphs, "auto"))
    method = Method(reverse=reverse, encoder_epochs=40, curve=(1, 5, 50), precision="float64")
    expected_scorer, scorer = (
        Scorer(method, reader, engine, 0) for engine in (oracle, FusedEngine("float64"))
    )
    encoders = expected_scorer.encode(graphs[:2])
    readings = [scorer.read(graph) for graph in graphs]
    assert any(
        len(r.problem.unit_weights) < g.n_nodes for r, g in zip(readings, graphs, strict=True)
    )
    pairs = [(t, s) for t in range(len(graphs)) for s in range(2)]
    np.testing.assert_allclose(
        scorer.losses(readings, encoders, pairs),
        expected_scorer.losses(readings, encoders, pairs),
        rtol=1e-4,
        atol=1e-9,
    )


@pytest.mark.parametrize("reverse", ["free", "tied"])
def test_single_precision_stays_near_double(reverse):
    training = replace(PLAIN, reverse=reverse, report=(1, 5))
    single, double = (
        FusedEngine(precision).score_pairs(PAIRS, SEEDS, training)
        for precision in ("float32", "float64")
    )
    for one, other in zip(single, double, strict=True):
        np.testing.assert_allclose(one.channels, other.channels, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scores", ["linear", "tanh"])
@pytest.mark.parametrize("reverse", ["free", "tied"])
def test_bits_do_not_depend_on_the_company(scores, reverse):
    """Order, lane neighbours, padding and threads; mixed sizes, some of them alone."""
    rng = np.random.default_rng(0)
    sizes = [*rng.integers(1, 30, 18), 60, 75]
    sources = [a_source(70, 9), a_source(71, 20), a_source(72, 70)]
    problems = [a_problem(place, int(n), weights=True) for place, n in enumerate(sizes)]
    pairs = [(problem, source) for problem in problems for source in sources]
    assert {group.alone for group in plan_groups(pairs)} == {True, False}
    seeds = [int(seed) for seed in rng.integers(0, 9, len(pairs))]
    training = replace(PLAIN, scores=scores, reverse=reverse, report=(1, 7), rate=0.1)
    expected = FusedEngine().score_pairs(pairs, seeds, training, detail=True)
    for threads in (1, 2, 4):
        order = rng.permutation(len(pairs))
        found = FusedEngine(threads=threads).score_pairs(
            [pairs[i] for i in order], [seeds[i] for i in order], training, detail=True
        )
        assert_same_bits(found, [expected[i] for i in order])
    for place in range(0, len(pairs), 3):
        chosen = slice(place, place + 1)
        alone = FusedEngine().score_pairs(pairs[chosen], seeds[chosen], training, detail=True)
        assert_same_bits(alone, expected[chosen])
    half = [place for place in range(len(pairs)) if place % 2]
    found = FusedEngine().score_pairs(
        [pairs[i] for i in half], [seeds[i] for i in half], training, detail=True
    )
    assert_same_bits(found, [expected[i] for i in half])


def test_channels_do_not_depend_on_detail():
    with_detail, without = (
        FusedEngine().score_pairs(PAIRS, SEEDS, PLAIN, detail=detail) for detail in (True, False)
    )
    for one, other in zip(with_detail, without, strict=True):
        np.testing.assert_array_equal(one.channels, other.channels)
        np.testing.assert_array_equal(one.shares, other.shares)
        assert other.unit_terms is None


def test_shares_are_terms_where_their_units_attend():
    found = FusedEngine("float64").score_pairs(PAIRS, SEEDS, PLAIN, detail=True)
    for (problem, _), outcome in zip(PAIRS, found, strict=True):
        weighted = outcome.unit_terms[-1] * problem.unit_weights
        np.testing.assert_allclose(outcome.shares, weighted @ outcome.attention, atol=1e-12)
        np.testing.assert_allclose(outcome.shares.sum(1), outcome.channels[-1], atol=1e-12)


def test_encoders_do_not_depend_on_each_other():
    problems = [a_problem(n, n) for n in (3, 9, 17)]
    starts = [first_weights(p.relation.shape, n, SHAPE) for n, p in enumerate(problems)]
    together = FusedEngine(threads=2).train_encoders(problems, starts, SHAPE)
    for problem, start, expected in zip(problems, starts, together, strict=True):
        (found,) = FusedEngine().train_encoders([problem], [start], SHAPE)
        for a, b in zip(_parameters(found), _parameters(expected), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_diverging_pair_harms_nobody_else():
    """A lane of nan stays a lane of nan."""
    source = a_source(80, 9)
    problems = [a_problem(place, 9) for place in range(8)]
    broken = replace(problems[3], unit_weights=np.full(9, np.nan))
    training = replace(PLAIN, report=(1, 4))
    expected = FusedEngine().score_pairs([(p, source) for p in problems], [0] * 8, training)
    mixed = [broken if place == 3 else p for place, p in enumerate(problems)]
    found = FusedEngine().score_pairs([(p, source) for p in mixed], [0] * 8, training)
    assert not np.isfinite(found[3].channels).all()
    for place in set(range(8)) - {3}:
        np.testing.assert_array_equal(found[place].channels, expected[place].channels)


def test_graphs_of_one_node_and_of_none_related():
    graphs = [Graph(1, []), Graph(4, []), Graph(2, [(0, 1)])]
    reader = Reader("node_to_edges")
    for settings in ({}, {"reverse": "free"}, {"start": "glorot", "scores": "tanh"}):
        scorer = Scorer(Method(encoder_epochs=20, **settings), reader, FusedEngine(), 0)
        encoders = scorer.encode(graphs)
        found = scorer.divergences(graphs, encoders, scorer.baselines(encoders))
        assert np.isfinite(found).all()
        assert (found[range(3), range(3)] == 0).all()


def test_a_large_graph_against_small_and_large_sources():
    network = nx.barabasi_albert_graph(300, 2, seed=0)
    big, small = Graph(300, list(network.edges())), Graph(4, [(0, 1), (1, 2), (2, 3)])
    scorer = Scorer(
        Method(encoder_epochs=3, curve=(1, 2)), Reader("node_to_edges"), FusedEngine(), 0
    )
    encoders = scorer.encode([big, small])
    assert np.isfinite(scorer.divergences([big, small], encoders, scorer.baselines(encoders))).all()


def test_nothing_to_do():
    assert FusedEngine().score_pairs([], [], PLAIN) == []
    assert FusedEngine(threads=2).train_encoders([], [], SHAPE) == []


def test_arrays_start_at_a_line_of_the_cache():
    for size in (0, 1, 7, 1000):
        array = aligned(size, precision=np.float32)
        assert len(array) == size
        assert size == 0 or array.ctypes.data % 64 == 0


def test_one_target_alone_with_a_large_source_and_in_a_lane_with_a_small_one():
    """Both layouts of a target live side by side in one call, whichever comes first."""
    problem, small, large = a_problem(1, 30), a_source(2, 20), a_source(3, 90)
    assert comes_alone(problem, large)
    assert not comes_alone(problem, small)
    for sources in ((small, large), (large, small)):
        pairs = [(problem, source) for source in sources]
        together = FusedEngine().score_pairs(pairs, [0, 0], PLAIN)
        for pair, found in zip(pairs, together, strict=True):
            (expected,) = FusedEngine().score_pairs([pair], [0], PLAIN)
            np.testing.assert_array_equal(found.channels, expected.channels)
