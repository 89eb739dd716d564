"""What an encoder learns to predict: a graph -> the relation between its units and its nodes.

Every encoder is the same network on another relation matrix B (units x nodes). A new one is a
function here and a line in `RELATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.errors import GraphError, ParameterError
from ddgk.graphs.graph import Graph, describe
from ddgk.hashing import scramble
from ddgk.symmetry import Arcs, Partition, block_sums

WALKS, PREFIX, AHEAD = 4, 2, 3  # walks from a node; nodes of a unit; steps that are predicted
MOST_NODES = 20_000  # of which all pairs are looked at


@dataclass(frozen=True)
class Relation:
    """A relation matrix B with entries in [0, 1], between units and nodes.

    matrix: (n_units, n_nodes), a sparse array where most entries are 0, else an ordinary one.
    arcs: coded arcs between nodes, equal codes for equal entries; absent ones may be left out.
    members: which nodes a unit is made of, (n_units, n_nodes), sparse, rows sum to 1; None where
    unit i is node i.
    attends: whether a unit has an attention of its own ("units") or the mean of its members'
    ("nodes").
    """

    matrix: Any
    arcs: Arcs
    members: Any = None
    attends: str = "units"

    def dense(self) -> NDArray[np.float64]:
        """Return B as an ordinary array."""
        dense: NDArray[np.float64] = (
            self.matrix.toarray() if sparse.issparse(self.matrix) else self.matrix
        )
        return dense

    def renumbered(self, order: NDArray[np.int64]) -> Relation:
        """Undo a renumbering: node i of this relation becomes node `order[i]`; units stay."""
        place = np.argsort(order)
        arcs = Arcs(order[self.arcs.tails], order[self.arcs.heads], self.arcs.codes)
        if self.members is None:
            return replace(self, matrix=self.matrix[place][:, place], arcs=arcs)
        members, matrix = self.members[:, place], self.matrix[:, place]
        return replace(self, matrix=matrix, members=members, arcs=arcs)

    def units(self, nodes: Partition, colours: NDArray[np.int64] | None = None) -> Partition:
        """Put units into classes: those of one colour that are alike in classes of nodes.

        nodes: an equitable partition of the nodes; then this and that one together are equitable
        too. colours: whole numbers that tell units apart from the beginning, (n_units,).
        """
        if self.members is None:
            return nodes
        key = np.zeros(self.matrix.shape[0], dtype=np.int64) if colours is None else colours
        for matrix in (self.members, self.matrix):
            by_class = _coarsened(matrix, nodes)
            key = _joined(key, _row_ranks(by_class))
        return Partition(key)

    def sums(self, nodes: Partition, units: Partition | None = None) -> Any:
        """Add up B from a unit of each class over the nodes of each class.

        Returns (n_unit_classes, n_node_classes), sparse where B is; the same bits for any
        numbering. units: None where units are nodes.
        """
        rows = (nodes if units is None else units).representatives
        if not sparse.issparse(self.matrix):
            return block_sums(self.matrix[rows], nodes)
        return _coarsened(self.matrix, nodes, rows)

    def entropies(self, units: Partition) -> NDArray[np.float64]:
        """Return what even a perfect prediction costs a unit of each class, (2, n_classes).

            -sum_j B log B   and   -sum_j (1 - B) log(1 - B)

        Zero where B is binary; for soft B this is subtracted, so that 0 is perfect. Where B is
        sparse the absent entries, which cost nothing, are not written out.
        """
        rows = self.matrix[units.representatives]
        if not sparse.issparse(rows):
            rows = np.sort(rows, axis=1)
            return np.stack([_entropy(rows).sum(axis=1), _entropy(1 - rows).sum(axis=1)])
        if not (rows.data % 1).any():
            return np.zeros((2, units.n_classes))
        places = np.repeat(np.arange(units.n_classes), np.diff(rows.indptr))
        order = np.lexsort((rows.data, places))
        places, shares = places[order], rows.data[order]
        each = (_entropy(shares), _entropy(1 - shares))
        return np.stack([np.bincount(places, part, units.n_classes) for part in each])


def _coarsened(matrix: Any, nodes: Partition, rows: NDArray[np.int64] | None = None) -> Any:
    """Add up a sparse matrix over the nodes of each class: some rows of it, or all, in order."""
    n_rows = matrix.shape[0] if rows is None else len(rows)
    tails = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    heads, values = nodes.classes[matrix.indices], matrix.data
    if rows is not None:
        place = np.full(matrix.shape[0], -1, dtype=np.int64)
        place[rows] = np.arange(n_rows)
        kept = place[tails] >= 0
        tails, heads, values = place[tails[kept]], heads[kept], values[kept]
    return _compressed(tails, heads, values, (n_rows, nodes.n_classes))


def _compressed(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    shape: tuple[int, int],
) -> Any:
    """Return a sparse array; entries of one place are added in an order of their own."""
    places = rows * shape[1] + columns
    order = np.argsort(places, kind="stable")
    if (values != values[:1]).any():
        order = np.lexsort((values, places))
    rows, columns, values = rows[order], columns[order], values[order]
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    firsts = np.flatnonzero(begins)
    sums = np.add.reduceat(values, firsts) if len(firsts) else values
    ends = np.zeros(shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows[firsts], minlength=shape[0]), out=ends[1:])
    return sparse.csr_array((sums, columns[firsts], ends), shape)


def _row_ranks(matrix: Any) -> NDArray[np.int64]:
    """Return the rank of each row of a sparse matrix among the distinct ones, (n_rows,).

    Rows are compared entry by entry as lists of (column, value), padded at the end.
    """
    counts = np.diff(matrix.indptr)
    longest = int(counts.max(initial=0))
    listed = np.full((matrix.shape[0], 2 * longest), -1.0)
    rows = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(len(rows)) - matrix.indptr[rows]
    listed[rows, 2 * places] = matrix.indices
    listed[rows, 2 * places + 1] = matrix.data
    return np.unique(listed, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _joined(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rank of each pair among the distinct ones."""
    pairs = first * (1 + int(second.max(initial=0))) + second
    ranks: NDArray[np.int64] = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return ranks


def _entropy(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return -share * np.log(np.where(share > 0, share, 1.0))


def soft_edges(graph: Graph) -> NDArray[np.float64]:
    """Return how much of an edge every edge is, (n_edges,): its weight, or 1."""
    weights = np.ones(graph.n_edges) if graph.edge_weights is None else graph.edge_weights
    if (weights > 1).any():
        edge = tuple(graph.edges[np.argmax(weights > 1)].tolist())
        raise GraphError(
            f"{describe(graph.name)}: edge {edge} has weight {weights.max():g}, but a soft edge "
            'lies in [0, 1]; divide the weights by their maximum, or pass weights="ignore"'
        )
    return weights


def node_to_edges(graph: Graph) -> Relation:
    """Relate a node to its neighbours: B is the adjacency matrix (paper, section 3.1).

    Edge weights that were kept are soft edges: B[i, j] is the weight.
    """
    weights = soft_edges(graph)
    tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    both = np.concatenate([weights, weights])
    codes = np.zeros(len(both), dtype=np.int64)
    if graph.edge_weights is not None:
        codes += np.unique(both, return_inverse=True)[1]
    shape = (graph.n_nodes, graph.n_nodes)
    return Relation(_compressed(tails, heads, both, shape), Arcs(tails, heads, codes))


def edge_to_nodes(graph: Graph) -> Relation:
    """Relate an edge to its two ends: B is the incidence matrix (paper eq. 12).

    An edge attends to edges. Edge weights that were kept are soft edges, B[e, i] the weight. A
    graph without edges has one unit, made of all nodes, that is related to none of them.
    """
    arcs, n_edges = node_to_edges(graph).arcs, graph.n_edges
    if n_edges == 0:
        nobody = sparse.csr_array((1, graph.n_nodes), dtype=np.float64)
        everybody = sparse.csr_array(np.full((1, graph.n_nodes), 1 / graph.n_nodes))
        return Relation(nobody, arcs, everybody)
    units, shape = np.repeat(np.arange(n_edges), 2), (n_edges, graph.n_nodes)
    ends, weights = graph.edges.reshape(-1), np.repeat(soft_edges(graph), 2)
    members = _compressed(units, ends, np.full(2 * n_edges, 0.5), shape)
    return Relation(_compressed(units, ends, weights, shape), arcs, members)


def neighborhood(graph: Graph, seed: int = 0) -> Relation:
    """Relate the beginning of a random walk to who is visited next (paper eq. 13).

    From every node `WALKS` walks are drawn. A unit is the first `PREFIX` nodes of one, and has the
    mean of their attentions; B[i, j] = 1 where the walk comes to j in its next `AHEAD` steps. Every
    step is a hash of (seed, walk, step), so the relation depends on the numbering of the nodes:
    `ddgk.reading` brings a graph into its canonical order first. Edge weights do not count here.
    """
    neighbours = node_to_edges(graph)
    tails, heads = neighbours.matrix.indptr[:-1], neighbours.matrix.indices
    degrees = np.diff(neighbours.matrix.indptr)
    n_units = WALKS * graph.n_nodes
    units, here = np.arange(n_units), np.repeat(np.arange(graph.n_nodes), WALKS)
    visited, goes_on = [here], [np.ones(n_units, dtype=bool)]
    for step in range(1, PREFIX + AHEAD):
        drawn = scramble(
            scramble(np.uint64(seed % 2**64) + units.astype(np.uint64)) ^ np.uint64(step)
        )
        share = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
        chosen = tails[here] + (share * degrees[here]).astype(np.int64)
        moves = goes_on[-1] & (degrees[here] > 0)
        here = np.where(moves, heads[np.where(moves, chosen, 0)] if len(heads) else here, here)
        visited.append(here)
        goes_on.append(moves)
    shape = (n_units, graph.n_nodes)
    first = np.stack(visited[:PREFIX], axis=1)
    within = np.stack(goes_on[:PREFIX], axis=1)
    shares = (within / within.sum(axis=1, keepdims=True))[within]
    begins = np.repeat(units, within.sum(axis=1))
    members = _compressed(begins, first[within], shares, shape)
    after, gone = np.stack(visited[PREFIX:], axis=1), np.stack(goes_on[PREFIX:], axis=1)
    pairs = np.unique(np.repeat(units, gone.sum(axis=1)) * graph.n_nodes + after[gone])
    seen = _compressed(pairs // graph.n_nodes, pairs % graph.n_nodes, np.ones(len(pairs)), shape)
    return Relation(seen, neighbours.arcs, members, "nodes")


def closeness(graph: Graph) -> Relation:
    """Relate a node to all nodes by how near they are.

        B[i, j] = 1 - distance(i, j) / diameter

    1 on the diagonal, 0 for what cannot be reached; the diameter is the largest finite distance,
    at least 1. Edge weights do not count here: distances are numbers of steps.
    """
    refuse_large(graph, "closeness is a number for every pair of nodes; choose another relation")
    steps = step_distances(graph)
    finite = np.isfinite(steps)
    diameter = max(1.0, float(steps[finite].max()))
    matrix = np.where(finite, 1 - np.where(finite, steps, 0) / diameter, 0.0)
    tails, heads = np.indices(matrix.shape).reshape(2, -1).astype(np.int64)
    codes = np.where(finite, steps, -1).astype(np.int64).ravel() + 1
    return Relation(matrix, Arcs(tails, heads, codes))


def refuse_large(graph: Graph, why: str, position: int | None = None) -> None:
    """Refuse a graph all of whose pairs of nodes would be looked at, and say why and what to do."""
    if graph.n_nodes > MOST_NODES:
        raise GraphError(
            f"{describe(graph.name, position)} has {graph.n_nodes} nodes, but at most {MOST_NODES} "
            f"can be read here: {why}"
        )


def step_distances(graph: Graph) -> NDArray[np.float64]:
    """Count the steps from every node to every other; inf where there is no way."""
    from scipy.sparse.csgraph import shortest_path

    ones = np.ones(graph.n_edges)
    shape = (graph.n_nodes, graph.n_nodes)
    matrix = sparse.csr_array((ones, (graph.edges[:, 0], graph.edges[:, 1])), shape=shape)
    steps: NDArray[np.float64] = shortest_path(matrix, directed=False, unweighted=True)
    return steps


RELATIONS: dict[str, Callable[..., Relation]] = {
    "node_to_edges": node_to_edges,
    "closeness": closeness,
    "edge_to_nodes": edge_to_nodes,
    "neighborhood": neighborhood,
}
DRAWN = frozenset({"neighborhood"})  # from a seed, node by node: numbering matters


def relate(graph: Graph, relation: str, seed: int = 0) -> Relation:
    """Build the named relation of a graph; the seed matters where it is drawn.

    Examples
    --------
    >>> from ddgk.graphs import Graph
    >>> relate(Graph(3, [(0, 1), (1, 2)]), "closeness").dense().tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    if relation not in RELATIONS:
        listed = ", ".join(map(repr, RELATIONS))
        raise ParameterError(f"relation must be one of {listed}, not {relation!r}")
    build = RELATIONS[relation]
    return build(graph, seed) if relation in DRAWN else build(graph)
