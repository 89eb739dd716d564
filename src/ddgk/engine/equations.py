"""The paper's equations, each once, in torch; gradients come from autograd.

Every tensor has a leading axis for the pair, or the encoder; shapes in the comments leave it out.
u_t, n_t: units and nodes of the target; u_s, n_s: of the source.

Encoders may be regularised. Which entries are hidden or held out is a hash of their position and
the epoch, so it does not depend on threads or on earlier draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ddgk.engine.arrays import EPSILON, Array, EncoderTraining, PairTraining
from ddgk.engine.initialisation import HELD_OUT, uniform

HELD_OUT_SHARE = 0.1  # of all entries, where training may stop early
HIDDEN = 1 << 33  # the stream of the first epoch

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Layers:
    """The layers after the table, for every lane: W_l (., h) and b_l (1, h); W_o, b_o."""

    hidden: tuple[tuple[Tensor, Tensor], ...]
    output: tuple[Tensor, Tensor]


def isomorphism_attention(scores: Tensor, present: Tensor) -> Tensor:
    """Spread each target unit over the source units (paper eq. 5).

        P[i, j] = exp(A[i, j]) / sum_k exp(A[i, k])

    scores: A, (u_t, u_s); present: which source units are real, (u_s). Rows of P sum to 1.
    """
    return torch.softmax(scores.masked_fill(~present[:, None, :], -torch.inf), dim=-1)


def hidden_layers(inputs: Tensor, layers: Layers) -> Tensor:
    """Run node vectors through all layers but the last: X_l = tanh(X_{l-1} W_l + b_l).

    inputs: X_0, (units, d). Returns X_L, (units, h).
    """
    hidden = inputs
    for weight, bias in layers.hidden:
        hidden = torch.tanh(hidden @ weight + bias)
    return hidden


def encoder_scores(inputs: Tensor, layers: Layers, scores: str) -> Tensor:
    """Run node vectors through an encoder.

        Z = X_L W_o + b_o, or its tanh

    inputs: X_0, (units, d). Returns Z, (units, n_s).
    """
    weight, bias = layers.output
    predicted = hidden_layers(inputs, layers) @ weight + bias
    return torch.tanh(predicted) if scores == "tanh" else predicted


def reverse_attention(
    predicted: Tensor, attention: Tensor, free: tuple[Tensor, Tensor] | None
) -> Tensor:
    """Carry predictions about source nodes back to target nodes (paper eq. 6, before the sigmoid).

        free:  Y = Z R + r          tied:  Y = Z P^T

    predicted: Z, (u_t, n_s); attention: P, (n_t, n_s); free: R (n_s, n_t) and r (1, n_t).
    Returns Y, (u_t, n_t).
    """
    if free is None:
        return predicted @ attention.transpose(-1, -2)
    matrix, bias = free
    return predicted @ matrix + bias


def entry_costs(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return what an edge and what a non-edge costs at each entry: -log s(Y), -log(1 - s(Y))."""
    logsigmoid = torch.nn.functional.logsigmoid
    return -logsigmoid(scores), -logsigmoid(-scores)


def inferred_by_attention(attention: Tensor, source_units: Tensor) -> Tensor:
    """Return the attributes a target unit should have, going by where it attends (paper eq. 7).

    attention: P, (u_t, u_s); source_units: Q_u of the source, (u_s, k). Returns (u_t, k).
    """
    return attention @ source_units


def inferred_by_reverse(scores: Tensor, node_weights: Tensor, nodes: Tensor) -> Tensor:
    """Return the attributes around a target unit, going by the neighbours predicted for it.

        rownorm(s(Y) C)

    scores: Y, (u_t, n_t); node_weights: (n_t); nodes: C of the target, (n_t, k). Returns (u_t, k).
    """
    counts = torch.sigmoid(scores) @ (node_weights[..., None] * nodes)
    total = counts.sum(-1, keepdim=True)
    return counts / torch.where(total > 0, total, torch.ones_like(total))


def cross_entropy(observed: Tensor, inferred: Tensor, smoothing: float) -> Tensor:
    """Compare distributions row by row (paper eq. 8, before the mean).

        CE(p, q) = -sum_k p_k log q_k,   q smoothed: (1 - e) q + e / k, or clamped at 1e-12

    observed, inferred: (u_t, k). Returns (u_t).
    """
    if smoothing == 0:
        safe = inferred.clamp(1e-12, 1.0)
    else:
        safe = (1 - smoothing) * inferred + smoothing / inferred.shape[-1]
    return -(observed * torch.log(safe)).sum(-1)


def mean_of_known(shares: Tensor, values: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """Average the known values of each column, and say where there are any.

        y_ik = sum_j shares_ij known_jk values_jk / sum_j shares_ij known_jk

    shares: (u_t, n); values, known: (n, k). Returns both as (u_t, k).
    """
    total = shares @ known
    exists = total > 0
    return shares @ (known * values) / torch.where(exists, total, torch.ones_like(total)), exists


def mean_by_reverse(
    scores: Tensor, node_weights: Tensor, nodes: Tensor, known: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the mean of real attributes over the neighbours predicted for a target unit.

        rownorm(s(Y)) y, over known values

    scores: Y, (u_t, n_t); node_weights: (n_t); nodes, known: (n_t, k). Returns as `mean_of_known`.
    """
    return mean_of_known(torch.sigmoid(scores) * node_weights[..., None, :], nodes, known)


def squared_error(observed: Tensor, inferred: Tensor, known: Tensor) -> Tensor:
    """Compare standardised real values row by row: |y - y'|^2 / k over known columns, (u_t)."""
    return (known * (observed - inferred) ** 2).sum(-1) / observed.shape[-1]


def adam(
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor],
    moments: Sequence[tuple[Tensor, Tensor]],
    step: int,
    rate: float,
) -> None:
    """Take Adam step number `step` (from 1) in place, with its usual constants."""
    for parameter, gradient, (mean, square) in zip(parameters, gradients, moments, strict=True):
        mean.mul_(0.9).add_(gradient, alpha=0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        unbiased = mean / (1 - 0.9**step)
        scale = (square / (1 - 0.999**step)).sqrt() + EPSILON
        parameter.data.sub_(rate * unbiased / scale)


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
    predicted = encoder_scores(attention @ batch.table, batch.layers, training.scores)
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
        edge, non_edge = entry_costs(encoder_scores(inputs, layers, training.scores))
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
