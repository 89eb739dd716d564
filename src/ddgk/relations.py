"""What an encoder learns to predict: a graph -> the relation between its units and its nodes.

Every encoder is the same network on another relation matrix B (units x nodes). A new one is a
function here and a line in `RELATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.errors import GraphError, ParameterError
from ddgk.graphs.graph import Graph, describe
from ddgk.symmetry import Arcs, Partition, block_sums


@dataclass(frozen=True)
class Relation:
    """A relation matrix B with entries in [0, 1]; here units are nodes.

    matrix: (n_units, n_nodes), a sparse array where most entries are 0, else an ordinary one.
    arcs: the entries as coded arcs, equal codes for equal entries; absent ones may be left out.
    """

    matrix: Any
    arcs: Arcs

    def dense(self) -> NDArray[np.float64]:
        """Return B as an ordinary array."""
        dense: NDArray[np.float64] = (
            self.matrix.toarray() if sparse.issparse(self.matrix) else self.matrix
        )
        return dense

    def sums(self, partition: Partition) -> Any:
        """Add up B from a node of each class over the nodes of each class.

        Returns (n_classes, n_classes), sparse where B is; the same bits for any numbering.
        """
        if not sparse.issparse(self.matrix):
            return block_sums(self.matrix[partition.representatives], partition)
        stands_for_class = np.zeros(len(partition.classes), dtype=bool)
        stands_for_class[partition.representatives] = True
        tails = np.repeat(np.arange(len(partition.classes)), np.diff(self.matrix.indptr))
        kept = stands_for_class[tails]
        rows, columns = partition.classes[tails[kept]], partition.classes[self.matrix.indices[kept]]
        return _compressed(rows, columns, self.matrix.data[kept], partition.n_classes)

    def entropies(self, partition: Partition) -> NDArray[np.float64]:
        """Return what even a perfect prediction costs a node of each class, (2, n_classes).

            -sum_j B log B   and   -sum_j (1 - B) log(1 - B)

        Zero where B is binary; for soft B this is subtracted, so that 0 is perfect.
        """
        if sparse.issparse(self.matrix) and not (self.matrix.data % 1).any():
            return np.zeros((2, partition.n_classes))
        rows = self.matrix[partition.representatives]
        rows = np.sort(rows.toarray() if sparse.issparse(rows) else rows, axis=1)
        return np.stack([_entropy(rows).sum(axis=1), _entropy(1 - rows).sum(axis=1)])


def _compressed(
    rows: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[np.float64], n: int
) -> Any:
    """Return an (n, n) sparse array; entries of one place are added in an order of their own."""
    order = np.lexsort((values, columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    firsts = np.flatnonzero(begins)
    sums = np.add.reduceat(values, firsts) if len(firsts) else values
    ends = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows[firsts], minlength=n), out=ends[1:])
    return sparse.csr_array((sums, columns[firsts], ends), (n, n))


def _entropy(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return -share * np.log(np.where(share > 0, share, 1.0))


def node_to_edges(graph: Graph) -> Relation:
    """Relate a node to its neighbours: B is the adjacency matrix (paper, section 3.1).

    Edge weights that were kept are soft edges: B[i, j] is the weight.
    """
    weights = np.ones(graph.n_edges) if graph.edge_weights is None else graph.edge_weights
    if (weights > 1).any():
        edge = tuple(graph.edges[np.argmax(weights > 1)].tolist())
        raise GraphError(
            f"{describe(graph.name)}: edge {edge} has weight {weights.max():g}, but a soft edge "
            'lies in [0, 1]; divide the weights by their maximum, or pass weights="ignore"'
        )
    tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    both = np.concatenate([weights, weights])
    codes = np.zeros(len(both), dtype=np.int64)
    if graph.edge_weights is not None:
        codes += np.unique(both, return_inverse=True)[1]
    return Relation(_compressed(tails, heads, both, graph.n_nodes), Arcs(tails, heads, codes))


def closeness(graph: Graph) -> Relation:
    """Relate a node to all nodes by how near they are.

        B[i, j] = 1 - distance(i, j) / diameter

    1 on the diagonal, 0 for what cannot be reached; the diameter is the largest finite distance,
    at least 1. Edge weights do not count here: distances are numbers of steps.
    """
    steps = step_distances(graph)
    finite = np.isfinite(steps)
    diameter = max(1.0, float(steps[finite].max()))
    matrix = np.where(finite, 1 - np.where(finite, steps, 0) / diameter, 0.0)
    tails, heads = np.indices(matrix.shape).reshape(2, -1).astype(np.int64)
    codes = np.where(finite, steps, -1).astype(np.int64).ravel() + 1
    return Relation(matrix, Arcs(tails, heads, codes))


def step_distances(graph: Graph) -> NDArray[np.float64]:
    """Count the steps from every node to every other; inf where there is no way."""
    from scipy.sparse.csgraph import shortest_path

    ones = np.ones(graph.n_edges)
    shape = (graph.n_nodes, graph.n_nodes)
    matrix = sparse.csr_array((ones, (graph.edges[:, 0], graph.edges[:, 1])), shape=shape)
    steps: NDArray[np.float64] = shortest_path(matrix, directed=False, unweighted=True)
    return steps


RELATIONS: dict[str, Callable[[Graph], Relation]] = {
    "node_to_edges": node_to_edges,
    "closeness": closeness,
}


def relate(graph: Graph, relation: str) -> Relation:
    """Build the named relation of a graph.

    Examples
    --------
    >>> from ddgk.graphs import Graph
    >>> relate(Graph(3, [(0, 1), (1, 2)]), "closeness").dense().tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    if relation not in RELATIONS:
        listed = ", ".join(map(repr, RELATIONS))
        raise ParameterError(f"relation must be one of {listed}, not {relation!r}")
    return RELATIONS[relation](graph)
