"""Distances and kernels of embeddings."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from scipy.spatial.distance import cdist

import ddgk
from ddgk.errors import ParameterError
from ddgk.kernels import distances, gaussian_kernel, laplacian_kernel, linear_kernel

X = np.random.default_rng(0).normal(size=(6, 4))
Y = np.random.default_rng(1).normal(size=(3, 4))


def test_squared_distances_are_equation_2():
    found = distances(X, Y, squared=True)
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            assert found[i, j] == pytest.approx(
                sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
            )
    assert np.allclose(distances(X, Y) ** 2, found)


def test_psi_and_its_distance():
    """Equation 11: Psi lists the divergences from all sources; equation 2 compares two of them."""
    graphs = [networkx.path_graph(5), networkx.cycle_graph(5), networkx.star_graph(4)]
    config = ddgk.Config.preset("paper").replace(checkpoints=20, encoder_epochs=20)
    model = ddgk.DDGK(n_sources=2, config=config, random_state=0).fit(graphs)
    psi = model.transform(graphs)
    assert psi.shape == (3, 2)
    assert np.array_equal(psi, model.divergences(graphs).reshape(3, -1))
    expected = ((psi[0] - psi[1]) ** 2).sum()
    assert distances(psi, squared=True)[0, 1] == pytest.approx(expected)


def test_kernels_are_what_they_say():
    assert np.allclose(linear_kernel(X, Y), X @ Y.T)
    assert np.allclose(gaussian_kernel(X, Y, gamma=0.3), np.exp(-0.3 * cdist(X, Y) ** 2))
    assert np.allclose(laplacian_kernel(X, Y, gamma=0.3), np.exp(-0.3 * cdist(X, Y, "cityblock")))


@pytest.mark.parametrize("kernel", [gaussian_kernel, laplacian_kernel])
def test_the_default_width_is_the_median_within_the_first(kernel):
    pairs = -np.log(kernel(X))[np.triu_indices(6, 1)]
    assert np.median(pairs) == pytest.approx(1)
    assert np.allclose(kernel(X, X[:2]), kernel(X)[:, :2])


def test_equal_rows_have_a_kernel():
    assert np.array_equal(gaussian_kernel(np.ones((3, 2))), np.ones((3, 3)))


@pytest.mark.parametrize(
    ("values", "other", "message"),
    [
        ([1.0], None, "not 1 axes"),
        ([[np.nan]], None, "inf or nan"),
        ([[1.0]], [[1.0, 2.0]], "X has 1 columns, but Y has 2"),
    ],
)
def test_what_is_no_embedding_is_refused(values, other, message):
    with pytest.raises(ParameterError, match=message):
        distances(values, other)


def test_the_width_is_positive():
    with pytest.raises(ParameterError, match="gamma must be positive"):
        gaussian_kernel(X, gamma=-1.0)
