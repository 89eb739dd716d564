"""The fused engine: equal to the reference engine, and bitwise independent of the batch."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from ddgk.config import Config
from ddgk.divergence import GlobalDivergences
from ddgk.engine.arrays import (
    AttributeArrays,
    EncodedGraph,
    Source,
)
from ddgk.engine.fused import FusedEngine
from ddgk.engine.fused.packing import aligned, is_alone, plan_groups
from ddgk.engine.initialisation import initial_weights
from ddgk.errors import ParameterError
from ddgk.graphs import Graph
from ddgk.targets import Encoding
from specimens import random_graph

FIELDS = ("terms", "unit_terms", "attention", "costs")
PLAIN = Config(
    attention="global",
    reverse="free",
    initialisation="glorot",
    learning_rate=0.02,
    checkpoints=(1, 5, 50),
    coefficients={"node_labels": 1.0, "edge_labels": 0.5},
    dimension=3,
    width=5,
    depth=2,
    encoder_epochs=20,
    encoder_learning_rate=0.05,
)


@pytest.fixture(scope="module")
def reference():
    pytest.importorskip("torch", reason="the reference needs torch")
    from ddgk.engine.torch import TorchEngine

    return TorchEngine("float64")


def distributions(rng, n_rows: int, width: int, *, one_hot: bool):
    if one_hot:
        return np.eye(width)[rng.integers(0, width - 1, n_rows)]
    rows = rng.uniform(0, 1, (n_rows, width)) * (rng.uniform(0, 1, (n_rows, width)) < 0.6)
    return rows / np.maximum(rows.sum(1, keepdims=True), 1e-9)


def a_graph(seed: int, n_units: int, *, kind: str = "sparse", weights=False) -> EncodedGraph:
    """A target matrix of the wanted kind, with labels and with frequencies."""
    rng = np.random.default_rng(seed)
    n_nodes = n_units
    dense = (rng.uniform(0, 1, (n_units, n_nodes)) < 0.3).astype(float)
    if kind == "soft":
        dense = dense * rng.uniform(0, 1, dense.shape)
    matrix = sparse.csr_array(dense) if kind == "sparse" else dense
    sizes = rng.integers(1, 4, n_nodes).astype(float) if weights else np.ones(n_nodes)
    attributes = []
    for name, width, one_hot in (("node_labels", 5, True), ("edge_labels", 3, False)):
        units, around = (distributions(rng, n_units, width, one_hot=one_hot) for _ in range(2))
        around[: n_units // 4] = 0  # a unit without neighbours
        nodes = distributions(rng, n_nodes, width, one_hot=one_hot)
        carried = nodes * (1 if one_hot else 3)
        attributes.append(AttributeArrays(units, around, carried, name=name))
    return EncodedGraph(matrix, sizes, sizes, tuple(attributes))


def a_source(seed: int, n_nodes: int, config: Config = PLAIN) -> Source:
    rng = np.random.default_rng(seed)
    weights = initial_weights((n_nodes, n_nodes), seed, config)
    biased = tuple((w, rng.normal(size=b.shape) * 0.2) for w, b in weights.hidden)
    output = (weights.output[0], rng.normal(size=n_nodes) * 0.2)
    attributes = tuple(
        distributions(rng, n_nodes, width, one_hot=hot) for width, hot in ((5, True), (3, False))
    )
    return Source(replace(weights, hidden=biased, output=output), attributes)


def assert_close(found, expected, tolerance=1e-3):
    for one, other in zip(found, expected, strict=True):
        for field in FIELDS:
            np.testing.assert_allclose(
                getattr(one, field), getattr(other, field), rtol=tolerance, atol=tolerance
            )


def assert_same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


# 3 source nodes: fewer than h, so the scores have no low rank; 9: more, so they have.
PAIRS = [
    (a_graph(place, n, kind=kind, weights=weights), source)
    for source in (a_source(50, 3), a_source(51, 9))
    for place, (n, kind, weights) in enumerate(
        [(1, "sparse", False), (7, "dense", False), (8, "soft", True), (12, "sparse", True)]
    )
]
LARGE = [(a_graph(60, 75, kind="sparse", weights=True), a_source(61, n)) for n in (4, 70)]
SEEDS = list(range(100, 100 + len(PAIRS)))


# Every pair of values of two options at least once.
COVERING = [
    ("linear", "mean", 0.01, 1.0),
    ("linear", "sum", 0.0, 0.0),
    ("tanh", "sum", 0.01, 0.0),
    ("tanh", "mean", 0.0, 1.0),
    ("linear", "mean", 0.01, 0.0),
    ("tanh", "sum", 0.0, 1.0),
]


@pytest.mark.parametrize(("scores", "reduction", "smoothing", "coefficients"), COVERING, ids=str)
def test_parity_with_the_reference(reference, scores, reduction, smoothing, coefficients):
    training = PLAIN.replace(
        scores=scores, reduction=reduction, smoothing=smoothing, coefficients=coefficients
    )
    found, expected = (
        engine.train_pairs(PAIRS, SEEDS, training, detail=True)
        for engine in (FusedEngine(), reference)
    )
    assert_close(found, expected)


@pytest.mark.parametrize("scores", ["linear", "tanh"])
@pytest.mark.parametrize("smoothing", [0.01, 0.0])
def test_parity_of_large_pairs(reference, scores, smoothing):
    assert all(is_alone(*pair) == (place == 1) for place, pair in enumerate(LARGE))
    training = PLAIN.replace(scores=scores, smoothing=smoothing, checkpoints=(0, 3, 12))
    found, expected = (
        engine.train_pairs(LARGE, [1, 2], training, detail=True)
        for engine in (FusedEngine(), reference)
    )
    assert_close(found, expected)


def test_checkpoints_and_reports(reference):
    training = PLAIN.replace(checkpoints=(0, 2, 3, 9))
    found, expected = (
        engine.train_pairs(PAIRS, SEEDS, training, detail=True)
        for engine in (FusedEngine(), reference)
    )
    assert_close(found, expected)


@pytest.mark.parametrize(
    ("dimension", "width", "depth"), [(1, 1, 1), (4, 16, 4), (9, 2, 1), (5, 7, 3)]
)
def test_any_encoder_shape(reference, dimension, width, depth):
    shape = PLAIN.replace(dimension=dimension, width=width, depth=depth, encoder_epochs=30)
    source = a_source(3, 11, shape)
    pairs = [(a_graph(seed, n), source) for seed, n in enumerate((4, 9, 10))]
    for scores in ("linear", "tanh"):
        training = PLAIN.replace(scores=scores)
        found, expected = (
            engine.train_pairs(pairs, [7, 8, 9], training, detail=True)
            for engine in (FusedEngine(), reference)
        )
        assert_close(found, expected)
    for scores in ("linear", "tanh"):
        training = shape.replace(scores=scores)
        graphs = [a_graph(20 + n, n) for n in (1, 6, 13, 70)]
        starts = [initial_weights(p.matrix.shape, n, shape) for n, p in enumerate(graphs)]
        found, expected = (
            engine.train_encoders(graphs, starts, training, range(4))
            for engine in (FusedEngine(), reference)
        )
        for one, other in zip(found, expected, strict=True):
            for a, b in zip(one.arrays(), other.arrays(), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("scores", ["linear", "tanh"])
def test_bits_do_not_depend_on_the_batch(scores):
    """Order, lane neighbours, padding and threads; mixed sizes, some of them alone."""
    rng = np.random.default_rng(0)
    sizes = [*rng.integers(1, 30, 18), 60, 75]
    sources = [a_source(70, 9), a_source(71, 20), a_source(72, 70)]
    graphs = [a_graph(place, int(n), weights=True) for place, n in enumerate(sizes)]
    pairs = [(graph, source) for graph in graphs for source in sources]
    assert {group.alone for group in plan_groups(pairs)} == {True, False}
    seeds = [int(seed) for seed in rng.integers(0, 9, len(pairs))]
    training = PLAIN.replace(scores=scores, checkpoints=(1, 7), learning_rate=0.1)
    expected = FusedEngine().train_pairs(pairs, seeds, training, detail=True)
    for threads in (1, 2, 4):
        order = rng.permutation(len(pairs))
        found = FusedEngine(threads=threads).train_pairs(
            [pairs[i] for i in order], [seeds[i] for i in order], training, detail=True
        )
        assert_same_bits(found, [expected[i] for i in order])
    for place in range(0, len(pairs), 3):
        chosen = slice(place, place + 1)
        alone = FusedEngine().train_pairs(pairs[chosen], seeds[chosen], training, detail=True)
        assert_same_bits(alone, expected[chosen])
    half = [place for place in range(len(pairs)) if place % 2]
    found = FusedEngine().train_pairs(
        [pairs[i] for i in half], [seeds[i] for i in half], training, detail=True
    )
    assert_same_bits(found, [expected[i] for i in half])


def test_terms_do_not_depend_on_detail():
    with_detail, without = (
        FusedEngine().train_pairs(PAIRS, SEEDS, PLAIN, detail=detail) for detail in (True, False)
    )
    for one, other in zip(with_detail, without, strict=True):
        np.testing.assert_array_equal(one.terms, other.terms)
        assert other.unit_terms is None


def test_unit_terms_add_up():
    found = FusedEngine().train_pairs(PAIRS, SEEDS, PLAIN, detail=True)
    for (graph, _), outcome in zip(PAIRS, found, strict=True):
        weighted = (outcome.unit_terms * graph.unit_weights).sum(-1)
        np.testing.assert_allclose(weighted, outcome.terms, atol=1e-6)
        np.testing.assert_allclose(outcome.attention.sum(1), 1, atol=1e-6)


def test_encoders_do_not_depend_on_each_other():
    graphs = [a_graph(n, n) for n in (3, 9, 17)]
    starts = [initial_weights(p.matrix.shape, n, PLAIN) for n, p in enumerate(graphs)]
    together = FusedEngine(threads=2).train_encoders(graphs, starts, PLAIN, range(3))
    for graph, start, expected in zip(graphs, starts, together, strict=True):
        (found,) = FusedEngine().train_encoders([graph], [start], PLAIN, [0])
        for a, b in zip(found.arrays(), expected.arrays(), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_diverging_pair_harms_nobody_else():
    """A lane of nan stays a lane of nan."""
    source = a_source(80, 9)
    graphs = [a_graph(place, 9) for place in range(8)]
    broken = replace(graphs[3], unit_weights=np.full(9, np.nan))
    training = PLAIN.replace(checkpoints=(1, 4))
    expected = FusedEngine().train_pairs([(p, source) for p in graphs], [0] * 8, training)
    mixed = [broken if place == 3 else p for place, p in enumerate(graphs)]
    found = FusedEngine().train_pairs([(p, source) for p in mixed], [0] * 8, training)
    assert not np.isfinite(found[3].terms).all()
    for place in set(range(8)) - {3}:
        np.testing.assert_array_equal(found[place].terms, expected[place].terms)


def test_graphs_of_one_node_and_without_edges():
    graphs = [Graph(1, []), Graph(4, []), Graph(2, [(0, 1)])]
    plain = Config(attention="global", reverse="free", encoder_epochs=20, baseline="source")
    for config in (plain, plain.replace(initialisation="glorot", scores="tanh")):
        scorer = GlobalDivergences(config, Encoding(), FusedEngine(), 0)
        encoders = scorer.encode_sources(graphs)
        found = scorer.divergences(graphs, encoders, scorer.baselines(encoders))
        assert np.isfinite(found).all()
        assert (found[range(3), range(3)] == 0).all()


def test_a_large_graph_against_small_and_large_sources():
    network = nx.barabasi_albert_graph(300, 2, seed=0)
    big, small = Graph(300, list(network.edges())), Graph(4, [(0, 1), (1, 2), (2, 3)])
    config = Config(attention="global", reverse="free", encoder_epochs=3, checkpoints=(1, 2))
    scorer = GlobalDivergences(config, Encoding(), FusedEngine(), 0)
    encoders = scorer.encode_sources([big, small])
    assert np.isfinite(scorer.divergences([big, small], encoders, scorer.baselines(encoders))).all()


def test_what_it_does_not_compute_is_refused():
    graph, source = PAIRS[-1]
    for changes in ({"attention_layers": (3,)}, {"reverse": "tied"}):
        with pytest.raises(ParameterError, match='engine="torch"'):
            FusedEngine().train_pairs([(graph, source)], [0], PLAIN.replace(**changes))
    walks = Encoding(target="neighborhood").encode(random_graph(3), quotient=False)
    with pytest.raises(ParameterError, match='engine="torch"'):
        FusedEngine().train_pairs([(walks, source)], [0], PLAIN)
    initial = initial_weights(graph.matrix.shape, 0, PLAIN)
    with pytest.raises(ParameterError, match='engine="torch"'):
        FusedEngine().train_encoders(
            [graph], [initial], PLAIN.replace(encoder_edge_dropout=0.3), [0]
        )


def test_nothing_to_do():
    assert FusedEngine().train_pairs([], [], PLAIN) == []
    assert FusedEngine(threads=2).train_encoders([], [], PLAIN, []) == []


def test_arrays_start_at_a_line_of_the_cache():
    for size in (0, 1, 7, 1000):
        array = aligned(size)
        assert len(array) == size
        assert size == 0 or array.ctypes.data % 64 == 0


def test_one_target_alone_with_a_large_source_and_in_a_lane_with_a_small_one():
    """Both layouts of a target live side by side in one call, whichever comes first."""
    graph, small, large = a_graph(1, 30), a_source(2, 20), a_source(3, 90)
    assert is_alone(graph, large)
    assert not is_alone(graph, small)
    for sources in ((small, large), (large, small)):
        pairs = [(graph, source) for source in sources]
        together = FusedEngine().train_pairs(pairs, [0, 0], PLAIN)
        for pair, found in zip(pairs, together, strict=True):
            (expected,) = FusedEngine().train_pairs([pair], [0], PLAIN)
            np.testing.assert_array_equal(found.terms, expected.terms)
