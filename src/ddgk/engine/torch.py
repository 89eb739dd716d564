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
from scipy import sparse
from torch import Tensor

from ddgk.engine.batches import attending, in_lanes, lane_count, pair_shape, stacked
from ddgk.engine.descent import Entries, descend
from ddgk.engine.equations import Layers, adam
from ddgk.engine.hiding import drawing_seeds, held_entries, shown_entries
from ddgk.engine.passes import (
    Batch,
    Family,
    at_least_one,
    freeze_sources,
    per_node_gradients,
    reconstruct,
    training_loss,
    unit_terms,
)
from ddgk.engine.problem import (
    EncoderTraining,
    Outcome,
    PairTraining,
    Problem,
    Source,
    Weights,
)
from ddgk.engine.sampled import Sampled
from ddgk.engine.starts import pair_start

Result = TypeVar("Result")


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

        return self._in_batches([(*p.relation.shape, attending(p)) for p in problems], train)

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
            own = [seeds[i] for i in positions]
            if chosen[0][0].samples:
                each = zip(chosen, own, strict=True)
                return [self._score_sampled(*pair, seed, training, detail) for pair, seed in each]
            return self._score_lanes(shape[:4], chosen, own, training, detail)

        # Sampled pairs never share a batch with others: their last number sets them apart.
        return self._in_batches([(*pair_shape(*pair), pair[0].samples) for pair in pairs], score)

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
        n_units, n_nodes, n_rows = shape
        starts = [start for _, start, _ in tasks]
        table, layers = self._stacked_weights(starts, lanes, (n_rows, n_nodes))
        drawn = [(problem.dense_relation(), seed) for problem, _, seed in tasks]

        def shown(epoch: int) -> Tensor:
            masks = [shown_entries(given, seed, epoch, training) for given, seed in drawn]
            return self._stack(masks, lanes, n_units, n_nodes)

        held = [held_entries(given.shape, seed, training) for given, seed in drawn]
        entries = Entries(
            len(tasks),
            self._stack([given for given, _ in drawn], lanes, n_units, n_nodes),
            shown,
            self._stack(held, lanes, n_units, n_nodes),
            self._join([problem.gathers for problem, _, _ in tasks], lanes, n_units, n_rows),
        )
        descend(table, layers, entries, training)
        return [
            _lane_weights(lane, (attending(p), p.relation.shape[1]), table, layers)
            for lane, (p, _, _) in enumerate(tasks)
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
        recorded, last_costs, attended = {}, [], []
        regions = self._regions([source for _, source in pairs], lanes, shape[2])
        last_step = training.report[-1]
        for step in range(last_step + 1):
            parts = reconstruct(batch, parameters, training)
            if step in training.recorded:
                recorded[step] = unit_terms(batch, parts).detach()
            if step in training.images:
                attended.append(parts.attended.detach().double() @ regions)
            if detail and step > last_step - training.window:
                last_costs.append(torch.stack(parts.costs, dim=1).detach().double())
            if step < last_step:
                loss = training_loss(batch, parts, training.coefficients)
                gradients = per_node_gradients(batch, parameters, loss, training)
                adam(parameters, gradients, moments, step + 1, training.rate)
        terms = torch.stack([_average(recorded, s, training.window) for s in training.report], 1)
        channels = (terms * batch.unit_weights.double()[:, None, None, :]).sum(-1)
        weighted = terms[:, -1] * batch.unit_weights.double()[:, None, :]
        shares = weighted @ parts.attention.detach().double()
        found = [
            (
                _numpy(channels[lane]),
                _numpy(shares[lane, :, : pair_shape(*pair)[2]]),
                self._regional([found[lane] for found in attended], *pair),
            )
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
                    _numpy(parts.attended[lane, : attending(pair[0]), :n_source]),
                    _numpy(costs[lane, :, :n_units, :n_nodes]),
                )
            )
        return outcomes

    def _score_sampled(
        self, problem: Problem, source: Source, seed: int, training: PairTraining, detail: bool
    ) -> Outcome:
        """Train one pair by its edges and sampled entries."""
        sampled = Sampled(problem, source, seed, training, self._tensor)
        shape = (attending(problem), *pair_shape(problem, source)[1:])
        start = pair_start(shape, source, seed, training)
        parameters = [self._tensor(matrix).requires_grad_() for matrix in start]
        moments, recorded, attended = _moments(parameters), {}, []
        (regions,) = self._regions([source], 1, len(source.weights.table))
        for step in range(training.report[-1] + 1):
            terms = sampled.run(parameters, step)
            if step in training.recorded:
                recorded[step] = terms.units.detach().double()
            if step in training.images:
                attended.append(terms.attention.detach().double() @ regions)
            if step < training.report[-1]:
                every = torch.autograd.grad(sampled.loss(terms), parameters)
                gradients = freeze_sources(every, training)
                adam(parameters, gradients, moments, step + 1, training.rate, problem.epsilon)
        found = torch.stack([_average(recorded, s, training.window) for s in training.report])
        attention = terms.attention.detach().double()
        known = (
            _numpy(found.sum(-1)),
            _numpy(found[-1] @ attention),
            self._regional(attended, problem, source),
        )
        return Outcome(*known, _numpy(found), _numpy(attention)) if detail else Outcome(*known)

    def _regions(self, sources: Sequence[Source], lanes: int, n_rows: int) -> Tensor:
        """Return 1 where a row of a source is in a region, (lanes, n_rows, n_regions)."""
        n_regions = sources[0].n_regions
        members = [
            np.zeros((n_rows, n_regions)) if s.regions is None else np.eye(n_regions)[s.regions]
            for s in sources
        ]
        return self._stack(members, lanes, n_rows, n_regions).double()

    def _regional(self, found: Sequence[Tensor], problem: Problem, source: Source) -> Any:
        """Return attention to regions of one pair, (n_images, rows that attend, n_regions)."""
        kept = [_numpy(image[: attending(problem)]) for image in found]
        return np.reshape(kept, (len(kept), attending(problem), source.n_regions))

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
        count = at_least_one(unit_weights.sum(-1))
        size = count * at_least_one(node_weights.sum(-1))
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
            gathers=self._join([p.gathers for p in problems], lanes, n_units, n_nodes),
            spreads=self._join([p.spreads for p in problems], lanes, n_nodes, n_units),
            members=self._join([s.members for s in sources], lanes, n_source_units, n_source_nodes),
        )

    def _first_attention(
        self,
        shape: tuple[int, ...],
        pairs: Sequence[tuple[Problem, Source]],
        seeds: Sequence[int],
        lanes: int,
        training: PairTraining,
    ) -> list[Tensor]:
        n_units, n_nodes, n_source, n_source_nodes = shape
        n_attending = n_units if pairs[0][0].gathers is None else n_nodes
        starts = [
            pair_start((attending(p), *pair_shape(p, source)[1:]), source, seed, training)
            for (p, source), seed in zip(pairs, seeds, strict=True)
        ]
        size = training.size
        shapes = [(n_attending, size), (size, n_source)] if size else [(n_attending, n_source)]
        if training.reverse == "free":
            shapes += (
                [(n_nodes, size), (size, n_source_nodes)] if size else [(n_source_nodes, n_nodes)]
            )
            shapes += [(1, n_nodes)]
        parameters = [
            self._stack(matrices, lanes, *padded)
            for matrices, padded in zip(zip(*starts, strict=True), shapes, strict=True)
        ]
        return [p.requires_grad_() for p in parameters]

    def _join(self, matrices: Sequence[Any], lanes: int, *shape: int) -> Tensor | None:
        """Stack matrices of means; None where there are none."""
        if matrices[0] is None:
            return None
        dense = [m.toarray() if sparse.issparse(m) else m for m in matrices]
        return self._stack(dense, lanes, *shape)

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
