"""Pairs whose target is too large for all its entries, in torch: one pair at a time.

The same equations on a list of entries (i, j), each with what it counts as an edge and as a
non-edge. Nothing here has more numbers than nodes times the source, or entries times the width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ddgk.engine.equations import (
    Layers,
    cross_entropy,
    entry_costs,
    hidden_layers,
    inferred_by_attention,
    isomorphism_attention,
)
from ddgk.engine.passes import free_reverse
from ddgk.engine.problem import FamilyArrays, PairTraining, Problem, Source
from ddgk.engine.samples import draw_shifts, kept_entries

ToTensor = Callable[[Any], Tensor]


@dataclass(frozen=True)
class Entries:
    """Some entries of a relation: where they are, and what they count; (n_entries,) each."""

    rows: Tensor
    columns: Tensor
    edge: Tensor
    non_edge: Tensor


@dataclass(frozen=True)
class Terms:
    """What one pass yields: P, (n_t, n_s), and each unit's term of every channel, (., n_t)."""

    attention: Tensor
    units: Tensor


class Sampled:
    """One large target and one source, and what of them does not train."""

    def __init__(
        self, problem: Problem, source: Source, seed: int, training: PairTraining, to: ToTensor
    ) -> None:
        self.training, self.n_nodes, self.to = training, len(problem.node_weights), to
        self.table, layers = to(source.weights.table), source.weights.hidden
        self.layers = Layers(
            tuple((to(w), to(b[None])) for w, b in layers),
            (to(source.weights.output[0]), to(source.weights.output[1][None])),
        )
        self.families = [_tensors(family, to) for family in problem.families]
        self.carried = [to(own) for own in source.families]
        self.shifts = draw_shifts(seed, self.n_nodes, problem.samples, training.report[-1] + 1)
        kept = kept_entries(problem.relation)
        self.kept_rows = np.repeat(np.arange(self.n_nodes), np.diff(kept.indptr))
        self.kept_columns, self.kept_values = kept.indices.astype(np.int64), kept.data
        mean = training.reduction == "mean"
        self.scales = (float(self.n_nodes) ** 2, float(self.n_nodes)) if mean else (1.0, 1.0)

    def entries(self, step: int) -> Entries:
        """List the entries of a step; one that is kept and drawn too counts once."""
        shifts, weights = self.shifts.listed(step)
        drawn = np.zeros(self.n_nodes)
        drawn[shifts] = weights
        twice = drawn[(self.kept_columns - self.kept_rows) % self.n_nodes]
        rows = np.repeat(np.arange(self.n_nodes), len(shifts))
        columns = (rows + np.tile(shifts, self.n_nodes)) % self.n_nodes
        edge = np.concatenate([self.kept_values, np.zeros(len(rows))])
        every = np.concatenate([1 - twice, np.tile(weights, self.n_nodes)])
        device = self.table.device
        return Entries(
            torch.as_tensor(np.concatenate([self.kept_rows, rows]), device=device),
            torch.as_tensor(np.concatenate([self.kept_columns, columns]), device=device),
            self.to(edge),
            self.to(every - edge),
        )

    def run(self, parameters: Sequence[Tensor], step: int) -> Terms:
        """Reconstruct the target by the entries of a step."""
        training, listed = self.training, self.entries(step)
        scores = parameters[0] @ parameters[1] if training.size else parameters[0]
        present = torch.ones(1, scores.shape[1], dtype=torch.bool, device=scores.device)
        attention = isomorphism_attention(scores[None], present)[0]
        hidden = hidden_layers(attention @ self.table, self.layers)
        weight, bias = self.layers.output
        free = free_reverse(parameters, training)
        back, added = (attention, 0.0) if free is None else (free[0].T, free[1][0, listed.columns])
        if training.scores == "tanh":
            known, nodes = torch.tanh(hidden @ weight + bias), back
        else:  # Y = X_L (W_o R) + b_o R: the product stays as narrow as the last layer
            known, nodes = hidden, back @ weight.T
            added = added + (back @ bias[0])[listed.columns]
        predicted = (known[listed.rows] * nodes[listed.columns]).sum(-1) + added
        edge, non_edge = entry_costs(predicted)
        terms = [
            self._by_unit(listed, listed.edge * edge) / self.scales[0],
            self._by_unit(listed, listed.non_edge * non_edge) / self.scales[0],
        ]
        seen = torch.sigmoid(predicted) * (listed.edge + listed.non_edge)
        for (units, surroundings, contributed), carried in zip(
            self.families, self.carried, strict=True
        ):
            inferred = inferred_by_attention(attention, carried)
            terms.append(cross_entropy(units, inferred, training.smoothing) / self.scales[1])
            counts = self._by_unit(listed, seen[:, None] * contributed[listed.columns])
            total = counts.sum(-1, keepdim=True)
            around = counts / torch.where(total > 0, total, torch.ones_like(total))
            terms.append(cross_entropy(surroundings, around, training.smoothing) / self.scales[1])
        return Terms(attention, torch.stack(terms))

    def loss(self, terms: Terms) -> Tensor:
        """Return structure + sum_f c_f (attention + reverse)."""
        channels = terms.units.sum(-1)
        total = channels[0] + channels[1]
        for place, coefficient in enumerate(self.training.coefficients):
            total = total + coefficient * (channels[2 + 2 * place] + channels[3 + 2 * place])
        return total

    def _by_unit(self, listed: Entries, values: Tensor) -> Tensor:
        """Add up what entries have over the columns of each row."""
        sums = torch.zeros(
            self.n_nodes, *values.shape[1:], dtype=values.dtype, device=values.device
        )
        return sums.index_add(0, listed.rows, values)


def _tensors(family: FamilyArrays, to: ToTensor) -> tuple[Tensor, Tensor, Tensor]:
    return to(family.units), to(family.surroundings), to(family.nodes)
