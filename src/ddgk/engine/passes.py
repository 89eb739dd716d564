"""One pass of a batch of pairs through the network, in torch; gradients come from autograd.

The leading axis of every tensor is the lane of a pair. Shapes in the comments leave it out.
u_t, n_t: units and nodes of the target; a_t: its rows that attend, units or nodes; a_s, n_s: rows
of the source's table, and its nodes; q: columns of a factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ddgk.engine.equations import (
    Layers,
    cross_entropy,
    encode,
    entry_costs,
    inferred_by_attention,
    inferred_by_reverse,
    isomorphism_attention,
    reverse_attention,
)
from ddgk.engine.problem import PairTraining


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
    present: Tensor  # (a_s)
    table: Tensor  # E, (a_s, d)
    layers: Layers
    families: tuple[Family, ...]
    scale: tuple[Tensor, Tensor]  # what the structure and the attribute losses are divided by
    gathers: Tensor | None = None  # K, (u_t, a_t): nodes attend, units have means of their rows
    spreads: Tensor | None = None  # L, (n_t, a_t): units attend, nodes have means of their rows
    members: Tensor | None = None  # which nodes what is attended to is made of, (a_s, n_s)

    @property
    def attending_weights(self) -> Tensor:
        """How many each row of A stands for, (a_t)."""
        return self.unit_weights if self.gathers is None else self.node_weights


@dataclass(frozen=True)
class Parts:
    """What one pass through the network yields."""

    attended: Tensor  # P, (a_t, a_s)
    attention: Tensor  # of units, (u_t, a_s)
    costs: tuple[Tensor, Tensor]  # of an edge and of a non-edge, (u_t, n_t) each
    consistency: tuple[Tensor, ...]  # cross-entropies, (u_t): attention and reverse of each family


def attend(
    batch: Batch, parameters: Sequence[Tensor], training: PairTraining
) -> tuple[Tensor, Tensor, Tensor]:
    """Return P of what attends, of units, (u_t, a_s), and of nodes, (n_t, n_s).

    units: K P where nodes attend; nodes: L P (members of the source) where units do.
    """
    scores = parameters[0] @ parameters[1] if training.size else parameters[0]
    attended = isomorphism_attention(scores, batch.present)
    units = attended if batch.gathers is None else batch.gathers @ attended
    nodes = attended
    if batch.spreads is not None and batch.members is not None:
        nodes = batch.spreads @ attended @ batch.members
    return attended, units, nodes


def free_reverse(
    parameters: Sequence[Tensor], training: PairTraining
) -> tuple[Tensor, Tensor] | None:
    """Return R, (n_s, n_t), and r, (1, n_t), where the reverse attention is free.

    Of fixed size, R = (U_r V_r)^T with U_r (n_t, q), V_r (q, n_s).
    """
    if training.reverse == "tied":
        return None
    if not training.size:
        return parameters[1], parameters[2]
    return (parameters[2] @ parameters[3]).transpose(-1, -2), parameters[4]


def reconstruct(batch: Batch, parameters: Sequence[Tensor], training: PairTraining) -> Parts:
    """Reconstruct every target through its source's encoder."""
    attended, attention, nodes = attend(batch, parameters, training)
    predicted = encode(attention @ batch.table, batch.layers, training.scores)
    scores = reverse_attention(predicted, nodes, free_reverse(parameters, training))
    consistency = []
    for family in batch.families:
        inferred = inferred_by_attention(attention, family.source_units)
        consistency.append(cross_entropy(family.units, inferred, training.smoothing))
        around = inferred_by_reverse(scores, batch.node_weights, family.nodes)
        consistency.append(cross_entropy(family.surroundings, around, training.smoothing))
    return Parts(attended, attention, entry_costs(scores), tuple(consistency))


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
    batch: Batch, parameters: Sequence[Tensor], loss: Tensor, training: PairTraining
) -> tuple[Tensor, ...]:
    """Differentiate, and share the gradient of a class among the nodes it stands for.

    Lanes do not touch each other, so the gradient of the sum is the gradient of each. Factors of
    the source's side belong to all nodes of the target at once: nothing is shared out there.
    """
    gradients = torch.autograd.grad(loss.sum(), parameters)
    rows = at_least_one(batch.attending_weights)[:, :, None]  # for A or U
    columns = at_least_one(batch.node_weights)[:, None, :]  # for R and r
    one = torch.ones_like(rows[:, :1])
    of_nodes = columns.transpose(-1, -2)  # for U_r
    shares = (rows, one, of_nodes, one, columns) if training.size else (rows, columns, columns)
    shared = tuple(g / share for g, share in zip(gradients, shares, strict=False))
    return freeze_sources(shared, training)


def freeze_sources(gradients: tuple[Tensor, ...], training: PairTraining) -> tuple[Tensor, ...]:
    """Put 0 for the factors of the source's side where they do not train."""
    if not training.size or training.trains_sources:
        return gradients
    return tuple(0 * g if place in (1, 3) else g for place, g in enumerate(gradients))


def at_least_one(weights: Tensor) -> Tensor:
    """Return weights with ones in place of the zeros of padding."""
    return torch.where(weights > 0, weights, torch.ones_like(weights))
