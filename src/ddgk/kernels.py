"""Embeddings -> distances and Gram matrices.

The default embedding is a feature map of its kernel: `linear_kernel` is the kernel and `distances`
its distance. Divergences (presets "paper" and "authors") are plain numbers of different scales;
standardise them first, for example with scikit-learn's `StandardScaler`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import ParameterError

Array = NDArray[np.float64]


def distances(X: ArrayLike, Y: ArrayLike | None = None, *, squared: bool = False) -> Array:  # noqa: N803
    """Return the Euclidean distances ||Psi(G) - Psi(H)|| of all pairs.

    Parameters
    ----------
    X : array-like of shape (n, n_columns)
    Y : array-like of shape (m, n_columns), optional
        Default: X.
    squared : bool
        Return squared distances, the paper's eq. 2.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> from ddgk.kernels import distances
    >>> distances([[0.0, 0.0], [3.0, 4.0]]).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    from scipy.spatial.distance import cdist

    left, right = _checked(X, Y)
    found: Array = cdist(left, right, "sqeuclidean" if squared else "euclidean")
    return found


def linear_kernel(X: ArrayLike, Y: ArrayLike | None = None) -> Array:  # noqa: N803
    """Return the inner products of all pairs: the kernel itself for the default embedding.

    Parameters
    ----------
    X : array-like of shape (n, n_columns)
    Y : array-like of shape (m, n_columns), optional
        Default: X.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> from ddgk.kernels import linear_kernel
    >>> linear_kernel([[1.0, 0.0], [1.0, 1.0]]).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    left, right = _checked(X, Y)
    return np.asarray(left @ right.T)


def gaussian_kernel(
    X: ArrayLike,  # noqa: N803
    Y: ArrayLike | None = None,  # noqa: N803
    *,
    gamma: float | None = None,
) -> Array:
    """Return exp(-gamma ||x - y||^2) of all pairs.

    Parameters
    ----------
    X : array-like of shape (n, n_columns)
    Y : array-like of shape (m, n_columns), optional
        Default: X.
    gamma : float, optional
        Default: 1 / (the median squared distance within X).

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> from ddgk.kernels import gaussian_kernel
    >>> gaussian_kernel([[0.0], [1.0]], gamma=0.5).round(3).tolist()
    [[1.0, 0.607], [0.607, 1.0]]
    """
    squared = distances(X, Y, squared=True)
    if gamma is None:
        within = distances(X, squared=True)
        pairs = within[np.triu_indices(len(within), 1)]
        median = float(np.median(pairs)) if len(pairs) else 0.0
        gamma = 1.0 / median if median > 0 else 1.0
    if not gamma > 0:
        raise ParameterError(f"gamma must be positive, not {gamma!r}")
    return np.asarray(np.exp(-gamma * squared))


def _checked(X: ArrayLike, Y: ArrayLike | None) -> tuple[Array, Array]:  # noqa: N803
    """Return both embeddings as float64 after checking that they fit."""
    left = np.asarray(X, dtype=np.float64)
    right = left if Y is None else np.asarray(Y, dtype=np.float64)
    for values in (left, right):
        if values.ndim != 2:
            raise ParameterError(
                f"an embedding has a row per graph and a column per feature, not {values.ndim} axes"
            )
        if not np.isfinite(values).all():
            raise ParameterError("the embedding has values that are inf or nan")
    if left.shape[1] != right.shape[1]:
        raise ParameterError(f"X has {left.shape[1]} columns, but Y has {right.shape[1]}")
    return left, right
