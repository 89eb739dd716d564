"""Regularised encoders: edge dropout, weight decay and early stopping, in the torch engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("torch", reason="regularised encoders need torch")

from ddgk.engine.arrays import EncodedGraph, EncoderTraining
from ddgk.engine.equations import HELD_OUT_SHARE, held_out_entries, shown_entries
from ddgk.engine.initialisation import initial_weights
from ddgk.engine.torch import TorchEngine

PLAIN = EncoderTraining(4, 8, 2, 40, 0.02, "linear")
OPTIONS = [
    {"edge_dropout": 0.3},
    {"weight_decay": 0.5},
    {"patience": 3},
    {"edge_dropout": 0.2, "weight_decay": 0.1, "patience": 5},
]


def a_graph(seed: int, n_units: int, n_nodes: int) -> EncodedGraph:
    rng = np.random.default_rng(seed)
    matrix = (rng.uniform(size=(n_units, n_nodes)) < 0.3).astype(float)
    return EncodedGraph(sparse.csr_array(matrix), np.ones(n_units), np.ones(n_nodes))


GRAPHS = [*(a_graph(n, n, n) for n in (1, 2, 6, 13, 70)), a_graph(3, 9, 5), a_graph(1, 1, 1)]
SEEDS = [0, 2**63 + 5, 11, 0, 3, 4, 7]  # of the last all entries are held out
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
    """Some stop early and others do not, in one batch; threads take them in any order."""
    training = replace(PLAIN, **changes)
    together = train(TorchEngine(threads=2), training)
    plain = train(TorchEngine(), PLAIN)
    for place, expected in enumerate(together):
        assert_same(train(TorchEngine(), training, [place]), [expected])
        if len(expected.table) > 2:
            assert not np.array_equal(expected.table, plain[place].table)


def test_hidden_entries_are_a_share_of_the_nonzero_ones_and_differ_by_epoch():
    matrix = (np.random.default_rng(0).uniform(size=(60, 80)) < 0.5).astype(float)
    training = replace(PLAIN, edge_dropout=0.3)
    hidden = [~shown_entries(matrix, 5, epoch, training) for epoch in range(2)]
    for mask in hidden:
        assert (matrix[mask] == 1).all()
        assert mask.sum() / matrix.sum() == pytest.approx(0.3, abs=0.03)
    both = (hidden[0] & hidden[1]).sum() / matrix.sum()
    assert both == pytest.approx(0.3**2, abs=0.02)
    assert (hidden[0] != ~shown_entries(matrix, 6, 0, training)).any()
    assert shown_entries(matrix, 5, 0, PLAIN).all()


def test_held_out_entries_are_a_tenth_and_never_shown():
    matrix = np.ones((300, 40))
    training = replace(PLAIN, edge_dropout=0.5, patience=1)
    held = held_out_entries(matrix.shape, 5, training)
    assert held.mean() == pytest.approx(HELD_OUT_SHARE, abs=0.01)
    for epoch in range(3):
        assert not (held & shown_entries(matrix, 5, epoch, training)).any()
    assert not held_out_entries(matrix.shape, 5, replace(training, patience=0)).any()


def held_out_loss(weights, matrix, held) -> float:
    hidden = weights.table
    for weight, bias in weights.hidden:
        hidden = np.tanh(hidden @ weight + bias)
    scores = hidden @ weights.output[0] + weights.output[1]
    return float((np.logaddexp(0, scores) - matrix * scores)[held].mean())


def test_training_ends_when_the_held_out_loss_stays_and_returns_the_best_weights():
    engine, place, patience, most = TorchEngine("float64"), 3, 4, 30
    matrix = GRAPHS[place].dense_matrix()
    waiting = replace(PLAIN, learning_rate=0.1, edge_dropout=0.5, patience=10_000)
    held = held_out_entries(matrix.shape, SEEDS[place], waiting)
    bests = [train(engine, replace(waiting, epochs=n), [place])[0] for n in range(most + 1)]
    lowest = [held_out_loss(best, matrix, held) for best in bests]
    assert lowest == sorted(lowest, reverse=True)
    end = next(n for n in range(patience, most) if lowest[n] == lowest[n - patience])
    stopped = train(engine, replace(waiting, epochs=most, patience=patience), [place])
    assert_same(stopped, [bests[end]])
    assert 0 < end < most
    assert lowest[end] < lowest[0]


def test_without_held_out_entries_training_goes_to_its_end():
    engine, shape = TorchEngine("float64"), GRAPHS[0].matrix.shape
    assert not held_out_entries(shape, SEEDS[0], replace(PLAIN, patience=1)).any()
    assert_same(train(engine, replace(PLAIN, patience=1), [0]), train(engine, PLAIN, [0]))


def test_with_every_entry_held_out_nothing_is_learned():
    engine, waiting, last = TorchEngine("float64"), replace(PLAIN, patience=1), len(GRAPHS) - 1
    shape = GRAPHS[last].matrix.shape
    assert held_out_entries(shape, SEEDS[last], waiting).all()
    assert_same(train(engine, waiting, [last]), [initial_weights(shape, 1, PLAIN)])
