"""Graphs packed into one safetensors file: what a worker needs of the targets of a tile.

Kept is what the model reads: structure, and the labels, attributes and weights it looks at, with
names and places for messages. Arrays of all graphs stand end to end; nothing is square.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs.graph import Graph, describe
from ddgk.store.files import naming_damage
from ddgk.store.models import label_as_json, label_from_json

MOST_NODES = 1 << 22  # far beyond what a pair can be trained on, and what a forger may ask for


def pack_graphs(graphs: Sequence[Graph], places: Sequence[int], families: Sequence[str]) -> bytes:
    """Return graphs as the content of a file.

    places: where the caller has them. families: what the model reads; other labels are not kept,
    nor are the caller's names of nodes.
    """
    from safetensors.numpy import save

    arrays: dict[str, NDArray[Any]] = {
        "places": np.asarray(places, dtype=np.int64),
        "nodes": np.asarray([graph.n_nodes for graph in graphs], dtype=np.int64),
        "n_edges": np.asarray([graph.n_edges for graph in graphs], dtype=np.int64),
        "edges": np.concatenate([graph.edges for graph in graphs]).astype(np.int64),
    }
    described: dict[str, Any] = {"names": [graph.name for graph in graphs]}
    for kind in ("node_labels", "edge_labels"):
        lists = [getattr(graph, kind) for graph in graphs] if kind in families else []
        # A graph without edges carries no edge labels, though its neighbours do.
        if any(labels is not None for labels in lists):
            known: dict[tuple[type, Hashable], int] = {}
            codes = [
                known.setdefault((type(label), label), len(known))
                for labels in lists
                for label in labels or ()
            ]
            arrays[kind] = np.asarray(codes, dtype=np.int64)
            arrays[f"{kind}.carried"] = np.asarray([labels is not None for labels in lists])
            who = describe(graphs[0].name)
            described[kind] = [label_as_json(label, who) for _, label in known]
    numbers = {"edge_weights": [graph.edge_weights for graph in graphs]}
    if "attributes" in families:
        numbers["node_attributes"] = [graph.node_attributes for graph in graphs]
    for kind, values in numbers.items():
        if any(value is not None for value in values):
            arrays[f"{kind}.carried"] = np.asarray([value is not None for value in values])
            arrays[kind] = np.concatenate([value for value in values if value is not None])
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(arrays, {"ddgk": json.dumps(described)})


def unpack_graphs(content: bytes, name: str) -> tuple[list[Graph], list[int]]:
    """Undo `pack_graphs`; name: the file's, for messages."""
    from safetensors.numpy import load

    with naming_damage(name):
        arrays = load(content)
        described = json.loads(_metadata(content)["ddgk"])
        return _graphs(arrays, described), arrays["places"].tolist()


def _metadata(content: bytes) -> Any:
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length])["__metadata__"]


def _graphs(arrays: dict[str, NDArray[Any]], described: dict[str, Any]) -> list[Graph]:
    nodes, edges = arrays["nodes"], arrays["n_edges"]
    _check(arrays)
    columns: dict[str, list[Any]] = {
        "name": [None if name is None else str(name) for name in described["names"]],
        "edges": _cut(arrays["edges"], edges),
        "node_labels": _labels(arrays, described, "node_labels", nodes),
        "edge_labels": _labels(arrays, described, "edge_labels", edges),
        "node_attributes": _optional(arrays, "node_attributes", nodes),
        "edge_weights": _optional(arrays, "edge_weights", edges),
    }
    if any(len(column) != len(nodes) for column in columns.values()):
        raise ValueError("its lists differ in length")
    graphs = []
    for place, n_nodes in enumerate(nodes.tolist()):
        fields = {key: column[place] for key, column in columns.items()}
        graphs.append(Graph.from_checked(n_nodes, fields.pop("edges"), **fields))
    return graphs


def _check(arrays: dict[str, NDArray[Any]]) -> None:
    """Check what the constructor of a graph would, for all graphs together, and freeze it."""
    nodes, counts, edges = arrays["nodes"], arrays["n_edges"], arrays["edges"]
    whole = all(array.dtype == np.int64 for array in (nodes, counts, edges))
    # An array of shape (10**9, 0) takes no room in a file, but lists of that length do in memory.
    if any(0 in array.shape[1:] for array in arrays.values()):
        raise ValueError("an array has rows of nothing")
    if arrays["places"].shape != nodes.shape:
        raise ValueError("its lists differ in length")
    if not whole or (nodes.ndim, counts.ndim) != (1, 1) or edges.shape[1:] != (2,):
        raise ValueError("its arrays are of other kinds")
    if (nodes < 1).any() or (nodes > MOST_NODES).any() or nodes.sum() > MOST_NODES:
        raise ValueError(f"graphs are said to have {nodes.min()} to {nodes.max()} nodes")
    _cut(edges, counts)
    owner = np.repeat(np.arange(len(counts)), counts)
    u, v = edges.T
    ends = np.diff(owner) > 0
    ascending = (np.diff(u * nodes[owner] + v) > 0) | ends
    if not ((u >= 0) & (u < v) & (v < nodes[owner])).all() or not ascending.all():
        raise ValueError("its edges are not those of simple graphs, in order")
    for kind, n_axes in (("node_attributes", 2), ("edge_weights", 1)):
        values = arrays.get(kind)
        if values is None:
            continue
        if values.dtype != np.float64 or values.ndim != n_axes or 0 in values.shape[1:]:
            raise ValueError(f"its {kind} are {values.dtype} of shape {values.shape}")
        if not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(f"its {kind} are not finite and non-negative")
    for array in arrays.values():
        array.flags.writeable = False


def _cut(array: NDArray[Any], counts: NDArray[Any]) -> list[NDArray[Any]]:
    """Cut an array into pieces of these lengths, which must add up."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    if (counts < 0).any() or (counts > len(array)).any() or ends[-1] != len(array):
        raise ValueError("its lengths do not add up")
    return [array[first:last] for first, last in pairwise(ends.tolist())]


def _optional(
    arrays: dict[str, NDArray[Any]], kind: str, counts: NDArray[Any]
) -> list[NDArray[Any] | None]:
    if kind not in arrays:
        return [None] * len(counts)
    carried = arrays[f"{kind}.carried"].astype(bool)
    pieces = _cut(arrays[kind], np.where(carried, counts, 0))
    return [piece if known else None for piece, known in zip(pieces, carried, strict=True)]


def _labels(
    arrays: dict[str, NDArray[Any]], described: dict[str, Any], kind: str, counts: NDArray[Any]
) -> list[tuple[Hashable, ...] | None]:
    alphabet = [label_from_json(label) for label in described.get(kind, ())]
    pieces = _optional(arrays, kind, counts)
    return [
        None if piece is None else tuple(alphabet[code] for code in piece.tolist())
        for piece in pieces
    ]
