"""Gradients by finite differences, and bits that do not depend on the company."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from specimens import graph_of, random_graph

torch = pytest.importorskip("torch", reason="the torch engine needs torch")

from ddgk.engine.passes import freeze_sources  # noqa: E402
from ddgk.engine.problem import PairTraining  # noqa: E402
from ddgk.method import Method  # noqa: E402
from ddgk.reading import Reader  # noqa: E402

from ddgk.attributes import learn_families  # noqa: E402
from ddgk.divergence import Scorer  # noqa: E402
from ddgk.engine.batches import padded_size, pair_shape  # noqa: E402
from ddgk.engine.torch import (  # noqa: E402
    TorchEngine,
    per_node_gradients,
    reconstruct,
    training_loss,
)
from ddgk.graphs import Graph  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    """As the engine runs: threads that share tensors of a few numbers only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


PARTS = {
    "edges": lambda batch, parts: (batch.relation * parts.costs[0] * _weights(batch)).sum((1, 2)),
    "non_edges": lambda batch, parts: ((1 - batch.relation) * parts.costs[1] * _weights(batch)).sum(
        (1, 2)
    ),
    **{
        name: lambda batch, parts, place=place: (batch.unit_weights * parts.consistency[place]).sum(
            1
        )
        for place, name in enumerate(
            (
                "node_labels.attention",
                "node_labels.reverse",
                "edge_labels.attention",
                "edge_labels.reverse",
                "attributes.attention",
                "attributes.reverse",
            )
        )
    },
    "total": lambda batch, parts: training_loss(batch, parts, (0.5, 1.0, 2.0)),
}


def _weights(batch):
    return batch.unit_weights[:, :, None] * batch.node_weights[:, None, :]


def a_batch(method: Method, *, quotient: bool):
    """Return (batch, parameters away from their start, settings) of one labelled pair."""
    target, source = (_labelled(n_nodes=8, seed=seed) for seed in (6, 4))  # 8: nothing is padded
    reader = Reader("node_to_edges", learn_families([target, source], "auto"))
    engine = TorchEngine("float64")
    (encoder,) = Scorer(method, reader, engine, 0).encode([source])
    pair = (reader.read(target, quotient=quotient).problem, encoder.source)
    shape = tuple(map(padded_size, pair_shape(*pair)))
    settings = method.pair_training(reader.family_names)
    batch = engine._batch(shape, [pair], 1, settings)
    parameters = engine._first_attention(shape, [pair], [7], 1, settings)
    for stream, parameter in enumerate(parameters):
        noise = np.random.default_rng(stream).normal(size=parameter.shape)
        parameter.data += 0.5 * torch.as_tensor(noise)
    return batch, parameters, settings


def _labelled(n_nodes: int, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    edges = list(nx.gnp_random_graph(n_nodes, 0.4, seed=seed).edges())
    return Graph(
        n_nodes,
        edges,
        node_labels=rng.integers(0, 3, n_nodes),
        edge_labels=rng.integers(0, 2, len(edges)),
        node_attributes=rng.uniform(0, 1, (n_nodes, 3)),
    )


@pytest.mark.parametrize("reverse", ["free", "tied"])
@pytest.mark.parametrize("scores", ["linear", "tanh"])
@pytest.mark.parametrize("smoothing", [0.01, 0.0])
def test_gradient_of_every_part(reverse, scores, smoothing):
    method = Method(
        reverse=reverse, scores=scores, smoothing=smoothing, encoder_epochs=60, precision="float64"
    )
    batch, parameters, settings = a_batch(method, quotient=False)
    rng = np.random.default_rng(0)
    for name, part in PARTS.items():

        def value(part=part):
            return part(batch, reconstruct(batch, parameters, settings)).sum()

        gradients = torch.autograd.grad(value(), parameters, allow_unused=True)
        reached = False
        for parameter, gradient in zip(parameters, gradients, strict=True):
            for _ in range(6):
                entry = tuple(int(rng.integers(0, size)) for size in parameter.shape)
                expected = _finite_difference(value, parameter, entry)
                found = 0.0 if gradient is None else float(gradient[entry])
                assert found == pytest.approx(expected, abs=1e-7, rel=1e-5), (name, entry)
                reached = reached or abs(expected) > 1e-9
        assert reached, f"no sampled entry reaches {name}: the check would be empty"


def _finite_difference(value, parameter, entry, step=1e-5) -> float:
    before = float(parameter.data[entry])
    parameter.data[entry] = before + step
    above = float(value().detach())
    parameter.data[entry] = before - step
    below = float(value().detach())
    parameter.data[entry] = before
    return (above - below) / (2 * step)


@pytest.mark.parametrize("reverse", ["free", "tied"])
def test_gradient_of_a_class_is_that_of_its_nodes(reverse):
    method = Method(reverse=reverse, encoder_epochs=60, precision="float64")
    star, path = graph_of(nx.star_graph(4)), random_graph(3)
    reader, engine = Reader("node_to_edges"), TorchEngine("float64")
    (encoder,) = Scorer(method, reader, engine, 0).encode([path])
    settings = method.pair_training(())
    rows = {}
    for quotient in (True, False):
        reading = reader.read(star, quotient=quotient)
        pair = (reading.problem, encoder.source)
        shape = tuple(map(padded_size, pair_shape(*pair)))
        batch = engine._batch(shape, [pair], 1, settings)
        parameters = engine._first_attention(shape, [pair], [0], 1, settings)
        loss = training_loss(batch, reconstruct(batch, parameters, settings), ())
        gradients = per_node_gradients(batch, parameters, loss, settings)
        classes = torch.as_tensor(reading.partition.classes)
        rows[quotient] = [gradients[0][0, classes], *(g[0][:, classes] for g in gradients[1:])]
    for by_class, by_node in zip(rows[True], rows[False], strict=True):
        torch.testing.assert_close(by_class, by_node, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_change_nothing(threads):
    graphs = [random_graph(seed, labels=True) for seed in range(70)]
    reader = Reader("node_to_edges", learn_families(graphs, "auto"))
    method = Method(encoder_epochs=30, curve=(1, 10))

    def losses(engine):
        scorer = Scorer(method, reader, engine, 0)
        encoders = scorer.encode(graphs[:3])
        return scorer.divergences(graphs, encoders, scorer.baselines(encoders))

    before = torch.get_num_threads()
    np.testing.assert_array_equal(losses(TorchEngine(threads=threads)), losses(TorchEngine()))
    assert torch.get_num_threads() == before


def test_device_and_precision_are_used():
    assert TorchEngine("float64")._tensor([1.0]).dtype == torch.float64
    assert TorchEngine("float32", "meta")._tensor([1.0]).device.type == "meta"


def test_the_sources_side_of_a_factor_stays_unless_it_is_random():
    gradients = tuple(torch.ones(2, 2) for _ in range(5))
    for start, trains in (("equivariant", [1, 0, 1, 0, 1]), ("glorot", [1] * 5)):
        training = PairTraining("linear", "free", start, 0.1, (1,), size=2)
        found = freeze_sources(gradients, training)
        assert [int(gradient.any()) for gradient in found] == trains
    whole = PairTraining("linear", "free", "equivariant", 0.1, (1,))
    assert all(gradient.any() for gradient in freeze_sources(gradients[:3], whole))
