"""Graphs as tensors: the arrays of all graphs stand end to end, and nothing is square."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.labels import label_as_json, label_from_json
from ddgk.store.sealed import Arrays, canonical, parse_json

MOST_NODES = 1 << 26  # of all graphs of a file; nodes take no bytes, so it could claim any number
WIDEST = 1 << 20  # attributes of a node or edge
MOST_TEXT, MOST_VALUES = 1 << 28, 1 << 24  # of names and labels, which are JSON as bytes

# What a graph carries beside nodes and edges: labels as JSON, numbers as they are.
NODES, EDGES = "nodes", "n_edges"
LABELS = ("node_labels", "edge_labels", "node_names")
NUMBERS = {"node_attributes": NODES, "edge_attributes": EDGES, "edge_weights": EDGES}


def graphs_to_tensors(
    graphs: Sequence[Graph], *, prefix: str = "", node_names: bool = True
) -> Arrays:
    """Return graphs as named arrays; `graphs_from_tensors` is the inverse.

    prefix: put before the names of the arrays. node_names: keep the caller's names of nodes.

    >>> graphs = [Graph(2, [(0, 1)], node_labels="CO"), Graph(1, [], node_labels="C")]
    >>> tensors = graphs_to_tensors(graphs, prefix="source.")
    >>> tensors["source.nodes"]
    array([2, 1])
    >>> graphs_from_tensors(tensors, prefix="source.") == graphs
    True
    """
    arrays: Arrays = {
        NODES: np.asarray([graph.n_nodes for graph in graphs], dtype=np.int64),
        EDGES: np.asarray([graph.n_edges for graph in graphs], dtype=np.int64),
        "edges": np.concatenate([np.empty((0, 2), np.int64), *(graph.edges for graph in graphs)]),
        "described": text_as_array([_described(graph, node_names) for graph in graphs]),
    }
    for name in NUMBERS:
        values = [getattr(graph, name) for graph in graphs]
        # Attributes of graphs may differ in width, so they are kept flat.
        if any(value is not None for value in values):
            width = [-1 if v is None else v.shape[1] if v.ndim == 2 else 1 for v in values]
            arrays[f"{name}.width"] = np.asarray(width, dtype=np.int64)
            held = [value.reshape(-1) for value in values if value is not None]
            arrays[name] = np.concatenate(held).astype(np.float64)
    return {f"{prefix}{name}": np.ascontiguousarray(array) for name, array in arrays.items()}


def _described(graph: Graph, node_names: bool) -> dict[str, Any]:
    """Return the name and direction of a graph and its labels, as JSON."""
    found: dict[str, Any] = {"name": graph.name, "directed": graph.directed}
    for key in LABELS:
        labels = getattr(graph, key)
        if key == "node_names" and (not node_names or labels == tuple(range(graph.n_nodes))):
            continue
        if labels is not None:
            found[key] = [label_as_json(label, describe(graph.name)) for label in labels]
    return found


def graphs_from_tensors(tensors: Mapping[str, NDArray[Any]], *, prefix: str = "") -> list[Graph]:
    """Return graphs from named arrays; raise ValueError, or LookupError, if they do not fit.

    Every graph passes through the constructor of `Graph`, which validates it.
    """
    arrays = {
        name.removeprefix(prefix): array
        for name, array in tensors.items()
        if name.startswith(prefix)
    }
    nodes, n_edges = _counts(arrays, NODES), _counts(arrays, EDGES)
    if nodes.shape != n_edges.shape or (nodes > MOST_NODES).any() or nodes.sum() > MOST_NODES:
        raise ValueError(f"graphs are said to have {int(nodes.max(initial=0))} nodes")
    edges = arrays["edges"]
    if edges.dtype.kind != "i" or edges.shape[1:] != (2,):
        raise ValueError(f"its edges are {edges.dtype} of shape {edges.shape}")
    counts = {NODES: nodes, EDGES: n_edges}
    columns: dict[str, list[Any]] = {"edges": _cut(edges, n_edges)}
    for name, owner in NUMBERS.items():
        if name in arrays:
            columns[name] = _numbers(arrays, name, counts[owner])
    described = _values(arrays["described"])
    if any(len(column) != len(nodes) for column in (described, *columns.values())):
        raise ValueError("its lists of graphs differ in length")
    graphs = []
    for place, (n_nodes, own) in enumerate(zip(nodes.tolist(), described, strict=True)):
        if not isinstance(own, dict) or not isinstance(own["name"], str | None):
            raise ValueError("its names are not text")
        fields = own | {name: column[place] for name, column in columns.items()}
        for key in set(LABELS) & set(own):
            fields[key] = [label_from_json(label) for label in own[key]]
        graphs.append(Graph(n_nodes, **fields, missing="mask"))
    return graphs


def text_as_array(values: Sequence[Any]) -> NDArray[np.uint8]:
    """Return a list of JSON values as the bytes of its text."""
    return np.frombuffer(canonical(list(values)).encode(), dtype=np.uint8)


def _values(text: NDArray[Any]) -> list[Any]:
    """Undo `text_as_array`."""
    if text.dtype != np.uint8:
        raise ValueError("its text is not bytes")
    values = parse_json(text.tobytes(), MOST_TEXT, MOST_VALUES)
    if not isinstance(values, list):
        raise ValueError("its lists differ in length")
    return values


def texts_from_array(text: NDArray[Any], count: int) -> list[str | None]:
    """Return a list of text or None; raise ValueError if it does not have this length."""
    values = _values(text)
    if len(values) != count or not all(isinstance(value, str | None) for value in values):
        raise ValueError("its names are not a list of text, one of each graph")
    return values


def _counts(arrays: Arrays, name: str, least: int = 0) -> NDArray[np.int64]:
    found = arrays[name]
    if found.ndim != 1 or found.dtype.kind not in "iub" or (found < least).any():
        raise ValueError(f"its array {name!r} holds no counts")
    return found.astype(np.int64)


def _cut(array: NDArray[Any], counts: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Cut an array into parts of these lengths, which must add up."""
    if (counts > len(array)).any() or counts.sum() != len(array):
        raise ValueError("its lengths do not add up")
    ends = np.concatenate([[0], np.cumsum(counts)])
    return [array[first:last] for first, last in pairwise(ends.tolist())]


def _numbers(arrays: Arrays, name: str, counts: NDArray[np.int64]) -> list[NDArray[Any] | None]:
    width = _counts(arrays, f"{name}.width", -1)
    values = arrays[name]
    if values.dtype != np.float64 or values.ndim != 1 or (width > WIDEST).any():
        raise ValueError(f"its {name} are {values.dtype} of shape {values.shape}")
    found: list[NDArray[Any] | None] = []
    parts = _cut(values, counts * np.maximum(width, 0))
    for part, count, n in zip(parts, counts.tolist(), width.tolist(), strict=True):
        shape = (count,) if name == "edge_weights" else (count, n)
        found.append(None if n < 0 else part.reshape(shape))
    return found
