"""The description of the server's API."""

from __future__ import annotations

import html
import json
from typing import Any

LISTS = ("node_labels", "edge_labels", "node_names", "node_attributes", "edge_weights",
         "edge_attributes")  # fmt: skip
GRAPH: dict[str, Any] = {
    "type": "object",
    "description": "n_nodes and edges, or smiles",
    "properties": {
        "n_nodes": {"type": "integer", "minimum": 1},
        "edges": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        },
        "name": {"type": "string"},
        "directed": {"type": "boolean"},
        **{name: {"type": "array"} for name in LISTS},
        "smiles": {"type": "string"},
    },
}
ITEM = {
    "type": "object",
    "properties": {"graph": GRAPH, "position": {"type": "integer", "minimum": 0}},
    "maxProperties": 1,
}
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


def description() -> dict[str, Any]:
    """Return the OpenAPI description."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "ddgk explorer", "version": "1"},
        "paths": {
            "/api/graph/{position}": {
                "get": _operation("Name and drawing of a graph", parameter="position")
            },
            "/api/embed": {
                "post": _operation(
                    "Embedding, place on the map, drawing and nearest graphs of a graph",
                    {"graph": GRAPH, "k": COUNT},
                    ["graph"],
                )
            },
            "/api/similar": {
                "post": _operation(
                    "Nearest graphs of a graph, or of one of the collection",
                    {"graph": GRAPH, "position": {"type": "integer"}, "k": COUNT},
                )
            },
            "/api/align": {
                "post": _operation(
                    "Partner (p, -1 for none), confidence (c), shares (s, z) of nodes in percent",
                    {"target": ITEM, "source": ITEM},
                    ["target", "source"],
                )
            },
            "/health": {"get": _operation("Whether the server runs")},
        },
    }


def documentation() -> str:
    """Return the description as a page for readers."""
    rows = []
    for path, methods in description()["paths"].items():
        for method, own in methods.items():
            schema = own.get("requestBody", {}).get("content", {}).get("application/json", {})
            keys = ", ".join(schema.get("schema", {}).get("properties", {}))
            rows.append(
                f"<tr><td><code>{method.upper()} {html.escape(path)}</code></td>"
                f"<td>{html.escape(own['summary'])}</td><td>{html.escape(keys)}</td></tr>"
            )
    schema = html.escape(json.dumps(GRAPH, indent=1))
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>ddgk API</title>"
        "<h1>API</h1><p>The same as <a href='openapi.json'>openapi.json</a>.</p>"
        "<table><thead><tr><th>request</th><th>answer</th><th>keys of the body</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table><h2>A graph</h2><pre>{schema}</pre></html>"
    )


def _operation(
    summary: str,
    properties: dict[str, Any] | None = None,
    required: list[str] | None = None,
    parameter: str | None = None,
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "found"},
            **{status: {"description": text} for status, text in REFUSALS.items()},
        },
    }
    if properties is not None:
        schema = {"type": "object", "properties": properties, "required": required or []}
        found["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    if parameter is not None:
        found["parameters"] = [
            {"name": parameter, "in": "path", "required": True, "schema": {"type": "integer"}}
        ]
    return found
