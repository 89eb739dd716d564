"""Apply policies to edges: the one place where listed edges become those of a `Graph`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import GraphError
from ddgk.graphs.graph import Graph, describe, in_order, label_key
from ddgk.graphs.policies import Policies, chosen_policies
from ddgk.graphs.validation import called_edge, checked_fields, smaller_first

COLUMNS = ("label", "weight", "attribute")
SIGNS = ("+", "-")


def build_graph(
    n_nodes: int,
    edges: ArrayLike | Sequence[tuple[int, int]],
    *,
    edge_weights: ArrayLike | Sequence[Any] | None = None,
    listing: Literal["once", "both", "directed"] = "once",
    policies: Policies | None = None,
    name: str | None = None,
    **given: Any,
) -> Graph:
    """Apply the policies to edges as a library lists them, and return the graph.

    listing: "once" when a row of `edges` is an undirected edge; "both" when an undirected edge
    stands in two rows, one per direction (then a row without its mirror row means a directed
    graph); "directed" when a row runs from its first node to its second. Other parameters are
    those of `Graph`.

    Self-loops go first, so that nothing else is asked about dropped ones. Parallel edges are those
    that agree in direction too; the two directions of an edge meet only afterwards.

    >>> merge = Policies(parallel_edges="merge")
    >>> build_graph(2, [(0, 1), (1, 0)], edge_weights=[1, 2], policies=merge).edge_weights.tolist()
    [3.0]
    """
    who, policies = describe(name), chosen_policies(policies)
    if policies.weights != "ignore":
        given |= {"edge_weights": edge_weights, "policy": "weights", "choices": ("ignore",)}
    fields = checked_fields(who, n_nodes, edges, policies.missing, **given)
    check_empty(fields["n_nodes"], who, policies)
    codes, alphabet = _coded(fields["edge_labels"])
    columns = (codes, fields["edge_weights"], fields["edge_attributes"])
    carried = {what: c for what, c in zip(COLUMNS, columns, strict=True) if c is not None}
    rows = EdgeRows(who, fields["node_names"], fields["edges"], carried)
    rows = _with_chosen_loops(rows, policies)
    if listing == "once":
        rows = replace(rows, pairs=smaller_first(rows.pairs))
    rows = _without_parallels(rows, policies)
    directed = False
    if listing != "once":
        rows, directed = _with_chosen_directions(rows, listing, policies)
    rows, labels = _with_chosen_signs(rows, alphabet, policies)
    fields |= {
        "edges": rows.pairs,
        "edge_labels": labels,
        "edge_attributes": rows.columns.get("attribute"),
        "edge_weights": rows.columns.get("weight"),
    }
    return Graph.from_checked(**in_order(fields), directed=directed, name=name)


def apply_policies(graph: Graph, *, policies: Policies) -> Graph:
    """Apply the policies to a `Graph`; one that has nothing to decide comes back as it is."""
    check_empty(graph.n_nodes, describe(graph.name), policies)
    if policies.missing == "error" and graph.has_missing:
        graph.replace(missing="error")
    weights = graph.edge_weights
    if weights is not None and policies.weights == "ignore":
        graph, weights = graph.replace(edge_weights=None), None
    turned = graph.directed and policies.directed != "keep"
    loops = policies.self_loops != "keep" and bool((graph.edges[:, 0] == graph.edges[:, 1]).any())
    signed = weights is not None and (
        bool((weights < 0).any()) or policies.negative_weights in ("sign", "threshold")
    )
    if not (turned or loops or signed):
        return graph
    fields = graph._arguments()
    listing: Any = "directed" if fields.pop("directed") else "once"
    del fields["missing"]
    return build_graph(**fields, listing=listing, policies=policies)


def check_empty(n_nodes: int, who: str, policies: Policies) -> None:
    """Refuse a graph without nodes where the policy does."""
    if n_nodes == 0 and policies.empty == "error":
        raise GraphError(f"{who}: it has no nodes", policy="empty", choices=("skip", "keep"))


def number_ends(
    ends: list[Hashable], listed: Iterable[Hashable] = ()
) -> tuple[list[Hashable], NDArray[np.int64]]:
    """Return node names, those listed in their order, then others sorted, and edges as numbers.

    ends: names, those of one edge after the other. Sorting makes the numbering, and so the digest,
    independent of the order of the edges and of the order in which a set lists its members.

    >>> names, pairs = number_ends(["c", "a"], ["b"])
    >>> names, pairs.tolist()
    (['b', 'a', 'c'], [[2, 1]])
    """
    numbers: dict[Hashable, int] = {}
    for name in listed:
        numbers.setdefault(name, len(numbers))
    others = set(ends) - numbers.keys()
    comparable = {type(name) for name in others} in ({int}, {str})
    for name in sorted(others, key=None if comparable else label_key):  # type: ignore[type-var, arg-type]
        numbers[name] = len(numbers)
    pairs = np.fromiter(map(numbers.__getitem__, ends), np.int64, len(ends))
    return list(numbers), pairs.reshape(-1, 2)


@dataclass(frozen=True)
class EdgeRows:
    """Edges on their way to a graph.

    who, names: what messages call the graph and its nodes. columns: what edges carry, by `COLUMNS`;
    labels are numbers, so that numpy can compare them.
    """

    who: str
    names: Sequence[Hashable]
    pairs: NDArray[np.int64]
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)

    def take(self, rows: NDArray[Any]) -> EdgeRows:
        """Return some of the rows, by number or by a mask."""
        columns = {what: values[rows] for what, values in self.columns.items()}
        return replace(self, pairs=self.pairs[rows], columns=columns)

    def keys(self) -> NDArray[np.int64]:
        """Return one whole number per row, equal for rows of the same two nodes in one order."""
        return self.pairs[:, 0] * len(self.names) + self.pairs[:, 1]

    def refuse(self, row: int, complaint: str, **fix: Any) -> NoReturn:
        """Raise a GraphError about the edge in a row."""
        edge = called_edge(self.names, self.pairs[row])
        raise GraphError(f"{self.who}: {edge} {complaint}", **fix)


def _coded(labels: tuple[Hashable, ...] | None) -> tuple[NDArray[np.int64] | None, list[Hashable]]:
    """Return a number per label, and the label of each number."""
    # 1, 1.0 and True are equal, but not the same label: the type belongs to the key.
    alphabet: dict[tuple[type, Hashable], int] = {}
    codes = [alphabet.setdefault((type(x), x), len(alphabet)) for x in labels or ()]
    coded = None if labels is None else np.asarray(codes, dtype=np.int64)
    return coded, [label for _, label in alphabet]


def _with_chosen_loops(rows: EdgeRows, policies: Policies) -> EdgeRows:
    """Apply the policy for self-loops."""
    loops = rows.pairs[:, 0] == rows.pairs[:, 1]
    if policies.self_loops == "keep" or not loops.any():
        return rows
    if policies.self_loops == "error":
        fix = {"advice": "remove it", "policy": "self_loops", "choices": ("keep", "drop")}
        rows.refuse(int(loops.argmax()), "is a self-loop", **fix)
    return rows.take(~loops)


def _without_parallels(rows: EdgeRows, policies: Policies) -> EdgeRows:
    keys = rows.keys()
    ascending = np.sort(keys)
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    if not repeated.size:
        return rows
    if policies.parallel_edges == "error":
        fix = {"advice": "list it once", "policy": "parallel_edges", "choices": ("merge",)}
        rows.refuse(int((keys == repeated[0]).argmax()), "is listed more than once", **fix)
    return _merged_rows(rows, "has parallel edges with different labels")


def _with_chosen_directions(
    rows: EdgeRows, listing: str, policies: Policies
) -> tuple[EdgeRows, bool]:
    """Apply the policy for directions; return the edges and whether they are directed.

    Of edges listed both ways in agreement, one row is kept, the one with the smaller node first.
    """
    found = "it is directed"
    if listing == "both":
        asymmetry = _first_asymmetry(rows)
        if asymmetry is None:
            return rows.take(rows.pairs[:, 0] <= rows.pairs[:, 1]), False
        row, difference = asymmetry
        found = f"{called_edge(rows.names, rows.pairs[row])} {difference}, so it is directed"
    if policies.directed == "keep":
        return rows, True
    if policies.directed == "error":
        raise GraphError(
            f"{rows.who}: {found}",
            advice="give an undirected graph",
            policy="directed",
            choices=("keep", "undirected"),
        )
    either_way = replace(rows, pairs=smaller_first(rows.pairs))
    return _merged_rows(either_way, "has different labels in its two directions"), False


def _first_asymmetry(rows: EdgeRows) -> tuple[int, str] | None:
    """Return a row whose mirror row is missing or different and what is wrong, or None."""
    keys, mirrored = rows.keys(), replace(rows, pairs=rows.pairs[:, ::-1]).keys()
    order = np.argsort(keys, kind="stable")
    places = np.searchsorted(keys, mirrored, sorter=order)
    partner = order[np.minimum(places, max(len(order) - 1, 0))]
    alone = keys[partner] != mirrored
    if alone.any():
        return int(alone.argmax()), "is listed in one direction only"
    for what, values in rows.columns.items():
        other = values[partner]
        differs = (values != other) & ~((values != values) & (other != other))
        differs = differs.any(axis=1) if differs.ndim == 2 else differs
        if differs.any():
            return int(differs.argmax()), f"has another {what} in each direction"
    return None


def _merged_rows(rows: EdgeRows, disagreement: str) -> EdgeRows:
    """Make one row of all rows with the same nodes: labels agree, weights add, attributes average.

    Numbers are added in ascending order: the sum does not depend on the order of the rows.
    """
    if not len(rows.pairs):
        return rows
    keys = rows.keys()
    order = np.lexsort((rows.columns["weight"], keys) if "weight" in rows.columns else (keys,))
    rows, keys = rows.take(order), keys[order]
    first = np.concatenate(([True], keys[1:] != keys[:-1]))
    starts = np.flatnonzero(first)
    merged = rows.take(starts)
    columns = dict(merged.columns)
    if "label" in columns:
        wrong = rows.columns["label"] != columns["label"][np.cumsum(first) - 1]
        if wrong.any():
            fix = "give them one label, or convert without edge labels"
            rows.refuse(int(wrong.argmax()), f"{disagreement}; {fix}")
    if "weight" in columns:
        columns["weight"] = np.add.reduceat(rows.columns["weight"], starts)
    if "attribute" in columns:
        values = rows.columns["attribute"].T
        ascending = [column[np.lexsort((column, keys))] for column in values]
        sums = np.stack([np.add.reduceat(column, starts) for column in ascending], axis=1)
        columns["attribute"] = sums / np.diff(np.append(starts, len(keys)))[:, None]
    return replace(merged, columns=columns)


def _with_chosen_signs(
    rows: EdgeRows, alphabet: list[Hashable], policies: Policies
) -> tuple[EdgeRows, list[Hashable] | None]:
    """Apply the policy for negative weights, and return the labels with it."""
    chosen = policies.negative_weights
    if "weight" in rows.columns and chosen == "threshold":
        rows = rows.take(rows.columns["weight"] > policies.threshold)
    labels: list[Hashable] | None = None
    if "label" in rows.columns:
        labels = [alphabet[code] for code in rows.columns["label"]]
    if "weight" not in rows.columns:
        return rows, labels
    weights = rows.columns["weight"]
    negative = weights < 0
    if negative.any() and chosen == "error":
        row = int(negative.argmax())
        rows.refuse(
            row,
            f"has weight {weights[row]:g}, but a weight says how present an edge is",
            policy="negative_weights",
            choices=("absolute", "sign", "threshold"),
        )
    if chosen == "sign" and (negative.any() or not _are_signed(labels)):
        signs = np.where(negative, "-", "+").tolist()
        labels = signs if labels is None else list(zip(labels, signs, strict=True))
    return replace(rows, columns=rows.columns | {"weight": np.abs(weights)}), labels


def _are_signed(labels: list[Hashable] | None) -> bool:
    """Tell whether every label has a sign already, so that applying a policy twice is harmless."""
    return labels is not None and all(
        label in SIGNS or (isinstance(label, tuple) and label[-1:] in (("+",), ("-",)))
        for label in labels
    )
