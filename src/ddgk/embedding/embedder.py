"""The interface between fitted models and what computes their rows for many graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs.graph import Graph


class Embedder(Protocol):
    """A fitted model, seen as a function from a graph to a row.

    Attributes
    ----------
    columns : sequence of str
        Names of the columns.
    dtype : numpy dtype
        float32 or float64.
    identity : str
        Hash of everything that changes a row, as hexadecimal text.
    engine_name : str
        "fused", "torch:cpu", ...: rows of different engines are not mixed in one run.
    """

    @property
    def columns(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def dtype(self) -> np.dtype[Any]: ...  # noqa: D102

    @property
    def identity(self) -> str: ...  # noqa: D102

    @property
    def engine_name(self) -> str: ...  # noqa: D102

    def rows(self, graphs: Sequence[Graph], positions: Sequence[int]) -> NDArray[np.floating]:
        """Return the rows of graphs, (n_graphs, n_columns).

        A row does not depend on the other graphs. Called from several threads at once, so it
        should use one thread itself. positions: for error messages.
        """
        ...

    def cost(self, graph: Graph) -> float:
        """Estimate the seconds that a row takes on one core; proportions matter most."""
        ...

    def memory(self, graph: Graph) -> int:
        """Estimate the bytes that a row takes while it is computed, without the result."""
        ...

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return tensors and JSON metadata: everything that a model file holds."""
        ...

    @classmethod
    def from_parts(cls, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> Self:
        """Return the model from what `to_parts` returned, or raise if it does not fit."""
        ...
