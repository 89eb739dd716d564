"""One forward pass of a batch of pairs in torch; gradients come from autograd.

The leading axis of every tensor is the pair. Shapes in the comments leave it out. u_t, n_t: units
and nodes of the target; a_t: rows of A, units or nodes; a_s, n_s: rows of the source's table, and
its nodes; q: size of a hidden layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ddgk.engine.arrays import PairTraining
from ddgk.engine.equations import (
    Layers,
    cross_entropy,
    encode,
    entry_costs,
    inferred_by_attention,
    inferred_by_reverse,
    isomorphism_attention,
    mean_by_reverse,
    mean_of_known,
    reverse_attention,
    squared_error,
)


@dataclass(frozen=True)
class AttributeTensors:
    """One attribute of all pairs: Q_u, Q_s, C of the target, Q_u of the source.

    known: for real values, 1 where a value is known, in the same order; None for labels.
    """

    units: Tensor
    neighbours: Tensor
    nodes: Tensor
    source_units: Tensor
    known: tuple[Tensor, Tensor, Tensor, Tensor] | None = None


@dataclass(frozen=True)
class Batch:
    """Everything about a batch of pairs that does not train."""

    matrix: Tensor  # B, (u_t, n_t)
    unit_weights: Tensor  # (u_t)
    node_weights: Tensor  # (n_t)
    present: Tensor  # (a_s)
    table: Tensor  # E, (a_s, d)
    layers: Layers
    attributes: tuple[AttributeTensors, ...]
    scale: tuple[Tensor, Tensor]  # divisors of the structure and the attribute losses
    gathers: Tensor | None = None  # K, (u_t, a_t): nodes have attention, units average theirs
    spreads: Tensor | None = None  # L, (n_t, a_t): units have attention, nodes average theirs
    members: Tensor | None = None  # which nodes the rows of the table consist of, (a_s, n_s)

    @property
    def attending_weights(self) -> Tensor:
        """Return how many units or nodes each row of A represents, (a_t)."""
        return self.unit_weights if self.gathers is None else self.node_weights


@dataclass(frozen=True)
class Pass:
    """The results of one forward pass."""

    attended: Tensor  # P, (a_t, a_s)
    costs: tuple[Tensor, Tensor]  # of an edge and of a non-edge, (u_t, n_t) each
    attribute_terms: tuple[Tensor, ...]  # (u_t) each: attention and reverse of each attribute


def attention_scores(parameters: Sequence[Tensor]) -> Tensor:
    """Return A: a full matrix, or the output of an attention network of fixed size.

        A = U V_1 for one hidden layer;   A = tanh(... tanh(U V_1) ...) V_m for m layers

    parameters: A, or U, V_1 ... V_m (paper, sections 3.2 and 4.5).
    """
    hidden = parameters[0]
    for place, weight in enumerate(parameters[1:]):
        hidden = hidden @ weight
        if place + 2 < len(parameters):
            hidden = torch.tanh(hidden)
    return hidden


def split(
    parameters: Sequence[Tensor], training: PairTraining
) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """Split the parameters of a pair into those of attention and of reverse attention."""
    n_attention = 1 + len(training.layers)
    return parameters[:n_attention], parameters[n_attention:]


def attend(
    batch: Batch, parameters: Sequence[Tensor], training: PairTraining
) -> tuple[Tensor, Tensor, Tensor]:
    """Return P of the rows of A, of units, (u_t, a_s), and of nodes, (n_t, n_s).

    units: K P where nodes have attention; nodes: L P (members of the source) where units have.
    """
    attended = isomorphism_attention(
        attention_scores(split(parameters, training)[0]), batch.present
    )
    units = attended if batch.gathers is None else batch.gathers @ attended
    nodes = attended
    if batch.spreads is not None and batch.members is not None:
        nodes = batch.spreads @ attended @ batch.members
    return attended, units, nodes


def free_reverse(
    parameters: Sequence[Tensor], training: PairTraining
) -> tuple[Tensor, Tensor] | None:
    """Return R, (n_s, n_t), and r, (1, n_t), where the reverse attention is free."""
    if training.reverse == "tied":
        return None
    *matrices, bias = split(parameters, training)[1]
    if not training.layers:
        return matrices[0], bias
    return attention_scores(matrices).transpose(-1, -2), bias


def forward(batch: Batch, parameters: Sequence[Tensor], training: PairTraining) -> Pass:
    """Reconstruct every target through the encoder of its source."""
    attended, attention, nodes = attend(batch, parameters, training)
    predicted = encode(attention @ batch.table, batch.layers, training.scores)
    scores = reverse_attention(predicted, nodes, free_reverse(parameters, training))
    terms: list[Tensor] = []
    for attribute in batch.attributes:
        terms += attribute_terms(attribute, attention, scores, batch.node_weights, training)
    return Pass(attended, entry_costs(scores), tuple(terms))


def attribute_terms(
    attribute: AttributeTensors,
    attention: Tensor,
    scores: Tensor,
    node_weights: Tensor,
    training: PairTraining,
) -> tuple[Tensor, Tensor]:
    """Return the attention and the reverse term of every unit: cross-entropy or squared error."""
    if attribute.known is None:
        inferred = inferred_by_attention(attention, attribute.source_units)
        around = inferred_by_reverse(scores, node_weights, attribute.nodes)
        return (
            cross_entropy(attribute.units, inferred, training.smoothing),
            cross_entropy(attribute.neighbours, around, training.smoothing),
        )
    units, neighbours, nodes, source_units = attribute.known
    inferred, has_source = mean_of_known(attention, attribute.source_units, source_units)
    around, has_nodes = mean_by_reverse(scores, node_weights, attribute.nodes, nodes)
    return (
        squared_error(attribute.units, inferred, units * has_source),
        squared_error(attribute.neighbours, around, neighbours * has_nodes),
    )


def unit_terms(batch: Batch, found: Pass) -> Tensor:
    """Return each unit's share of every loss term (paper eq. 3), (n_terms, u_t), in float64.

    edges: sum_j w_j B cost_edge;  non_edges: sum_j w_j (1 - B) cost_non_edge;  then attributes.
    """
    matrix, weights = batch.matrix.double(), batch.node_weights.double()[:, None, :]
    edge, non_edge = (cost.double() for cost in found.costs)
    structure, attributes = (scale.double()[:, None] for scale in batch.scale)
    return torch.stack(
        [
            (weights * matrix * edge).sum(-1) / structure,
            (weights * (1 - matrix) * non_edge).sum(-1) / structure,
            *(term.double() / attributes for term in found.attribute_terms),
        ],
        dim=1,
    )


def training_loss(batch: Batch, found: Pass, coefficients: Sequence[float]) -> Tensor:
    """Return the loss of every pair: structure + sum_f c_f (attention + reverse), (n_pairs)."""
    weights = batch.unit_weights[:, :, None] * batch.node_weights[:, None, :]
    edge, non_edge = found.costs
    entries = batch.matrix * edge + (1 - batch.matrix) * non_edge
    loss = (weights * entries).sum((-1, -2)) / batch.scale[0]
    for place, coefficient in enumerate(coefficients):
        terms = found.attribute_terms[2 * place] + found.attribute_terms[2 * place + 1]
        loss = loss + coefficient * (batch.unit_weights * terms).sum(-1) / batch.scale[1]
    return loss


def per_node_gradients(
    batch: Batch, parameters: Sequence[Tensor], loss: Tensor, training: PairTraining
) -> tuple[Tensor, ...]:
    """Differentiate, and divide the gradient of a class among the nodes it represents.

    Pairs do not interact, so the gradient of the sum is the gradient of each. The layers V belong
    to all nodes of the target at once: they are not divided, and they train from a glorot
    initialisation only, since what one node learns would move all others.
    """
    gradients = torch.autograd.grad(loss.sum(), parameters)
    rows = at_least_one(batch.attending_weights)[:, :, None]  # of A or U
    columns = at_least_one(batch.node_weights)[:, None, :]  # of R and r
    n_layers = len(training.layers)
    if not n_layers:
        shares: tuple[Tensor, ...] = (rows, columns, columns)
        return tuple(g / share for g, share in zip(gradients, shares, strict=False))
    trains = 1.0 if training.initialisation == "glorot" else 0.0
    attention, reverse = split(gradients, training)
    found = [attention[0] / rows, *(trains * g for g in attention[1:])]
    if reverse:
        found += [reverse[0] / columns.transpose(-1, -2), *(trains * g for g in reverse[1:-1])]
        found += [reverse[-1] / columns]
    return tuple(found)


def at_least_one(weights: Tensor) -> Tensor:
    """Return weights with ones in place of the zeros of padding."""
    return torch.where(weights > 0, weights, torch.ones_like(weights))
