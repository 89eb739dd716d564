"""The divergence of an alignment: how badly the target is reconstructed through its attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.views import View
from ddgk.attributes import normalised

Array = NDArray[np.float64]

SMOOTHING = 0.01


def divergence(
    target: View, source: View, scores: Array, attention: Array, coefficients: Sequence[float]
) -> float:
    """Return D(T||S) = D'(T||S) - D'(S||S), in nats (paper eq. 10, with a tied reverse attention).

    scores: Z, what the source's encoder predicts, (R, n_s, n_s); attention: P, (n_t, n_s).
    """
    itself = np.eye(len(source.relations[0]))
    through = _loss(target, source, scores, attention, coefficients)
    return through - _loss(source, source, scores, itself, coefficients)


def _loss(
    target: View, source: View, scores: Array, attention: Array, coefficients: Sequence[float]
) -> float:
    """Return D': mean over relations and entries of BCE(Y, B) less the entropy of B; and labels.

    Y = P Z P^T
    """
    decoded = attention @ scores @ attention.T
    observed = target.relations
    costs = np.logaddexp(0.0, decoded) - observed * decoded
    total = float((costs - _entropy(observed) - _entropy(1 - observed)).mean())
    near = 1.0 / (1.0 + np.exp(-np.clip(decoded[0], -50, 50)))
    for place, coefficient in enumerate(coefficients):
        seen = attention @ source.units[place]
        around = normalised(near @ target.contributions[place])
        total += coefficient * _cross_entropy(target.units[place], seen)
        total += coefficient * _cross_entropy(target.surroundings[place], around)
    return total


def _entropy(share: Array) -> Array:
    return -share * np.log(np.where(share > 0, share, 1.0))


def _cross_entropy(observed: Array, inferred: Array) -> float:
    """Return the mean over nodes of CE(p, q), q smoothed as everywhere (paper eq. 8)."""
    safe = (1 - SMOOTHING) * inferred + SMOOTHING / inferred.shape[1]
    return float(-(observed * np.log(safe)).sum(axis=1).mean())
