"""Attention on two levels: scaling, the group level written out, and what it reduces to."""

from __future__ import annotations

import numpy as np
import pytest

from ddgk.engine.annealing import anneal, expected_costs, matching_loss, split_costs
from ddgk.engine.hierarchy import Blocks, anneal_by_groups, scale

SIZES = [(6, 6), (5, 7), (4, 9)]


def make_costs(n, m, seed=0):
    rng = np.random.default_rng(seed)
    stacks = [rng.random((2, size, size)) for size in (n, m)]
    target, source = (stack + stack.swapaxes(1, 2) for stack in stacks)
    return split_costs(rng.random((n, m)), target, source, np.array([1.0, 0.5]))


def even(n, m):
    return np.full((n, m), 1.0 / m)


def gradient_of(costs, attention):
    found, half, whole = (np.empty(attention.shape) for _ in range(3))
    expected_costs(costs, attention, found, half, whole)
    return found


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_rows_sum_to_one_and_no_column_is_overfull(n, m):
    rows, columns = np.arange(n) % 2, np.arange(m) % 3
    attention = even(n, m)
    between = anneal_by_groups(
        make_costs(n, m), attention, np.geomspace(0.05, 5, 20), 50, Blocks(rows, columns, 4.0)
    )
    np.testing.assert_allclose(attention.sum(axis=1), 1)
    assert attention.sum(axis=0).max() < 1.05
    assert (attention >= 0).all()
    assert between.shape == (2, 3)
    np.testing.assert_allclose(between.sum(axis=1), 1)


def test_one_group_is_the_plain_annealing():
    costs = make_costs(6, 6)
    plain, grouped = even(6, 6), even(6, 6)
    coldness = np.geomspace(0.05, 5, 10)
    anneal(costs, plain, coldness, 4)
    nowhere = np.zeros(6, dtype=np.int64)
    anneal_by_groups(costs, grouped, coldness, 4, Blocks(nowhere, nowhere, 4.0))
    np.testing.assert_allclose(grouped, plain, atol=1e-9)


def test_a_step_is_what_the_equations_say():
    """The group level is written out entry by entry; scaling is tested by itself."""
    costs, beta, coupling = make_costs(4, 4, seed=3), 0.7, 2.0
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    attention = even(4, 4)
    gradient = gradient_of(costs, attention)
    energy = np.zeros((2, 2))
    for g in range(2):
        for h in range(2):
            within = [
                -np.log(np.mean(np.exp(-beta * gradient[i, columns == h]))) / beta
                for i in np.flatnonzero(rows == g)
            ]
            energy[g, h] = np.mean(within)
    sizes = np.array([2.0, 2.0]), np.array([1.0, 3.0])
    between = scale(np.exp(-coupling * beta * energy) * sizes[1], sizes, 300, False)
    between /= between.sum(axis=1, keepdims=True)
    weights = np.exp(-beta * gradient) * (between / sizes[1])[np.ix_(rows, columns)]
    expected = scale(weights, (np.ones(4), np.ones(4)), 300, False)
    found = anneal_by_groups(
        costs, attention, np.array([beta]), 300, Blocks(rows, columns, coupling)
    )
    np.testing.assert_allclose(found, between, rtol=1e-5)
    np.testing.assert_allclose(attention, expected, rtol=1e-5)


def test_the_gradient_that_both_levels_follow_by_finite_differences():
    costs = make_costs(4, 5)
    attention = np.random.default_rng(1).random((4, 5))

    def loss(values):
        """L, by its own gradient's linear and quadratic part: L = <P, (U + dL/dP) / 2>."""
        return float((values * (costs.unary + gradient_of(costs, values))).sum() / 2)

    matched = np.zeros((4, 5))
    partners = np.array([2, 0, 4, 1])
    matched[np.arange(4), partners] = 1.0
    assert loss(matched) == pytest.approx(matching_loss(costs, partners))
    found = gradient_of(costs, attention)
    for i, j in np.ndindex(4, 5):
        step = np.zeros((4, 5))
        step[i, j] = 1e-5
        difference = (loss(attention + step) - loss(attention - step)) / 2e-5
        assert difference == pytest.approx(found[i, j], rel=1e-6)


def test_scaling_reaches_the_sums_or_stays_below_them():
    weights = np.random.default_rng(0).random((3, 3)) + 0.1
    sums = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    scaled = scale(weights, sums, 200, False)
    np.testing.assert_allclose(scaled.sum(axis=1), sums[0])
    np.testing.assert_allclose(scaled.sum(axis=0), sums[1])
    wide = scale(np.random.default_rng(1).random((2, 5)), (np.ones(2), np.ones(5)), 200, True)
    np.testing.assert_allclose(wide.sum(axis=1), 1)
    assert wide.sum(axis=0).max() <= 1 + 1e-6
