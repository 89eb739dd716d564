"""Make graphs of the texts of a TU set. All graphs are checked and sorted as one large graph."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import DatasetError, GraphError
from ddgk.graphs import Graph, Policies
from ddgk.graphs.edges import (
    Rows,
    Speaker,
    merged_rows,
    with_chosen_directions,
    with_chosen_loops,
)
from ddgk.graphs.validation import frozen
from ddgk.io.dataset import Dataset, ReadReport
from ddgk.io.tables import read_integers, read_reals

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Text:
    """The bytes of one file, and what messages call it."""

    data: bytes
    where: str


@dataclass(frozen=True)
class _Nodes:
    """Nodes sorted by graph. order: their ids. starts: where each graph begins, and the end."""

    order: Integers
    starts: Integers


def parse(texts: Mapping[str, Text], name: str, policies: Policies) -> Dataset:
    """Make graphs of the texts of a set, by kind: "A", "graph_indicator", ..."""
    indicator = texts["graph_indicator"]
    owner = read_integers(indicator.data, indicator.where, 1)[:, 0] - 1
    classes = None
    if "graph_labels" in texts:
        labels = texts["graph_labels"]
        classes = read_integers(labels.data, labels.where, 1)[:, 0]
    sizes = _graph_sizes(owner, classes, indicator.where, policies)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    nodes = _Nodes(np.argsort(owner, kind="stable"), starts)
    rows, alphabet, directed = _read_edges(texts, owner, nodes, policies)

    node_labels = _read_labels(texts, "node_labels", len(owner), indicator.where)
    on_nodes = None if node_labels is None else _as_labels(node_labels[nodes.order])
    values = _read_attributes(texts, "node_attributes", len(owner), indicator.where, policies)
    values = None if values is None else frozen(values[nodes.order])
    on_edges = None if rows.codes is None else [alphabet[code] for code in rows.codes.tolist()]
    bounds = np.searchsorted(rows.pairs[:, 0], starts)
    pairs = frozen(rows.pairs - np.repeat(starts[:-1], np.diff(bounds))[:, None])
    edge_values = None if rows.attributes is None else frozen(rows.attributes)

    graphs, skipped = [], []
    for i in range(len(sizes)):
        (start, end), (first, last) = starts[i : i + 2].tolist(), bounds[i : i + 2].tolist()
        if start == end and policies.empty == "skip":
            skipped.append(i)
            continue
        graphs.append(
            Graph.from_checked(
                end - start,
                pairs[first:last],
                directed=directed,
                node_labels=None if on_nodes is None else tuple(on_nodes[start:end]),
                edge_labels=None if on_edges is None else tuple(on_edges[first:last]),
                node_attributes=None if values is None else values[start:end],
                edge_attributes=None if edge_values is None else edge_values[first:last],
                name=f"{name}-{i}",
            )
        )
    if skipped and classes is not None:
        classes = np.delete(classes, skipped)
    if not graphs:
        raise DatasetError(f"{indicator.where}: no graph of the set has a node")
    report = ReadReport(tuple(f"{name}-{i}: it has no nodes" for i in skipped))
    return Dataset(graphs, classes, name, report)


def _graph_sizes(
    owner: Integers, classes: Integers | None, where: str, policies: Policies
) -> Integers:
    """Return how many nodes each graph has, (n_graphs,)."""
    if len(owner) == 0:
        raise DatasetError(f"{where}: it is empty; a set needs at least one graph")
    n_graphs = int(owner.max()) + 1 if classes is None else len(classes)
    # Comes first: it keeps what is counted below no larger than what was read.
    if classes is None and n_graphs > len(owner):
        raise DatasetError(f"{where}: {n_graphs} graphs cannot share {len(owner)} nodes")
    wrong = (owner < 0) | (owner >= n_graphs)
    if wrong.any():
        line = int(np.argmax(wrong))
        raise DatasetError(
            f"{where}, line {line + 1}: graph {owner[line] + 1} does not exist; "
            f"there are {n_graphs} (1..{n_graphs})"
        )
    sizes = np.bincount(owner, minlength=n_graphs)
    if not sizes.all() and policies.empty == "error":
        n_empty = int((sizes == 0).sum())
        raise DatasetError(
            f"{where}: {n_empty} of {n_graphs} graphs have no nodes; "
            f"the first is graph {np.argmin(sizes) + 1}",
            policy="empty",
            choices=("skip", "keep"),
        )
    return sizes


def _read_edges(
    texts: Mapping[str, Text], owner: Integers, nodes: _Nodes, policies: Policies
) -> tuple[Rows, list[Hashable], bool]:
    """Return all edges in ascending order of sorted nodes, their alphabet, and if directed."""
    where = texts["A"].where
    edges = read_integers(texts["A"].data, where, 2) - 1
    _check_edges(edges, owner, where)
    labels = _read_labels(texts, "edge_labels", len(edges), where)
    values = _read_attributes(texts, "edge_attributes", len(edges), where, policies)
    alphabet: list[Hashable] = []
    codes = None
    if labels is not None:
        known, codes = np.unique(labels, axis=0, return_inverse=True)
        alphabet, codes = _as_labels(known), codes.reshape(-1)
    place = np.empty(len(owner), dtype=np.int64)
    place[nodes.order] = np.arange(len(owner))
    rows = Rows(Speaker(where, nodes.order + 1), place[edges], codes, None, values)
    try:
        rows = with_chosen_loops(rows, policies)
        rows = rows.take(np.argsort(rows.keys(), kind="stable"))
        keys = rows.keys()
        if (keys[1:] == keys[:-1]).any():
            rows = merged_rows(rows, "has lines with different labels")
        rows, directed = with_chosen_directions(rows, "both", policies)
    except GraphError as error:
        raise DatasetError(
            error.problem, advice=error.advice, policy=error.policy, choices=error.choices
        ) from None
    return rows, alphabet, directed


def _check_edges(edges: Integers, owner: Integers, where: str) -> None:
    outside = ((edges < 0) | (edges >= len(owner))).any(axis=1)
    if outside.any():
        line = int(np.argmax(outside))
        u, v = (edges[line] + 1).tolist()
        raise DatasetError(
            f"{where}, line {line + 1}: ({u}, {v}) names a node that does not exist; "
            f"there are {len(owner)} (1..{len(owner)})"
        )
    between = owner[edges[:, 0]] != owner[edges[:, 1]]
    if between.any():
        line = int(np.argmax(between))
        (u, v), (g, h) = (edges[line] + 1).tolist(), (owner[edges[line]] + 1).tolist()
        raise DatasetError(
            f"{where}, line {line + 1}: ({u}, {v}) joins node {u} of graph {g} "
            f"to node {v} of graph {h}"
        )


def _read_labels(
    texts: Mapping[str, Text], kind: str, count: int, reference: str
) -> Integers | None:
    """Return label codes, (count, n_columns), or None without that file."""
    if kind not in texts:
        return None
    labels = read_integers(texts[kind].data, texts[kind].where)
    _check_lines(len(labels), count, texts[kind].where, reference)
    return labels


def _read_attributes(
    texts: Mapping[str, Text], kind: str, count: int, reference: str, policies: Policies
) -> Reals | None:
    """Return attributes, (count, n_columns), or None without that file."""
    if kind not in texts:
        return None
    where = texts[kind].where
    values = read_reals(texts[kind].data, where)
    _check_lines(len(values), count, where, reference)
    unknown = np.isnan(values)
    if unknown.any():
        if policies.missing == "error":
            line, column = np.argwhere(unknown)[0].tolist()
            raise DatasetError(
                f"{where}, line {line + 1}: the attribute in column {column + 1} is missing (NaN)",
                policy="missing",
                choices=("mask",),
            )
        values[unknown] = np.nan
    return values + 0.0 if values.shape[1] else None


def _check_lines(found: int, count: int, where: str, reference: str) -> None:
    if found != count:
        raise DatasetError(
            f"{where}: {found} lines, but {reference} has {count}; it needs one for each"
        )


def _as_labels(codes: Integers) -> list[Hashable]:
    """Return plain integers for one column, tuples for several."""
    if codes.shape[1] == 1:
        flat: list[Hashable] = codes[:, 0].tolist()
        return flat
    return [tuple(row) for row in codes.tolist()]
