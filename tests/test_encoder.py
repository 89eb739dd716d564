from __future__ import annotations

import numpy as np
import pytest

from ddgk.config import Config
from ddgk.encoder import content_seed, train_encoders
from ddgk.engine import make_engine
from ddgk.errors import GraphError, NonFiniteLossError
from ddgk.graphs import Graph
from ddgk.targets import MAX_NODES, TARGETS, Encoding
from specimens import SYMMETRIC, graph_of, random_graph, shuffled


def encoder_of(graph, **changes):
    config = Config(encoder_epochs=30, attention="global", **changes)
    encoding = Encoding.learn([graph], config)
    (found,) = train_encoders([graph], encoding, config, engine_for(config, encoding), 0)
    return found


def engine_for(config, encoding):
    if config.torch_reason or encoding.torch_reason:
        pytest.importorskip("torch", reason="the torch engine needs torch")
    return make_engine(reason=config.torch_reason or encoding.torch_reason)


OPTIONS = [
    {},
    *({"target": target} for target in TARGETS),
    {"encoder_edge_dropout": 0.3, "encoder_weight_decay": 0.1},
]


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_a_renumbered_source_has_a_bitwise_identical_encoder(changes):
    for seed in (3, 8):
        graph = random_graph(seed, labels=True)
        one, other = (encoder_of(g, **changes) for g in (graph, shuffled(graph, seed)))
        for a, b in zip(one.source.weights.arrays(), other.source.weights.arrays(), strict=True):
            np.testing.assert_array_equal(a, b)
        assert one.seed == other.seed


def test_symmetric_sources_have_bitwise_identical_encoders():
    for seed, network in enumerate(SYMMETRIC.values()):
        graph = graph_of(network)
        one, other = (encoder_of(g).source.weights for g in (graph, shuffled(graph, seed)))
        np.testing.assert_array_equal(one.table, other.table)


def test_training_lowers_the_loss():
    graph = random_graph(5)
    config = Config(encoder_epochs=300)
    (encoder,) = train_encoders([graph], Encoding(), config, make_engine(), 0)
    weights, hidden = encoder.source.weights, encoder.source.weights.table
    for matrix, bias in weights.hidden:
        hidden = np.tanh(hidden @ matrix + bias)
    scores = hidden @ weights.output[0] + weights.output[1]
    matrix = Encoding().encode(graph.permuted(encoder.order), quotient=False).dense_matrix()
    assert (np.logaddexp(0, scores) - matrix * scores).mean() < 0.2


def test_a_diverging_encoder_is_named():
    ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], name="ring")
    with pytest.raises(NonFiniteLossError, match=r"encoder of graph 0 \('ring'\) diverged; lower"):
        encoder_of(ring, encoder_learning_rate=1e38)


def test_very_large_sources_are_refused():
    web = Graph(MAX_NODES + 1, [], name="web")
    with pytest.raises(GraphError, match=r"graph 0 \('web'\).*smaller graphs as sources"):
        train_encoders([web], Encoding(), Config(), make_engine(), 0)


def test_the_seed_is_a_hash_of_seed_and_content():
    assert content_seed(0, "a") != content_seed(1, "a") != content_seed(1, "b")
    assert repr(encoder_of(random_graph(3))).startswith("Encoder(graph 'random-3', ")
