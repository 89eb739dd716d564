"""How a model reads a graph: its relation and families, by node or by class, as a Problem."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.attributes import EdgeLabels, Family, check_families, pooled, two_hop
from ddgk.engine.problem import FamilyArrays, Problem
from ddgk.graphs.graph import Graph
from ddgk.hashing import scramble
from ddgk.relations import DRAWN, Relation, relate
from ddgk.symmetry import Arcs, Partition, canonical_order, equitable_partition


@dataclass(frozen=True)
class Reading:
    """A graph as a model sees it.

    problem: for the engine, a row per class of units and a column per class of nodes. partition:
    which node is in which class; units: which unit. entropies: what a perfect prediction would cost
    a unit of each class, (2, n_unit_classes). relation: B of the graph as it was given, unless
    entries are sampled.
    """

    problem: Problem
    partition: Partition
    units: Partition
    entropies: NDArray[np.float64]
    relation: Relation

    @cached_property
    def digest(self) -> str:
        """Hash of all the numbers: equal readings have equal results and can share them."""
        content = hashlib.sha256()
        for array in (*_parts(self.problem.relation), *_numbers(self.problem)):
            content.update(f"{array.dtype}{array.shape}".encode())
            content.update(np.ascontiguousarray(array).tobytes())
        return content.hexdigest()

    def by_node(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Hand what a unit of each class costs to the nodes, (..., n_unit_classes) -> (..., n).

        A unit's members share it, so that the sum over all nodes is the sum over all units.
        """
        members = self.relation.members
        if members is None:
            return np.asarray(terms[..., self.partition.classes])
        flat = terms.reshape(-1, terms.shape[-1])[:, self.units.classes]
        return np.asarray((members.T @ flat.T).T).reshape(*terms.shape[:-1], -1)

    def unit_attention(self, attention: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the attention of units, given that of what attends, both by class."""
        gathers = self.problem.gathers
        return attention if gathers is None else np.asarray(gathers @ attention)

    def node_attention(
        self, attention: NDArray[np.float64], source_members: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return how nodes attend to source nodes, given what attends, (n_nodes, n_source_nodes).

        P_n = L P (members of the source); the rows of nodes that belong to no unit are 0.
        """
        found = attention
        if self.problem.spreads is not None:
            found = np.asarray(self.problem.spreads @ attention @ source_members)
        return np.asarray(found[self.partition.classes])


@dataclass(frozen=True)
class Reader:
    """What a model reads of graphs.

    relation: a name in `RELATIONS`. families: learned at fit. unseen: the policy for labels not
    seen there. surroundings: how edge labels around a node are counted. seed: for relations that
    are drawn.
    """

    relation: str
    families: tuple[Family, ...] = ()
    unseen: str = "error"
    surroundings: str = "pooled"
    seed: int = 0

    @property
    def family_names(self) -> tuple[str, ...]:
        """Return the names of the families read."""
        return tuple(family.name for family in self.families)

    def read(self, graph: Graph, *, quotient: bool, samples: int = 0) -> Reading:
        """Read a graph: on its quotient, or node by node.

        What is drawn, a relation or (samples of) its entries, does not go with a quotient: there
        every node stays alone, in an order that does not depend on how the graph is numbered.
        """
        check_families(graph, self.families)
        drawn = self.relation in DRAWN
        nodes = Partition.discrete(graph.n_nodes)
        if samples:
            nodes = self._shuffled(graph) if quotient else nodes
        elif drawn and quotient:
            nodes = Partition.inverse(self.canonical_order(graph))
        if (samples or drawn) and quotient:
            order = np.argsort(nodes.classes)
            found = self._read(
                graph.permuted(order), Partition.discrete(graph.n_nodes), samples, True
            )
            # Sampled entries are never shown one by one, so nobody asks for them in their place.
            relation = found.relation if samples else found.relation.renumbered(order)
            return replace(found, partition=nodes, relation=relation)
        relation = relate(graph, self.relation, self.seed)
        if quotient:
            nodes = equitable_partition(*self._codes(graph, relation.arcs))
        return self._read(graph, nodes, samples, quotient, relation)

    def canonical_order(self, graph: Graph) -> NDArray[np.int64]:
        """List the nodes in an order that depends on what is read of the graph alone."""
        check_families(graph, self.families)
        return canonical_order(*self._codes(graph, self._arcs(graph)))

    def attended(self, graph: Graph) -> tuple[tuple[NDArray[np.float64], ...], Any]:
        """Return what a source's rows carry, Q_u of every family, and which nodes they are.

        Both for the graph in the order its encoder has.
        """
        relation = relate(graph, self.relation, self.seed)
        if relation.members is None or relation.attends == "nodes":
            return tuple(f.unit_distributions(graph, self.unseen) for f in self.families), None
        carried = tuple(self._carried(family, graph, relation) for family in self.families)
        return carried, relation.members.toarray()

    def _arcs(self, graph: Graph) -> Arcs:
        """Return how nodes see each other; what is drawn has no say in it."""
        relation = "node_to_edges" if self.relation in DRAWN else self.relation
        return relate(graph, relation).arcs

    def _shuffled(self, graph: Graph) -> Partition:
        """Put every node alone, dealt out at random from an order by what refinement tells apart.

        Among nodes that it cannot tell apart the given numbering decides.
        """
        classes = equitable_partition(*self._codes(graph, self._arcs(graph))).classes
        ranks = np.arange(graph.n_nodes, dtype=np.uint64)
        order = np.argsort(classes, kind="stable")[np.argsort(scramble(ranks), kind="stable")]
        return Partition.inverse(order)

    def _read(
        self,
        graph: Graph,
        nodes: Partition,
        samples: int,
        merges: bool,
        relation: Relation | None = None,
    ) -> Reading:
        """Read by classes of nodes; units that are alike merge, or each stays alone."""
        if relation is None:
            relation = relate(graph, self.relation, self.seed)
        units = Partition.discrete(relation.matrix.shape[0])
        if merges:
            units = relation.units(nodes, self._unit_colours(graph, relation))
        sums = relation.sums(nodes, units)
        sizes, counts = nodes.sizes.astype(np.float64), units.sizes.astype(np.float64)
        families = tuple(
            self._family_arrays(family, graph, relation, (nodes, units), sums)
            for family in self.families
        )
        spreads = gathers = None
        if relation.members is not None:
            joins = Relation(relation.members, relation.arcs).sums(nodes, units)
            gathers = joins if relation.attends == "nodes" else None
            spreads = _spread(joins, counts, sizes) if gathers is None else None
        problem = Problem(_divided(sums, sizes), counts, sizes, families, spreads, gathers, samples)
        return Reading(problem, nodes, units, relation.entropies(units), relation)

    def _codes(self, graph: Graph, arcs: Arcs) -> tuple[NDArray[np.int64], Arcs]:
        """Return what tells nodes apart from the beginning, and the arcs they see each other by."""
        colours = np.zeros(graph.n_nodes, dtype=np.int64)
        for family in self.families:
            own = family.colours(graph, self.unseen)
            colours = colours * (1 + int(own.max(initial=0))) + own
            labelled = family.arcs(graph, self.unseen)
            arcs = arcs if labelled is None else arcs.beside(labelled)
        return colours, arcs

    def _unit_colours(self, graph: Graph, relation: Relation) -> NDArray[np.int64] | None:
        """Return what tells edges apart from the beginning, where units are edges."""
        if self.relation != "edge_to_nodes" or graph.n_edges == 0:
            return None
        colours = np.zeros(relation.matrix.shape[0], dtype=np.int64)
        for family in self.families:
            labelled = family.arcs(graph, self.unseen)
            if labelled is not None:
                own = labelled.codes[: graph.n_edges]
                colours = colours * (1 + int(own.max(initial=0))) + own
        return colours

    def _carried(self, family: Family, graph: Graph, relation: Relation) -> NDArray[np.float64]:
        """Return Q_u of every unit: a node's own, an edge's own label, or its members' mean."""
        if relation.members is None:
            return family.unit_distributions(graph, self.unseen)
        if isinstance(family, EdgeLabels) and self.relation == "edge_to_nodes" and graph.n_edges:
            return family.edge_distributions(graph, self.unseen)
        return np.asarray(relation.members @ family.unit_distributions(graph, self.unseen))

    def _family_arrays(
        self,
        family: Family,
        graph: Graph,
        relation: Relation,
        partitions: tuple[Partition, Partition],
        sums: Any,
    ) -> FamilyArrays:
        nodes, units = partitions
        carried = self._carried(family, graph, relation)[units.representatives]
        given = family.contributions(graph, self.unseen)[nodes.representatives]
        two_hops = self.surroundings == "two_hop" and relation.members is None
        if family.name == "edge_labels" and two_hops:
            return FamilyArrays(carried, two_hop(sums, given), carried)
        return FamilyArrays(carried, pooled(sums, given), given)


def _spread(
    members: Any, unit_weights: NDArray[np.float64], node_weights: NDArray[np.float64]
) -> Any:
    """Return L: how much each class of units counts for a node of each class; rows sum to 1.

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


def _parts(relation: Any) -> tuple[NDArray[Any], ...]:
    if not sparse.issparse(relation):
        return (relation,)
    return relation.data, relation.indices.astype(np.int64), relation.indptr.astype(np.int64)


def _numbers(problem: Problem) -> tuple[NDArray[Any], ...]:
    families = ((f.units, f.surroundings, f.nodes) for f in problem.families)
    joins = [m for m in (problem.spreads, problem.gathers) if m is not None]
    samples = [np.array(problem.samples)] if problem.samples else []
    return (
        problem.unit_weights,
        problem.node_weights,
        *(a for f in families for a in f),
        *(part for join in joins for part in _parts(join)),
        *samples,
    )
