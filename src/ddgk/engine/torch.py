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
from torch import Tensor

from ddgk.config import Config
from ddgk.engine.arrays import (
    EncodedGraph,
    EncoderWeights,
    Outcome,
    Source,
    dense,
    pair_shape,
)
from ddgk.engine.equations import (
    Adam,
    Batch,
    at_least_one,
    fit_encoders,
    forward,
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
        config: Config,
        seeds: Sequence[int],
    ) -> list[EncoderWeights]:
        """Train encoders by full-batch Adam on the mean binary cross-entropy (paper eq. 4)."""

        def train(shape: tuple[int, ...], places: list[int]) -> list[EncoderWeights]:
            chosen = [graphs[i] for i in places]
            return self._train_encoders(
                shape, chosen, [initial[i] for i in places], [seeds[i] for i in places], config
            )

        return self._in_batches([(*g.matrix.shape, g.n_attending) for g in graphs], train)

    def train_pairs(
        self,
        pairs: Sequence[tuple[EncodedGraph, Source]],
        seeds: Sequence[int],
        config: Config,
        *,
        detail: bool = False,
    ) -> list[Outcome]:
        """Train the attention of every pair by full-batch Adam."""

        def train(shape: tuple[int, ...], positions: list[int]) -> list[Outcome]:
            chosen, own = [pairs[i] for i in positions], [seeds[i] for i in positions]
            return self._train_pairs(shape, chosen, own, config, detail)

        return self._in_batches([pair_shape(*pair) for pair in pairs], train)

    def _in_batches(
        self,
        shapes: Sequence[tuple[int, ...]],
        work: Callable[[tuple[int, ...], list[int]], list[Result]],
    ) -> list[Result]:
        """Do the work batch by batch, and return the results in the order of the shapes."""
        batches = list(batches_of_shape(shapes))
        results: dict[int, Result] = {}
        with one_thread(), ThreadPoolExecutor(self.threads) as pool:
            done = pool.map(lambda batch: work(*batch), batches)
            for (_, positions), found in zip(batches, done, strict=True):
                results.update(zip(positions, found, strict=True))
        return [results[i] for i in range(len(shapes))]

    def _train_encoders(
        self,
        shape: tuple[int, ...],
        graphs: Sequence[EncodedGraph],
        initial: Sequence[EncoderWeights],
        seeds: Sequence[int],
        config: Config,
    ) -> list[EncoderWeights]:
        n_units, n_nodes, n_rows = shape
        lanes = lane_count(*shape)
        matrices = [graph.dense_matrix() for graph in graphs]

        def shown(epoch: int) -> Tensor:
            masks = [
                shown_entries(matrix, seed, epoch, config.encoder_edge_dropout)
                for matrix, seed in zip(matrices, seeds, strict=True)
            ]
            return self._stack(masks, lanes, n_units, n_nodes)

        parameters = self._weights(initial, lanes, n_rows, n_nodes)
        for parameter in parameters:
            parameter.requires_grad_()
        matrix = self._stack(matrices, lanes, n_units, n_nodes)
        gathers = self._join([graph.gathers for graph in graphs], lanes, n_units, n_rows)
        fit_encoders(parameters, matrix, gathers, shown, config)
        return [
            _weights_of(lane, graph.n_attending, graph.matrix.shape[1], parameters)
            for lane, graph in enumerate(graphs)
        ]

    def _train_pairs(
        self,
        shape: tuple[int, ...],
        pairs: Sequence[tuple[EncodedGraph, Source]],
        seeds: Sequence[int],
        config: Config,
        detail: bool,
    ) -> list[Outcome]:
        lanes = lane_count(*shape)
        batch = self._batch(shape, pairs, lanes, config)
        parameters = self._initial(shape, pairs, seeds, lanes, config)
        adam, recorded, wanted = Adam(parameters, config.learning_rate), [], set(config.checkpoints)
        for step in range(config.checkpoints[-1] + 1):
            found = forward(batch, parameters, config)
            if step in wanted:
                recorded.append(unit_terms(batch, found).detach())
            if step < config.checkpoints[-1]:
                loss = training_loss(batch, found)
                adam.step(per_node_gradients(batch, parameters, loss, config))
        terms = torch.stack(recorded, 1)
        sums = (terms * batch.unit_weights.double()[:, None, None, :]).sum(-1)
        if not detail:
            return [Outcome(_numpy(sums[lane])) for lane in range(len(pairs))]
        costs = torch.stack(found.costs, dim=1)
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
        config: Config,
    ) -> Batch:
        n_units, n_nodes, n_source, n_source_nodes = shape
        graphs, sources = zip(*pairs, strict=True)
        table, *layers = self._weights(
            [source.weights for source in sources], lanes, n_source, n_source_nodes
        )
        unit_weights = self._stack([g.unit_weights for g in graphs], lanes, n_units)
        node_weights = self._stack([g.node_weights for g in graphs], lanes, n_nodes)
        count = at_least_one(unit_weights.sum(-1))
        size = count * at_least_one(node_weights.sum(-1))
        one = torch.ones_like(count)
        present = self._stack([np.ones(len(s.weights.table)) for s in sources], lanes, n_source)
        present[len(pairs) :] = 1  # padding attends somewhere, so that nothing is 0 / 0
        rows = (n_units, n_units, n_nodes, n_source)

        def stack(parts: Sequence[Sequence[Any]]) -> Any:
            """Stack matrices of one attribute, four for each pair."""
            by_kind = zip(zip(*parts, strict=True), rows, strict=True)
            return tuple(self._stack(m, lanes, n_rows, m[0].shape[1]) for m, n_rows in by_kind)

        attributes = []
        for place, one_graph in enumerate(graphs[0].attributes):
            both = [(g.attributes[place], s.attributes[place]) for g, s in pairs]
            given = [(a.units, a.neighbours, a.nodes, carried) for a, carried in both]
            values = stack([[np.where(np.isnan(x), 0.0, x) for x in four] for four in given])
            known = stack([[~np.isnan(x) for x in four] for four in given])
            coefficient = config.coefficient(one_graph.name)
            attributes.append((values, known if one_graph.is_real else None, coefficient))
        return Batch(
            matrix=self._stack([g.dense_matrix() for g in graphs], lanes, n_units, n_nodes),
            unit_weights=unit_weights,
            node_weights=node_weights,
            present=present > 0,
            table=table,
            layers=layers,
            attributes=tuple(attributes),
            scale=(size, count) if config.reduction == "mean" else (one, one),
            gathers=self._join([g.gathers for g in graphs], lanes, n_units, n_nodes),
            spreads=self._join([g.spreads for g in graphs], lanes, n_nodes, n_units),
            members=self._join([s.members for s in sources], lanes, n_source, n_source_nodes),
        )

    def _initial(
        self,
        shape: tuple[int, ...],
        pairs: Sequence[tuple[EncodedGraph, Source]],
        seeds: Sequence[int],
        lanes: int,
        config: Config,
    ) -> list[Tensor]:
        """Return the initial parameters of all pairs, padded to the shape of the batch."""
        n_units, n_nodes, n_source, n_source_nodes = shape
        n_attending = n_units if pairs[0][0].gathers is None else n_nodes
        drawn = [
            initial_attention((g.n_attending, *pair_shape(g, source)[1:]), source, seed, config)
            for (g, source), seed in zip(pairs, seeds, strict=True)
        ]
        sizes = config.attention_layers
        between = list(pairwise(sizes))
        if sizes:
            shapes = [(n_attending, sizes[0]), *between, (sizes[-1], n_source)]
            reverse = [(n_nodes, sizes[0]), *between, (sizes[-1], n_source_nodes), (1, n_nodes)]
        else:
            shapes, reverse = [(n_attending, n_source)], [(n_source_nodes, n_nodes), (1, n_nodes)]
        if config.reverse == "free":
            shapes += reverse
        parameters = [
            self._stack(matrices, lanes, *padded)
            for matrices, padded in zip(zip(*drawn, strict=True), shapes, strict=True)
        ]
        return [p.requires_grad_() for p in parameters]

    def _weights(
        self, weights: Sequence[EncoderWeights], lanes: int, n_rows: int, n_nodes: int
    ) -> list[Tensor]:
        """Stack the arrays of encoders: E, W_1, b_1, ..., W_o, b_o."""
        parts = [[np.atleast_2d(part) for part in w.arrays()] for w in weights]
        sizes = [part.shape for part in parts[0]]
        sizes[0], sizes[-2:] = (n_rows, sizes[0][1]), [(sizes[-2][0], n_nodes), (1, n_nodes)]
        return [
            self._stack(matrices, lanes, *size)
            for matrices, size in zip(zip(*parts, strict=True), sizes, strict=True)
        ]

    def _join(self, matrices: Sequence[Any], lanes: int, *shape: int) -> Tensor | None:
        """Stack matrices of averages; None where there are none."""
        if matrices[0] is None:
            return None
        return self._stack([dense(m) for m in matrices], lanes, *shape)

    def _stack(self, matrices: Sequence[Any], lanes: int, *shape: int) -> Tensor:
        """Put matrices into the corners of a (lanes, *shape) tensor of zeros."""
        result = np.zeros((lanes, *shape))
        for lane, matrix in enumerate(matrices):
            result[lane][tuple(map(slice, matrix.shape))] = matrix
        dtype = torch.float64 if self.precision == "float64" else torch.float32
        return torch.as_tensor(result, dtype=dtype, device=self.device)


def _weights_of(lane: int, n_rows: int, n_nodes: int, parameters: Sequence[Tensor]) -> Any:
    """Return the encoder of a lane without its padding."""
    table, *layers, weight, bias = (_numpy(parameter[lane]) for parameter in parameters)
    hidden = tuple(zip(layers[::2], (shift[0] for shift in layers[1::2]), strict=True))
    output = np.ascontiguousarray(weight[:, :n_nodes]), bias[0, :n_nodes]
    return EncoderWeights(table[:n_rows], hidden, output)


def _numpy(tensor: Tensor) -> Any:
    return tensor.detach().cpu().double().numpy().copy()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch from splitting a tensor among threads, which would change its rounding."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
