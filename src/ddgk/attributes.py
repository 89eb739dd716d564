"""Attributes of nodes and edges as arrays: discrete labels and real values.

Labels become distributions, compared by cross-entropy; real values are standardised by the
statistics of `fit` and compared by squared error. For every unit there is its own row (Q_u), what
its neighbours have (Q_s), and what every node contributes to its neighbours (C); see paper section
3.3. A new attribute is a class here and an entry of `ATTRIBUTES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import LabelError, ParameterError, UnseenLabelWarning, shown, warn_caller
from ddgk.graphs.graph import Graph, describe, label_key
from ddgk.graphs.labels import label_as_json, label_from_json
from ddgk.symmetry import Arcs

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]
UNSEEN = ("warn", "ignore", "error")
MAX_NAMED = 5  # labels in a warning


class Attribute:
    """What nodes or edges carry, as learned in `fit`; a field of `Graph` of the same name.

    Of real values, NaN is a missing one.
    """

    name: ClassVar[str]
    of_edges: ClassVar[bool] = False
    is_real: ClassVar[bool] = False

    @classmethod
    def given(cls, graph: Graph) -> Any:
        """Return what the graph has, or None."""
        return getattr(graph, cls.name)

    @classmethod
    def carried(cls, graph: Graph) -> bool | None:
        """Return whether the graph has this attribute; None where it has no edges to carry it."""
        return None if cls.of_edges and graph.n_edges == 0 else cls.given(graph) is not None

    @classmethod
    def learn(cls, graphs: Sequence[Graph]) -> Self:
        """Learn the alphabet or the statistics from graphs that carry the attribute."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """Return the number of columns k."""
        raise NotImplementedError

    def units(self, graph: Graph) -> Matrix:
        """Return Q_u of every node, (n_nodes, k)."""
        raise NotImplementedError

    def nodes(self, graph: Graph) -> Matrix:
        """Return C, what a node contributes to its neighbours, (n_nodes, k): mostly Q_u itself."""
        return self.units(graph)

    def edges(self, graph: Graph) -> Matrix:
        """Return what every edge carries, (n_edges, k); for attributes of edges."""
        raise NotImplementedError

    def codes(self, graph: Graph) -> Integers:
        """Return integers that are equal where nodes, or edges, carry the same, for refinement."""
        raise NotImplementedError

    def unseen(self, graph: Graph) -> list[tuple[int, Hashable]]:  # noqa: ARG002
        """Return positions and labels that no graph of `fit` had."""
        return []

    def check(self, graph: Graph) -> None:
        """Raise where the graph's columns are not those of `fit`."""

    def as_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        raise NotImplementedError


@dataclass(frozen=True)
class Alphabet:
    """The distinct labels of a set of graphs, in an order that every process agrees on.

    >>> Alphabet.of("banana").labels
    ('a', 'b', 'n')
    """

    labels: tuple[Hashable, ...]

    @classmethod
    def of(cls, labels: Iterable[Hashable]) -> Alphabet:
        """Collect the distinct labels."""
        return cls(tuple(sorted(set(labels), key=label_key)))

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def places(self, labels: Sequence[Hashable]) -> Integers:
        """Look labels up; an unknown one has the place after the last."""
        known = self._places
        return np.asarray([known.get(label, len(known)) for label in labels], dtype=np.int64)

    def unseen(self, labels: Sequence[Hashable]) -> list[tuple[int, Hashable]]:
        """Return positions and labels that are not in the alphabet."""
        return [(at, label) for at, label in enumerate(labels) if label not in self._places]

    def one_hot(self, places: Integers) -> Matrix:
        """Return one row per place; the row of an unknown label is 0."""
        rows = np.zeros((len(places), len(self.labels) + 1))
        rows[np.arange(len(places)), places] = 1.0
        return np.ascontiguousarray(rows[:, :-1])


@dataclass(frozen=True)
class NodeLabels(Attribute):
    """Discrete labels of nodes: Q_u and C are one-hot rows."""

    alphabet: Alphabet
    name: ClassVar[str] = "node_labels"

    @classmethod
    def learn(cls, graphs: Sequence[Graph]) -> Self:
        """Collect the labels of all graphs."""
        return cls(Alphabet.of(label for graph in graphs for label in cls.given(graph) or ()))

    @property
    def width(self) -> int:
        """Return the number of labels."""
        return len(self.alphabet.labels)

    def units(self, graph: Graph) -> Matrix:
        """Return the one-hot row of every node's label."""
        return self.alphabet.one_hot(self.codes(graph))

    def codes(self, graph: Graph) -> Integers:
        """Return the place of every label in the alphabet."""
        return self.alphabet.places(self.given(graph) or ())

    def unseen(self, graph: Graph) -> list[tuple[int, Hashable]]:
        """Return positions and labels that no graph of `fit` had."""
        return self.alphabet.unseen(self.given(graph) or ())

    def as_json(self) -> dict[str, Any]:
        """Return name and labels."""
        labels = [label_as_json(label, "fit") for label in self.alphabet.labels]
        return {"name": self.name, "labels": labels}


@dataclass(frozen=True)
class EdgeLabels(NodeLabels):
    """Discrete labels of edges, read at their end nodes (paper: Q_e)."""

    name: ClassVar[str] = "edge_labels"
    of_edges: ClassVar[bool] = True

    def units(self, graph: Graph) -> Matrix:
        """Return the frequencies of the labels on a node's edges."""
        return normalised(self.nodes(graph))

    def nodes(self, graph: Graph) -> Matrix:
        """Return the counts of the labels on a node's edges."""
        counts = np.zeros((graph.n_nodes, self.width))
        codes = self.codes(graph)
        ends, edges = edge_ends(graph)
        known = codes[edges] < self.width
        np.add.at(counts, (ends[known], codes[edges[known]]), 1.0)
        return counts

    def edges(self, graph: Graph) -> Matrix:
        """Return the one-hot row of every edge's label."""
        return self.alphabet.one_hot(self.codes(graph))


@dataclass(frozen=True)
class NodeValues(Attribute):
    """Real attribute vectors of nodes, standardised by column."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]
    name: ClassVar[str] = "node_attributes"
    is_real: ClassVar[bool] = True

    @classmethod
    def learn(cls, graphs: Sequence[Graph]) -> Self:
        """Learn mean and standard deviation of every column, over known values."""
        found = [values for graph in graphs if (values := cls.given(graph)) is not None]
        widths = {values.shape[1] for values in found}
        if len(widths) > 1:
            raise LabelError(
                f"graphs have {' and '.join(map(str, sorted(widths)))} columns of "
                f"{cls.name.replace('_', ' ')}; give every graph the same columns"
            )
        values = np.concatenate(found)
        known = np.isfinite(values)
        count = np.maximum(known.sum(axis=0), 1)
        means = np.where(known, values, 0.0).sum(axis=0) / count
        spread = np.where(known, values - means, 0.0)
        scales = np.sqrt((spread**2).sum(axis=0) / count)
        if not (np.isfinite(means).all() and np.isfinite(scales).all()):
            raise LabelError(
                f"{cls.name.replace('_', ' ')} are too large to be standardised; rescale them"
            )
        return cls(tuple(means.tolist()), tuple(np.where(scales > 0, scales, 1.0).tolist()))

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return len(self.means)

    def standardised(self, graph: Graph) -> Matrix:
        """Return (y - mean) / deviation."""
        values = self.given(graph)
        if values is None:  # a graph without edges has no edge attributes
            return np.zeros((0, self.width))
        known = np.where(np.isfinite(values), values, np.nan)
        return np.asarray((known - self.means) / self.deviations)

    def units(self, graph: Graph) -> Matrix:
        """Return every node's standardised values."""
        return self.standardised(graph)

    def codes(self, graph: Graph) -> Integers:
        """Return the rank of every row of values among the distinct rows."""
        return _row_ranks(self.standardised(graph))

    def check(self, graph: Graph) -> None:
        """Raise where the graph has another number of columns than `fit` saw."""
        values = self.given(graph)
        if values is not None and values.shape[1] != self.width:
            raise LabelError(
                f"{describe(graph.name)}: it has {values.shape[1]} columns of "
                f"{self.name.replace('_', ' ')}, but the model was fitted with {self.width}; give "
                "every graph the same columns"
            )

    def as_json(self) -> dict[str, Any]:
        """Return name, means and standard deviations."""
        means, deviations = list(self.means), list(self.deviations)
        return {"name": self.name, "means": means, "deviations": deviations}


@dataclass(frozen=True)
class EdgeValues(NodeValues):
    """Real attribute vectors of edges; a node has the mean over its edges."""

    name: ClassVar[str] = "edge_attributes"
    of_edges: ClassVar[bool] = True

    def edges(self, graph: Graph) -> Matrix:
        """Return every edge's standardised values, (n_edges, k)."""
        return self.standardised(graph)

    def units(self, graph: Graph) -> Matrix:
        """Return the mean over a node's edges, of known values."""
        ends, edges = edge_ends(graph)
        given = self.standardised(graph)[edges]
        values, known = filled(given), ~np.isnan(given)
        # In an order by value, so that sums do not depend on the node order.
        order = np.lexsort(values.T)
        sums, counts = np.zeros((2, graph.n_nodes, self.width))
        np.add.at(sums, ends[order], values[order])
        np.add.at(counts, ends[order], known[order])
        return _means(sums, counts)


ATTRIBUTES: dict[str, Any] = {
    kind.name: kind for kind in (NodeLabels, EdgeLabels, NodeValues, EdgeValues)
}


@dataclass(frozen=True)
class AttributeModel:
    """The attributes a model uses, as learned in `fit`."""

    attributes: tuple[Attribute, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def has_values(self) -> bool:
        """Return whether any attribute is real-valued."""
        return any(attribute.is_real for attribute in self.attributes)

    def check(self, graph: Graph) -> None:
        """Raise where a graph lacks an attribute of the model or has other columns."""
        for attribute in self.attributes:
            if attribute.carried(graph) is False:
                raise LabelError(
                    f"{describe(graph.name)}: it has no {attribute.name.replace('_', ' ')}, but "
                    "the model was fitted on graphs that do"
                )
            attribute.check(graph)

    def check_labels(self, graphs: Iterable[Graph], unseen: str = "warn") -> None:
        """Apply the policy for labels that no graph of `fit` had; call it once per batch of graphs.

        unseen: "warn" for one `UnseenLabelWarning` that names them, "ignore", or "error". Unseen
        labels have no mass in any distribution.
        """
        if unseen not in UNSEEN:
            listed = ", ".join(map(repr, UNSEEN))
            raise ParameterError(f"unseen_labels must be one of {listed}, not {unseen!r}")
        if unseen == "ignore":
            return
        found: dict[str, Counter[Hashable]] = {}
        for position, graph in enumerate(graphs):
            for attribute in self.attributes:
                for at, label in attribute.unseen(graph):
                    if unseen == "error":
                        raise LabelError(_unseen_message(graph, position, attribute, at, label))
                    found.setdefault(attribute.name, Counter())[label] += 1
        if found:
            parts = [f"{name.replace('_', ' ')} {_named(found[name])}" for name in found]
            warn_caller(
                f"labels that fit did not see have no mass: {'; '.join(parts)}; pass "
                'unseen_labels="ignore" to accept this, or "error" to refuse such graphs',
                UnseenLabelWarning,
            )

    def as_json(self) -> list[dict[str, Any]]:
        """Return the model as JSON values."""
        return [attribute.as_json() for attribute in self.attributes]

    @classmethod
    def from_json(cls, described: Sequence[Mapping[str, Any]]) -> AttributeModel:
        """Undo `as_json`; malformed values raise ValueError, KeyError or TypeError."""
        return cls(tuple(map(_attribute_from_json, described)))


def learn_attributes(graphs: Sequence[Graph], wanted: str | Sequence[str]) -> AttributeModel:
    """Learn the attributes a model will use.

    wanted: "auto" for those the graphs carry, "none" for structure alone, or names of `ATTRIBUTES`.
    An attribute that only some of the graphs carry is an error.

    >>> learn_attributes([Graph(2, [(0, 1)], node_labels="CO")], "auto").names
    ('node_labels',)
    """
    names = tuple(ATTRIBUTES) if wanted == "auto" else () if wanted == "none" else tuple(wanted)
    learned: list[Attribute] = []
    for name in names:
        kind = ATTRIBUTES[name]
        carried = [kind.carried(graph) for graph in graphs]
        if False in carried and (True in carried or wanted != "auto"):
            place = carried.index(False)
            raise LabelError(
                f"{describe(graphs[place].name, place)} has no {name.replace('_', ' ')}, "
                f"but {carried.count(True)} of {len(graphs)} graphs do; give them to all, "
                "or name the attributes to use with attributes=..."
            )
        if True in carried:
            learned.append(kind.learn(graphs))
    return AttributeModel(tuple(learned))


def both_ways(graph: Graph, codes: Integers) -> Arcs:
    """Return every edge as two arcs, and a self-loop as one.

    Of a directed graph, forward and backward codes differ.
    """
    tails, heads = graph.edges.T
    proper = tails != heads
    shift = 1 + int(codes.max(initial=-1)) if graph.directed else 0
    return Arcs(
        np.concatenate([tails, heads[proper]]),
        np.concatenate([heads, tails[proper]]),
        np.concatenate([codes, codes[proper] + shift]),
    )


def edge_ends(graph: Graph) -> tuple[Integers, Integers]:
    """Return the nodes at the ends of edges, and which edge each belongs to; a self-loop once."""
    proper = np.flatnonzero(graph.edges[:, 0] != graph.edges[:, 1])
    ends = np.concatenate([graph.edges[:, 0], graph.edges[proper, 1]])
    return ends, np.concatenate([np.arange(graph.n_edges), proper])


def normalised(rows: Matrix) -> Matrix:
    """Divide rows by their sums; a row of zeros stays."""
    sums = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(rows, sums, out=np.zeros_like(rows), where=sums > 0))


def filled(rows: Matrix) -> Matrix:
    """Return values with 0, the mean, in place of missing ones."""
    return np.where(np.isnan(rows), 0.0, rows)


def pooled(neighbours: Any, nodes: Matrix, is_real: bool) -> Matrix:
    """Return Q_s: what the neighbours of a unit contribute together.

        labels: rownorm(B C);   values: the mean of B over known values

    neighbours: B summed over classes of nodes, (n_units, n_classes).
    """
    sums = np.asarray(neighbours @ filled(nodes))
    if not is_real:
        return normalised(sums)
    return _means(sums, np.asarray(neighbours @ (~np.isnan(nodes)).astype(np.float64)))


def two_hop(neighbours: Any, nodes: Matrix) -> Matrix:
    """Return Q_s of edge labels as in the paper: of edges two hops away, not those at the unit."""
    # Direction and soft edges can leave less than the unit's own edges, which is then nothing.
    return normalised(np.maximum(np.asarray(neighbours @ nodes) - nodes, 0.0))


def _means(sums: Matrix, counts: Matrix) -> Matrix:
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _row_ranks(rows: Matrix) -> Integers:
    keys = np.hstack([filled(rows), ~np.isnan(rows)])
    found = np.unique(keys, axis=0, return_inverse=True)[1] if len(rows) else np.zeros(0)
    return found.reshape(-1).astype(np.int64)


def _unseen_message(
    graph: Graph, position: int, attribute: Attribute, at: int, label: Hashable
) -> str:
    kind = "edge" if attribute.name == "edge_labels" else "node"
    names = graph.node_names
    where: Any = names[at] if kind == "node" else tuple(names[end] for end in graph.edges[at])
    return (
        f"{describe(graph.name, position)}: the {kind} label {shown(repr(label))} of {kind} "
        f"{where!r} was not among the {attribute.width} seen in fit; fit on graphs that have it, "
        'or pass unseen_labels="warn"'
    )


def _named(found: Counter[Hashable]) -> str:
    labels = sorted(found, key=label_key)
    listed = ", ".join(shown(repr(label)) for label in labels[:MAX_NAMED])
    more = len(labels) - MAX_NAMED
    return f"{listed} and {more} more" if more > 0 else listed


def _attribute_from_json(described: Mapping[str, Any]) -> Attribute:
    kind = ATTRIBUTES[described["name"]]
    if issubclass(kind, NodeValues):
        means, deviations = (tuple(map(float, described[key])) for key in ("means", "deviations"))
        valid = len(means) == len(deviations) and np.isfinite([*means, *deviations]).all()
        if not valid or any(value <= 0 for value in deviations):
            raise ValueError(f"the statistics of {described['name']} are damaged")
        values: Attribute = kind(means, deviations)
        return values
    labels = tuple(label_from_json(label) for label in described["labels"])
    if len(set(labels)) < len(labels):
        raise ValueError(f"the labels of {described['name']} repeat")
    discrete: Attribute = kind(Alphabet(labels))
    return discrete
