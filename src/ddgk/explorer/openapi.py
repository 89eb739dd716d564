"""The description of the server's API."""

from __future__ import annotations

import html
from typing import Any

LISTS = ("node_labels", "edge_labels", "node_names", "node_attributes", "edge_weights",
         "edge_attributes")  # fmt: skip
NUMBER = {"type": "integer", "minimum": 0}
PAIR = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
GRAPH: dict[str, Any] = {
    "type": "object",
    "description": "n_nodes and edges, or smiles",
    "properties": {
        "n_nodes": {"type": "integer", "minimum": 1},
        "edges": {"type": "array", "items": PAIR},
        "name": {"type": "string"},
        "directed": {"type": "boolean"},
        **{name: {"type": "array"} for name in LISTS},
        "smiles": {"type": "string"},
    },
}
ITEM = {"type": "object", "properties": {"graph": GRAPH, "position": NUMBER}, "maxProperties": 1}
COUNT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}
REFUSALS = {
    "400": "not JSON",
    "404": "no such graph",
    "413": "too large",
    "415": "another content type",
    "422": "a malformed graph or parameter",
    "429": "too many requests are waiting",
    "503": "took too long",
}
# Address, what it returns, and the keys of its body with those that are required.
OPERATIONS: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("/api/graph/{position}", "Name and drawing of a graph", {}, []),
    ("/api/embed", "Embedding, place on the map, drawing and nearest graphs of a graph",
     {"graph": GRAPH, "k": COUNT}, ["graph"]),
    ("/api/similar", "Nearest graphs of a graph, or of one of the collection",
     {"graph": GRAPH, "position": NUMBER, "k": COUNT}, []),
    ("/api/align", "Partner (p, -1 for none), confidence (c), shares (s, z) of nodes in percent",
     {"target": ITEM, "source": ITEM}, ["target", "source"]),
    ("/health", "Whether the server runs", {}, []),
]  # fmt: skip
EXAMPLES = """\
POST /api/similar    Content-Type: application/json
{"graph": {"smiles": "CCO"}, "k": 5}

POST /api/align
{"target": {"graph": {"n_nodes": 3, "edges": [[0, 1], [1, 2]], "node_labels": ["C", "C", "O"]}},
 "source": {"position": 0}}
"""


def description() -> dict[str, Any]:
    """Return the OpenAPI description."""
    answers = {"200": "found", **REFUSALS}
    responses = {status: {"description": text} for status, text in answers.items()}
    paths: dict[str, Any] = {}
    for path, summary, properties, required in OPERATIONS:
        own: dict[str, Any] = {"summary": summary, "responses": responses}
        if properties:
            schema = {"type": "object", "properties": properties, "required": required}
            own["requestBody"] = {"content": {"application/json": {"schema": schema}}}
        if "{position}" in path:
            where = {"name": "position", "in": "path", "required": True}
            own["parameters"] = [where | {"schema": NUMBER}]
        paths[path] = {"post" if properties else "get": own}
    info = {"title": "ddgk explorer", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "paths": paths}


def documentation() -> str:
    """Return the description as a page for readers."""
    rows = "".join(
        f"<tr align='left'><td><code>{'POST' if keys else 'GET'} {html.escape(path)}</code></td>"
        f"<td>{html.escape(summary)}</td><td>{', '.join(keys)}</td></tr>"
        for path, summary, keys, _ in OPERATIONS
    )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'><title>ddgk API</title>"
        "<h1>API</h1><p>The same as <a href='openapi.json'>openapi.json</a>.</p>"
        "<table cellpadding='6'><tr align='left'><th>request</th><th>answer</th>"
        f"<th>keys of the body</th></tr>{rows}</table><h2>Examples</h2>"
        f"<pre>{html.escape(EXAMPLES)}</pre></html>"
    )
