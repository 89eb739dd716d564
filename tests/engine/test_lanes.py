"""Elementary functions in float32: as near to the truth as float32 allows, and nan stays nan."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from ddgk.engine.fused.lanes import (
    LANES,
    exponential,
    hyperbolic_tangent,
    logarithm,
    one_more_logarithm,
    sigmoid,
    store,
    take,
)
from ddgk.engine.fused.packing import aligned


@numba.njit(error_model="numpy")
def apply(which, values, out):
    for at in range(0, len(values), LANES):
        x = take(values, at)
        if which == 0:
            store(out, at, exponential(x))
        elif which == 1:
            store(out, at, logarithm(x))
        elif which == 2:
            store(out, at, one_more_logarithm(x))
        elif which == 3:
            store(out, at, hyperbolic_tangent(x))
        else:
            store(out, at, sigmoid(x))


def values_of(which, values):
    given = aligned(len(values))
    given[:] = values
    out = aligned(len(values))
    apply(which, given, out)
    return given.astype(np.float64), out.astype(np.float64)


def spread(low, high):
    near_zero = np.sign(high) * np.logspace(-12, 0, 4096)
    return np.concatenate([np.linspace(low, high, 2**16), near_zero])


@pytest.mark.parametrize(
    ("which", "low", "high", "truth", "bound"),
    [
        (0, -86.0, 88.0, np.exp, 4e-7),
        (2, 0.0, 1.0, np.log1p, 4e-7),
        (3, -7.9, 7.9, np.tanh, 5e-7),
        (4, -80.0, 80.0, lambda x: 1 / (1 + np.exp(-x)), 6e-7),
    ],
    ids=["exp", "log1p", "tanh", "sigmoid"],
)
def test_relative_error(which, low, high, truth, bound):
    given, found = values_of(which, spread(low, high))
    expected = truth(given)
    known = expected != 0
    assert np.abs(found[known] / expected[known] - 1).max() < bound
    assert (found[~known] == 0).all()


def test_logarithm():
    given, found = values_of(1, np.concatenate([np.logspace(-37, 37, 2**14), spread(0.5, 2)]))
    error = np.abs(found - np.log(given))
    assert (error <= 2e-7 * np.maximum(1, np.abs(np.log(given)))).all()


def test_far_values_saturate():
    far = np.array([-1e30, -1e4, -100.0, 100.0, 1e4, 1e30, np.inf, -np.inf])
    _, bent = values_of(3, far)
    np.testing.assert_allclose(bent, np.sign(far), rtol=4e-7)
    _, predicted = values_of(4, far)
    np.testing.assert_allclose(predicted, far > 0, atol=1e-37)


@pytest.mark.parametrize("which", range(5))
def test_nan_stays_nan(which):
    _, found = values_of(which, np.full(LANES, np.nan))
    assert np.isnan(found).all()
