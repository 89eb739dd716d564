"""The readable engine, by autograd: the oracle for faster ones, and the one for GPUs.

Pairs are trained many at a time: the leading axis of every tensor is the lane of a pair. Shapes in
the comments leave it out. u_t, n_t: units and nodes of the target; u_s, n_s: of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ddgk.engine.batches import in_lanes, lane_count, pair_shape, stacked
from ddgk.engine.descent import Entries, descend
from ddgk.engine.equations import (
    Layers,
    adam,
    cross_entropy,
    encode,
    entry_costs,
    inferred_by_attention,
    inferred_by_reverse,
    isomorphism_attention,
    reverse_attention,
)
from ddgk.engine.hiding import drawing_seeds, held_entries, shown_entries
from ddgk.engine.problem import (
    EncoderTraining,
    Outcome,
    PairTraining,
    Problem,
    Source,
    Weights,
)
from ddgk.engine.starts import ATTENTION, REVERSE, glorot

Result = TypeVar("Result")


@dataclass(frozen=True)
class Family:
    """One attribute family for every lane: Q_u, Q_s, C of the target, Q_u of the source."""

    units: Tensor
    surroundings: Tensor
    nodes: Tensor
    source_units: Tensor


@dataclass(frozen=True)
class Batch:
    """Everything about a batch of pairs that does not train."""

    relation: Tensor  # B, (u_t, n_t)
    unit_weights: Tensor  # (u_t)
    node_weights: Tensor  # (n_t)
    present: Tensor  # (u_s)
    table: Tensor  # E, (u_s, d)
    layers: Layers
    families: tuple[Family, ...]
    scale: tuple[Tensor, Tensor]  # what the structure and the attribute losses are divided by


@dataclass(frozen=True)
class Parts:
    """What one pass through the network yields."""

    attention: Tensor  # P, (u_t, u_s)
    costs: tuple[Tensor, Tensor]  # of an edge and of a non-edge, (u_t, n_t) each
    consistency: tuple[Tensor, ...]  # cross-entropies, (u_t): attention and reverse of each family


def reconstruct(batch: Batch, parameters: Sequence[Tensor], training: PairTraining) -> Parts:
    """Reconstruct every target through its source's encoder."""
    attention = isomorphism_attention(parameters[0], batch.present)
    predicted = encode(attention @ batch.table, batch.layers, training.scores)
    free = None if training.reverse == "tied" else (parameters[1], parameters[2])
    scores = reverse_attention(predicted, attention, free)
    consistency = []
    for family in batch.families:
        inferred = inferred_by_attention(attention, family.source_units)
        consistency.append(cross_entropy(family.units, inferred, training.smoothing))
        around = inferred_by_reverse(scores, batch.node_weights, family.nodes)
        consistency.append(cross_entropy(family.surroundings, around, training.smoothing))
    return Parts(attention, entry_costs(scores), tuple(consistency))


def unit_terms(batch: Batch, parts: Parts) -> Tensor:
    """Return each unit's share of every channel (paper eq. 3), (n_channels, u_t), in float64.

    edges: sum_j w_j B cost_edge;  non_edges: sum_j w_j (1 - B) cost_non_edge;  then the families.
    """
    relation, weights = batch.relation.double(), batch.node_weights.double()[:, None, :]
    edge, non_edge = (cost.double() for cost in parts.costs)
    structure, consistency = (scale.double()[:, None] for scale in batch.scale)
    return torch.stack(
        [
            (weights * relation * edge).sum(-1) / structure,
            (weights * (1 - relation) * non_edge).sum(-1) / structure,
            *(term.double() / consistency for term in parts.consistency),
        ],
        dim=1,
    )


def training_loss(batch: Batch, parts: Parts, coefficients: Sequence[float]) -> Tensor:
    """Return the loss of every lane: structure + sum_f c_f (attention + reverse), (b)."""
    weights = batch.unit_weights[:, :, None] * batch.node_weights[:, None, :]
    edge, non_edge = parts.costs
    entries = batch.relation * edge + (1 - batch.relation) * non_edge
    loss = (weights * entries).sum((-1, -2)) / batch.scale[0]
    for place, coefficient in enumerate(coefficients):
        terms = parts.consistency[2 * place] + parts.consistency[2 * place + 1]
        loss = loss + coefficient * (batch.unit_weights * terms).sum(-1) / batch.scale[1]
    return loss


def per_node_gradients(
    batch: Batch, parameters: Sequence[Tensor], loss: Tensor
) -> tuple[Tensor, ...]:
    """Differentiate, and share the gradient of a class among the nodes it stands for.

    Lanes do not touch each other, so the gradient of the sum is the gradient of each.
    """
    gradients = torch.autograd.grad(loss.sum(), parameters)
    rows = _at_least_one(batch.unit_weights)[:, :, None]  # for A
    columns = _at_least_one(batch.node_weights)[:, None, :]  # for R and r
    shares = (rows, columns, columns)
    return tuple(g / share for g, share in zip(gradients, shares, strict=False))


def _at_least_one(weights: Tensor) -> Tensor:
    return torch.where(weights > 0, weights, torch.ones_like(weights))


@dataclass(frozen=True)
class TorchEngine:
    """Train encoders and pairs with torch.

    precision: "float32" or "float64". device: "cpu", or "cuda" for a GPU. threads: how many batches
    run at once; it changes nothing but the time.
    """

    precision: str = "float32"
    device: str = "cpu"
    threads: int = 1

    def train_encoders(
        self,
        problems: Sequence[Problem],
        starts: Sequence[Weights],
        training: EncoderTraining,
        seeds: Sequence[int] = (),
    ) -> list[Weights]:
        """Train encoders by full-batch Adam on the mean binary cross-entropy (paper eq. 4)."""
        tasks = list(zip(problems, starts, drawing_seeds(seeds, problems, training), strict=True))

        def train(shape: tuple[int, ...], positions: list[int]) -> list[Weights]:
            return self._train_lanes(shape, [tasks[i] for i in positions], training)

        return self._in_batches([p.relation.shape for p in problems], train)

    def score_pairs(
        self,
        pairs: Sequence[tuple[Problem, Source]],
        seeds: Sequence[int],
        training: PairTraining,
        *,
        detail: bool = False,
    ) -> list[Outcome]:
        """Train the attention of every pair by full-batch Adam, all lanes side by side."""

        def score(shape: tuple[int, ...], positions: list[int]) -> list[Outcome]:
            chosen = [pairs[i] for i in positions]
            return self._score_lanes(shape, chosen, [seeds[i] for i in positions], training, detail)

        return self._in_batches([pair_shape(*pair) for pair in pairs], score)

    def _in_batches(
        self,
        shapes: Sequence[tuple[int, ...]],
        work: Callable[[tuple[int, ...], list[int]], list[Result]],
    ) -> list[Result]:
        """Do the work batch by batch, and return the results in the order of the shapes."""
        batches = list(in_lanes(shapes))
        results: dict[int, Result] = {}
        with _one_thread(), ThreadPoolExecutor(self.threads) as pool:
            done = pool.map(lambda batch: work(*batch), batches)
            for (_, positions), found in zip(batches, done, strict=True):
                results.update(zip(positions, found, strict=True))
        return [results[i] for i in range(len(shapes))]

    def _train_lanes(
        self,
        shape: tuple[int, ...],
        tasks: Sequence[tuple[Problem, Weights, int]],
        training: EncoderTraining,
    ) -> list[Weights]:
        lanes = lane_count(*shape)
        table, layers = self._stacked_weights([start for _, start, _ in tasks], lanes, shape)
        drawn = [(problem.dense_relation(), seed) for problem, _, seed in tasks]

        def shown(epoch: int) -> Tensor:
            masks = [shown_entries(given, seed, epoch, training) for given, seed in drawn]
            return self._stack(masks, lanes, *shape)

        held = [held_entries(given.shape, seed, training) for given, seed in drawn]
        relation = self._stack([given for given, _ in drawn], lanes, *shape)
        entries = Entries(len(tasks), relation, shown, self._stack(held, lanes, *shape))
        descend(table, layers, entries, training)
        return [
            _lane_weights(lane, given.shape, table, layers) for lane, (given, _) in enumerate(drawn)
        ]

    def _score_lanes(
        self,
        shape: tuple[int, ...],
        pairs: Sequence[tuple[Problem, Source]],
        seeds: Sequence[int],
        training: PairTraining,
        detail: bool,
    ) -> list[Outcome]:
        lanes = lane_count(*shape)
        batch = self._batch(shape, pairs, lanes, training)
        parameters = self._first_attention(shape, pairs, seeds, lanes, training)
        moments = _moments(parameters)
        recorded, last_costs = {}, []
        last_step = training.report[-1]
        for step in range(last_step + 1):
            parts = reconstruct(batch, parameters, training)
            if step in training.recorded:
                recorded[step] = unit_terms(batch, parts).detach()
            if detail and step > last_step - training.window:
                last_costs.append(torch.stack(parts.costs, dim=1).detach().double())
            if step < last_step:
                loss = training_loss(batch, parts, training.coefficients)
                gradients = per_node_gradients(batch, parameters, loss)
                adam(parameters, gradients, moments, step + 1, training.rate)
        terms = torch.stack([_average(recorded, s, training.window) for s in training.report], 1)
        channels = (terms * batch.unit_weights.double()[:, None, None, :]).sum(-1)
        weighted = terms[:, -1] * batch.unit_weights.double()[:, None, :]
        shares = weighted @ parts.attention.detach().double()
        found = [
            (_numpy(channels[lane]), _numpy(shares[lane, :, : pair_shape(*pair)[2]]))
            for lane, pair in enumerate(pairs)
        ]
        if not detail:
            return [Outcome(*known) for known in found]
        costs = torch.stack(last_costs).mean(0)
        outcomes = []
        for lane, pair in enumerate(pairs):
            n_units, n_nodes, n_source, _ = pair_shape(*pair)
            outcomes.append(
                Outcome(
                    *found[lane],
                    _numpy(terms[lane, :, :, :n_units]),
                    _numpy(parts.attention[lane, :n_units, :n_source]),
                    _numpy(costs[lane, :, :n_units, :n_nodes]),
                )
            )
        return outcomes

    def _batch(
        self,
        shape: tuple[int, ...],
        pairs: Sequence[tuple[Problem, Source]],
        lanes: int,
        training: PairTraining,
    ) -> Batch:
        n_units, n_nodes, n_source_units, n_source_nodes = shape
        problems, sources = zip(*pairs, strict=True)
        table, layers = self._stacked_weights(
            [s.weights for s in sources], lanes, (n_source_units, n_source_nodes), trains=False
        )
        unit_weights = self._stack([p.unit_weights for p in problems], lanes, n_units)
        node_weights = self._stack([p.node_weights for p in problems], lanes, n_nodes)
        families = []
        for place in range(len(problems[0].families)):
            width = problems[0].families[place].units.shape[1]
            given = [p.families[place] for p in problems]
            families.append(
                Family(
                    self._stack([f.units for f in given], lanes, n_units, width),
                    self._stack([f.surroundings for f in given], lanes, n_units, width),
                    self._stack([f.nodes for f in given], lanes, n_nodes, width),
                    self._stack([s.families[place] for s in sources], lanes, n_source_units, width),
                )
            )
        count = _at_least_one(unit_weights.sum(-1))
        size = count * _at_least_one(node_weights.sum(-1))
        one = torch.ones_like(count)
        present = stacked([np.ones(len(s.weights.table)) for s in sources], lanes, n_source_units)
        present[len(pairs) :] = 1  # an idle lane attends somewhere, so that nothing is 0 / 0
        return Batch(
            relation=self._stack([p.dense_relation() for p in problems], lanes, n_units, n_nodes),
            unit_weights=unit_weights,
            node_weights=node_weights,
            present=self._tensor(present) > 0,
            table=table,
            layers=layers,
            families=tuple(families),
            scale=(size, count) if training.reduction == "mean" else (one, one),
        )

    def _first_attention(
        self,
        shape: tuple[int, ...],
        pairs: Sequence[tuple[Problem, Source]],
        seeds: Sequence[int],
        lanes: int,
        training: PairTraining,
    ) -> list[Tensor]:
        n_units, n_nodes, n_source_units, n_source_nodes = shape
        attention, reverse = [], []
        for (problem, source), seed in zip(pairs, seeds, strict=True):
            u_t, n_t, u_s, n_s = pair_shape(problem, source)
            if training.start == "glorot":
                attention.append(glorot(seed, ATTENTION, u_t, u_s))
                reverse.append(glorot(seed, REVERSE, n_s, n_t))
            else:
                attention.append(np.zeros((u_t, u_s)))
                reverse.append(np.zeros((n_s, n_t)))
        parameters = [self._stack(attention, lanes, n_units, n_source_units)]
        if training.reverse == "free":
            parameters.append(self._stack(reverse, lanes, n_source_nodes, n_nodes))
            parameters.append(self._tensor(np.zeros((lanes, 1, n_nodes))))
        return [p.requires_grad_() for p in parameters]

    def _stacked_weights(
        self, weights: Sequence[Weights], lanes: int, shape: tuple[int, ...], trains: bool = True
    ) -> tuple[Tensor, Layers]:
        n_units, n_nodes = shape
        width, dimension = len(weights[0].output[0]), weights[0].table.shape[1]

        def stack(matrices: Sequence[Any], *sizes: int) -> Tensor:
            return self._stack(matrices, lanes, *sizes).requires_grad_(trains)

        hidden = []
        for place in range(len(weights[0].hidden)):
            inputs = dimension if place == 0 else width
            hidden.append(
                (
                    stack([w.hidden[place][0] for w in weights], inputs, width),
                    stack([w.hidden[place][1][None] for w in weights], 1, width),
                )
            )
        output = (
            stack([w.output[0] for w in weights], width, n_nodes),
            stack([w.output[1][None] for w in weights], 1, n_nodes),
        )
        table = stack([w.table for w in weights], n_units, dimension)
        return table, Layers(tuple(hidden), output)

    def _stack(self, matrices: Sequence[Any], lanes: int, *shape: int) -> Tensor:
        return self._tensor(stacked(matrices, lanes, *shape))

    def _tensor(self, array: Any) -> Tensor:
        dtype = torch.float64 if self.precision == "float64" else torch.float32
        return torch.as_tensor(array, dtype=dtype, device=self.device)


def _lane_weights(lane: int, shape: tuple[int, ...], table: Tensor, layers: Layers) -> Weights:
    n_units, n_nodes = shape
    weight, bias = layers.output
    return Weights(
        _numpy(table[lane, :n_units]),
        tuple((_numpy(w[lane]), _numpy(b[lane, 0])) for w, b in layers.hidden),
        (_numpy(weight[lane, :, :n_nodes]), _numpy(bias[lane, 0, :n_nodes])),
    )


def _moments(parameters: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    return [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]


def _average(recorded: dict[int, Tensor], step: int, window: int) -> Tensor:
    latest = [recorded[s] for s in range(max(0, step - window + 1), step + 1)]
    return torch.stack(latest).mean(0)


def _numpy(tensor: Tensor) -> Any:
    return tensor.detach().cpu().double().numpy().copy()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep torch from splitting a tensor among threads, which would move its rounding about."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
