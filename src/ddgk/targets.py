"""Graph -> the arrays an engine takes: its target matrix and attributes, by node or by class.

Every encoder is the same network on another target matrix B (units x nodes). A new one is a
function here and an entry of `TARGETS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.attributes import (
    Attribute,
    AttributeModel,
    both_ways,
    edge_ends,
    learn_attributes,
    pooled,
    two_hop,
)
from ddgk.config import Config
from ddgk.engine.arrays import Array, AttributeArrays, EncodedGraph, Integers
from ddgk.errors import GraphError, ParameterError, warn_caller
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.policies import Policies
from ddgk.graphs.weights import WeightScale, learn_weight_scale
from ddgk.hashing import scramble
from ddgk.symmetry import Arcs, Partition, block_sums, canonical_order, equitable_partition

N_WALKS, PREFIX, AHEAD = 4, 2, 3  # walks from a node; nodes of a unit; steps that are predicted
MAX_NODES = 20_000  # of a graph all of whose pairs of nodes are used


@dataclass(frozen=True)
class TargetMatrix:
    """A target matrix B with entries in [0, 1], between units and nodes.

    matrix: (n_units, n_nodes), CSR or dense. arcs: coded arcs between nodes, equal codes for equal
    entries, for refinement. members: which nodes a unit consists of, (n_units, n_nodes), CSR, rows
    sum to 1; None where unit i is node i. nodes_attend: whether nodes have attention and a unit
    averages that of its members, in place of units having attention.
    """

    matrix: Any
    arcs: Arcs
    members: Any = None
    nodes_attend: bool = False


def adjacency(graph: Graph, weights: Array) -> TargetMatrix:
    """Node-To-Edges: B is the adjacency matrix (paper, section 3.1).

    B[i, j] = w of the edge from i to j; of an undirected graph both ways.
    """
    codes = np.zeros(graph.n_edges, dtype=np.int64)
    if (weights != 1).any():
        codes += np.unique(weights, return_inverse=True)[1]
    arcs, shape = both_ways(graph, codes), (graph.n_nodes, graph.n_nodes)
    if graph.directed:
        tails, heads = graph.edges.T
        return TargetMatrix(_compressed(tails, heads, weights, shape), arcs)
    _, edges = edge_ends(graph)
    return TargetMatrix(_compressed(arcs.tails, arcs.heads, weights[edges], shape), arcs)


def closeness(graph: Graph, weights: Array) -> TargetMatrix:  # noqa: ARG001
    """Relate a node to all nodes by their distance in steps.

        B[i, j] = 1 - distance(i, j) / diameter

    1 on the diagonal, 0 where j cannot be reached; the diameter is the largest finite distance, at
    least 1. Edge weights are not used.
    """
    from scipy.sparse.csgraph import shortest_path

    refuse_large(graph, "closeness has a number for every pair of nodes; choose another target")
    ones, shape = np.ones(graph.n_edges), (graph.n_nodes, graph.n_nodes)
    links = sparse.csr_array((ones, tuple(graph.edges.T)), shape=shape)
    steps = shortest_path(links, directed=graph.directed, unweighted=True)
    finite = np.isfinite(steps)
    diameter = max(1.0, float(steps[finite].max()))
    matrix = np.where(finite, 1 - np.where(finite, steps, 0) / diameter, 0.0)
    tails, heads = np.indices(matrix.shape).reshape(2, -1).astype(np.int64)
    codes = np.where(finite, steps, -1).astype(np.int64) + 1
    if graph.directed:  # an arc is known by its distance in both directions
        codes = codes * (1 + int(codes.max())) + codes.T
    return TargetMatrix(matrix, Arcs(tails, heads, codes.ravel()))


def edge_to_nodes(graph: Graph, weights: Array) -> TargetMatrix:
    """Edge-To-Nodes: units are edges, B is the incidence matrix (paper eq. 12).

    B[e, i] = w of edge e at its ends i. A graph without edges has one unit, of all nodes, with a
    row of zeros.
    """
    arcs, n_edges = adjacency(graph, weights).arcs, graph.n_edges
    if n_edges == 0:
        nothing = sparse.csr_array((1, graph.n_nodes), dtype=np.float64)
        everything = sparse.csr_array(np.full((1, graph.n_nodes), 1 / graph.n_nodes))
        return TargetMatrix(nothing, arcs, everything)
    shape = (n_edges, graph.n_nodes)
    ends, units = edge_ends(graph)
    shares = 1.0 / np.bincount(units)[units]  # a half, or 1 of a self-loop
    members = _compressed(units, ends, shares, shape)
    return TargetMatrix(_compressed(units, ends, weights[units], shape), arcs, members)


def neighborhood(graph: Graph, weights: Array) -> TargetMatrix:
    """Neighbourhood: units are beginnings of random walks, B the nodes visited next (paper eq. 13).

    From every node `N_WALKS` walks are drawn. A unit consists of the first `PREFIX` nodes of one
    and averages their attention; B[i, j] = 1 where the walk visits j in its next `AHEAD` steps.
    Every step is a hash of (walk, step), so B depends on the node order: `Encoding` brings a graph
    into its canonical order first. Edge weights are not used.
    """
    graph_arcs = adjacency(graph, weights)
    tails, heads = graph_arcs.matrix.indptr[:-1], graph_arcs.matrix.indices
    degrees = np.diff(graph_arcs.matrix.indptr)
    n_units = N_WALKS * graph.n_nodes
    units, here = np.arange(n_units), np.repeat(np.arange(graph.n_nodes), N_WALKS)
    visited, goes_on = [here], [np.ones(n_units, dtype=bool)]
    for step in range(1, PREFIX + AHEAD):
        drawn = scramble(scramble(units.astype(np.uint64)) ^ np.uint64(step))
        share = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
        chosen = tails[here] + (share * degrees[here]).astype(np.int64)
        moves = goes_on[-1] & (degrees[here] > 0)
        here = np.where(moves, heads[np.where(moves, chosen, 0)] if len(heads) else here, here)
        visited.append(here)
        goes_on.append(moves)
    shape = (n_units, graph.n_nodes)
    first, within = np.stack(visited[:PREFIX], axis=1), np.stack(goes_on[:PREFIX], axis=1)
    shares = (within / within.sum(axis=1, keepdims=True))[within]
    begins = np.repeat(units, within.sum(axis=1))
    members = _compressed(begins, first[within], shares, shape)
    after, gone = np.stack(visited[PREFIX:], axis=1), np.stack(goes_on[PREFIX:], axis=1)
    pairs = np.unique(np.repeat(units, gone.sum(axis=1)) * graph.n_nodes + after[gone])
    seen = _compressed(pairs // graph.n_nodes, pairs % graph.n_nodes, np.ones(len(pairs)), shape)
    return TargetMatrix(seen, graph_arcs.arcs, members, nodes_attend=True)


TARGETS: dict[str, Callable[..., TargetMatrix]] = {
    "adjacency": adjacency,
    "closeness": closeness,
    "edge_to_nodes": edge_to_nodes,
    "neighborhood": neighborhood,
}
DRAWN = frozenset({"neighborhood"})  # drawn node by node: the node order matters


@dataclass(frozen=True)
class Encoding:
    """How a model turns graphs into arrays: everything learned in `fit`, and a few settings.

    weight_scale: how edge weights become entries of B in [0, 1]; None: they are not used. target: a
    name in `TARGETS`. edge_label_neighbourhood: how edge labels around a node are counted, "pooled"
    or "two_hop". largest_weight: the largest absolute edge weight of `fit`; larger ones are clipped
    with a warning.

    >>> graph = Graph(3, [(0, 1), (1, 2)])
    >>> Encoding(target="closeness").encode(graph, quotient=False).matrix.tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """

    attributes: AttributeModel = field(default_factory=AttributeModel)
    weight_scale: WeightScale | None = None
    target: str = "adjacency"
    edge_label_neighbourhood: str = "pooled"
    largest_weight: float = 0.0

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            listed = ", ".join(map(repr, TARGETS))
            raise ParameterError(f"target must be one of {listed}, not {self.target!r}")

    @classmethod
    def learn(
        cls, graphs: Sequence[Graph], config: Config, policies: Policies | None = None
    ) -> Encoding:
        """Learn attributes and the scale of edge weights from the graphs of `fit`."""
        attributes = learn_attributes(graphs, config.attributes)
        neighbourhood = config.edge_label_neighbourhood
        given = [graph.edge_weights for graph in graphs if graph.edge_weights is not None]
        largest = max((float(np.abs(weights).max(initial=0)) for weights in given), default=0.0)
        scale = learn_weight_scale(graphs, policies) if given else None
        scale = None if scale is None or scale.rule == "ignore" else scale
        return cls(attributes, scale, config.target, neighbourhood, largest)

    @property
    def torch_reason(self) -> str:
        """Say why global attention needs the torch engine for these attributes; else empty."""
        if not self.attributes.has_values:
            return ""
        return "real attributes with global attention are computed by the torch engine only"

    def target_matrix(self, graph: Graph) -> TargetMatrix:
        """Build the target matrix of a graph, in its node order."""
        return TARGETS[self.target](graph, self.edge_weights(graph))

    def encode(self, graph: Graph, *, quotient: bool) -> EncodedGraph:
        """Turn a graph into arrays: by class of its coarsest equitable partition, or by node.

        A drawn target matrix has no quotient: every node is a class of its own, in canonical order.
        """
        self.attributes.check(graph)
        nodes = Partition.discrete(graph.n_nodes)
        if self.target in DRAWN and quotient:
            order = self.canonical_order(graph)
            found = self._encode(graph.permuted(order), nodes, True)
            place = np.argsort(order)
            return replace(
                found, classes=place, full=found.full[:, place], members=found.members[:, place]
            )
        target = self.target_matrix(graph)
        if quotient:
            nodes = equitable_partition(*self._codes(graph, target.arcs))
        return self._encode(graph, nodes, quotient, target)

    def canonical_order(self, graph: Graph) -> Integers:
        """Return the nodes in an order that does not depend on their numbering."""
        self.attributes.check(graph)
        build = adjacency if self.target in DRAWN else TARGETS[self.target]
        return canonical_order(*self._codes(graph, build(graph, self.edge_weights(graph)).arcs))

    def source_rows(self, graph: Graph) -> tuple[list[Array], Any]:
        """Return Q_u of the rows of an encoder's table, per attribute, and their member nodes."""
        target = self.target_matrix(graph)
        if target.members is None or target.nodes_attend:
            return [attribute.units(graph) for attribute in self.attributes.attributes], None
        rows = [self._carried(a, graph, target) for a in self.attributes.attributes]
        return rows, target.members.toarray()

    def as_json(self) -> dict[str, Any]:
        """Return the encoding as JSON values."""
        return {
            "attributes": self.attributes.as_json(),
            "weight_scale": None if self.weight_scale is None else self.weight_scale.as_json(),
            "target": self.target,
            "edge_label_neighbourhood": self.edge_label_neighbourhood,
            "largest_weight": self.largest_weight,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Encoding:
        """Undo `as_json`."""
        scale = values["weight_scale"]
        return cls(
            AttributeModel.from_json(values["attributes"]),
            None if scale is None else WeightScale.from_json(scale),
            str(values["target"]),
            str(values["edge_label_neighbourhood"]),
            float(values["largest_weight"]),
        )

    def edge_weights(self, graph: Graph) -> Array:
        """Return the weight of every edge in [0, 1]; 1 where the model has no weights."""
        return (
            np.ones(graph.n_edges)
            if self.weight_scale is None
            else self.weight_scale.apply(graph)[0]
        )

    def check_weights(self, graphs: Iterable[Graph]) -> None:
        """Warn once of weights beyond those of `fit`; call it once per batch of graphs."""
        if self.weight_scale is None:
            return
        weighted = [g.edge_weights for g in graphs if g.edge_weights is not None]
        clipped = sum(int((np.abs(weights) > self.largest_weight).sum()) for weights in weighted)
        if clipped:
            warn_caller(
                f"{clipped} edge weights are larger than any that fit saw "
                f"({self.largest_weight:g}) and count as 1"
            )

    def _encode(
        self, graph: Graph, nodes: Partition, merges: bool, target: TargetMatrix | None = None
    ) -> EncodedGraph:
        """Encode by classes of nodes; equal units are merged, or each has a row of its own."""
        if target is None:
            target = self.target_matrix(graph)
        units = Partition.discrete(target.matrix.shape[0])
        if merges:
            of_edges = self.target == "edge_to_nodes" and graph.n_edges > 0
            units = _unit_classes(target, nodes, self._edge_codes(graph) if of_edges else [])
        sums = _class_sums(target.matrix, nodes, units)
        sizes, counts = nodes.sizes.astype(np.float64), units.sizes.astype(np.float64)
        spreads = gathers = None
        if target.members is not None:
            joins = _class_sums(target.members, nodes, units)
            gathers = joins if target.nodes_attend else None
            spreads = _spread(joins, counts, sizes) if gathers is None else None
        return EncodedGraph(
            matrix=_divided(sums, sizes),
            unit_weights=counts,
            node_weights=sizes,
            attributes=tuple(
                self._attribute_arrays(attribute, graph, target, nodes, units, sums)
                for attribute in self.attributes.attributes
            ),
            spreads=spreads,
            gathers=gathers,
            classes=nodes.classes,
            unit_classes=units.classes,
            entropies=_entropies(target.matrix, units),
            full=target.matrix,
            members=target.members,
        )

    def _codes(self, graph: Graph, arcs: Arcs) -> tuple[Integers, Arcs]:
        """Return what distinguishes nodes initially, and the arcs that refine them."""
        for codes in self._edge_codes(graph):
            arcs = arcs.concatenated(both_ways(graph, codes))
        own = [a.codes(graph) for a in self.attributes.attributes if not a.of_edges]
        return _joined(own, graph.n_nodes), arcs

    def _edge_codes(self, graph: Graph) -> list[Integers]:
        """Return what distinguishes edges, per attribute of edges."""
        return [a.codes(graph) for a in self.attributes.attributes if a.of_edges]

    def _carried(self, attribute: Attribute, graph: Graph, target: TargetMatrix) -> Array:
        """Return Q_u of every unit: of a node, of an edge, or the mean of a unit's members."""
        if target.members is None:
            return attribute.units(graph)
        if attribute.of_edges and self.target == "edge_to_nodes" and graph.n_edges:
            return attribute.edges(graph)
        rows = attribute.units(graph)
        if attribute.is_real:
            return pooled(target.members, rows, True)
        return np.asarray(target.members @ rows)

    def _attribute_arrays(
        self,
        attribute: Attribute,
        graph: Graph,
        target: TargetMatrix,
        nodes: Partition,
        units: Partition,
        sums: Any,
    ) -> AttributeArrays:
        own = self._carried(attribute, graph, target)[units.representatives]
        given = attribute.nodes(graph)[nodes.representatives]
        two_hops = self.edge_label_neighbourhood == "two_hop" and target.members is None
        if attribute.name == "edge_labels" and two_hops:
            around, given = two_hop(sums, given), own
        else:
            around = pooled(sums, given, attribute.is_real)
        return AttributeArrays(own, around, given, attribute.is_real, attribute.name)


def refuse_large(graph: Graph, why: str, position: int | None = None) -> None:
    """Raise for a graph all of whose pairs of nodes would be used."""
    if graph.n_nodes > MAX_NODES:
        raise GraphError(
            f"{describe(graph.name, position)} has {graph.n_nodes} nodes, but at most {MAX_NODES} "
            f"are possible here: {why}"
        )


def _joined(codes: Sequence[Integers], size: int) -> Integers:
    """Return codes that differ where any of some codes do, (size,)."""
    found = np.zeros(size, dtype=np.int64)
    for own in codes:
        found = found * (1 + int(own.max(initial=0))) + own
    return found


def _unit_classes(target: TargetMatrix, nodes: Partition, codes: Sequence[Integers]) -> Partition:
    """Merge units of equal codes whose members and entries are equal in classes of nodes.

    nodes: an equitable partition; then both together are equitable too.
    """
    if target.members is None:
        return nodes
    key = _joined(codes, target.matrix.shape[0])
    for matrix in (target.members, target.matrix):
        ranks = _sparse_row_ranks(_coarsened(matrix, nodes))
        key = np.unique(_joined([key, ranks], len(key)), return_inverse=True)[1]
    return Partition(key.astype(np.int64))


def _class_sums(matrix: Any, nodes: Partition, units: Partition) -> Any:
    """Sum the rows of one unit of each class over the nodes of each class.

    Returns (n_unit_classes, n_node_classes), sparse where the matrix is; bitwise identical for any
    node order.
    """
    if not sparse.issparse(matrix):
        return block_sums(matrix[units.representatives], nodes)
    return _coarsened(matrix, nodes, units.representatives)


def _coarsened(matrix: Any, nodes: Partition, rows: Integers | None = None) -> Any:
    """Sum a sparse matrix over the nodes of each class: some rows of it, or all, in order."""
    n_rows = matrix.shape[0] if rows is None else len(rows)
    tails = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    heads, values = nodes.classes[matrix.indices], matrix.data
    if rows is not None:
        place = np.full(matrix.shape[0], -1, dtype=np.int64)
        place[rows] = np.arange(n_rows)
        kept = place[tails] >= 0
        tails, heads, values = place[tails[kept]], heads[kept], values[kept]
    return _compressed(tails, heads, values, (n_rows, nodes.n_classes))


def _compressed(rows: Integers, columns: Integers, values: Array, shape: tuple[int, int]) -> Any:
    """Return a CSR array; entries of one place are added in ascending order."""
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


def _sparse_row_ranks(matrix: Any) -> Integers:
    """Return the rank of each row of a sparse matrix among the distinct ones, (n_rows,)."""
    counts = np.diff(matrix.indptr)
    listed = np.full((matrix.shape[0], 2 * int(counts.max(initial=0))), -1.0)
    rows = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(len(rows)) - matrix.indptr[rows]
    listed[rows, 2 * places] = matrix.indices
    listed[rows, 2 * places + 1] = matrix.data
    return np.unique(listed, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _entropies(matrix: Any, units: Partition) -> Array:
    """Return the loss of a perfect prediction of a unit of each class, (2, n_classes).

        -sum_j B log B   and   -sum_j (1 - B) log(1 - B)

    Zero where B is binary; for soft B it is subtracted, so that 0 is perfect.
    """
    rows = matrix[units.representatives]
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


def _entropy(share: Array) -> Array:
    return -share * np.log(np.where(share > 0, share, 1.0))


def _spread(members: Any, unit_weights: Array, node_weights: Array) -> Any:
    """Return L: the weight of each class of units for a node of each class; rows sum to 1.

    members: how much of a unit of each class is in each class of nodes, summed. A node in class j
    is in  (units of class i) members[i, j] / (nodes of class j)  of class i.
    """
    shares = sparse.coo_array(members)
    rows, columns = shares.coords
    values = shares.data * unit_weights[rows] / node_weights[columns]
    found = sparse.csr_array((values, (columns, rows)), (members.shape[1], members.shape[0]))
    totals = np.asarray(found.sum(axis=1)).reshape(-1)
    at = np.repeat(np.arange(len(totals)), np.diff(found.indptr))
    return sparse.csr_array((found.data / totals[at], found.indices, found.indptr), found.shape)


def _divided(sums: Any, sizes: NDArray[np.float64]) -> Any:
    """Turn sums over a class into densities: divide every column by the size of its class."""
    if not sparse.issparse(sums):
        return sums / sizes
    return sparse.csr_array(
        (sums.data / sizes[sums.indices], sums.indices, sums.indptr), sums.shape
    )
