"""Local attention: hand-computed terms, locality, invariance, and agreement with autograd."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk.config import Config
from ddgk.encoder import train_encoders
from ddgk.engine import make_engine
from ddgk.engine.arrays import EncoderWeights
from ddgk.engine.local import LocalSource, explain_local, train_local
from ddgk.engine.neighbourhoods import LABELS, REALS, Adjacency, AttributeColumns, LocalTargets
from ddgk.graphs import Graph
from ddgk.models import LocalModel, local_targets
from ddgk.targets import Encoding
from specimens import SYMMETRIC, graph_of, random_graph, shuffled


def softplus(x):
    return np.logaddexp(0, x)


def flat_source(bias, attributes=()):
    """An encoder whose scores are its biases, whatever the attention."""
    n = len(bias)
    hidden = ((np.zeros((2, 8)), np.zeros(8)),)
    weights = EncoderWeights(np.zeros((n, 2)), hidden, (np.zeros((8, n)), np.asarray(bias, float)))
    return LocalSource(weights, tuple(attributes))


def one_edge(weights=None, directed=False, attributes=()):
    starts = np.array([0, 2])
    if directed:
        out = Adjacency(np.array([0, 1, 1]), np.array([1]), weights)
        into = Adjacency(np.array([0, 0, 1]), np.array([0]), weights)
        return LocalTargets(starts, out, into, attributes)
    both = None if weights is None else np.repeat(weights, 2)
    side = Adjacency(np.array([0, 1, 2]), np.array([1, 0]), both)
    return LocalTargets(starts, side, side, attributes)


ONCE = Config(checkpoints=1)


def test_terms_of_an_edge_are_those_of_hand():
    """Uniform attention scores the mean bias, b, at each of the two arcs."""
    bias = [0.3, -0.1, 0.7]
    b = np.mean(bias)
    found = train_local(one_edge(), [flat_source(bias)], ONCE).terms[0, 0, :, 0]
    np.testing.assert_allclose(found, [2 * softplus(-b), 2 * softplus(b), 2 * softplus(b)], 1e-6)


def test_a_directed_edge_is_one_arc():
    bias = [0.3, -0.1, 0.7]
    found = train_local(one_edge(directed=True), [flat_source(bias)], ONCE).terms[0, 0, 0, 0]
    np.testing.assert_allclose(found, softplus(-np.mean(bias)), 1e-6)


def test_a_weighted_edge_is_a_soft_target_less_its_entropy():
    bias, w = [0.5, -1.5], 0.25
    score = np.mean(bias)
    entropy = -w * np.log(w) - (1 - w) * np.log(1 - w)
    expected = 2 * (w * softplus(-score) + (1 - w) * softplus(score) - entropy)
    found = train_local(one_edge(np.array([w])), [flat_source(bias)], ONCE).terms[0, 0, 0, 0]
    np.testing.assert_allclose(found, expected, 1e-5)


def test_real_attributes_are_squared_errors():
    """Attention infers the mean of the source, 2; reverse attention too, for scores of 0."""
    own = np.array([[1.0], [4.0]])
    attribute = AttributeColumns(REALS, own, own)
    source = flat_source([0.0, 0.0], [np.array([[1.0], [3.0]])])
    training = Config(checkpoints=1)
    found = train_local(one_edge(attributes=(attribute,)), [source], training).terms[0, 0, 3:, 0]
    np.testing.assert_allclose(found, [1 + 4, 4 + 1], 1e-6)


def test_missing_values_do_not_count():
    own = np.array([[1.0, np.nan], [np.nan, np.nan]])
    attribute = AttributeColumns(REALS, own, own)
    source = flat_source([0.0, 0.0], [np.array([[1.0, 5.0], [3.0, 5.0]])])
    training = Config(checkpoints=1)
    found = train_local(one_edge(attributes=(attribute,)), [source], training).terms[0, 0, 3:, 0]
    np.testing.assert_allclose(found, [1, 1], 1e-6)


def test_labels_are_smoothed_cross_entropies():
    own = np.array([[1.0, 0.0], [1.0, 0.0]])
    attribute = AttributeColumns(LABELS, own, own)
    source = flat_source([0.0, 0.0], [np.eye(2)])
    training = Config(checkpoints=1)
    found = train_local(one_edge(attributes=(attribute,)), [source], training).terms[0, 0, 3:, 0]
    np.testing.assert_allclose(found, [2 * np.log(2)] * 2, 1e-6)


def fitted(graphs, sources=3, **changes):
    """Train encoders, without a feature map."""
    config = Config(encoder_epochs=40, **changes)
    encoding = Encoding.learn(graphs, config)
    encoders = train_encoders(graphs[:sources], encoding, config, make_engine(), 0)
    return LocalModel(config, encoding, tuple(encoders), 0)


def decorated(seed):
    """A graph with everything that a graph can carry."""
    rng = np.random.default_rng(seed)
    plain = random_graph(seed + 3, labels=True)
    return Graph(
        plain.n_nodes,
        plain.edges,
        directed=bool(seed % 2),
        node_labels=plain.node_labels,
        edge_labels=plain.edge_labels,
        node_attributes=rng.normal(size=(plain.n_nodes, 2)),
        edge_attributes=rng.normal(size=(plain.n_edges, 1)),
        edge_weights=rng.uniform(0.1, 2, plain.n_edges),
    )


SETS = {
    "plain": [random_graph(seed) for seed in range(8)],
    "labelled": [random_graph(seed, labels=True) for seed in range(8)],
    "symmetric": [graph_of(network) for network in SYMMETRIC.values()],
    "decorated": [decorated(seed) for seed in range(8) if random_graph(seed + 3).n_edges > 1],
}


def trained(model, graphs, **options):
    return model._train(local_targets(graphs, model.encoding), **options)


@pytest.mark.parametrize("kind", SETS)
def test_node_order_and_batches_change_no_bit(kind):
    graphs = SETS[kind]
    model = fitted(graphs)
    losses, together = trained(model, graphs), trained(model, graphs, views=True)
    starts = local_targets(graphs, model.encoding).starts
    for place, graph in enumerate(graphs):
        other = [shuffled(graph, place)]
        np.testing.assert_array_equal(trained(model, other).terms[0], losses.terms[place])
        alone = trained(model, other, views=True)
        both = together.ids[starts[place] : starts[place + 1]]
        ours = sorted(map(bytes, alone.views[alone.ids]))
        assert ours == sorted(map(bytes, together.views[both]))


@pytest.mark.parametrize("kind", SETS)
def test_threads_change_no_bit(kind):
    model = fitted(SETS[kind])
    one, two = (trained(model, SETS[kind], n_threads=n, views=True) for n in (1, 2))
    np.testing.assert_array_equal(one.terms, two.terms)
    np.testing.assert_array_equal(one.views, two.views)


@pytest.mark.parametrize("kind", SETS)
def test_engines_agree(kind):
    torch_engine = pytest.importorskip("ddgk.engine.local_torch", reason="needs torch")
    model = fitted(SETS[kind])
    targets = local_targets(SETS[kind], model.encoding)
    n_terms = 3 + 2 * len(targets.attributes)
    drawn = np.random.default_rng(0).normal(size=(len(model.encoders), 5, n_terms, 4))
    given = (targets, model.local_sources, model.config, drawn.astype(np.float32))
    ours = train_local(*given)
    theirs = torch_engine.train_local_torch(*given, precision="float64")
    np.testing.assert_allclose(ours.terms, theirs.terms, rtol=2e-3, atol=2e-3)
    scale = np.abs(theirs.views).max()
    np.testing.assert_allclose(ours.views[ours.ids], theirs.views, atol=2e-3 * scale)


def test_threads_of_torch_change_no_bit():
    torch = pytest.importorskip("torch", reason="needs torch")
    from ddgk.engine.local_torch import train_local_torch

    graphs = [graph_of(nx.barabasi_albert_graph(3000, 3, seed=0)), *SETS["labelled"][:2]]
    model = fitted([graph.replace(node_labels=None, edge_labels=None) for graph in graphs[1:]])
    targets = local_targets(graphs[:1], model.encoding)
    drawn = np.random.default_rng(0).normal(size=(len(model.encoders), 5, 3, 4))
    before, found = torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        outcome = train_local_torch(targets, model.local_sources, model.config, drawn)
        assert torch.get_num_threads() == threads
        found.append((outcome.terms, outcome.views))
    torch.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_loss_depends_on_the_neighbourhood_alone():
    """A node in the middle of a path equals one of a long ring, bitwise, until it sees the end."""
    path, ring = graph_of(nx.path_graph(11)), graph_of(nx.cycle_graph(20))
    model = fitted([path, ring, graph_of(nx.star_graph(5))])
    details = [
        explain_local(local_targets([graph], model.encoding), model.local_sources[0], model.config)
        for graph in (path, ring)
    ]
    middle, on_ring = details[0].terms[..., 5], details[1].terms[..., 0]
    assert middle.tobytes() == on_ring.tobytes()
    # After t steps a loss sees t + 1 hops: node 2 of the path sees its end two hops away.
    second = details[0].terms[..., 2]
    np.testing.assert_array_equal(second[:, :1], on_ring[:, :1])
    assert np.abs(second[:, 1:] - on_ring[:, 1:]).max() > 0
    found = trained(model, [path, ring], views=True)
    assert found.views[found.ids[5]].tobytes() == found.views[found.ids[11]].tobytes()
    assert found.views[found.ids[2]].tobytes() != found.views[found.ids[11]].tobytes()


@pytest.mark.parametrize("kind", SETS)
def test_explanations_add_up(kind):
    model = fitted(SETS[kind])
    for graph in SETS[kind][:4]:
        targets = local_targets([graph], model.encoding)
        whole = train_local(targets, model.local_sources[:1], model.config).terms[0, 0]
        detail = explain_local(targets, model.local_sources[0], model.config)
        np.testing.assert_allclose(detail.terms.sum(-1), whole, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(detail.edge_terms.sum(), whole[0, -1], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(detail.attention.sum(1), 1, rtol=1e-5)


def test_direction_and_weights_are_told_apart():
    """A directed ring is no turned path pair, and heavy edges are no light ones."""
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    turned = [(0, 1), (1, 2), (3, 2), (0, 3)]
    directed = [Graph(4, edges, directed=True) for edges in (ring, turned)]
    model = fitted(directed, sources=2)
    terms = trained(model, directed).terms
    assert np.abs(terms[0] - terms[1]).max() > 1e-3
    undirected = [Graph(4, edges) for edges in (ring, turned)]
    model = fitted(undirected, sources=2)
    terms = trained(model, undirected).terms
    np.testing.assert_array_equal(terms[0], terms[1])
    weighted = [Graph(4, ring, edge_weights=w) for w in ([1, 1, 1, 1], [1, 0.1, 1, 0.1])]
    model = fitted(weighted, sources=2)
    terms = trained(model, weighted).terms
    assert np.abs(terms[0] - terms[1]).max() > 1e-3
