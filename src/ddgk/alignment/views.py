"""What is read of a graph to align it: a stack of relations, and what its nodes carry."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.attributes import EdgeLabels, Family, check_families, pooled
from ddgk.engine.ordering import order_nodes
from ddgk.errors import ParameterError
from ddgk.graphs.graph import Graph
from ddgk.hashing import scramble
from ddgk.relations import node_to_edges

Array = NDArray[np.float64]
ROUNDING = 1e-13  # of heat; what is below cannot be told from 0
Integers = NDArray[np.int64]

# Up to here every edge label has a relation of its own; more share as many, by codes of bits.
MOST_LABEL_RELATIONS = 8


def adjacency_of(graph: Graph) -> Array:
    """Return who is a neighbour of whom, (n, n); edge weights that were kept are soft edges."""
    if graph.edge_weights is not None:
        return node_to_edges(graph).dense()
    matrix = np.zeros((graph.n_nodes, graph.n_nodes))
    tails, heads = graph.edges.T
    matrix[tails, heads] = 1.0
    matrix[heads, tails] = 1.0
    return matrix


def nearness(adjacency: Array) -> Array:
    """Return 1 - distance / diameter, (n, n), as `ddgk.relations.closeness` has it."""
    from scipy.sparse.csgraph import shortest_path

    steps = shortest_path(adjacency, directed=False, unweighted=True)
    finite = np.isfinite(steps)
    diameter = max(1.0, float(steps[finite].max()))
    return np.where(finite, 1 - np.where(finite, steps, 0) / diameter, 0.0)


def heat(adjacency: Array) -> Array:
    """Return how much of a unit of heat put on i has reached j after a unit of time, (n, n).

        B[i, j] = sqrt(exp(-(D - A))[i, j]),  D: degrees

    Unlike a distance it counts all ways between two nodes, so it also tells apart what is near in
    another manner; what stays at a node, B[i, i], describes the node by itself. Heat spreads thin:
    under the root its small differences are large enough to be learned.
    """
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    values, vectors = np.linalg.eigh(laplacian)
    spread: Array = np.clip((vectors * np.exp(-values)) @ vectors.T, 0.0, 1.0)
    # Between components there is none; a root would make 1e-9 of what rounding puts there.
    spread[spread < ROUNDING] = 0.0
    return np.sqrt(spread)


def neighbours(adjacency: Array) -> Array:
    """Return who is a neighbour of whom: the adjacency itself, (n, n)."""
    return adjacency


# Each with how much an entry of it counts.
VIEWS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "node_to_edges": (neighbours, 1.0),
    "heat": (heat, 2.0),
    "closeness": (nearness, 1.0),
}


@dataclass(frozen=True)
class View:
    """A graph as the aligner sees it.

    relations: (R, n, n), symmetric, entries in [0, 1]. units, contributions: Q_u and C of every
    family, (n, k) each. surroundings: Q_s of every family, by the first relation, (n, k).
    """

    relations: Array
    units: tuple[Array, ...]
    contributions: tuple[Array, ...]
    surroundings: tuple[Array, ...]

    @property
    def carried(self) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]]:
        """Return what nodes carry: units, contributions, surroundings."""
        return self.units, self.contributions, self.surroundings

    @property
    def digest(self) -> str:
        """Hash of all that is seen."""
        content = hashlib.sha256()
        for values in (self.relations, *self.units, *self.contributions):
            content.update(f"{values.shape}".encode())
            content.update(values.tobytes())
        return content.hexdigest()

    @property
    def n_nodes(self) -> int:
        """How many nodes the graph has."""
        return int(self.relations.shape[1])


@dataclass(frozen=True)
class Viewer:
    """What is read of both graphs of a pair.

    relations: names in `VIEWS`. families: as learned from the pair. coefficients: c_f of each.
    """

    relations: tuple[str, ...]
    families: tuple[Family, ...]
    coefficients: tuple[float, ...]

    @property
    def family_names(self) -> tuple[str, ...]:
        """Return the names of the families read."""
        return tuple(family.name for family in self.families)

    @property
    def weights(self) -> Array:
        """Return w_r, how much an entry of each relation counts, (R,)."""
        own = [VIEWS[name][1] for name in self.relations]
        for family, coefficient in zip(self.families, self.coefficients, strict=True):
            if isinstance(family, EdgeLabels):
                own += [coefficient] * _label_codes(family).shape[1]
        return np.array(own)

    def codes(self, graph: Graph) -> tuple[Integers, Integers, Integers, Integers]:
        """Return what tells nodes apart: colours, and tails, heads and codes of arcs, both ways."""
        check_families(graph, self.families)
        weights = graph.edge_weights
        codes = np.zeros(graph.n_edges, dtype=np.int64)
        if weights is not None:
            codes = np.unique(weights, return_inverse=True)[1].astype(np.int64)
        colours = np.zeros(graph.n_nodes, dtype=np.int64)
        for family in self.families:
            own = family.colours(graph, "error")
            colours = colours * (1 + int(own.max(initial=0))) + own
            labelled = family.arcs(graph, "error")
            if labelled is not None:
                codes = codes * (1 + family.width) + labelled.codes[: graph.n_edges]
        tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
        return colours, tails, heads, np.concatenate([codes, codes])

    def order(self, graph: Graph) -> Integers:
        """List the nodes in an order that depends on what is read of the graph alone, (n,)."""
        return order_nodes(*self.codes(graph))

    def view(self, graph: Graph, order: Integers) -> View:
        """Read a graph, its nodes in that order."""
        adjacency = adjacency_of(graph)[np.ix_(order, order)]
        relations = [VIEWS[name][0](adjacency) for name in self.relations]
        for family in self.families:
            if isinstance(family, EdgeLabels):
                relations += [
                    relation[np.ix_(order, order)] for relation in _label_relations(graph, family)
                ]
        contributions = tuple(
            family.contributions(graph, "error")[order] for family in self.families
        )
        return View(
            np.stack(relations),
            tuple(family.unit_distributions(graph, "error")[order] for family in self.families),
            contributions,
            tuple(pooled(relations[0], given) for given in contributions),
        )

    def unary_costs(self, target: View, source: View) -> Array:
        """Return what it costs that a target node stands for a source node, going by labels alone.

            sum_f c_f (|Q_u(t, i) - Q_u(s, j)|^2 + |Q_s(t, i) - Q_s(s, j)|^2)

        Returns (n_target, n_source).
        """
        costs = np.zeros((target.n_nodes, source.n_nodes))
        for place, coefficient in enumerate(self.coefficients):
            for mine, theirs in (
                (target.units[place], source.units[place]),
                (target.surroundings[place], source.surroundings[place]),
            ):
                costs += coefficient * ((mine[:, None, :] - theirs[None, :, :]) ** 2).sum(axis=2)
        return costs


def checked_relations(given: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return relation names as a tuple; refuse unknown ones."""
    names = (given,) if isinstance(given, str) else tuple(given)
    unknown = [name for name in names if name not in VIEWS]
    if unknown or not names:
        listed = ", ".join(map(repr, VIEWS))
        raise ParameterError(f"relation must be some of {listed}, not {given!r}")
    return names


def _label_codes(family: EdgeLabels) -> Array:
    """Return a row of bits for every edge label: its own place, or a code where there are many."""
    if family.width <= MOST_LABEL_RELATIONS:
        return np.eye(family.width)
    words = scramble(np.arange(family.width, dtype=np.uint64))
    bits = (words[:, None] >> np.arange(MOST_LABEL_RELATIONS, dtype=np.uint64)) & np.uint64(1)
    return bits.astype(np.float64)


def _label_relations(graph: Graph, family: EdgeLabels) -> list[Array]:
    """Return, bit by bit, which edges carry a label whose code has it."""
    arcs = family.arcs(graph, "error")
    codes = _label_codes(family)
    relations = np.zeros((codes.shape[1], graph.n_nodes, graph.n_nodes))
    relations[:, arcs.tails, arcs.heads] = codes[arcs.codes].T
    return list(relations)
