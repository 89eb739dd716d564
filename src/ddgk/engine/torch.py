"""The reference engine, by autograd in torch: every option, and GPUs.

Pairs are trained many at a time: the leading axis of every tensor is the pair. Shapes in the
comments leave it out. u_t, n_t: units and nodes of the target; u_s, n_s: of the source.

Pairs of different sizes share one rectangular batch, and results do not depend on its composition:
sizes are rounded up to a few steps, and every batch of one shape has the same number of lanes, idle
ones included. So torch always sees the same shapes for a pair, whatever else is in the call, and
rounds the same way. Padding has weight 0 and contributes exact zeros.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ddgk.engine.arrays import (
    Array,
    EncodedGraph,
    EncoderTraining,
    EncoderWeights,
    Outcome,
    PairTraining,
    Source,
    dense,
    pair_shape,
)
from ddgk.engine.equations import (
    AttributeTensors,
    Batch,
    Entries,
    Layers,
    adam,
    at_least_one,
    fit_encoders,
    forward,
    held_out_entries,
    per_node_gradients,
    shown_entries,
    training_loss,
    unit_terms,
)
from ddgk.engine.initialisation import initial_attention

ENTRIES = 1 << 16  # of the largest matrix of a batch, about what stays in the second-level cache
MOST_LANES = 64


def padded_size(size: int) -> int:
    """Round up to a multiple of 8, of 32 above 64, of 128 above 256.

    >>> [padded_size(n) for n in (1, 8, 9, 65, 300)]
    [8, 8, 16, 96, 384]
    """
    step = 8 if size <= 64 else 32 if size <= 256 else 128
    return -(-size // step) * step


def lane_count(*sizes: int) -> int:
    """Return how many pairs of this shape are trained at once: a power of two."""
    largest = max(sizes) ** 2
    return int(min(MOST_LANES, 2 ** int(np.log2(max(1, ENTRIES // largest)))))


def batches_of_shape(
    shapes: Sequence[tuple[int, ...]],
) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Sort positions into batches of one padded shape; the last of a shape may have idle lanes."""
    alike: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for position, shape in enumerate(shapes):
        alike[tuple(map(padded_size, shape))].append(position)
    for shape, positions in alike.items():
        lanes = lane_count(*shape)
        for first in range(0, len(positions), lanes):
            yield shape, positions[first : first + lanes]


def stacked(matrices: Sequence[Array], lanes: int, *shape: int) -> NDArray[np.float64]:
    """Put matrices into the corners of a (lanes, *shape) array of zeros."""
    result = np.zeros((lanes, *shape))
    for lane, matrix in enumerate(matrices):
        corner = tuple(slice(size) for size in matrix.shape)
        result[lane][corner] = matrix
    return result


Result = TypeVar("Result")


@dataclass(frozen=True)
class TorchEngine:
    """Train encoders and pairs with torch.

    Parameters
    ----------
    precision : {"float32", "float64"}
    device : str
        "cpu", or "cuda" for a GPU.
    threads : int
        Number of batches that run at once; results do not depend on it.
    """

    precision: str = "float32"
    device: str = "cpu"
    threads: int = 1

    def train_encoders(
        self,
        graphs: Sequence[EncodedGraph],
        initial: Sequence[EncoderWeights],
        training: EncoderTraining,
        seeds: Sequence[int] = (),
    ) -> list[EncoderWeights]:
        """Train encoders by full-batch Adam on the mean binary cross-entropy (paper eq. 4)."""
        given = seeds or [0] * len(graphs)  # only regularised training draws from them
        tasks = list(zip(graphs, initial, given, strict=True))

        def train(shape: tuple[int, ...], positions: list[int]) -> list[EncoderWeights]:
            return self._train_encoders(shape, [tasks[i] for i in positions], training)

        return self._in_batches([(*g.matrix.shape, g.n_attending) for g in graphs], train)

    def train_pairs(
        self,
        pairs: Sequence[tuple[EncodedGraph, Source]],
        seeds: Sequence[int],
        training: PairTraining,
        *,
        detail: bool = False,
    ) -> list[Outcome]:
        """Train the attention of every pair by full-batch Adam."""

        def train(shape: tuple[int, ...], positions: list[int]) -> list[Outcome]:
            chosen, own = [pairs[i] for i in positions], [seeds[i] for i in positions]
            return self._train_pairs(shape, chosen, own, training, detail)

        return self._in_batches([pair_shape(*pair) for pair in pairs], train)

    def _in_batches(
        self,
        shapes: Sequence[tuple[int, ...]],
        work: Callable[[tuple[int, ...], list[int]], list[Result]],
    ) -> list[Result]:
        """Do the work batch by batch, and return the results in the order of the shapes."""
        batches = list(batches_of_shape(shapes))
        results: dict[int, Result] = {}
        with _one_thread(), ThreadPoolExecutor(self.threads) as pool:
            done = pool.map(lambda batch: work(*batch), batches)
            for (_, positions), found in zip(batches, done, strict=True):
                results.update(zip(positions, found, strict=True))
        return [results[i] for i in range(len(shapes))]

    def _train_encoders(
        self,
        shape: tuple[int, ...],
        tasks: Sequence[tuple[EncodedGraph, EncoderWeights, int]],
        training: EncoderTraining,
    ) -> list[EncoderWeights]:
        lanes = lane_count(*shape)
        n_units, n_nodes, n_rows = shape
        table, layers = self._weights([w for _, w, _ in tasks], lanes, (n_rows, n_nodes), True)
        drawn = [(graph.dense_matrix(), seed) for graph, _, seed in tasks]

        def shown(epoch: int) -> Tensor:
            masks = [shown_entries(given, seed, epoch, training) for given, seed in drawn]
            return self._stack(masks, lanes, n_units, n_nodes)

        held_out = [held_out_entries(given.shape, seed, training) for given, seed in drawn]
        entries = Entries(
            len(tasks),
            self._stack([given for given, _ in drawn], lanes, n_units, n_nodes),
            shown,
            self._stack(held_out, lanes, n_units, n_nodes),
            self._join([graph.gathers for graph, _, _ in tasks], lanes, n_units, n_rows),
        )
        fit_encoders(table, layers, entries, training)
        return [
            _weights_of(lane, (g.n_attending, g.matrix.shape[1]), table, layers)
            for lane, (g, _, _) in enumerate(tasks)
        ]

    def _train_pairs(
        self,
        shape: tuple[int, ...],
        pairs: Sequence[tuple[EncodedGraph, Source]],
        seeds: Sequence[int],
        training: PairTraining,
        detail: bool,
    ) -> list[Outcome]:
        lanes = lane_count(*shape)
        batch = self._batch(shape, pairs, lanes, training)
        parameters = self._initial(shape, pairs, seeds, lanes, training)
        moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
        recorded, last_costs = {}, []
        last_step = training.checkpoints[-1]
        wanted = set(training.recorded)
        for step in range(last_step + 1):
            found = forward(batch, parameters, training)
            if step in wanted:
                recorded[step] = unit_terms(batch, found).detach()
            if detail and step > last_step - training.window:
                last_costs.append(torch.stack(found.costs, dim=1).detach().double())
            if step < last_step:
                loss = training_loss(batch, found, training.coefficients)
                gradients = per_node_gradients(batch, parameters, loss, training)
                adam(parameters, gradients, moments, step + 1, training.learning_rate)
        steps = training.checkpoints
        terms = torch.stack([_average(recorded, step, training.window) for step in steps], 1)
        sums = (terms * batch.unit_weights.double()[:, None, None, :]).sum(-1)
        if not detail:
            return [Outcome(_numpy(sums[lane])) for lane in range(len(pairs))]
        costs = torch.stack(last_costs).mean(0)
        outcomes = []
        for lane, (graph, source) in enumerate(pairs):
            n_units, n_nodes, n_source, _ = pair_shape(graph, source)
            outcomes.append(
                Outcome(
                    _numpy(sums[lane]),
                    _numpy(terms[lane, :, :, :n_units]),
                    _numpy(found.attended[lane, : graph.n_attending, :n_source]),
                    _numpy(costs[lane, :, :n_units, :n_nodes]),
                )
            )
        return outcomes

    def _batch(
        self,
        shape: tuple[int, ...],
        pairs: Sequence[tuple[EncodedGraph, Source]],
        lanes: int,
        training: PairTraining,
    ) -> Batch:
        n_units, n_nodes, n_source, n_source_nodes = shape
        graphs, sources = zip(*pairs, strict=True)
        weights = [s.weights for s in sources]
        table, layers = self._weights(weights, lanes, (n_source, n_source_nodes), False)
        unit_weights = self._stack([g.unit_weights for g in graphs], lanes, n_units)
        node_weights = self._stack([g.node_weights for g in graphs], lanes, n_nodes)
        count = at_least_one(unit_weights.sum(-1))
        size = count * at_least_one(node_weights.sum(-1))
        one = torch.ones_like(count)
        present = stacked([np.ones(len(s.weights.table)) for s in sources], lanes, n_source)
        present[len(pairs) :] = 1  # padding attends somewhere, so that nothing is 0 / 0
        members = [s.members for s in sources]
        return Batch(
            matrix=self._stack([g.dense_matrix() for g in graphs], lanes, n_units, n_nodes),
            unit_weights=unit_weights,
            node_weights=node_weights,
            present=self._tensor(present) > 0,
            table=table,
            layers=layers,
            attributes=tuple(
                self._attribute(graphs, sources, place, lanes, shape)
                for place in range(len(graphs[0].attributes))
            ),
            scale=(size, count) if training.reduction == "mean" else (one, one),
            gathers=self._join([g.gathers for g in graphs], lanes, n_units, n_nodes),
            spreads=self._join([g.spreads for g in graphs], lanes, n_nodes, n_units),
            members=self._join(members, lanes, n_source, n_source_nodes),
        )

    def _attribute(
        self,
        graphs: Sequence[EncodedGraph],
        sources: Sequence[Source],
        place: int,
        lanes: int,
        shape: tuple[int, ...],
    ) -> AttributeTensors:
        """Stack one attribute of all pairs."""
        given = [graph.attributes[place] for graph in graphs]
        width = given[0].units.shape[1]
        rows = (shape[0], shape[0], shape[1], shape[2])

        def stack(parts: Sequence[tuple[Any, ...]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
            columns = zip(zip(*parts, strict=True), rows, strict=True)
            units, neighbours, nodes, source_units = (
                self._stack(matrices, lanes, n_rows, width) for matrices, n_rows in columns
            )
            return units, neighbours, nodes, source_units

        both = list(zip(given, sources, strict=True))
        values = [(a.units, a.neighbours, a.nodes, s.attributes[place]) for a, s in both]
        if given[0].known is None:
            return AttributeTensors(*stack(values))
        known = [(*(a.known or ()), s.known[place]) for a, s in both]
        return AttributeTensors(*stack(values), known=stack(known))

    def _initial(
        self,
        shape: tuple[int, ...],
        pairs: Sequence[tuple[EncodedGraph, Source]],
        seeds: Sequence[int],
        lanes: int,
        training: PairTraining,
    ) -> list[Tensor]:
        """Return the initial parameters of all pairs, padded to the shape of the batch."""
        n_units, n_nodes, n_source, n_source_nodes = shape
        n_attending = n_units if pairs[0][0].gathers is None else n_nodes
        drawn = [
            initial_attention((g.n_attending, *pair_shape(g, source)[1:]), source, seed, training)
            for (g, source), seed in zip(pairs, seeds, strict=True)
        ]
        sizes = training.layers
        between = list(pairwise(sizes))
        if sizes:
            shapes = [(n_attending, sizes[0]), *between, (sizes[-1], n_source)]
            reverse = [(n_nodes, sizes[0]), *between, (sizes[-1], n_source_nodes), (1, n_nodes)]
        else:
            shapes, reverse = [(n_attending, n_source)], [(n_source_nodes, n_nodes), (1, n_nodes)]
        if training.reverse == "free":
            shapes += reverse
        parameters = [
            self._stack(matrices, lanes, *padded)
            for matrices, padded in zip(zip(*drawn, strict=True), shapes, strict=True)
        ]
        return [p.requires_grad_() for p in parameters]

    def _join(self, matrices: Sequence[Any], lanes: int, *shape: int) -> Tensor | None:
        """Stack matrices of averages; None where there are none."""
        if matrices[0] is None:
            return None
        return self._stack([dense(m) for m in matrices], lanes, *shape)

    def _weights(
        self, weights: Sequence[EncoderWeights], lanes: int, shape: tuple[int, int], trains: bool
    ) -> tuple[Tensor, Layers]:
        """Stack the tables and layers of encoders."""
        n_units, n_nodes = shape
        parts = [[np.atleast_2d(part) for part in w.arrays()] for w in weights]
        sizes = [part.shape for part in parts[0]]
        sizes[0], sizes[-1] = (n_units, sizes[0][1]), (1, n_nodes)
        sizes[-2] = sizes[-2][0], n_nodes
        table, *rest = (
            self._stack(matrices, lanes, *size).requires_grad_(trains)
            for matrices, size in zip(zip(*parts, strict=True), sizes, strict=True)
        )
        *hidden, output = zip(rest[::2], rest[1::2], strict=True)
        return table, Layers(tuple(hidden), output)

    def _stack(self, matrices: Sequence[Any], lanes: int, *shape: int) -> Tensor:
        return self._tensor(stacked(matrices, lanes, *shape))

    def _tensor(self, array: Any) -> Tensor:
        dtype = torch.float64 if self.precision == "float64" else torch.float32
        return torch.as_tensor(array, dtype=dtype, device=self.device)


def _weights_of(lane: int, shape: tuple[int, int], table: Tensor, layers: Layers) -> EncoderWeights:
    n_units, n_nodes = shape
    weight, bias = layers.output
    return EncoderWeights(
        _numpy(table[lane, :n_units]),
        tuple((_numpy(w[lane]), _numpy(b[lane, 0])) for w, b in layers.hidden),
        (_numpy(weight[lane, :, :n_nodes]), _numpy(bias[lane, 0, :n_nodes])),
    )


def _average(recorded: dict[int, Tensor], step: int, window: int) -> Tensor:
    latest = [recorded[s] for s in range(max(0, step - window + 1), step + 1)]
    return torch.stack(latest).mean(0)


def _numpy(tensor: Tensor) -> Any:
    return tensor.detach().cpu().double().numpy().copy()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep torch from splitting a tensor among threads, which would change its rounding."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
