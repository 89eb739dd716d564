"""How a model reads a graph: its relation and families, by node or by class, as a Problem."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.attributes import Family, check_families, pooled, two_hop
from ddgk.engine.problem import FamilyArrays, Problem
from ddgk.graphs.graph import Graph
from ddgk.relations import Relation, relate
from ddgk.symmetry import Arcs, Partition, canonical_order, equitable_partition


@dataclass(frozen=True)
class Reading:
    """A graph as a model sees it.

    problem: for the engine, a row and a column per class. partition: which node is in which class.
    entropies: what a perfect prediction would cost a node of each class, (2, n_classes).
    """

    problem: Problem
    partition: Partition
    entropies: NDArray[np.float64]

    @cached_property
    def digest(self) -> str:
        """Hash of all the numbers: equal readings have equal results and can share them."""
        content = hashlib.sha256()
        for array in (*_parts(self.problem.relation), *_numbers(self.problem)):
            content.update(f"{array.dtype}{array.shape}".encode())
            content.update(np.ascontiguousarray(array).tobytes())
        return content.hexdigest()


@dataclass(frozen=True)
class Reader:
    """What a model reads of graphs.

    relation: a name in `RELATIONS`. families: learned at fit. unseen: the policy for labels not
    seen there. surroundings: how edge labels around a node are counted.
    """

    relation: str
    families: tuple[Family, ...] = ()
    unseen: str = "error"
    surroundings: str = "pooled"

    @property
    def family_names(self) -> tuple[str, ...]:
        """Return the names of the families read."""
        return tuple(family.name for family in self.families)

    def read(self, graph: Graph, *, quotient: bool) -> Reading:
        """Read a graph, on its quotient or node by node."""
        check_families(graph, self.families)
        relation = relate(graph, self.relation)
        partition = Partition.discrete(graph.n_nodes)
        if quotient:
            partition = equitable_partition(*self._codes(graph, relation))
        sums = relation.sums(partition)
        sizes = partition.sizes.astype(np.float64)
        families = tuple(
            self._family_arrays(family, graph, partition, sums) for family in self.families
        )
        problem = Problem(_divided(sums, sizes), sizes, sizes, families)
        return Reading(problem, partition, relation.entropies(partition))

    def canonical_order(self, graph: Graph) -> NDArray[np.int64]:
        """List the nodes in an order that depends on what is read of the graph alone."""
        check_families(graph, self.families)
        return canonical_order(*self._codes(graph, relate(graph, self.relation)))

    def unit_distributions(self, graph: Graph) -> tuple[NDArray[np.float64], ...]:
        """Return Q_u of every family, (n_nodes, k) each."""
        return tuple(family.unit_distributions(graph, self.unseen) for family in self.families)

    def _codes(self, graph: Graph, relation: Relation) -> tuple[NDArray[np.int64], Arcs]:
        """Return what tells nodes apart from the beginning, and the arcs they see each other by."""
        colours, arcs = np.zeros(graph.n_nodes, dtype=np.int64), relation.arcs
        for family in self.families:
            own = family.colours(graph, self.unseen)
            colours = colours * (1 + int(own.max(initial=0))) + own
            labelled = family.arcs(graph, self.unseen)
            arcs = arcs if labelled is None else arcs.beside(labelled)
        return colours, arcs

    def _family_arrays(
        self, family: Family, graph: Graph, partition: Partition, sums: Any
    ) -> FamilyArrays:
        units = family.unit_distributions(graph, self.unseen)[partition.representatives]
        given = family.contributions(graph, self.unseen)[partition.representatives]
        if family.name == "edge_labels" and self.surroundings == "two_hop":
            return FamilyArrays(units, two_hop(sums, given), units)
        return FamilyArrays(units, pooled(sums, given), given)


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


def _numbers(problem: Problem) -> tuple[NDArray[np.float64], ...]:
    families = ((f.units, f.surroundings, f.nodes) for f in problem.families)
    return (problem.unit_weights, problem.node_weights, *(a for f in families for a in f))
