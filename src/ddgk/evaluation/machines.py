"""Support vector machines on Gram matrices.

The problem is scikit-learn's and so is the answer (a test compares them); the reason to have it
here is that protocols fit ten thousand machines of a hundred graphs, where nine tenths of
scikit-learn's time goes into getting ready, and that a machine for a larger penalty can start where
the one before ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.compiling import compiled

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

TOLERANCE = 1e-3  # libsvm's

# Columns which hardly separate the classes keep the solver turning at a large penalty. It ends
# after so many steps (ten for each graph, where that is more), and the machine is what it is then.
MOST_STEPS, STEPS_PER_GRAPH = 20_000, 10


def predict(known: Array, classes: Integers, asked: Array, penalties: Sequence[float]) -> Integers:
    """Fit a machine for each penalty and return the classes it gives, (n_penalties, n_asked).

    known: (n_train, n_train); classes: (n_train,); asked: (n_asked, n_train). Of several classes
    every two have a machine, and the majority decides; of equal ones the first.
    """
    values = np.unique(classes)
    order = np.argsort(penalties, kind="stable")
    votes = np.zeros((len(penalties), len(asked), len(values)), dtype=np.int64)
    for first, second in combinations(range(len(values)), 2):
        mine = np.flatnonzero((classes == values[first]) | (classes == values[second]))
        signs = np.where(classes[mine] == values[first], 1.0, -1.0)
        gram = known if len(mine) == len(classes) else known[np.ix_(mine, mine)]
        weights = np.zeros(len(mine))
        most_steps = max(MOST_STEPS, STEPS_PER_GRAPH * len(mine))
        rest = signs.copy()
        for place in order:
            bias = _solve(
                np.ascontiguousarray(gram), signs, float(penalties[place]), weights, rest,
                TOLERANCE, most_steps,
            )  # fmt: skip
            ahead = asked[:, mine] @ weights + bias > 0
            votes[place, :, first] += ahead
            votes[place, :, second] += ~ahead
    chosen: Integers = values[votes.argmax(axis=2)]
    return chosen


@compiled
def _solve(
    gram: Array,
    signs: Array,
    penalty: float,
    weights: Array,
    rest: Array,
    tolerance: float,
    most: int,
) -> float:
    """Go on from `weights` until no two of them can be moved against each other, return the bias.

        max  signs . w - w' K w / 2   where  sum w = 0,  0 <= signs_i w_i <= penalty

    weights: w, changed; rest: signs - K w, kept up to date. Steps are chosen as libsvm does (second
    order, Fan, Chen and Lin 2005): i promises most, and j gains most together with i.
    """
    n = len(signs)
    highest, lowest = 0.0, 0.0
    for _ in range(most):
        i = -1
        highest = -np.inf
        for t in range(n):
            can_grow = weights[t] < penalty if signs[t] > 0 else weights[t] < 0.0
            if can_grow and rest[t] > highest:
                highest = rest[t]
                i = t
        j = -1
        lowest = np.inf
        gain = 0.0
        for t in range(n):
            can_shrink = weights[t] > 0.0 if signs[t] > 0 else weights[t] > -penalty
            if not can_shrink:
                continue
            lowest = min(lowest, rest[t])
            gap = highest - rest[t]
            if gap > 0.0:
                curvature = max(gram[i, i] + gram[t, t] - 2.0 * gram[i, t], 1e-12)
                if gap * gap / curvature > gain:
                    gain = gap * gap / curvature
                    j = t
        if j < 0 or highest - lowest < tolerance:
            break
        curvature = max(gram[i, i] + gram[j, j] - 2.0 * gram[i, j], 1e-12)
        top = penalty if signs[i] > 0 else 0.0
        floor = 0.0 if signs[j] > 0 else -penalty
        step = min((highest - rest[j]) / curvature, top - weights[i], weights[j] - floor)
        # A bound is met exactly, or the same two would be taken again for what rounding left.
        weights[i] = top if step >= top - weights[i] else weights[i] + step
        weights[j] = floor if step >= weights[j] - floor else weights[j] - step
        for t in range(n):
            rest[t] -= step * (gram[i, t] - gram[j, t])
    if not (np.isfinite(highest) and np.isfinite(lowest)):
        return 0.0
    return (highest + lowest) / 2.0
