"""From the texts of a TU set to its graphs, everything checked on the way."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ddgk.datasets.dataset import Dataset
from ddgk.datasets.tables import read_integers, read_reals
from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Text:
    """The bytes of one file, and what messages call it."""

    data: bytes
    where: str


def parse(texts: Mapping[str, Text], name: str, attributes: str) -> Dataset:
    """Make graphs of the texts of a set, by kind: "A", "graph_indicator", ..."""
    indicator = texts["graph_indicator"]
    owner = read_integers(indicator.data, indicator.where, 1)[:, 0] - 1
    n_nodes = len(owner)
    classes = None
    if "graph_labels" in texts:
        labels = texts["graph_labels"]
        classes = read_integers(labels.data, labels.where, 1)[:, 0]
    n_graphs = _count_graphs(owner, classes, indicator.where)

    edges = read_integers(texts["A"].data, texts["A"].where, 2) - 1
    _check_edges(edges, owner, texts["A"].where)
    node_labels = _read_labels(texts, "node_labels", n_nodes, indicator.where)
    edge_labels = _read_labels(texts, "edge_labels", len(edges), texts["A"].where)
    edges, edge_labels = _merge(edges, edge_labels, n_nodes, texts)
    values = None if attributes == "ignore" else _read_attributes(texts, n_nodes, name, attributes)

    # Nodes and edges in runs, one run per graph; `place` is a node's number within its graph.
    nodes = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=n_graphs)
    node_ends = np.cumsum(sizes)
    node_starts = node_ends - sizes
    place = np.empty(n_nodes, dtype=np.int64)
    place[nodes] = np.arange(n_nodes) - node_starts[owner[nodes]]
    run = np.argsort(owner[edges[:, 0]], kind="stable")
    pairs = place[edges[run]]
    edge_bounds = np.searchsorted(owner[edges[run, 0]], np.arange(n_graphs + 1))
    on_nodes = None if node_labels is None else _as_labels(node_labels[nodes])
    on_edges = None if edge_labels is None else _as_labels(edge_labels[run])

    graphs = []
    for i, (first, last) in enumerate(pairwise(edge_bounds.tolist())):
        start, end = int(node_starts[i]), int(node_ends[i])
        graphs.append(
            Graph(
                end - start,
                pairs[first:last],
                node_labels=None if on_nodes is None else on_nodes[start:end],
                edge_labels=None if on_edges is None else on_edges[first:last],
                node_attributes=None if values is None else values[nodes[start:end]],
                name=f"{name}-{i}",
            )
        )
    return Dataset(graphs, classes, name)


def _count_graphs(owner: Integers, classes: Integers | None, where: str) -> int:
    if len(owner) == 0:
        raise DatasetError(f"{where}: it is empty; a set needs at least one graph")
    n_graphs = int(owner.max()) + 1 if classes is None else len(classes)
    # Comes first: it keeps what is counted below no larger than what was read.
    if n_graphs > len(owner):
        raise DatasetError(
            f"{where}: {n_graphs} graphs cannot share {len(owner)} nodes; each needs at least one"
        )
    wrong = (owner < 0) | (owner >= n_graphs)
    if wrong.any():
        line = int(np.argmax(wrong))
        raise DatasetError(
            f"{where}, line {line + 1}: graph {owner[line] + 1} does not exist; "
            f"there are {n_graphs} (1..{n_graphs})"
        )
    sizes = np.bincount(owner, minlength=n_graphs)
    if not sizes.all():
        raise DatasetError(
            f"{where}: no line names graph {np.argmin(sizes) + 1}, and each of the {n_graphs} "
            "graphs needs at least one node"
        )
    return n_graphs


def _check_edges(edges: Integers, owner: Integers, where: str) -> None:
    outside = ((edges < 0) | (edges >= len(owner))).any(axis=1)
    if outside.any():
        line = int(np.argmax(outside))
        u, v = (edges[line] + 1).tolist()
        raise DatasetError(
            f"{where}, line {line + 1}: ({u}, {v}) names a node that does not exist; "
            f"there are {len(owner)} (1..{len(owner)})"
        )
    loops = edges[:, 0] == edges[:, 1]
    if loops.any():
        line = int(np.argmax(loops))
        raise DatasetError(
            f"{where}, line {line + 1}: node {edges[line, 0] + 1} is joined to itself; "
            "remove the line, and its label if there is one"
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
    """(count, n_columns) of label codes, or None without that file."""
    if kind not in texts:
        return None
    labels = read_integers(texts[kind].data, texts[kind].where)
    if len(labels) != count:
        raise DatasetError(
            f"{texts[kind].where}: {len(labels)} lines, but {reference} has {count}; "
            "it needs one for each"
        )
    return labels


def _read_attributes(
    texts: Mapping[str, Text], n_nodes: int, name: str, attributes: str
) -> NDArray[np.float64]:
    if "node_attributes" not in texts:
        raise DatasetError(
            f"{texts['A'].where}: {shown(name)} has no node attributes "
            f'({shown(name)}_node_attributes.txt); use attributes="ignore"'
        )
    text = texts["node_attributes"]
    values = read_reals(text.data, text.where)
    if len(values) != n_nodes:
        raise DatasetError(
            f"{text.where}: {len(values)} lines, but the set has {n_nodes} nodes; "
            "it needs one for each"
        )
    if attributes == "shift":
        with np.errstate(over="ignore"):
            values -= np.minimum(values.min(axis=0), 0.0)
        too_wide = ~np.isfinite(values).all(axis=0)
        if too_wide.any():
            raise DatasetError(
                f"{text.where}: the values in column {np.argmax(too_wide) + 1} lie too far apart "
                "to be shifted; scale them first"
            )
        return values
    if (values < 0).any():
        line, column = np.argwhere(values < 0)[0].tolist()
        raise DatasetError(
            f"{text.where}, line {line + 1}: the attribute in column {column + 1} is negative "
            f'({values[line, column]:g}); use attributes="shift" to move each such column '
            "up to 0"
        )
    return values


def _merge(
    edges: Integers, labels: Integers | None, n_nodes: int, texts: Mapping[str, Text]
) -> tuple[Integers, Integers | None]:
    """Make one edge of all its lines: both directions, and repeats of either."""
    ends = np.sort(edges, axis=1)
    key = ends[:, 0] * n_nodes + ends[:, 1]
    order = np.argsort(key, kind="stable")
    is_first = np.diff(key[order], prepend=-1) != 0
    kept = order[is_first]
    if labels is not None:
        representative = kept[np.cumsum(is_first) - 1]
        differ = (labels[order] != labels[representative]).any(axis=1)
        if differ.any():
            at = int(np.argmax(differ))
            line, other = int(order[at]) + 1, int(representative[at]) + 1
            u, v = (ends[order[at]] + 1).tolist()
            raise DatasetError(
                f"{texts['edge_labels'].where}, lines {other} and {line}: edge ({u}, {v}) "
                "has two labels; all its lines must agree"
            )
    return ends[kept], None if labels is None else labels[kept]


def _as_labels(codes: Integers) -> list[Hashable]:
    """Plain integers for one column, tuples for several."""
    if codes.shape[1] == 1:
        flat: list[Hashable] = codes[:, 0].tolist()
        return flat
    return [tuple(row) for row in codes.tolist()]
