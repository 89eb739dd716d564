"""One start of an alignment: an encoder of the source, and the attention cooled down onto it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ddgk.alignment.views import View, Viewer
from ddgk.attributes import pooled
from ddgk.encoder import start_seed
from ddgk.engine.annealing import (
    Costs,
    anneal,
    exchange_costs,
    exchange_partners,
    matching_loss,
    split_costs,
)
from ddgk.engine.hierarchy import Blocks, anneal_by_groups
from ddgk.engine.problem import EncoderTraining, Engine, Problem, Weights
from ddgk.engine.starts import first_weights, uniform
from ddgk.engine.tabu import search_beyond
from ddgk.errors import NonFiniteLossError

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

NOISE, ORDER, FIELD, GROUPS = (
    1 << 33,
    (1 << 33) + 1,
    (1 << 33) + 2,
    (1 << 33) + 3,
)  # streams of random numbers that no encoder draws from
SWEEPS = 50
BY_HEART = 0.25  # an encoder that is nowhere farther off knows its source
LEAST_GAIN = 1e-6


@dataclass(frozen=True)
class Annealing:
    """How an attention is cooled down.

    steps: how many. first, last: the coldness at both ends; in between it grows evenly by factors.
    rounds: of Sinkhorn's scaling in a step. noise: how unevenly the attention starts; 0 is the
    equivariant start. fields: how strongly starts, in turn, are led astray while they cool: without
    a field most find an isomorphism where there is one, but else all end in one valley. exchanges:
    how long, per node, the search goes on beyond a matching that is not good enough. sureness: the
    coldness at which confidences are read. couplings: where nodes are in groups, how much
    colder groups are than nodes, start by start; 0 leaves the groups out. spread: how unevenly
    groups start.
    """

    steps: int = 30
    first: float = 0.05
    last: float = 10.0
    rounds: int = 4
    noise: float = 0.01
    fields: tuple[float, ...] = (0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 4.0, 2.0)
    exchanges: int = 20
    sureness: float = 2.0
    couplings: tuple[float, ...] = (4.0, 0.0, 16.0)
    spread: float = 1.0

    @property
    def coldness(self) -> Array:
        """Return beta of every step, (steps,)."""
        return np.geomspace(self.first, self.last, self.steps)


@dataclass(frozen=True)
class Start:
    """What one start found, in the order of the views it was given.

    attention: P, (n_target, n_source), rows sum to 1. pairs: (n_matched, 2), target before source.
    sureness: of every pair, (n_matched,). loss: of the matching, a mean over the target's entries.
    scores: what the encoder predicts of the source, before the sigmoid, (R, n_source, n_source).
    """

    attention: Array
    pairs: Integers
    sureness: Array
    loss: float
    scores: Array


@dataclass(frozen=True)
class Learner:
    """Aligns one pair, start by start.

    target, source: with the nodes in canonical order. classes: of the target's nodes, those that
    refinement cannot tell apart, (n_target,), if the start is to be equivariant: they are tied.
    affinity: where the attention starts, (n_target, n_source); evenly, if there is none.
    groups: of the target's and of the source's nodes, (n_target,) and (n_source,), if an attention
    between groups is to be learned too.
    """

    target: View
    source: View
    viewer: Viewer
    annealing: Annealing
    ladder: tuple[EncoderTraining, ...]
    engine: Engine
    classes: Integers | None = None
    affinity: Array | None = None
    groups: tuple[Integers, Integers] | None = None

    def learn(self, place: int, seed: int) -> Start:
        """Train an encoder of the source and cool the attention of the target down onto it.

        place: which start it is, and so how strong a random field it cools down in.
        """
        scores = predict(self.source, self.ladder, self.engine, start_seed(seed, "encoder"))
        n_target, n_source = self.target.n_nodes, self.source.n_nodes
        # In canonical order node 5 of one graph may well be node 5 of the other. Nothing may be
        # read off that, not even by how ties fall, so the source is shuffled.
        order = np.argsort(uniform(seed, ORDER, 1, n_source)[0], kind="stable")
        learned = _as_predicted(self.source, scores, order)
        unary = self.viewer.unary_costs(self.target, learned)
        first = np.ones_like(unary) if self.affinity is None else self.affinity[:, order]
        relations = self.target.relations, learned.relations
        turned = n_target > n_source
        if turned:
            unary, first, relations = unary.T, first.T, relations[::-1]
        costs = split_costs(unary, *relations, self.viewer.weights)
        if self.classes is not None:
            attention, partners = _cool_down_tied(
                costs, first, self.annealing, self.classes, turned=turned
            )
        else:
            blocks = self._blocks(place, order, turned=turned)
            enough = self._own_loss(learned, order) if n_target == n_source else -np.inf
            attention, partners = _cool_down(
                costs, first, self.annealing, place, seed, enough, blocks
            )
        sureness = _sureness(costs, partners, self.annealing.sureness)
        pairs = np.stack([np.arange(len(partners)), partners], axis=1)
        if turned:
            attention, pairs = _rows_of(attention.T), pairs[:, ::-1]
        unshuffled = np.empty_like(attention)
        unshuffled[:, order] = attention
        return Start(
            unshuffled,
            np.stack([pairs[:, 0], order[pairs[:, 1]]], axis=1).astype(np.int64),
            sureness,
            matching_loss(costs, partners) / n_target**2,
            scores,
        )

    def _blocks(self, place: int, order: Integers, *, turned: bool) -> Blocks | None:
        """Return the groups as a start sees them; None where it leaves them out."""
        coupling = self.annealing.couplings[place % len(self.annealing.couplings)]
        if self.groups is None or coupling == 0:
            return None
        mine, theirs = self.groups[0], self.groups[1][order]
        return Blocks(theirs, mine, coupling) if turned else Blocks(mine, theirs, coupling)

    def _own_loss(self, learned: View, order: Integers) -> float:
        """Return the loss of the source onto itself: what an isomorphism costs, and none less."""
        gaps = self.source.relations[:, order][:, :, order] - learned.relations
        own = View(gaps, *(tuple(v[order] for v in family) for family in self.source.carried))
        unary = np.diag(self.viewer.unary_costs(own, learned)).sum()
        squares = (gaps**2).sum(axis=(1, 2)) @ self.viewer.weights
        return float(squares + unary) * (1 + 1e-9) + 1e-9


def predict(source: View, ladder: Sequence[EncoderTraining], engine: Engine, seed: int) -> Array:
    """Train an encoder of all relations of the source at once; return what it predicts.

        Z = f(E),  sigmoid(Z) ~ [B_1 | ... | B_R]

    ladder: encoders to try, each larger than the one before, until one knows the source by heart.
    Returns Z by relation, (R, n, n), symmetric as the relations are.
    """
    n_relations, n_nodes, _ = source.relations.shape
    beside = source.relations.transpose(1, 0, 2).reshape(n_nodes, n_relations * n_nodes)
    problem = Problem(
        np.ascontiguousarray(beside), np.ones(n_nodes), np.ones(n_relations * n_nodes)
    )
    for training in ladder:
        (weights,) = engine.train_encoders(
            [problem], [first_weights(beside.shape, seed, training)], training
        )
        raw = _run(weights).reshape(n_nodes, n_relations, n_nodes).transpose(1, 0, 2)
        scores: Array = np.ascontiguousarray((raw + raw.transpose(0, 2, 1)) / 2)
        if not np.isfinite(scores).all():
            raise NonFiniteLossError(f"the encoder of the source diverged at rate {training.rate}")
        if np.abs(sigmoid(scores) - source.relations).max() < BY_HEART:
            break
    return scores


def _run(weights: Weights) -> Array:
    """Send every unit of the table through the encoder: Z, (n_units, n_nodes)."""
    hidden = weights.table
    for matrix, bias in weights.hidden:
        hidden = np.tanh(hidden @ matrix + bias)
    return np.asarray(hidden @ weights.output[0] + weights.output[1], dtype=np.float64)


def _as_predicted(source: View, scores: Array, order: Integers) -> View:
    """Return the source as its encoder knows it, the nodes in another order."""
    predicted = sigmoid(scores)
    known = replace(
        source,
        relations=predicted,
        surroundings=tuple(pooled(predicted[0], given) for given in source.contributions),
    )
    return View(
        np.ascontiguousarray(known.relations[:, order][:, :, order]),
        *(tuple(values[order] for values in family) for family in known.carried),
    )


def _cool_down(
    costs: Costs,
    first: Array,
    annealing: Annealing,
    place: int,
    seed: int,
    enough: float,
    blocks: Blocks | None = None,
) -> tuple[Array, Integers]:
    """Anneal from an uneven start, match, and search on if that is not good enough."""
    n, m = costs.unary.shape
    noise = annealing.noise * (2.0 * uniform(seed, NOISE, n, m) - 1.0)
    attention = _rows_of(first * np.exp(noise))
    astray = costs
    field = annealing.fields[place % len(annealing.fields)]
    if field > 0:
        astray = costs._replace(unary=costs.unary + field * uniform(seed, FIELD, n, m))
    if blocks is None:
        anneal(astray, attention, annealing.coldness, annealing.rounds)
    else:
        attention = _rows_of(attention * _uneven(blocks, annealing.spread, seed))
        anneal_by_groups(costs, attention, annealing.coldness, annealing.rounds, blocks)
    partners = _best_exchange(costs, attention)
    if matching_loss(costs, partners) > enough:
        partners = search_beyond(costs, partners, annealing.exchanges * m, seed, enough)
    # What is reported attends where the matching ended: where each would go if the rest stayed.
    attention[:] = 0.0
    attention[np.arange(n), partners] = 1.0
    anneal(costs, attention, annealing.coldness[-1:], annealing.rounds)
    return attention, partners


def _uneven(blocks: Blocks, spread: float, seed: int) -> Array:
    """Return how much each start prefers one group to another, for all nodes of both, (n, m)."""
    shape = int(blocks.rows.max()) + 1, int(blocks.columns.max()) + 1
    weights = np.exp(spread * (2.0 * uniform(seed, GROUPS, *shape) - 1.0))
    return np.asarray(weights[np.ix_(blocks.rows, blocks.columns)])


def _cool_down_tied(
    costs: Costs, first: Array, annealing: Annealing, classes: Integers, *, turned: bool
) -> tuple[Array, Integers]:
    """Anneal from the equivariant start: target nodes of one class attend alike, to the bit.

    In exact arithmetic they would by themselves; rounding errors grow, so they are tied.
    """
    attention = _rows_of(first)
    for coldness in annealing.coldness:
        anneal(costs, attention, np.array([coldness]), annealing.rounds)
        tied = _class_means(attention.T if turned else attention, classes)
        attention = np.ascontiguousarray(tied.T if turned else tied)
    return attention, _best_exchange(costs, attention)


def _best_exchange(costs: Costs, attention: Array) -> Integers:
    """Match an attention one to one and exchange partners as long as that helps, (n,)."""
    partners: Integers = linear_sum_assignment(attention, maximize=True)[1].astype(np.int64)
    exchange_partners(costs, partners, SWEEPS, LEAST_GAIN)
    return partners


def _class_means(values: Array, classes: Integers) -> Array:
    """Give every row the mean over the rows of its class."""
    sums = np.zeros((int(classes.max()) + 1, values.shape[1]))
    np.add.at(sums, classes, values)
    return np.asarray((sums / np.bincount(classes)[:, None])[classes])


def _sureness(costs: Costs, partners: Integers, coldness: float) -> Array:
    """Return how sure the partner of each row is, (n,).

        1 / sum_j exp(-beta d_ij),  d_ij: how much worse the loss gets when i takes j instead

    d is 0 at the partner and not below 0 elsewhere, so this lies between 1/m and 1.
    """
    changes = np.maximum(exchange_costs(costs, partners), 0.0)
    return np.asarray(1.0 / np.exp(-coldness * changes).sum(axis=1))


def sigmoid(scores: Array) -> Array:
    """Return 1 / (1 + exp(-z)), without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * scores))


def _rows_of(values: Array) -> Array:
    """Divide rows by their sums; a row of nothing is spread evenly."""
    sums = values.sum(axis=1, keepdims=True)
    spread = np.full_like(values, 1.0 / values.shape[1])
    return np.asarray(np.divide(values, sums, out=spread, where=sums > 0))
