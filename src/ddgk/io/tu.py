"""Read sets in the text format of the TU collection, from a folder or a zip archive.

A set DS is a few files of numbers: `DS_A.txt` has one `row, column` pair of node ids per line,
`DS_graph_indicator.txt` the graph of each node, `DS_graph_labels.txt` the class of each graph;
`DS_node_labels.txt`, `DS_edge_labels.txt` (a line per line of `DS_A.txt`),
`DS_node_attributes.txt` and `DS_edge_attributes.txt` are optional. Ids start at 1. All graphs are
checked and sorted as one large graph.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import DatasetError, GraphError, shown
from ddgk.graphs import Graph, Policies
from ddgk.graphs.edges import build_graph
from ddgk.graphs.policies import chosen_policies
from ddgk.graphs.validation import frozen
from ddgk.io.dataset import Dataset, ReadReport
from ddgk.io.reading import MAX_BYTES, REAL, ByteBudget, read_archive

Integers = NDArray[np.int64]

COLUMNS = ("node_labels", "edge_labels", "node_attributes", "edge_attributes")
KINDS = ("A", "graph_indicator", "graph_labels", *COLUMNS)
# Possessive, so that hostile text cannot make the match backtrack. 18 digits fit an int64.
INTEGER = rb"[-+]?+\d{1,18}+"
NUMBER = rb"(?:" + REAL.pattern.encode() + rb")"


def read_tu(
    path: str | PathLike[str],
    *,
    name: str | None = None,
    policies: Policies | None = None,
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    r"""Read a set in TU text format, with all labels and attributes that it has.

    Lines may come in any order: the nodes of a graph are numbered as they appear. `DS_A.txt` is an
    adjacency matrix: where every edge is listed in both directions, with the same label and
    attributes, the graphs are undirected; otherwise all graphs of the set are directed. Repeated
    lines are one edge; their labels must agree, their attributes are averaged. Labels are whole
    numbers, or tuples of them where a file has several columns. Graph attributes are not read.

    Parameters
    ----------
    path : path of a folder or a zip archive
        With one `DS_A.txt` in it.
    name : str, optional
        Default: the DS of `DS_A.txt`. Graphs are called DS-0, DS-1, ...
    policies : Policies, optional
        For directed sets, self-loops, missing attributes and graphs without nodes.
    max_bytes : int
        How much text is read at most.

    Returns
    -------
    Dataset
        It unpacks as graphs and classes; classes is None without `DS_graph_labels.txt`.

    Examples
    --------
    >>> import tempfile
    >>> from ddgk.io import read_tu
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "toy_A.txt").write_text("1, 2\n2, 1\n4, 3\n3, 4\n")
    ...     _ = Path(folder, "toy_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n")
    ...     _ = Path(folder, "toy_graph_labels.txt").write_text("1\n-1\n")
    ...     graphs, classes = read_tu(folder)
    >>> graphs
    [Graph(n_nodes=2, n_edges=1, name='toy-0'), Graph(n_nodes=3, n_edges=1, name='toy-1')]
    """
    stem, texts = _read_texts(Path(path), max_bytes)
    return parse(texts, name or stem, chosen_policies(policies))


def is_tu_folder(path: Path) -> bool:
    """Tell whether a folder holds a set in this format."""
    return any(path.glob("*_A.txt"))


class Text(NamedTuple):
    """The bytes of one file, and what messages call it."""

    data: bytes
    where: str


def _read_texts(path: Path, max_bytes: int) -> tuple[str, dict[str, Text]]:
    """Return the name of the set in a folder or an archive, and its files by kind."""
    # os.path answers False where pathlib raises, for names too long for the system.
    if os.path.isdir(path):
        allowed, prefix = ByteBudget(max_bytes), f"{path}{os.sep}"
        files = [file for file in path.glob("*.txt") if _is_wanted(file.name)]
        found = {file.name: allowed.read_file(file) for file in files}
    elif os.path.isfile(path):
        prefix = f"{path}: "
        packed = ByteBudget(MAX_BYTES).read_file(path)
        found = read_archive(packed, str(path), _is_wanted, max_bytes)
    else:
        raise DatasetError(f"{shown(str(path))}: there is no such folder or zip archive")
    stems = [name.removesuffix("_A.txt") for name in found if name.endswith("_A.txt")]
    if len(stems) != 1:
        listed = shown(", ".join(sorted(stems)[:3])) or "none"
        raise DatasetError(f"{path}: needs exactly one file named DS_A.txt, found {listed}")
    names = {kind: f"{stems[0]}_{kind}.txt" for kind in KINDS}
    texts = {
        kind: Text(found[name], f"{prefix}{shown(name)}")
        for kind, name in names.items()
        if name in found
    }
    if "graph_indicator" not in texts:
        raise DatasetError(f"{path}: {shown(names['graph_indicator'])} is missing")
    return PurePosixPath(stems[0]).name, texts


def _is_wanted(member: str) -> bool:
    # Some systems pack a shadow file "._x" with each x.
    shadow = PurePosixPath(member).name.startswith("._")
    return not shadow and member.endswith(tuple(f"_{kind}.txt" for kind in KINDS))


def parse(texts: Mapping[str, Text], name: str, policies: Policies) -> Dataset:
    """Make graphs of the texts of a set, by kind: "A", "graph_indicator", ..."""
    where = texts["graph_indicator"].where
    owner = read_integers(*texts["graph_indicator"], 1)[:, 0] - 1
    classes = None
    if "graph_labels" in texts:
        classes = read_integers(*texts["graph_labels"], 1)[:, 0]
    sizes = _graph_sizes(owner, classes, where, policies)
    union = _read_union(texts, owner, policies)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    bounds = np.searchsorted(union.edges[:, 0], starts)
    kept = (sizes > 0) | (policies.empty != "skip")
    if not kept.any():
        raise DatasetError(f"{where}: no graph of the set has a node")
    graphs = []
    for i in np.flatnonzero(kept).tolist():
        nodes, edges = slice(*starts[i : i + 2].tolist()), slice(*bounds[i : i + 2].tolist())
        fields = {}
        for field in COLUMNS:
            values = getattr(union, field)
            part = nodes if field.startswith("node") else edges
            fields[field] = None if values is None else values[part]
        graphs.append(
            Graph.from_checked(
                int(sizes[i]),
                frozen(union.edges[edges] - nodes.start),
                directed=union.directed,
                name=f"{name}-{i}",
                **fields,
            )
        )
    skipped = tuple(f"{name}-{i}: it has no nodes" for i in np.flatnonzero(~kept))
    return Dataset(graphs, None if classes is None else classes[kept], name, ReadReport(skipped))


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


def _read_union(texts: Mapping[str, Text], owner: Integers, policies: Policies) -> Graph:
    """Return one graph of all nodes, sorted by the graph that they belong to."""
    where = texts["A"].where
    edges = read_integers(*texts["A"], 2) - 1
    _check_edges(edges, owner, where)
    order = np.argsort(owner, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    columns: dict[str, Any] = {}
    for kind in COLUMNS:
        items, reference = (owner, "graph_indicator") if "node" in kind else (edges, "A")
        values = _read_column(texts, kind, len(items), texts[reference].where, policies)
        if values is not None:
            values = values[order] if "node" in kind else values
            columns[kind] = _as_labels(values) if "labels" in kind else values
    merging = replace(policies, parallel_edges="merge", empty="keep")
    names = (order + 1).tolist()
    try:
        return build_graph(
            len(owner), place[edges], listing="both", policies=merging, node_names=names, **columns
        )
    except GraphError as error:
        raise error.of_file(f"{where}: {error.problem.partition(': ')[2]}") from None


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
        found = f"({u}, {v}) joins node {u} of graph {g} to node {v} of graph {h}"
        raise DatasetError(f"{where}, line {line + 1}: {found}")


def _read_column(
    texts: Mapping[str, Text], kind: str, count: int, reference: str, policies: Policies
) -> NDArray[Any] | None:
    """Return labels or attributes, (count, n_columns), or None without that file."""
    if kind not in texts:
        return None
    where = texts[kind].where
    values = (read_integers if kind.endswith("labels") else read_reals)(*texts[kind])
    if len(values) != count:
        raise DatasetError(
            f"{where}: {len(values)} lines, but {reference} has {count}; it needs one for each"
        )
    unknown = np.isnan(values)
    if policies.missing == "error" and unknown.any():
        line, column = np.argwhere(unknown)[0].tolist()
        raise DatasetError(
            f"{where}, line {line + 1}: the attribute in column {column + 1} is missing (NaN)",
            policy="missing",
            choices=("mask",),
        )
    return values


def _as_labels(codes: Integers) -> list[Hashable]:
    """Return plain integers for one column, tuples for several."""
    if codes.shape[1] == 1:
        flat: list[Hashable] = codes[:, 0].tolist()
        return flat
    return [tuple(row) for row in codes.tolist()]


def read_integers(data: bytes, where: str, n_columns: int | None = None) -> NDArray[np.int64]:
    r"""Read comma-separated whole numbers, (n_lines, n_columns), as many as the first line has.

    >>> read_integers(b"2, 1\n1, 2\n", "toy_A.txt", 2).tolist()
    [[2, 1], [1, 2]]
    """
    text, n_columns = _checked(data, where, n_columns, INTEGER, "whole number")
    return np.fromstring(text, dtype=np.int64, sep=" ").reshape(-1, n_columns)


def read_reals(data: bytes, where: str) -> NDArray[np.float64]:
    r"""Read comma-separated numbers, as many columns as the first line has; NaN is one.

    >>> read_reals(b" 0.5,-1e3\n", "toy_node_attributes.txt").tolist()
    [[0.5, -1000.0]]
    """
    text, n_columns = _checked(data, where, None, NUMBER, "number")
    values = np.fromstring(text, dtype=np.float64, sep=" ").reshape(-1, n_columns)
    infinite = np.isinf(values).any(axis=1)
    if infinite.any():
        raise DatasetError(f"{where}, line {np.argmax(infinite) + 1}: a number is too large")
    values[np.isnan(values)] = np.nan  # one bit pattern for all, for the digest
    return values + 0.0  # nor is there a negative zero


def _checked(
    data: bytes, where: str, n_columns: int | None, number: bytes, what: str
) -> tuple[bytes, int]:
    """Hold every line against the grammar, then give numpy text it cannot misread."""
    data = data.rstrip() + b"\n" if data.strip() else b""
    if n_columns is None:
        n_columns = data.partition(b"\n")[0].count(b",") + 1
    field = rb"[ \t]*+" + number + rb"[ \t]*+"
    line = field + rb"(?:," + field + rb"){%d}\r?+\n" % (n_columns - 1)
    match = re.match(rb"(?:" + line + rb")*+", data)
    good = 0 if match is None else match.end()
    if good != len(data):
        wrong = data[good : data.index(b"\n", good)][:60].decode("ascii", "replace").strip()
        needed = f"a {what}" if n_columns == 1 else f"{n_columns} {what}s separated by commas"
        number_of_line = data.count(b"\n", 0, good) + 1
        raise DatasetError(f"{where}, line {number_of_line}: {wrong!r} is not {needed}")
    return data.replace(b",", b" "), n_columns
