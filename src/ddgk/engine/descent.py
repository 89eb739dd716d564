"""Encoders trained by autograd, many at a time: the leading axis of every tensor is a lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ddgk.engine.equations import Layers, adam, encode, entry_costs
from ddgk.engine.problem import EncoderTraining


@dataclass(frozen=True)
class Entries:
    """What encoders are trained on, for every lane.

    lanes: how many are not idle. relation: B, (units, nodes). shown: which entries train in an
    epoch (from 0), 1 or 0, (units, nodes). held: which are held out, likewise. gathers: K, whose
    rows say of which rows of the table a unit is the mean, (units, rows of the table), or None.
    """

    lanes: int
    relation: Tensor
    shown: Callable[[int], Tensor]
    held: Tensor
    gathers: Tensor | None = None


class Watch:
    """Keeps the best weights of every lane, by the mean cost of the entries held out.

    A lane with nothing to go by takes every weight for better than the one before. So does one
    whose loss is not finite, which must come to light.
    """

    def __init__(self, parameters: Sequence[Tensor], entries: Entries, patience: int) -> None:
        self.parameters, self.held, self.patience = parameters, entries.held, patience
        self.kept = [p.detach().clone() for p in parameters]
        self.count = self.held.sum((-1, -2)).double()
        self.lowest = torch.full_like(self.count, torch.inf)
        self.waited = torch.zeros_like(self.count)
        self.waited[entries.lanes :] = patience

    def is_over(self, costs: Tensor) -> bool:
        """Look at the costs of all entries, (units, nodes); say whether all lanes are done."""
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


def descend(
    table: Tensor,
    layers: Layers,
    entries: Entries,
    training: EncoderTraining,
) -> None:
    """Train in place, by full-batch Adam on the mean cost of the entries shown (paper eq. 4).

    loss = sum_ij M_ij BCE(Z_ij, B_ij) / sum_ij M_ij,   M: the entries shown in the epoch
    W <- (1 - rate decay) W, then Adam's step;   the table and matrices, not the biases
    """
    weights = [table, *(weight for weight, _ in layers.hidden), layers.output[0]]
    parameters = [table, *(t for layer in layers.hidden for t in layer), *layers.output]
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
    watch = Watch(parameters, entries, training.patience) if training.patience else None

    def costs() -> Tensor:
        inputs = table if entries.gathers is None else entries.gathers @ table
        edge, non_edge = entry_costs(encode(inputs, layers, training.scores))
        return entries.relation * edge + (1 - entries.relation) * non_edge

    shown = entries.shown(0)
    for epoch in range(training.epochs):
        found = costs()
        if watch is not None and watch.is_over(found):
            break
        if training.drop and epoch:
            shown = entries.shown(epoch)
        loss = (shown * found).sum((-1, -2)) / shown.sum((-1, -2)).clamp(min=1)
        gradients = torch.autograd.grad(loss.sum(), parameters)
        if training.decay:
            for weight in weights:
                weight.data.mul_(1 - training.rate * training.decay)
        adam(parameters, gradients, moments, epoch + 1, training.rate)
    else:
        if watch is not None:
            watch.is_over(costs())
    if watch is not None:
        watch.restore()
