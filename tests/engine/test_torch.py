"""Gradients by finite differences, and results that do not depend on the batch."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from specimens import graph_of, random_graph

torch = pytest.importorskip("torch", reason="the torch engine needs torch")

from ddgk.config import Config  # noqa: E402
from ddgk.divergence import GlobalDivergences  # noqa: E402
from ddgk.engine.arrays import pair_shape  # noqa: E402
from ddgk.engine.equations import forward, per_node_gradients, training_loss  # noqa: E402
from ddgk.engine.torch import TorchEngine, padded_size  # noqa: E402
from ddgk.graphs import Graph  # noqa: E402
from ddgk.targets import Encoding  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    """As the engine runs: threads that share tensors of a few numbers only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


PARTS = {
    "edges": lambda batch, parts: (batch.matrix * parts.costs[0] * _weights(batch)).sum((1, 2)),
    "non_edges": lambda batch, parts: ((1 - batch.matrix) * parts.costs[1] * _weights(batch)).sum(
        (1, 2)
    ),
    **{
        name: lambda batch, parts, place=place: (
            batch.unit_weights * parts.attribute_terms[place]
        ).sum(1)
        for place, name in enumerate(
            (
                "node_labels.attention",
                "node_labels.reverse",
                "edge_labels.attention",
                "edge_labels.reverse",
                "node_attributes.attention",
                "node_attributes.reverse",
            )
        )
    },
    "total": training_loss,
}


def _weights(batch):
    return batch.unit_weights[:, :, None] * batch.node_weights[:, None, :]


def a_batch(config: Config, *, quotient: bool):
    """Return (batch, parameters away from their start) of one labelled pair."""
    target, source = (_labelled(n_nodes=8, seed=seed) for seed in (6, 4))  # 8: nothing is padded
    encoding = Encoding.learn([target, source], config)
    engine = TorchEngine("float64")
    (encoder,) = GlobalDivergences(config, encoding, engine).encode_sources([source])
    pair = (encoding.encode(target, quotient=quotient), encoder.source)
    shape = tuple(map(padded_size, pair_shape(*pair)))
    batch = engine._batch(shape, [pair], 1, config)
    parameters = engine._initial(shape, [pair], [7], 1, config)
    for stream, parameter in enumerate(parameters):
        noise = np.random.default_rng(stream).normal(size=parameter.shape)
        parameter.data += 0.5 * torch.as_tensor(noise)
    return batch, parameters


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


COVERING = [
    ("free", "linear", 0.01, ()),
    ("tied", "tanh", 0.0, ()),
    ("free", "tanh", 0.01, (3, 2)),
    ("tied", "linear", 0.0, (3,)),
]


@pytest.mark.parametrize(("reverse", "scores", "smoothing", "layers"), COVERING, ids=str)
def test_gradient_of_every_part(reverse, scores, smoothing, layers):
    config = Config(
        attention="global",
        reverse=reverse,
        scores=scores,
        smoothing=smoothing,
        attention_layers=layers,
        coefficients={"node_labels": 0.5, "edge_labels": 1.0, "node_attributes": 2.0},
        encoder_epochs=60,
    )
    batch, parameters = a_batch(config, quotient=False)
    rng = np.random.default_rng(0)
    for name, part in PARTS.items():

        def value(part=part):
            return part(batch, forward(batch, parameters, config)).sum()

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
@pytest.mark.parametrize("layers", [(), (3, 2)])
def test_gradient_of_a_class_is_that_of_its_nodes(reverse, layers):
    config = Config(
        attention="global",
        reverse=reverse,
        attention_layers=layers,
        encoder_epochs=60,
    )
    star, path = graph_of(nx.star_graph(4)), random_graph(3)
    encoding, engine = Encoding(), TorchEngine("float64")
    (encoder,) = GlobalDivergences(config, encoding, engine).encode_sources([path])
    rows = {}
    for quotient in (True, False):
        encoded = encoding.encode(star, quotient=quotient)
        pair = (encoded, encoder.source)
        shape = tuple(map(padded_size, pair_shape(*pair)))
        batch = engine._batch(shape, [pair], 1, config)
        parameters = engine._initial(shape, [pair], [0], 1, config)
        loss = training_loss(batch, forward(batch, parameters, config))
        gradients = per_node_gradients(batch, parameters, loss, config)
        classes = torch.as_tensor(encoded.classes)
        by_row = [0, 1 + len(layers)] if layers else [0]  # of A, U and U_r; of R and r by column
        fixed = set() if not layers else set(range(len(gradients) - 1)) - set(by_row)
        rows[quotient] = [
            g[0, classes] if place in by_row else g[0] if place in fixed else g[0][:, classes]
            for place, g in enumerate(gradients)
        ]
        assert all(not gradients[place].any() for place in fixed)
    for by_class, by_node in zip(rows[True], rows[False], strict=True):
        torch.testing.assert_close(by_class, by_node, rtol=1e-10, atol=1e-14)


def test_layers_train_from_a_random_initialisation_only():
    for initialisation in ("equivariant", "glorot"):
        config = Config(
            attention="global",
            reverse="free",
            initialisation=initialisation,
            attention_layers=(3, 2),
            encoder_epochs=5,
        )
        batch, parameters = a_batch(config, quotient=False)
        loss = training_loss(batch, forward(batch, parameters, config))
        gradients = per_node_gradients(batch, parameters, loss, config)
        trains = [bool(gradient.any()) for gradient in gradients]
        random = initialisation == "glorot"
        assert trains == [True, random, random, True, random, random, True]


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_change_nothing(threads):
    graphs = [random_graph(seed, labels=True) for seed in range(70)]
    config = Config(attention="global", encoder_epochs=30, checkpoints=(1, 10))
    encoding = Encoding.learn(graphs, config)

    def losses(engine):
        scorer = GlobalDivergences(config, encoding, engine)
        encoders = scorer.encode_sources(graphs[:3])
        return scorer.divergences(graphs, encoders, scorer.baselines(encoders))

    before = torch.get_num_threads()
    np.testing.assert_array_equal(losses(TorchEngine(threads=threads)), losses(TorchEngine()))
    assert torch.get_num_threads() == before


def test_device_and_precision_are_used():
    one = [np.ones(1)]
    assert TorchEngine("float64")._stack(one, 1, 1).dtype == torch.float64
    assert TorchEngine("float32", "meta")._stack(one, 1, 1).device.type == "meta"
