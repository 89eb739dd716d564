"""What a method says of graphs, as a classifier reads it: columns, Gram matrices, or both.

Whatever is estimated (mean and spread of columns, scale of a distance) is estimated on the training
part alone; a column whose source is not in the training part does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.engine.differences import sums_of_differences
from ddgk.errors import ParameterError
from ddgk.kernel import Statistics

Array = NDArray[np.float64]
Positions = NDArray[np.int64]
Kernel = Callable[[Positions, Positions], Array]

GAMMAS = (0.1, 0.3, 1.0, 3.0)  # in units of 1 / n_columns, scikit-learn's "scale" on such columns


@runtime_checkable
class Representation(Protocol):
    """What the protocols need to know of a method."""

    @property
    def n_graphs(self) -> int:
        """How many graphs are described."""
        ...

    def kernels(self, train: Positions) -> list[Kernel]:
        """Return the kernels among which the inner cross-validation chooses."""
        ...

    def columns(self, train: Positions) -> Array:
        """Return standardised columns, for classifiers which are no kernel machines."""
        ...

    def squared_distances(self, train: Positions) -> Array:
        """Return squared distances of all graphs, about 2 on average in the training part."""
        ...


@runtime_checkable
class Learner(Protocol):
    """What the protocol `nested` needs to know of a method that learns from classes itself."""

    @property
    def n_graphs(self) -> int:
        """How many graphs there are."""
        ...

    def accuracy(self, classes: Positions, train: Positions, test: Positions, seed: int) -> float:
        """Learn from `train` and return the accuracy on `test`."""
        ...


@dataclass(frozen=True)
class Columns:
    """A row of numbers per graph.

    values: (n_graphs, n_columns); columns_of: the graph which is the source behind each column, or
    None where no column belongs to a graph; absolute: whether graphs are compared by absolute
    differences, which suits thousands of columns with a few extreme graphs in each, or by squares.
    """

    values: Array
    columns_of: Positions | None = None
    absolute: bool = False

    @classmethod
    def of(cls, features: ArrayLike, columns_of: ArrayLike | None = None) -> Columns:
        """Check what a caller gave."""
        values = np.asarray(features, dtype=np.float64)
        if values.ndim != 2 or not values.size:
            raise ParameterError(f"features must be (n_graphs, n_columns), not {values.shape}")
        if not np.isfinite(values).all():
            raise ParameterError("the features have entries that are not finite")
        if columns_of is None:
            return cls(values)
        behind = np.asarray(columns_of)
        if behind.shape != (values.shape[1],) or behind.dtype.kind not in "iu":
            raise ParameterError(
                f"columns_of must name a source for each of the {values.shape[1]} columns, "
                f"but its shape is {behind.shape} and its type {behind.dtype}"
            )
        return cls(values, behind.astype(np.int64))

    @property
    def n_graphs(self) -> int:
        """How many graphs are described."""
        return len(self.values)

    def kernels(self, train: Positions) -> list[Kernel]:
        """Return radial kernels of several widths."""
        return radial_kernels(self.squared_distances(train))

    def columns(self, train: Positions) -> Array:
        """Return the columns that the training part knows, standardised by it."""
        kept = self.values
        if self.columns_of is not None:
            kept = kept[:, np.isin(self.columns_of, train)]
            if not kept.shape[1]:
                raise ParameterError(
                    "no source is in the training part of a fold; embed against more sources"
                )
        return Statistics.of(kept[train]).standardise(kept)

    def squared_distances(self, train: Positions) -> Array:
        """Return the mean over columns of the squared differences, or the absolute ones.

        The latter are squared distances too, in a space of their own (Laplace's kernel is positive
        definite).
        """
        columns = self.columns(train)
        if self.absolute:
            return _of_mean_two(sums_of_differences(columns), train)
        # As a product of matrices, since scipy's loop takes a minute where this takes a second.
        squares = np.einsum("ij,ij->i", columns, columns)
        found: Array = squares[:, None] + squares[None, :] - 2.0 * (columns @ columns.T)
        return np.asarray(np.maximum(found, 0.0) / columns.shape[1])


@dataclass(frozen=True)
class Grams:
    """Gram matrices of a kernel, one for each value of its parameter; (n_graphs, n_graphs) each."""

    matrices: Sequence[Array]

    @property
    def n_graphs(self) -> int:
        """How many graphs are described."""
        return len(self.matrices[0])

    def kernels(self, train: Positions) -> list[Kernel]:  # noqa: ARG002
        """Return the matrices themselves."""
        return [_Entries(matrix) for matrix in self.matrices]

    def columns(self, train: Positions) -> Array:
        """Return the similarities to the graphs of the training part, by the last matrix."""
        similar = self.matrices[-1][:, train]
        return Statistics.of(similar[train]).standardise(similar)

    def squared_distances(self, train: Positions) -> Array:
        """Return K(i, i) + K(j, j) - 2 K(i, j) of the last matrix, in units of its mean half."""
        gram = self.matrices[-1]
        own = gram.diagonal()
        return _of_mean_two(np.maximum(own[:, None] + own[None, :] - 2.0 * gram, 0.0), train)


@dataclass(frozen=True)
class Union:
    """Several representations side by side, each of the same weight however many columns it has."""

    parts: Sequence[Representation]

    @property
    def n_graphs(self) -> int:
        """How many graphs are described."""
        return self.parts[0].n_graphs

    def kernels(self, train: Positions) -> list[Kernel]:
        """Return radial kernels of several widths."""
        return radial_kernels(self.squared_distances(train))

    def columns(self, train: Positions) -> Array:
        """Return the columns of all parts."""
        return np.hstack([part.columns(train) for part in self.parts])

    def squared_distances(self, train: Positions) -> Array:
        """Return the mean over the parts."""
        found = [part.squared_distances(train) for part in self.parts]
        return np.asarray(sum(found)) / len(found)


def _of_mean_two(found: Array, train: Positions) -> Array:
    """Scale squared distances so that they are 2 on average in the training part."""
    mean = found[np.ix_(train, train)].mean()
    return found * (2.0 / mean) if mean > 0 else found


@dataclass(frozen=True)
class _Entries:
    gram: Array

    def __call__(self, rows: Positions, columns: Positions) -> Array:
        return self.gram[np.ix_(rows, columns)]


@dataclass(frozen=True)
class _Radial:
    squared_distances: Array
    gamma: float

    def __call__(self, rows: Positions, columns: Positions) -> Array:
        return np.exp(-self.gamma * self.squared_distances[np.ix_(rows, columns)])


def radial_kernels(squared_distances: Array) -> list[Kernel]:
    """Return exp(-gamma d^2) for several gamma; the entries are computed when asked for."""
    return [_Radial(squared_distances, gamma) for gamma in GAMMAS]
