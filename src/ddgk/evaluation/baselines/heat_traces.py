"""NetLSD (Tsitsulin et al. 2018): how much heat is left where it began, over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk.evaluation.representations import Columns
from ddgk.graphs import Graph

TIMES = np.logspace(-2, 2, 250)


def heat_traces(graphs: Sequence[Graph], seed: int) -> Columns:  # noqa: ARG001
    """Return the trace of exp(-t L) over the number of nodes, at 250 times; no labels."""
    return Columns(np.array([_traces(graph) for graph in graphs]))


def _traces(graph: Graph) -> NDArray[np.float64]:
    n = graph.n_nodes
    adjacency = np.zeros((n, n))
    adjacency[graph.edges[:, 0], graph.edges[:, 1]] = 1.0
    adjacency += adjacency.T
    degrees = adjacency.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros(n), where=degrees > 0)
    laplacian = np.diag((degrees > 0).astype(float)) - scale[:, None] * adjacency * scale[None, :]
    values = np.linalg.eigvalsh(laplacian)
    found: NDArray[np.float64] = np.exp(-TIMES[:, None] * values).sum(axis=1) / max(n, 1)
    return found
