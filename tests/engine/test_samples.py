from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ddgk.engine.problem import EPSILON, Problem
from ddgk.engine.samples import RUN, draw_shifts, kept_entries


@pytest.mark.parametrize(("n_nodes", "samples"), [(100, 16), (1000, 64), (50, 1), (17, 8)])
def test_shifts_are_distinct_and_stand_for_all(n_nodes, samples):
    drawn = draw_shifts(3, n_nodes, samples, 20)
    for step in range(20):
        shifts, weights = drawn.listed(step)
        assert len(set(shifts.tolist())) == len(shifts) == drawn.n_samples
        assert shifts.min() >= 1
        assert shifts.max() <= n_nodes - 1
        assert weights.sum() == pytest.approx(n_nodes - 1)
    assert drawn.n_samples == min(n_nodes - 1, -(-samples // RUN) * RUN)


def test_enough_samples_are_all():
    shifts, weights = draw_shifts(0, 12, 11, 3).listed(2)
    assert shifts.tolist() == list(range(1, 12))
    assert weights.tolist() == [1] * 11
    assert draw_shifts(0, 1, 8, 1).n_samples == 0


def test_shifts_follow_their_seed_and_change_with_steps():
    one, again, other = (draw_shifts(seed, 1000, 16, 5).starts for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    assert len(np.unique(one, axis=0)) == 5


def test_estimates_are_right_on_average():
    """Over many steps the mean of estimates of a sum over all others comes near the sum."""
    values = np.random.default_rng(0).exponential(size=200)
    drawn = draw_shifts(5, 200, 16, 2000)
    found = []
    for step in range(2000):
        shifts, weights = drawn.listed(step)
        found.append((values[(7 + shifts) % 200] * weights).sum())
    expected = values.sum() - values[7]
    assert np.mean(found) == pytest.approx(expected, rel=0.03)
    assert np.std(found) > 0


def test_kept_entries_have_the_diagonal():
    relation = sparse.csr_array(np.array([[0, 0.5, 0], [0.5, 0, 1], [0, 1, 0]]))
    kept = kept_entries(relation)
    np.testing.assert_array_equal(kept.toarray(), relation.toarray())
    assert kept.nnz == 3 + relation.nnz
    assert [kept.indices[kept.indptr[i]] for i in range(3)] == [0, 1, 2]


def test_epsilon_shrinks_only_for_large_sampled_targets():
    def problem(n_nodes: int, samples: int) -> Problem:
        ones = np.ones(n_nodes)
        return Problem(sparse.csr_array((n_nodes, n_nodes)), ones, ones, samples=samples)

    assert problem(50_000, 0).epsilon == problem(6000, 8).epsilon == EPSILON
    assert problem(60_000, 8).epsilon == pytest.approx(EPSILON / 100)
