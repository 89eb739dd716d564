from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import (
    euclidean_distances,
    laplacian_kernel,
    linear_kernel,
    rbf_kernel,
)
from sklearn.preprocessing import StandardScaler

from ddgk import kernel
from ddgk.errors import ParameterError

X = np.random.default_rng(0).normal(size=(12, 5)) * [1, 10, 0.1, 5, 0] + [0, 3, 1, -2, 4]
NEW = np.random.default_rng(1).normal(size=(3, 5))


def test_distances_are_equation_2():
    np.testing.assert_allclose(kernel.distances(X), euclidean_distances(X), atol=1e-6)
    squared = kernel.distances(X, NEW, squared=True)
    assert squared[2, 1] == pytest.approx(((X[2] - NEW[1]) ** 2).sum())


def test_rbf_and_linear_on_standardised_columns():
    scaled, new = StandardScaler().fit(X).transform(X), StandardScaler().fit(X).transform(NEW)
    np.testing.assert_allclose(kernel.rbf(X), rbf_kernel(scaled, gamma=1 / 5))
    np.testing.assert_allclose(kernel.rbf(X, gamma=2.0), rbf_kernel(scaled, gamma=2))
    np.testing.assert_allclose(kernel.linear(X), linear_kernel(scaled))
    np.testing.assert_allclose(kernel.rbf(NEW, X), rbf_kernel(new, scaled, gamma=1 / 5))
    known = kernel.Statistics.of(X)
    np.testing.assert_allclose(kernel.linear(NEW, statistics=known), linear_kernel(new))


def test_laplacian_on_standardised_columns():
    scaled, new = StandardScaler().fit(X).transform(X), StandardScaler().fit(X).transform(NEW)
    found = kernel.laplacian(X)
    np.testing.assert_allclose(found, laplacian_kernel(scaled, gamma=1 / 5), rtol=1e-6)
    assert np.linalg.eigvalsh(found).min() > 0
    np.testing.assert_allclose(
        kernel.laplacian(NEW, X, gamma=2.0), laplacian_kernel(new, scaled, gamma=2), rtol=1e-5
    )


def test_rbf_is_positive_definite_and_exponential_need_not_be():
    assert np.linalg.eigvalsh(kernel.rbf(X)).min() > -1e-10
    # The two inner points are far apart although each is next to all outer ones.
    divergences = np.ones((5, 5)) - np.eye(5)
    divergences[0, 1:] = divergences[1:, 0] = 0.01
    assert np.linalg.eigvalsh(kernel.exponential(divergences)).min() < 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kernel.rbf(X, gamma=0), "gamma must be above 0"),
        (lambda: kernel.laplacian(X, gamma=-1), "gamma must be above 0"),
        (lambda: kernel.rbf(X[0]), "two axes, not 1"),
        (lambda: kernel.distances([[np.nan]]), "not finite"),
        (lambda: kernel.rbf(NEW[:, :3], X), "3 columns, the statistics 5"),
        (lambda: kernel.exponential(X), "symmetric divergences"),
        (lambda: kernel.exponential([[0, 1], [2, 0]]), "symmetric divergences"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
