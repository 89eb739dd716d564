"""Regularised encoders: edge dropout and weight decay, in the torch engine."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("torch", reason="regularised encoders need torch")

from ddgk.config import Config
from ddgk.engine.arrays import EncodedGraph
from ddgk.engine.equations import shown_entries
from ddgk.engine.initialisation import initial_weights
from ddgk.engine.torch import TorchEngine

PLAIN = Config(dimension=4, width=8, depth=2, encoder_epochs=40, encoder_learning_rate=0.02)
OPTIONS = [
    {"encoder_edge_dropout": 0.3},
    {"encoder_weight_decay": 0.5},
    {"encoder_edge_dropout": 0.2, "encoder_weight_decay": 0.1},
]


def a_graph(seed: int, n_units: int, n_nodes: int) -> EncodedGraph:
    rng = np.random.default_rng(seed)
    matrix = (rng.uniform(size=(n_units, n_nodes)) < 0.3).astype(float)
    return EncodedGraph(sparse.csr_array(matrix), np.ones(n_units), np.ones(n_nodes))


GRAPHS = [*(a_graph(n, n, n) for n in (1, 2, 6, 13, 70)), a_graph(3, 9, 5)]
SEEDS = [0, 2**63 + 5, 11, 0, 3, 4]
ALL = tuple(range(len(GRAPHS)))


def train(engine, training, places=ALL):
    chosen = [GRAPHS[place] for place in places]
    initial = [initial_weights(g.matrix.shape, 1, training) for g in chosen]
    return engine.train_encoders(chosen, initial, training, [SEEDS[place] for place in places])


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one.arrays(), other.arrays(), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_encoders_do_not_depend_on_each_other(changes):
    """Sizes differ within a batch, and threads take batches in any order."""
    training = PLAIN.replace(**changes)
    together = train(TorchEngine(threads=2), training)
    plain = train(TorchEngine(), PLAIN)
    for place, expected in enumerate(together):
        assert_same(train(TorchEngine(), training, [place]), [expected])
        if len(expected.table) > 2:
            assert not np.array_equal(expected.table, plain[place].table)


def test_hidden_entries_are_a_share_of_the_nonzero_ones_and_differ_by_epoch():
    matrix = (np.random.default_rng(0).uniform(size=(60, 80)) < 0.5).astype(float)
    hidden = [~shown_entries(matrix, 5, epoch, 0.3) for epoch in range(2)]
    for mask in hidden:
        assert (matrix[mask] == 1).all()
        assert mask.sum() / matrix.sum() == pytest.approx(0.3, abs=0.03)
    both = (hidden[0] & hidden[1]).sum() / matrix.sum()
    assert both == pytest.approx(0.3**2, abs=0.02)
    assert (hidden[0] != ~shown_entries(matrix, 6, 0, 0.3)).any()
    assert shown_entries(matrix, 5, 0, 0.0).all()
