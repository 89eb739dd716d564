"""The one place where the edges other libraries list become the edges of a `Graph`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import GraphError
from ddgk.graphs.graph import Graph, describe, label_key
from ddgk.graphs.policies import Policies, chosen_policies
from ddgk.graphs.validation import (
    checked_count,
    checked_labels,
    checked_names,
    checked_pairs,
    real_numbers,
    smaller_first,
)


@dataclass(frozen=True)
class EdgeTable:
    """Edges as a library lists them, before any policy is applied.

    pairs: (n_rows, 2) node numbers. labels, weights: one per row, or None.
    listing: "once" when a row is an undirected edge; "both" when an undirected edge stands in two
    rows, one per direction (then a row without its mirror image means a directed graph);
    "directed" when a row runs from its first node to its second.
    """

    pairs: ArrayLike | Sequence[tuple[int, int]]
    labels: Iterable[Hashable] | None = None
    weights: ArrayLike | Sequence[Any] | None = None
    listing: Literal["once", "both", "directed"] = "once"


def simple_graph(
    n_nodes: int,
    table: EdgeTable,
    *,
    policies: Policies | None = None,
    name: str | None = None,
    node_names: Iterable[Hashable] | None = None,
    node_labels: Iterable[Hashable] | None = None,
    node_attributes: ArrayLike | None = None,
) -> Graph:
    """Apply the policies to a table of edges and return the graph that is left.

    Self-loops go first, so that the weight of a dropped loop is not asked about. Parallel edges
    are those that agree in direction too; the two directions of an edge meet only afterwards.

    >>> twice = EdgeTable([(0, 1), (1, 0)], weights=[1, 2])
    >>> merge = Policies(parallel_edges="merge", weights="keep")
    >>> simple_graph(2, twice, policies=merge).edge_weights.tolist()
    [3.0]
    """
    who, policies = describe(name), chosen_policies(policies)
    n_nodes = checked_count(n_nodes, who)
    names = checked_names(node_names, n_nodes, who)
    rows, alphabet = _read(table, _Speaker(who, names))

    rows = _without_loops(rows, policies)
    rows = replace(rows, weights=_chosen_weights(rows, policies))
    if table.listing == "once":
        rows = replace(rows, pairs=smaller_first(rows.pairs))
    rows = _without_parallels(rows, policies)
    if table.listing != "once":
        rows = _without_directions(rows, table.listing, policies)
    return Graph(
        n_nodes,
        rows.pairs,
        node_labels=node_labels,
        edge_labels=None if rows.codes is None else [alphabet[code] for code in rows.codes],
        node_attributes=node_attributes,
        edge_weights=rows.weights,
        name=name,
        node_names=names,
    )


def number_nodes(listed: Iterable[Hashable], found: Iterable[Hashable] = ()) -> dict[Hashable, int]:
    """Give numbers to node names: those listed, in their order, then those found, sorted.

    Sorting makes the numbering, and so the digest, independent of the order of the edges and of
    the order in which a set happens to list its members.

    >>> number_nodes(["b"], {"c", "a"})
    {'b': 0, 'a': 1, 'c': 2}
    """
    numbers: dict[Hashable, int] = {}
    for name in listed:
        numbers.setdefault(name, len(numbers))
    others = set(found) - numbers.keys()
    comparable = {type(name) for name in others} in ({int}, {str})
    for name in sorted(others, key=None if comparable else label_key):  # type: ignore[type-var, arg-type]
        numbers[name] = len(numbers)
    return numbers


def refuse_weight(who: str, edge: str, weight: float) -> NoReturn:
    """Say that a weight was found where none is read."""
    raise GraphError(
        f"{who}: {edge} has weight {weight:g}, and weights are not read unless asked for; "
        'convert with Policies(weights="ignore") or Policies(weights="keep")'
    )


@dataclass(frozen=True)
class _Speaker:
    """Names the graph and its edges the way the caller does."""

    who: str
    names: Sequence[Hashable]

    def edge(self, pair: Iterable[Any]) -> str:
        u, v = pair
        return f"edge ({self.names[u]!r}, {self.names[v]!r})"


@dataclass(frozen=True)
class _Rows:
    """The table on its way: codes number the labels, so that numpy can compare them."""

    speaker: _Speaker
    pairs: NDArray[np.int64]
    codes: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None

    def take(self, rows: NDArray[Any]) -> _Rows:
        return replace(
            self,
            pairs=self.pairs[rows],
            codes=None if self.codes is None else self.codes[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def keys(self) -> NDArray[np.int64]:
        """One whole number per row, equal for rows of the same two nodes in the same order."""
        return self.pairs[:, 0] * len(self.speaker.names) + self.pairs[:, 1]

    def refuse(self, row: int, complaint: str) -> NoReturn:
        raise GraphError(f"{self.speaker.who}: {self.speaker.edge(self.pairs[row])} {complaint}")


def _read(table: EdgeTable, speaker: _Speaker) -> tuple[_Rows, list[Hashable]]:
    pairs = checked_pairs(table.pairs, len(speaker.names), speaker.who)
    labels = checked_labels(
        table.labels, len(pairs), "edge", speaker.who, lambda row: speaker.edge(pairs[row])
    )
    # 1, 1.0 and True are equal, but not the same label: the type belongs to the key.
    alphabet: dict[tuple[type, Hashable], int] = {}
    codes = labels and [
        alphabet.setdefault((type(label), label), len(alphabet)) for label in labels
    ]
    weights = table.weights
    if weights is not None:
        weights = real_numbers(weights, "edge weights", speaker.who)
        if weights.shape != (len(pairs),):
            raise GraphError(
                f"{speaker.who}: {weights.size} edge weights for {len(pairs)} listed edges"
            )
    coded = None if codes is None else np.asarray(codes, dtype=np.int64)
    return _Rows(speaker, pairs, coded, weights), [label for _, label in alphabet]


def _without_loops(rows: _Rows, policies: Policies) -> _Rows:
    loops = rows.pairs[:, 0] == rows.pairs[:, 1]
    if not loops.any():
        return rows
    if policies.self_loops == "error":
        rows.refuse(
            int(loops.argmax()),
            'is a self-loop; remove it, or convert with Policies(self_loops="drop")',
        )
    return rows.take(~loops)


def _chosen_weights(rows: _Rows, policies: Policies) -> NDArray[np.float64] | None:
    weights = rows.weights
    if weights is None or policies.weights == "ignore":
        return None
    if policies.weights == "error":
        telling = weights != 1
        if telling.any():
            row = int(telling.argmax())
            refuse_weight(rows.speaker.who, rows.speaker.edge(rows.pairs[row]), weights[row])
        return None
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        rows.refuse(
            row,
            f"has weight {weights[row]:g}; weights must be finite and not negative, "
            'or left out with Policies(weights="ignore")',
        )
    return weights


def _without_parallels(rows: _Rows, policies: Policies) -> _Rows:
    ascending = np.sort(rows.keys())
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    if not repeated.size:
        return rows
    if policies.parallel_edges == "error":
        rows.refuse(
            int((rows.keys() == repeated[0]).argmax()),
            "is listed more than once; list it once, or convert with "
            'Policies(parallel_edges="merge")',
        )
    return _merged(rows, "has parallel edges with different labels")


def _without_directions(rows: _Rows, listing: str, policies: Policies) -> _Rows:
    fix = 'convert with Policies(directed="undirected")'
    if listing == "both":
        asymmetry = _first_asymmetry(rows)
        if asymmetry is None:
            return rows.take(rows.pairs[:, 0] < rows.pairs[:, 1])
        if policies.directed == "error":
            row, found = asymmetry
            rows.refuse(row, f"{found}, so the graph is directed; make both the same, or {fix}")
    elif policies.directed == "error":
        raise GraphError(f"{rows.speaker.who}: it is directed; give an undirected one, or {fix}")
    either_way = replace(rows, pairs=smaller_first(rows.pairs))
    return _merged(either_way, "has different labels in its two directions")


def _first_asymmetry(rows: _Rows) -> tuple[int, str] | None:
    """Return a row whose mirror image is missing or different and what is wrong, or None."""
    keys, mirrored = rows.keys(), replace(rows, pairs=rows.pairs[:, ::-1]).keys()
    if not np.array_equal(np.sort(keys), np.sort(mirrored)):
        alone = ~np.isin(keys, mirrored)
        return int(alone.argmax()), "is listed in one direction only"
    if rows.codes is None and rows.weights is None:
        return None
    # Row one_way[i] and row other_way[i] are the two directions of one edge.
    one_way, other_way = np.argsort(keys), np.argsort(mirrored)
    for values, what in ((rows.codes, "label"), (rows.weights, "weight")):
        if values is not None:
            differs = values[one_way] != values[other_way]
            if differs.any():
                return int(one_way[differs.argmax()]), f"has another {what} in each direction"
    return None


def _merged(rows: _Rows, disagreement: str) -> _Rows:
    """Make one row of all rows with the same nodes; their labels must agree, weights are added."""
    if not len(rows.pairs):
        return rows
    keys = rows.keys()
    # Adding in ascending order gives the same sum to the bit, whatever order the edges came in.
    by = (keys,) if rows.weights is None else (rows.weights, keys)
    rows, keys = rows.take(order := np.lexsort(by)), keys[order]
    first = np.concatenate(([True], keys[1:] != keys[:-1]))
    starts = np.flatnonzero(first)
    if rows.codes is not None:
        wrong = rows.codes != rows.codes[starts][np.cumsum(first) - 1]
        if wrong.any():
            rows.refuse(
                int(wrong.argmax()),
                f"{disagreement}; give them one label, or convert without edge labels",
            )
    merged = rows.take(starts)
    if rows.weights is None:
        return merged
    return replace(merged, weights=np.add.reduceat(rows.weights, starts))
