"""The paper's equations, each once, in torch; gradients come from autograd.

Every tensor has a leading axis for the pair, or the encoder; shapes in the comments leave it out.
u_t, n_t: units and nodes of the target; u_s, n_s: of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ddgk.config import Config
from ddgk.engine.arrays import EPSILON, Array
from ddgk.engine.initialisation import uniform

HIDDEN = 1 << 33  # the stream of the first epoch
Four = tuple[Tensor, Tensor, Tensor, Tensor]


def isomorphism_attention(scores: Tensor, present: Tensor) -> Tensor:
    """Spread each target unit over the source units (paper eq. 5).

        P[i, j] = exp(A[i, j]) / sum_k exp(A[i, k])

    scores: A, (u_t, u_s); present: which source units are real, (u_s). Rows of P sum to 1.
    """
    return torch.softmax(scores.masked_fill(~present[:, None, :], -torch.inf), dim=-1)


def encoder_scores(inputs: Tensor, layers: Sequence[Tensor], scores: str) -> Tensor:
    """Run node vectors through an encoder.

        X_l = tanh(X_{l-1} W_l + b_l),   Z = X_L W_o + b_o, or its tanh

    inputs: X_0, (units, d); layers: W_1, b_1, ..., W_o, b_o. Returns Z, (units, n_s).
    """
    *hidden, weight, bias = layers
    for matrix, shift in zip(hidden[::2], hidden[1::2], strict=True):
        inputs = torch.tanh(inputs @ matrix + shift)
    predicted = inputs @ weight + bias
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


def inferred_by_reverse(shares: Tensor, nodes: Tensor) -> Tensor:
    """Return the attributes around a target unit, going by the neighbours predicted for it.

        rownorm(s(Y) C)

    shares: s(Y), (u_t, n_t); nodes: C of the target, weighted, (n_t, k). Returns (u_t, k).
    """
    counts = shares @ nodes
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


def squared_error(observed: Tensor, inferred: Tensor, known: Tensor) -> Tensor:
    """Compare standardised real values row by row: |y - y'|^2 / k over known columns, (u_t)."""
    return (known * (observed - inferred) ** 2).sum(-1) / observed.shape[-1]


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


@dataclass(frozen=True)
class Batch:
    """Everything about a batch of pairs that does not train."""

    matrix: Tensor  # B, (u_t, n_t)
    unit_weights: Tensor  # (u_t)
    node_weights: Tensor  # (n_t)
    present: Tensor  # (a_s)
    table: Tensor  # E, (a_s, d)
    layers: Sequence[Tensor]  # W_1, b_1, ..., W_o, b_o
    # Each attribute: Q_u, Q_s, C of the target, Q_u of the source; for real values also which are
    # known, 1 or 0, in the same order; its coefficient.
    attributes: tuple[tuple[Four, Four | None, float], ...]
    scale: tuple[Tensor, Tensor]  # divisors of the structure and the attribute losses
    gathers: Tensor | None = None  # K, (u_t, a_t): nodes have attention, units average theirs
    spreads: Tensor | None = None  # L, (n_t, a_t): units have attention, nodes average theirs
    members: Tensor | None = None  # which nodes the rows of the table consist of, (a_s, n_s)


@dataclass(frozen=True)
class Pass:
    """The results of one forward pass."""

    attended: Tensor  # P, (a_t, a_s)
    costs: tuple[Tensor, Tensor]  # of an edge and of a non-edge, (u_t, n_t) each
    attribute_terms: tuple[Tensor, ...]  # (u_t) each: attention and reverse of each attribute


def forward(batch: Batch, parameters: Sequence[Tensor], config: Config) -> Pass:
    """Reconstruct every target through the encoder of its source.

    Units attend, and nodes average L P (members of the source); or nodes attend, and units average
    K P.
    """
    n_attention = 1 + len(config.attention_layers)
    attended = isomorphism_attention(attention_scores(parameters[:n_attention]), batch.present)
    units = attended if batch.gathers is None else batch.gathers @ attended
    nodes, free = attended, None
    if batch.spreads is not None and batch.members is not None:
        nodes = batch.spreads @ attended @ batch.members
    if config.reverse == "free":
        *matrices, bias = parameters[n_attention:]
        matrix = attention_scores(matrices)
        free = matrix.transpose(-1, -2) if config.attention_layers else matrix, bias
    predicted = encoder_scores(units @ batch.table, batch.layers, config.scores)
    scores = reverse_attention(predicted, nodes, free)
    terms: list[Tensor] = []
    for values, known, _ in batch.attributes:
        terms += _attribute_terms(values, known, units, scores, batch.node_weights, config)
    return Pass(attended, entry_costs(scores), tuple(terms))


def _attribute_terms(
    values: Four,
    known: Four | None,
    attention: Tensor,
    scores: Tensor,
    node_weights: Tensor,
    config: Config,
) -> tuple[Tensor, Tensor]:
    """Return the attention and the reverse term of every unit: cross-entropy or squared error."""
    units, neighbours, nodes, source_units = values
    shares = torch.sigmoid(scores)
    if known is None:
        inferred = inferred_by_attention(attention, source_units)
        around = inferred_by_reverse(shares, node_weights[..., None] * nodes)
        return (
            cross_entropy(units, inferred, config.smoothing),
            cross_entropy(neighbours, around, config.smoothing),
        )
    has_units, has_neighbours, has_nodes, has_source = known
    inferred, exists = mean_of_known(attention, source_units, has_source)
    around, exist = mean_of_known(shares * node_weights[..., None, :], nodes, has_nodes)
    return (
        squared_error(units, inferred, has_units * exists),
        squared_error(neighbours, around, has_neighbours * exist),
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


def training_loss(batch: Batch, found: Pass) -> Tensor:
    """Return the loss of every pair: structure + sum_f c_f (attention + reverse), (n_pairs)."""
    weights = batch.unit_weights[:, :, None] * batch.node_weights[:, None, :]
    edge, non_edge = found.costs
    entries = batch.matrix * edge + (1 - batch.matrix) * non_edge
    loss = (weights * entries).sum((-1, -2)) / batch.scale[0]
    for place, (_, _, coefficient) in enumerate(batch.attributes):
        terms = found.attribute_terms[2 * place] + found.attribute_terms[2 * place + 1]
        loss = loss + coefficient * (batch.unit_weights * terms).sum(-1) / batch.scale[1]
    return loss


def per_node_gradients(
    batch: Batch, parameters: Sequence[Tensor], loss: Tensor, config: Config
) -> list[Tensor]:
    """Differentiate, and divide the gradient of a class among the nodes it represents.

    Pairs do not interact, so the gradient of the sum is the gradient of each. The layers V belong
    to all nodes of the target at once: they are not divided, and they train from a glorot
    initialisation only, since what one node learns would move all others.
    """
    gradients = torch.autograd.grad(loss.sum(), parameters)
    rows = at_least_one(batch.unit_weights if batch.gathers is None else batch.node_weights)
    columns = at_least_one(batch.node_weights)[:, None, :]
    n = 1 + len(config.attention_layers)  # A or U comes first, R or U_r at n, r at 2 n
    reverse = columns if n == 1 else columns.transpose(-1, -2)
    shares = {0: rows[:, :, None], n: reverse, 2 * n: columns}
    trains = 1.0 if config.initialisation == "glorot" else 0.0
    return [
        gradient / shares[place] if place in shares else trains * gradient
        for place, gradient in enumerate(gradients)
    ]


def at_least_one(weights: Tensor) -> Tensor:
    """Return weights with ones in place of the zeros of padding."""
    return torch.where(weights > 0, weights, torch.ones_like(weights))


class Adam:
    """Adam with its usual constants, in place."""

    def __init__(self, parameters: Sequence[Tensor], learning_rate: float) -> None:
        self.parameters, self.learning_rate, self.n_steps = parameters, learning_rate, 0
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]

    def step(self, gradients: Sequence[Tensor]) -> None:
        """Move all parameters by one step."""
        self.n_steps += 1
        moved = zip(self.parameters, gradients, self.moments, strict=True)
        for parameter, gradient, (mean, square) in moved:
            mean.mul_(0.9).add_(gradient, alpha=0.1)
            square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            unbiased = mean / (1 - 0.9**self.n_steps)
            scale = (square / (1 - 0.999**self.n_steps)).sqrt() + EPSILON
            parameter.data.sub_(self.learning_rate * unbiased / scale)


def shown_entries(matrix: Array, seed: int, epoch: int, dropout: float) -> NDArray[np.bool_]:
    """Return which entries of B train in an epoch: all but a share of the nonzero ones.

    They are a hash of their position and the epoch: threads and earlier draws do not matter.
    """
    if not dropout:
        return np.ones(matrix.shape, dtype=np.bool_)
    drawn = uniform(seed, HIDDEN + epoch, *matrix.shape)
    return np.asarray((matrix == 0) | (drawn >= dropout))


def fit_encoders(
    parameters: Sequence[Tensor],
    matrix: Tensor,
    gathers: Tensor | None,
    shown: Callable[[int], Tensor],
    config: Config,
) -> None:
    """Train in place, by full-batch Adam on the mean cost of the entries shown (paper eq. 4).

    loss = sum_ij M_ij BCE(Z_ij, B_ij) / sum_ij M_ij,   M: the entries shown in the epoch
    W <- (1 - learning_rate weight_decay) W, then Adam's step;   not for biases

    parameters: E, W_1, b_1, ..., W_o, b_o; matrix: B; gathers: K, which averages rows of the table
    into units, or None.
    """
    table, *layers = parameters
    adam, mask = Adam(parameters, config.encoder_learning_rate), shown(0)
    for epoch in range(config.encoder_epochs):
        inputs = table if gathers is None else gathers @ table
        edge, non_edge = entry_costs(encoder_scores(inputs, layers, config.scores))
        costs = matrix * edge + (1 - matrix) * non_edge
        if config.encoder_edge_dropout and epoch:
            mask = shown(epoch)
        loss = (mask * costs).sum((-1, -2)) / mask.sum((-1, -2)).clamp(min=1)
        gradients = torch.autograd.grad(loss.sum(), parameters)
        if config.encoder_weight_decay:
            for weight in (table, *layers[::2]):
                weight.data.mul_(1 - config.encoder_learning_rate * config.encoder_weight_decay)
        adam.step(gradients)
