"""Distances and Gram matrices."""

import numpy as np
import pytest

from ddgk import kernels
from ddgk.errors import ParameterError

X = np.random.default_rng(0).normal(size=(6, 4))
Y = np.random.default_rng(1).normal(size=(3, 4))


def test_distances_are_equation_2():
    expected = ((X[:, None] - Y[None]) ** 2).sum(-1)
    np.testing.assert_allclose(kernels.distances(X, Y, squared=True), expected)
    np.testing.assert_allclose(kernels.distances(X, Y), np.sqrt(expected))


def test_kernels_are_their_equations():
    np.testing.assert_allclose(kernels.linear_kernel(X, Y), X @ Y.T)
    squared = kernels.distances(X, Y, squared=True)
    np.testing.assert_allclose(kernels.gaussian_kernel(X, Y, gamma=0.3), np.exp(-0.3 * squared))


def test_without_a_width_the_median_pair_is_one():
    found = kernels.gaussian_kernel(X)
    assert np.median(found[np.triu_indices(6, 1)]) == pytest.approx(np.exp(-1), rel=0.2)
    assert np.linalg.eigvalsh(found).min() > -1e-9
    np.testing.assert_array_equal(kernels.gaussian_kernel(np.ones((2, 3))), np.ones((2, 2)))


@pytest.mark.parametrize("bad", [np.ones(3), [[np.nan]], [[np.inf, 1]]])
def test_what_is_no_embedding_is_refused(bad):
    with pytest.raises(ParameterError):
        kernels.distances(bad)


def test_other_columns_and_widths_are_refused():
    with pytest.raises(ParameterError, match="4 columns, but Y has 3"):
        kernels.distances(X, Y[:, :3])
    with pytest.raises(ParameterError, match="gamma must be positive"):
        kernels.gaussian_kernel(X, gamma=0)
