"""What encoders do not see, how they decay and when they stop: engines agree, and it is meant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ddgk.engine.fused.hiding import pack_hiding
from ddgk.engine.hiding import HELD_SHARE, held_entries, shown_entries
from ddgk.engine.problem import EncoderTraining, Problem
from ddgk.engine.starts import first_weights
from scipy import sparse

from ddgk.engine import make_engine
from ddgk.engine.fused import FusedEngine

PLAIN = EncoderTraining(4, 8, 2, 40, 0.02, "linear")
OPTIONS = [
    {"drop": 0.3},
    {"decay": 0.5},
    {"patience": 3},
    {"patience": 1000},
    {"drop": 0.2, "decay": 0.1, "patience": 5},
]
SIZES = (1, 2, 6, 13, 70)  # nothing held out of the smallest; the largest in several blocks


def a_problem(seed: int, n_units: int, n_nodes: int, *, kind: str = "sparse") -> Problem:
    rng = np.random.default_rng(seed)
    relation = (rng.uniform(size=(n_units, n_nodes)) < 0.3).astype(float)
    if kind == "soft":
        relation = relation * rng.uniform(size=relation.shape)
    given = sparse.csr_array(relation) if kind == "sparse" else relation
    return Problem(given, np.ones(n_units), np.ones(n_nodes))


PROBLEMS = [
    *(a_problem(n, n, n) for n in SIZES),
    a_problem(3, 9, 5, kind="soft"),
    a_problem(4, 20, 20, kind="dense"),
    a_problem(1, 1, 1),  # of which all is held out
]
SEEDS = [0, 2**63 + 5, 11, 0, 3, 4, 5, 7]


ALL = tuple(range(len(PROBLEMS)))


def train(engine, training, places=ALL):
    chosen = [PROBLEMS[place] for place in places]
    starts = [first_weights(p.relation.shape, 1, training) for p in chosen]
    return engine.train_encoders(chosen, starts, training, [SEEDS[place] for place in places])


def parameters(weights):
    return [weights.table, *weights.output, *(part for layer in weights.hidden for part in layer)]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(parameters(one), parameters(other), strict=True):
            np.testing.assert_array_equal(a, b)


def differs(one, other) -> bool:
    pairs = zip(parameters(one), parameters(other), strict=True)
    return any(not np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("scores", ["linear", "tanh"])
@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_parity_with_the_oracle(changes, scores):
    pytest.importorskip("torch", reason="the oracle needs torch")
    training = replace(PLAIN, scores=scores, **changes)
    found, expected = (
        train(make_engine(name, precision="float64"), training) for name in ("fused", "torch")
    )
    plain = train(FusedEngine("float64"), replace(PLAIN, scores=scores))
    for one, other, without in zip(found, expected, plain, strict=True):
        for a, b in zip(parameters(one), parameters(other), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        if len(one.table) > 2:
            assert differs(one, without)


@pytest.mark.parametrize("name", ["fused", "torch"])
@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_encoders_do_not_depend_on_each_other(name, changes):
    """Some stop early and others do not, in one batch; threads take them in any order."""
    if name == "torch":
        pytest.importorskip("torch", reason="the torch engine needs torch")
    training = replace(PLAIN, **changes)
    together = train(make_engine(name, threads=2), training)
    for place, expected in enumerate(together):
        assert_same(train(make_engine(name), training, [place]), [expected])


def test_what_is_hidden_is_a_share_of_the_nonzero_entries_and_another_in_every_epoch():
    relation = (np.random.default_rng(0).uniform(size=(60, 80)) < 0.5).astype(float)
    training = replace(PLAIN, drop=0.3)
    hidden = [~shown_entries(relation, 5, epoch, training) for epoch in range(2)]
    for mask in hidden:
        assert (relation[mask] == 1).all()
        assert mask.sum() / relation.sum() == pytest.approx(0.3, abs=0.03)
    both = (hidden[0] & hidden[1]).sum() / relation.sum()
    assert both == pytest.approx(0.3**2, abs=0.02)
    assert (hidden[0] != ~shown_entries(relation, 6, 0, training)).any()
    assert shown_entries(relation, 5, 0, PLAIN).all()


def test_what_is_held_out_is_a_tenth_and_is_never_shown():
    relation = np.ones((300, 40))
    training = replace(PLAIN, drop=0.5, patience=1)
    held = held_entries(relation.shape, 5, training)
    assert held.mean() == pytest.approx(HELD_SHARE, abs=0.01)
    for epoch in range(3):
        assert not (held & shown_entries(relation, 5, epoch, training)).any()
    assert not held_entries(relation.shape, 5, replace(training, patience=0)).any()


def test_the_fused_engine_holds_out_the_same_entries():
    shape = (600, 30)  # more rows than are drawn at a time
    training = replace(PLAIN, patience=1)
    starts, places, _ = pack_hiding(shape, 0, 9, training, np.float64).held
    found = sparse.csr_array((np.ones(len(places)), places, starts), shape=shape)
    np.testing.assert_array_equal(found.toarray() > 0, held_entries(shape, 9, training))


def held_loss(weights, relation, held) -> float:
    hidden = weights.table
    for matrix, bias in weights.hidden:
        hidden = np.tanh(hidden @ matrix + bias)
    scores = hidden @ weights.output[0] + weights.output[1]
    return float((np.logaddexp(0, scores) - relation * scores)[held].mean())


def test_training_ends_when_the_loss_held_out_stays_and_the_best_weights_are_returned(engine64):
    """What patience returns is the best of all steps up to the one where patience ran out."""
    place, patience, most = 3, 4, 30
    relation = PROBLEMS[place].dense_relation()
    waiting = replace(PLAIN, rate=0.1, drop=0.5, patience=10_000)
    held = held_entries(relation.shape, SEEDS[place], waiting)
    bests = [train(engine64, replace(waiting, epochs=n), [place])[0] for n in range(most + 1)]
    lowest = [held_loss(best, relation, held) for best in bests]
    assert lowest == sorted(lowest, reverse=True)
    end = next(n for n in range(patience, most) if lowest[n] == lowest[n - patience])
    stopped = train(engine64, replace(waiting, epochs=most, patience=patience), [place])
    assert_same(stopped, [bests[end]])
    assert 0 < end < most
    assert lowest[end] < lowest[0]


def test_without_anything_held_out_training_goes_to_its_end(engine64):
    shape = PROBLEMS[0].relation.shape
    assert not held_entries(shape, SEEDS[0], replace(PLAIN, patience=1)).any()
    assert_same(train(engine64, replace(PLAIN, patience=1), [0]), train(engine64, PLAIN, [0]))


def test_with_everything_held_out_nothing_is_learned(engine64):
    waiting, last = replace(PLAIN, patience=1), len(PROBLEMS) - 1
    shape = PROBLEMS[last].relation.shape
    assert held_entries(shape, SEEDS[last], waiting).all()
    assert_same(train(engine64, waiting, [last]), [first_weights(shape, 1, PLAIN)])
