"""Encoders trained in torch, many at a time, with optional regularisation.

The leading axis of every tensor is the encoder. Which entries are hidden or held out is a hash of
their position and the epoch, so it does not depend on threads or on earlier draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ddgk.engine.arrays import Array, EncoderTraining
from ddgk.engine.equations import Layers, adam, encode, entry_costs
from ddgk.engine.initialisation import HELD_OUT, uniform

HELD_OUT_SHARE = 0.1  # of all entries, where training may stop early
HIDDEN = 1 << 33  # the stream of the first epoch

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Entries:
    """What encoders are trained on.

    lanes: the number of encoders that are not padding. matrix: B, (units, nodes). shown: which
    entries train in an epoch, 1 or 0, (units, nodes). held_out: likewise. gathers: K, which
    averages rows of the table into units, (units, rows of the table), or None.
    """

    lanes: int
    matrix: Tensor
    shown: Callable[[int], Tensor]
    held_out: Tensor
    gathers: Tensor | None = None


def held_out_entries(shape: tuple[int, ...], seed: int, training: EncoderTraining) -> Mask:
    """Draw the entries that decide when to stop: a tenth of all, edges and non-edges alike.

    shape: (n_units, n_nodes). None are drawn without patience.
    """
    if not training.patience:
        return np.zeros(shape, dtype=np.bool_)
    held: Mask = uniform(seed, HELD_OUT, *shape) < HELD_OUT_SHARE
    return held


def shown_entries(matrix: Array, seed: int, epoch: int, training: EncoderTraining) -> Mask:
    """Return the entries that train in an epoch (from 0): not held out, and not hidden.

    matrix: B, (n_units, n_nodes); a share of its nonzero entries is hidden.
    """
    shown = ~held_out_entries(matrix.shape, seed, training)
    if training.edge_dropout:
        drawn = uniform(seed, HIDDEN + epoch, *matrix.shape) < training.edge_dropout
        shown &= ~(drawn & (matrix != 0))
    return shown


class EarlyStopping:
    """Keeps the best weights of every encoder, by the mean cost of its held-out entries.

    An encoder without held-out entries keeps its latest weights. So does one whose loss is not
    finite, so that the divergence is reported.
    """

    def __init__(self, parameters: Sequence[Tensor], entries: Entries, patience: int) -> None:
        self.parameters, self.held, self.patience = parameters, entries.held_out, patience
        self.kept = [p.detach().clone() for p in parameters]
        self.count = self.held.sum((-1, -2)).double()
        self.lowest = torch.full_like(self.count, torch.inf)
        self.waited = torch.zeros_like(self.count)
        self.waited[entries.lanes :] = patience

    def is_over(self, costs: Tensor) -> bool:
        """Update with the costs of all entries, (units, nodes); return whether all are done."""
        loss = (self.held * costs).detach().double().sum((-1, -2)) / self.count.clamp(min=1)
        better = (loss < self.lowest) | ~torch.isfinite(loss) | (self.count == 0)
        better &= self.waited < self.patience
        self.lowest = torch.where(better, loss, self.lowest)
        self.waited = torch.where(better, 0, self.waited + 1)
        for kept, parameter in zip(self.kept, self.parameters, strict=True):
            kept[better] = parameter.detach()[better]
        return bool((self.waited >= self.patience).all())

    def restore(self) -> None:
        """Put the best weights back."""
        for kept, parameter in zip(self.kept, self.parameters, strict=True):
            parameter.data.copy_(kept)


def fit_encoders(
    table: Tensor, layers: Layers, entries: Entries, training: EncoderTraining
) -> None:
    """Train in place, by full-batch Adam on the mean cost of the entries shown (paper eq. 4).

    loss = sum_ij M_ij BCE(Z_ij, B_ij) / sum_ij M_ij,   M: the entries shown in the epoch
    W <- (1 - learning_rate weight_decay) W, then Adam's step;   not for biases
    """
    weights = [table, *(weight for weight, _ in layers.hidden), layers.output[0]]
    parameters = [table, *(t for layer in layers.hidden for t in layer), *layers.output]
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
    stopping = EarlyStopping(parameters, entries, training.patience) if training.patience else None

    def costs() -> Tensor:
        inputs = table if entries.gathers is None else entries.gathers @ table
        edge, non_edge = entry_costs(encode(inputs, layers, training.scores))
        return entries.matrix * edge + (1 - entries.matrix) * non_edge

    shown = entries.shown(0)
    for epoch in range(training.epochs):
        found = costs()
        if stopping is not None and stopping.is_over(found):
            break
        if training.edge_dropout and epoch:
            shown = entries.shown(epoch)
        loss = (shown * found).sum((-1, -2)) / shown.sum((-1, -2)).clamp(min=1)
        gradients = torch.autograd.grad(loss.sum(), parameters)
        if training.weight_decay:
            for weight in weights:
                weight.data.mul_(1 - training.learning_rate * training.weight_decay)
        adam(parameters, gradients, moments, epoch + 1, training.learning_rate)
    else:
        if stopping is not None:
            stopping.is_over(costs())
    if stopping is not None:
        stopping.restore()
