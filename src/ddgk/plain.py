"""Graphs and text as plain values: what tables, pages and files may hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ddgk.errors import MAX_SHOWN, GraphError, ParameterError, shown
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.labels import label_as_json, label_from_json

# How text begins that a spreadsheet would compute.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
# Arguments of `Graph` that a plain graph may hold, by kind.
LABELS = ("node_labels", "edge_labels", "node_names")
NUMBERS = ("node_attributes", "edge_weights", "edge_attributes")
KEYS = ("n_nodes", "edges", "name", *LABELS, *NUMBERS, "directed")


def visible(text: object, most: int = MAX_SHOWN) -> str:
    r"""Return text from outside on one line, with every hidden character shown as an escape.

    Text that is longer than `most` is cut in the middle.

    >>> visible("ring\x1b[31m\r\n6")
    'ring\\x1b[31m\\r\\n6'
    >>> visible("a-rather-long-name-of-a-graph", 11)
    'a-rat…graph'
    """
    return shown(text, most, mark="…")


def csv_bytes(rows: Iterable[Iterable[Any]], *, formulas: bool = False) -> bytes:
    """Return rows as CSV; numbers are written so that they read back to the same bits.

    formulas: whether text that a spreadsheet would compute stays as it is; otherwise it gets a
    leading apostrophe.

    >>> print(csv_bytes([["name", "distance"], ["=1+1", -0.5]]).decode())
    "name","distance"
    "'=1+1",-0.5
    <BLANKLINE>
    """
    lines = (",".join(csv_field(value, formulas) for value in row) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def csv_field(value: object, formulas: bool = False) -> str:
    r"""Return a value as a field of a .csv file: text in quotes, and never a formula.

    >>> print(csv_field("a, b"), csv_field("=1+1"), csv_field("=1+1", formulas=True))
    "a, b" "'=1+1" "=1+1"
    >>> print(csv_field("-12.5"), csv_field(0.1), csv_field(3), csv_field(None))
    "-12.5" 0.1 3
    """
    if value is None:
        return ""
    if isinstance(value, bool | int | float | np.number):
        return str(value)
    text = writable(str(value))
    if not formulas and text.startswith(FORMULAS) and not NUMBER.fullmatch(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"'


def writable(text: str) -> str:
    """Return text that every file can hold: halves of characters are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def graph_names(
    graphs: Sequence[Graph], names: Sequence[str] | None = None, first: int = 0
) -> list[str]:
    """Return the given names, or those that graphs have, or their numbers from `first`.

    >>> graph_names([Graph(1, [], name="point"), Graph(2, [])])
    ['point', '1']
    """
    if names is None:
        own = enumerate(graphs, first)
        return [str(number) if graph.name is None else graph.name for number, graph in own]
    if len(names) != len(graphs):
        raise ParameterError(f"{len(graphs)} graphs need as many names, not {len(names)}")
    return [str(name) for name in names]


def graph_to_plain(graph: Graph) -> dict[str, Any]:
    """Return a graph as values that JSON can hold; the inverse of `graph_from_plain`.

    >>> graph_to_plain(Graph(2, [(0, 1)], node_labels="CO", name="carbon monoxide"))
    {'n_nodes': 2, 'edges': [[0, 1]], 'name': 'carbon monoxide', 'node_labels': ['C', 'O']}
    """
    who = describe(graph.name)
    plain: dict[str, Any] = {"n_nodes": graph.n_nodes, "edges": graph.edges.tolist()}
    if graph.name is not None:
        plain["name"] = graph.name
    for key in LABELS:
        labels = getattr(graph, key)
        if labels is not None and (key, labels) != ("node_names", tuple(range(graph.n_nodes))):
            plain[key] = [label_as_json(label, who) for label in labels]
    for key in NUMBERS:
        values = getattr(graph, key)
        if values is not None:
            plain[key] = values.tolist()
    return plain | {"directed": True} if graph.directed else plain


def graph_from_plain(plain: Mapping[str, Any]) -> Graph:
    """Make a graph of plain values; everything is validated as by `Graph`.

    >>> graph_from_plain({"n_nodes": 3, "edges": [[0, 1], [1, 2]], "name": "path"})
    Graph(n_nodes=3, n_edges=2, name='path')
    """
    if not isinstance(plain, Mapping):
        raise GraphError("a graph must be an object with 'n_nodes' and 'edges'")
    unknown = sorted(set(plain) - set(KEYS))
    if unknown or "n_nodes" not in plain or "edges" not in plain:
        problem = f"has the unknown key {unknown[0]!r}" if unknown else "lacks 'n_nodes' or 'edges'"
        raise GraphError(f"a graph {problem}; its keys are {', '.join(KEYS)}")
    given = {key: plain[key] for key in KEYS[2:] if plain.get(key) is not None}
    name = given.get("name")
    if name is not None and not isinstance(name, str):
        raise GraphError("a graph's name must be text")
    try:
        for key in LABELS:
            if key in given:
                given[key] = [label_from_json(label) for label in given[key]]
        edges = [(int(u), int(v)) for u, v in plain["edges"]]
        return Graph(plain["n_nodes"], edges, **given)
    except GraphError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise GraphError(f"{describe(name)}: its values are malformed ({error})") from error
