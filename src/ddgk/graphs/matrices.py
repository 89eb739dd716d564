"""Convert adjacency matrices: numpy arrays and scipy sparse matrices of every format."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import GraphError
from ddgk.graphs.edges import build_graph
from ddgk.graphs.foreign import describe_type, kinds
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.policies import Policies

ROUNDING = {4: 1e-5, 8: 1e-9}  # by bytes of a number
PLACES = ("indptr", "indices")


def from_matrix(
    matrix: Any,
    *,
    node_labels: Iterable[Hashable] | None = None,
    node_attributes: ArrayLike | None = None,
    node_names: Iterable[Hashable] | None = None,
    name: str | None = None,
    policies: Policies | None = None,
) -> Graph:
    """Convert an adjacency matrix.

    Entries that are not 0 are edges. Values other than 1 are weights; a matrix of zeros and ones
    has none. A matrix that differs from its transpose by more than rounding is a directed graph, an
    entry on the diagonal a self-loop. The diagonal of a correlation matrix is not read: that is one
    of ones, in a symmetric matrix of weights between -1 and 1, where it holds for any data and says
    nothing. A sparse matrix is never made dense; a zero it stores is no edge, and entries it stores
    twice add up, as in scipy.

    Parameters
    ----------
    matrix : array of shape (n_nodes, n_nodes)
        A numpy array, or a scipy sparse matrix or array of any format.
    node_labels : iterable of hashables, optional
        One per node.
    node_attributes : array-like of shape (n_nodes, k), optional
    node_names : iterable of hashables, optional
        Default 0..n_nodes-1.
    name : str, optional
    policies : Policies, optional
        How to read what can be read in more than one way.

    Examples
    --------
    >>> import numpy as np
    >>> from ddgk.graphs import Policies, from_matrix
    >>> from_matrix(np.array([[0, 1], [1, 0]]))
    Graph(n_nodes=2, n_edges=1)
    >>> soft = np.array([[0, 0.5], [0.5, 0]])
    >>> from_matrix(soft).edge_weights.tolist()
    [0.5]
    >>> correlations = np.array([[1, 0.8, -0.3], [0.8, 1, 0], [-0.3, 0, 1]])
    >>> from_matrix(correlations, policies=Policies(negative_weights="sign")).edge_labels
    ('+', '-')
    """
    n_nodes, pairs, values = matrix_entries(matrix, describe(name))
    return build_graph(
        n_nodes,
        pairs,
        edge_weights=None if (values == 1).all() else values,
        listing="both",
        policies=policies,
        name=name,
        node_names=node_names,
        node_labels=node_labels,
        node_attributes=node_attributes,
    )


def matrix_entries(matrix: Any, who: str) -> tuple[int, NDArray[np.int64], NDArray[Any]]:
    """Return the size n of an (n, n) matrix, and the places and values of all that is read.

    places: (n_entries, 2). values: (n_entries,), real and never NaN or 0.
    """
    # A masked array is left out: numpy would quietly read what stands under the mask.
    dense = isinstance(matrix, np.ndarray) and not isinstance(matrix, np.ma.MaskedArray)
    if not dense and not is_sparse(matrix):
        raise GraphError(
            f"{who}: from_matrix reads a numpy array or a scipy sparse matrix, "
            f"not {describe_type(matrix)}"
        )
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        hint = "; from_edges reads lists of pairs" if shape[1:] == (2,) else ""
        raise GraphError(f"{who}: an adjacency matrix is square, not of shape {shape}{hint}")
    if dense:
        rows, columns = np.nonzero(matrix)
        values, mirrored = (np.asarray(m)[rows, columns] for m in (matrix, matrix.T))
    else:
        # By way of rows, since scipy adds up repeated entries much faster there.
        by_rows = matrix.tocsr(copy=True)
        by_rows.sum_duplicates()
        by_rows.eliminate_zeros()
        entries = by_rows.tocoo(copy=False)
        rows, columns, values = entries.row, entries.col, entries.data
        turned = by_rows.T.tocsr()
        same = all(np.array_equal(getattr(by_rows, x), getattr(turned, x)) for x in PLACES)
        mirrored = turned.data if same else np.zeros_like(values)
    if values.dtype.kind not in "biuf":
        raise GraphError(f"{who}: an adjacency matrix holds real numbers, not {values.dtype}")
    unknown = np.isnan(values)
    if unknown.any():
        at = unknown.argmax()
        raise GraphError(
            f"{who}: the matrix is NaN at ({rows[at]}, {columns[at]}); "
            "write 0 where there is no edge"
        )
    rounding = ROUNDING.get(values.dtype.itemsize, 0.0)
    if values.dtype.kind == "f":
        # np.corrcoef, for one, rounds the two halves of a symmetric matrix differently.
        with np.errstate(invalid="ignore"):  # infinity is refused later
            apart = np.abs(values - mirrored).max(initial=0)
        if 0 < apart <= rounding * np.abs(values).max(initial=0) < np.inf:
            values = mirrored = values / 2 + mirrored / 2
    pairs = np.stack((rows, columns), axis=1).astype(np.int64)
    diagonal = rows == columns
    ones = diagonal.sum() == shape[0] and (np.abs(values[diagonal] - 1.0) <= rounding).all()
    bounded = (np.abs(values) <= 1 + rounding).all() and (values != 1).any()
    if ones and bounded and np.array_equal(values, mirrored):  # correlations
        pairs, values = pairs[~diagonal], values[~diagonal]
    return int(shape[0]), pairs, values


def is_sparse(thing: object) -> bool:
    """Tell whether a thing is one of scipy's sparse matrices or arrays."""
    return not {("scipy", "spmatrix"), ("scipy", "sparray")}.isdisjoint(kinds(thing))
