"""Embeddings -> distances and Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import ParameterError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Statistics:
    """Mean and spread of the columns of an embedding; constant columns keep spread 1."""

    mean: Array
    spread: Array

    @classmethod
    def of(cls, embedding: ArrayLike) -> Statistics:
        """Take them from an embedding, (n_graphs, n_columns)."""
        values = _checked(embedding)
        spread = values.std(axis=0)
        return cls(values.mean(axis=0), np.where(spread > 0, spread, 1.0))

    def standardise(self, embedding: ArrayLike) -> Array:
        """Centre and scale the columns of an embedding."""
        values = _checked(embedding)
        if values.shape[1] != len(self.mean):
            raise ParameterError(
                f"the embedding has {values.shape[1]} columns, the statistics {len(self.mean)}"
            )
        return (values - self.mean) / self.spread


def distances(X: ArrayLike, Y: ArrayLike | None = None, *, squared: bool = False) -> Array:  # noqa: N803
    """Return ||Psi(G1) - Psi(G2)|| for all pairs; squared it is the paper's eq. 2.

    Parameters
    ----------
    X : array-like of shape (n, n_columns)
    Y : array-like of shape (m, n_columns), optional
        Default: X.
    squared : bool
        Return eq. 2 itself.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> distances([[0.0, 0.0], [3.0, 4.0]]).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    from scipy.spatial.distance import cdist

    left = _checked(X)
    right = left if Y is None else _checked(Y)
    found: Array = cdist(left, right, "sqeuclidean" if squared else "euclidean")
    return found


def linear(
    X: ArrayLike,  # noqa: N803
    Y: ArrayLike | None = None,  # noqa: N803
    *,
    statistics: Statistics | None = None,
) -> Array:
    """Return the inner products of standardised embeddings.

    Parameters
    ----------
    X : array-like of shape (n, n_columns)
    Y : array-like of shape (m, n_columns), optional
        Default: X. For new graphs against fitted ones: ``linear(X_new, X_fit)``.
    statistics : Statistics, optional
        Of the fitted graphs. Default: those of Y (of X, where Y is not given).

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> linear([[0.0], [2.0]]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    left, right = _standardised(X, Y, statistics)
    return left @ right.T


def rbf(
    X: ArrayLike,  # noqa: N803
    Y: ArrayLike | None = None,  # noqa: N803
    *,
    gamma: float | None = None,
    statistics: Statistics | None = None,
) -> Array:
    """Return exp(-gamma d^2) of standardised embeddings; positive definite.

    Parameters
    ----------
    X, Y, statistics
        As for `linear`.
    gamma : float, optional
        Default 1 / n_columns, which on standardised columns is scikit-learn's "scale".

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> rbf([[0.0], [2.0]], gamma=0.25).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """
    left, right = _standardised(X, Y, statistics)
    return np.exp(-_inverse_width(gamma, left) * distances(left, right, squared=True))


def laplacian(
    X: ArrayLike,  # noqa: N803
    Y: ArrayLike | None = None,  # noqa: N803
    *,
    gamma: float | None = None,
    statistics: Statistics | None = None,
) -> Array:
    """Return exp(-gamma |x - y|), the sum of differences, of standardised embeddings.

    Positive definite. A few columns in which graphs are far apart weigh less than in `rbf`.

    Parameters
    ----------
    X, Y, statistics
        As for `linear`.
    gamma : float, optional
        Default 1 / n_columns.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> laplacian([[0.0], [2.0]], gamma=0.5).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """
    from ddgk.engine.differences import sums_of_differences

    left, right = _standardised(X, Y, statistics)
    return np.exp(-_inverse_width(gamma, left) * sums_of_differences(left, right))


def exponential(divergences: ArrayLike, *, gamma: float = 1.0) -> Array:
    """Return exp(-gamma D) of symmetric divergences.

    Divergences are learned, not a metric, so this need not be positive definite: an SVM may refuse
    it or not converge. `rbf` of an embedding always is.

    Parameters
    ----------
    divergences : array-like of shape (n, n)
        Symmetric, for example one channel and step of ``DDGK(symmetric=True)`` with all graphs as
        sources.
    gamma : float

    Examples
    --------
    >>> exponential([[0.0, 1.0], [1.0, 0.0]]).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """
    values = _checked(divergences)
    if values.shape[0] != values.shape[1] or not np.allclose(values, values.T):
        raise ParameterError(
            "exponential needs symmetric divergences of graphs against themselves; "
            "use DDGK(symmetric=True) with the same graphs as sources"
        )
    return np.exp(-_positive(gamma) * values)


def _standardised(
    X: ArrayLike,  # noqa: N803
    Y: ArrayLike | None,  # noqa: N803
    statistics: Statistics | None,
) -> tuple[Array, Array]:
    fitted = X if Y is None else Y
    known = Statistics.of(fitted) if statistics is None else statistics
    left = known.standardise(X)
    return left, left if Y is None else known.standardise(Y)


def _checked(embedding: ArrayLike) -> Array:
    values = np.asarray(embedding, dtype=np.float64)
    if values.ndim != 2:
        raise ParameterError(f"an embedding has two axes, not {values.ndim}; reshape it")
    if not np.isfinite(values).all():
        raise ParameterError("the embedding has entries that are not finite")
    return values


def _inverse_width(gamma: float | None, columns: Array) -> float:
    return 1.0 / columns.shape[1] if gamma is None else _positive(gamma)


def _positive(gamma: float) -> float:
    if not gamma > 0:
        raise ParameterError(f"gamma must be above 0, not {gamma!r}")
    return float(gamma)
