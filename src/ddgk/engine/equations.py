"""The paper's equations, each once, in torch; gradients come from autograd.

Every tensor has a leading axis for the pair; shapes in the comments leave it out.
u_t, n_t: units and nodes of the target; u_s, n_s: of the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ddgk.engine.arrays import EPSILON


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


def encode(inputs: Tensor, layers: Layers, scores: str) -> Tensor:
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
