"""Label alphabets and attribute families: what nodes and edges carry, as distributions.

A family turns what a graph carries into three matrices for the engine (paper, section 3.3): the
distribution at every unit (Q_u), what surrounds every unit (Q_s), and what every node contributes
to its surroundings (C). A new family is a class here and a line in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import LabelError
from ddgk.graphs.graph import Graph, describe, label_key
from ddgk.symmetry import Arcs

Matrix = NDArray[np.float64]
UNSEEN = ("error", "ignore")


class Family(Protocol):
    """What every attribute family does."""

    name: ClassVar[str]

    @classmethod
    def carried(cls, graph: Graph) -> bool | None:
        """Say whether the graph carries this; None where it has no place for it."""
        ...

    @classmethod
    def learn(cls, graphs: Sequence[Graph]) -> Self:
        """Learn the alphabet (or the width) from graphs that all carry it."""
        ...

    @property
    def width(self) -> int:
        """How many values a distribution has."""
        ...

    def unit_distributions(self, graph: Graph, unseen: str) -> Matrix:
        """Return Q_u, (n_nodes, width); rows sum to 1, or are 0 where there is nothing."""
        ...

    def contributions(self, graph: Graph, unseen: str) -> Matrix:
        """Return C, (n_nodes, width): what a node adds to the surroundings of others."""
        ...

    def colours(self, graph: Graph, unseen: str) -> NDArray[np.int64]:
        """Return whole numbers that are equal where nodes carry the same, (n_nodes,)."""
        ...

    def arcs(self, graph: Graph, unseen: str) -> Arcs | None:
        """Return the edges coded by what they carry, both ways, if this is about edges."""
        ...


@dataclass(frozen=True)
class Alphabet:
    """The distinct labels of a set of graphs, in an order every process agrees on."""

    labels: tuple[Hashable, ...]

    @classmethod
    def of(cls, labels: Iterable[Hashable]) -> Alphabet:
        """Collect the distinct labels."""
        return cls(tuple(sorted(set(labels), key=label_key)))

    def places(
        self, labels: Sequence[Hashable], unseen: str, graph: Graph, kind: str
    ) -> NDArray[np.int64]:
        """Look labels up; an unseen one is an error, or, ignored, gets the last place."""
        known = {label: place for place, label in enumerate(self.labels)}
        places = [known.get(label, len(known)) for label in labels]
        if unseen == "error" and len(known) in places:
            at = places.index(len(known))
            where = graph.node_names[at] if kind == "node" else _edge_name(graph, at)
            raise LabelError(
                f"{describe(graph.name)}: the {kind} label {labels[at]!r} of {kind} {where!r} was "
                f"not among the {len(known)} seen in fit; fit on graphs that have it, "
                'or pass unseen_labels="ignore"'
            )
        return np.asarray(places, dtype=np.int64)

    def one_hot(self, places: NDArray[np.int64]) -> Matrix:
        """Return one row per place; the row of an unseen label is 0: no mass."""
        rows = np.zeros((len(places), len(self.labels) + 1))
        rows[np.arange(len(places)), places] = 1.0
        return np.ascontiguousarray(rows[:, :-1])


@dataclass(frozen=True)
class NodeLabels:
    """Discrete labels on nodes."""

    alphabet: Alphabet
    name: ClassVar[str] = "node_labels"

    @classmethod
    def carried(cls, graph: Graph) -> bool | None:
        """Say whether the graph has node labels."""
        return graph.node_labels is not None

    @classmethod
    def learn(cls, graphs: Sequence[Graph]) -> NodeLabels:
        """Collect the node labels of all graphs."""
        return cls(Alphabet.of(label for g in graphs for label in g.node_labels or ()))

    @property
    def width(self) -> int:
        """How many labels there are."""
        return len(self.alphabet.labels)

    def unit_distributions(self, graph: Graph, unseen: str) -> Matrix:
        """Return the one-hot of every node's label."""
        return self.alphabet.one_hot(self.colours(graph, unseen))

    def contributions(self, graph: Graph, unseen: str) -> Matrix:
        """Return the same one-hots: a node adds its label to its neighbours' surroundings."""
        return self.unit_distributions(graph, unseen)

    def colours(self, graph: Graph, unseen: str) -> NDArray[np.int64]:
        """Return the place of every node's label in the alphabet."""
        return self.alphabet.places(graph.node_labels or (), unseen, graph, "node")

    def arcs(self, graph: Graph, unseen: str) -> None:
        """Return nothing: edges play no part."""


@dataclass(frozen=True)
class EdgeLabels:
    """Discrete labels on edges, read at their end nodes (paper: Q_e)."""

    alphabet: Alphabet
    name: ClassVar[str] = "edge_labels"

    @classmethod
    def carried(cls, graph: Graph) -> bool | None:
        """Say whether the graph has edge labels; without edges it has no place for them."""
        return None if graph.n_edges == 0 else graph.edge_labels is not None

    @classmethod
    def learn(cls, graphs: Sequence[Graph]) -> EdgeLabels:
        """Collect the edge labels of all graphs."""
        return cls(Alphabet.of(label for g in graphs for label in g.edge_labels or ()))

    @property
    def width(self) -> int:
        """How many labels there are."""
        return len(self.alphabet.labels)

    def unit_distributions(self, graph: Graph, unseen: str) -> Matrix:
        """Return the frequencies of the labels on a node's edges."""
        return normalised(self.contributions(graph, unseen))

    def edge_distributions(self, graph: Graph, unseen: str) -> Matrix:
        """Return the one-hot of every edge's label, for units that are edges, (n_edges, width)."""
        places = self.alphabet.places(graph.edge_labels or (), unseen, graph, "edge")
        return self.alphabet.one_hot(places)

    def contributions(self, graph: Graph, unseen: str) -> Matrix:
        """Return how often each label stands on a node's edges."""
        arcs = self.arcs(graph, unseen)
        counts = np.zeros((graph.n_nodes, self.width))
        known = arcs.codes < self.width
        np.add.at(counts, (arcs.tails[known], arcs.codes[known]), 1.0)
        return counts

    def colours(self, graph: Graph, unseen: str) -> NDArray[np.int64]:  # noqa: ARG002
        """Return one colour for all nodes: edge labels tell nodes apart through arcs."""
        return np.zeros(graph.n_nodes, dtype=np.int64)

    def arcs(self, graph: Graph, unseen: str) -> Arcs:
        """Return every edge both ways, coded by its label."""
        places = self.alphabet.places(graph.edge_labels or (), unseen, graph, "edge")
        tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
        return Arcs(tails, heads, np.concatenate([places, places]))


@dataclass(frozen=True)
class Attributes:
    """Non-negative attribute vectors on nodes, read as distributions; a one-hot is a label."""

    width: int
    name: ClassVar[str] = "attributes"

    @classmethod
    def carried(cls, graph: Graph) -> bool | None:
        """Say whether the graph has node attributes."""
        return graph.node_attributes is not None

    @classmethod
    def learn(cls, graphs: Sequence[Graph]) -> Attributes:
        """Learn the width, which must be the same for all graphs."""
        family = cls(_attributes(graphs[0]).shape[1])
        for graph in graphs:
            family.unit_distributions(graph, "error")
        return family

    def unit_distributions(self, graph: Graph, unseen: str) -> Matrix:  # noqa: ARG002
        """Return the rows divided by their sums."""
        values = _attributes(graph)
        if values.shape[1] != self.width:
            raise LabelError(
                f"{describe(graph.name)}: it has {values.shape[1]} attributes a node, but the "
                f"model was fitted with {self.width}; give every graph the same columns"
            )
        return normalised(values)

    def contributions(self, graph: Graph, unseen: str) -> Matrix:
        """Return the same distributions."""
        return self.unit_distributions(graph, unseen)

    def colours(self, graph: Graph, unseen: str) -> NDArray[np.int64]:
        """Return the rank of every node's row among the distinct rows."""
        rows = self.unit_distributions(graph, unseen)
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def arcs(self, graph: Graph, unseen: str) -> None:
        """Return nothing: edges play no part."""


FAMILIES: dict[str, type[NodeLabels] | type[EdgeLabels] | type[Attributes]] = {
    family.name: family for family in (NodeLabels, EdgeLabels, Attributes)
}


def learn_families(graphs: Sequence[Graph], wanted: str | Sequence[str]) -> tuple[Family, ...]:
    """Learn the families a model will read.

    wanted: "auto" for those the graphs carry, "none" for structure alone, or a list of names.
    A family that only some of the graphs carry is an error, since a missing one cannot be compared.
    """
    names = tuple(FAMILIES) if wanted == "auto" else () if wanted == "none" else tuple(wanted)
    learned: list[Family] = []
    for name in names:
        family = FAMILIES[name]
        carried = [family.carried(graph) for graph in graphs]
        if False in carried and (True in carried or wanted != "auto"):
            place = carried.index(False)
            raise LabelError(
                f"{describe(graphs[place].name, place)} has no {name.replace('_', ' ')}, "
                f"but {carried.count(True)} of {len(graphs)} graphs do; give them to all, "
                "or name the families to read with families=..."
            )
        if True in carried:
            learned.append(family.learn(graphs))
    return tuple(learned)


def check_families(graph: Graph, families: Sequence[Family]) -> None:
    """Refuse a graph that lacks what the model was fitted to read."""
    for family in families:
        if FAMILIES[family.name].carried(graph) is False:
            raise LabelError(
                f"{describe(graph.name)}: it has no {family.name.replace('_', ' ')}, but the model "
                "was fitted on graphs that do"
            )


def normalised(rows: Matrix) -> Matrix:
    """Divide rows by their sums; a row of zeros stays."""
    with np.errstate(over="ignore"):
        sums = rows.sum(axis=1, keepdims=True)
    huge = np.isinf(sums[:, 0])
    if huge.any():
        rows = rows.copy()
        rows[huge] /= rows[huge].max(axis=1, keepdims=True)
        sums = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(rows, sums, out=np.zeros_like(rows), where=sums > 0))


def pooled(neighbours: Any, contributions: Matrix) -> Matrix:
    """Return Q_s: what the nodes around a unit contribute together, as distributions.

        Q_s = rownorm(B C)

    neighbours: how much of each class a unit's relation reaches, (n_units, n_classes). Counting the
    same thing as the model's prediction rownorm(sigmoid(Y) C) makes a perfect Y optimal.
    """
    return normalised(np.asarray(neighbours @ contributions))


def two_hop(neighbours: Any, contributions: Matrix) -> Matrix:
    """Return Q_s as the paper has it for edges: those two hops away, not those at the unit."""
    return normalised(np.asarray(neighbours @ contributions) - contributions)


def _attributes(graph: Graph) -> Matrix:
    assert graph.node_attributes is not None
    return graph.node_attributes


def _edge_name(graph: Graph, position: int) -> tuple[Hashable, Hashable]:
    u, v = graph.edges[position]
    return graph.node_names[u], graph.node_names[v]


Surrounding = Callable[[Any, Matrix], Matrix]
