"""Graphs as tensors: the arrays of all graphs stand end to end, and nothing is square."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.labels import label_as_json, label_from_json
from ddgk.store.sealed import Arrays, canonical, parse_json

MOST_NODES = 1 << 26  # of all graphs of a file; nodes take no bytes, so it could claim any number
MOST_TEXT, MOST_VALUES = 1 << 28, 1 << 24  # of what graphs are described by, JSON as bytes

LABELS = ("node_labels", "edge_labels", "node_names")  # described in JSON
NUMBERS = ("node_attributes", "edge_attributes", "edge_weights")  # arrays; JSON has their shapes


def graphs_to_tensors(
    graphs: Sequence[Graph], *, prefix: str = "", node_names: bool = True
) -> Arrays:
    """Return graphs as named arrays; `graphs_from_tensors` is the inverse.

    prefix: put before the names of the arrays. node_names: keep the caller's names of nodes.

    >>> graphs = [Graph(2, [(0, 1)], node_labels="CO"), Graph(1, [], node_labels="C")]
    >>> tensors = graphs_to_tensors(graphs, prefix="source.")
    >>> tensors["source.edges"]
    array([[0, 1]])
    >>> graphs_from_tensors(tensors, prefix="source.") == graphs
    True
    """
    parts: dict[str, list[NDArray[Any]]] = {"edges": [np.empty((0, 2), np.int64)]}
    described = []
    for graph in graphs:
        own: dict[str, Any] = {"name": graph.name, "directed": graph.directed}
        own |= {"n_nodes": graph.n_nodes, "n_edges": graph.n_edges}
        parts["edges"].append(graph.edges)
        for key in LABELS:
            labels = getattr(graph, key)
            if labels is not None and (node_names or key != "node_names"):
                own[key] = [label_as_json(label, describe(graph.name)) for label in labels]
        for key in NUMBERS:
            values = getattr(graph, key)
            if values is not None:
                own[key] = values.shape
                parts.setdefault(key, []).append(values.ravel())
        described.append(own)
    arrays = {f"{prefix}{key}": np.concatenate(held) for key, held in parts.items()}
    return arrays | {f"{prefix}described": text_as_array(described)}


def graphs_from_tensors(tensors: Mapping[str, NDArray[Any]], *, prefix: str = "") -> list[Graph]:
    """Return graphs from named arrays; raise ValueError, or LookupError, if they do not fit.

    Every graph passes through the constructor of `Graph`, which validates it.
    """
    described = _values(tensors[f"{prefix}described"])
    arrays = {
        name: tensors[f"{prefix}{name}"]
        for name in ("edges", *NUMBERS)
        if f"{prefix}{name}" in tensors
    }
    for name, array in arrays.items():
        dtype, shape = (np.int64, (2,)) if name == "edges" else (np.float64, ())
        if array.dtype != dtype or array.shape[1:] != shape:
            raise ValueError(f"its {name} are {array.dtype} of shape {array.shape}")
    taken = dict.fromkeys(arrays, 0)

    def take(name: str, count: int) -> NDArray[Any]:
        taken[name] += count
        return arrays[name][taken[name] - count : taken[name]]

    for own in described:
        if not isinstance(own, dict) or not isinstance(own["name"], str | None):
            raise ValueError("its names are not text")
        sizes = [own["n_nodes"], own["n_edges"], *chain(*(own.get(key, ()) for key in NUMBERS))]
        if not all(type(size) is int and 0 <= size <= MOST_NODES for size in sizes):
            raise ValueError("it gives a graph a size that none has")
    if sum(own["n_nodes"] for own in described) > MOST_NODES:
        raise ValueError(f"its graphs are said to have more than {MOST_NODES} nodes")
    graphs = []
    for own in described:
        edges = take("edges", own.pop("n_edges"))
        for key in set(LABELS) & set(own):
            own[key] = [label_from_json(label) for label in own[key]]
        for key in set(NUMBERS) & set(own):
            own[key] = take(key, math.prod(own[key])).reshape(own[key])
        graphs.append(Graph(own.pop("n_nodes"), edges, **own, missing="mask"))
    if taken != {name: len(array) for name, array in arrays.items()}:
        raise ValueError("its lengths do not add up")
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
