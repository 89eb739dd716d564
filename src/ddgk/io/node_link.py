"""Read JSON files in networkx's node-link layout."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph
from ddgk.io.options import Options, decode

if TYPE_CHECKING:
    import networkx


def read_json(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """JSON: networkx's node-link layout, one graph or a list of them."""
    graphs, is_list = parse_node_link(decode(data, where), where)
    return [
        options.convert(graph, graph.name or (f"{name}-{i}" if is_list else name))
        for i, graph in enumerate(graphs)
    ]


def parse_node_link(text: str, where: str) -> tuple[list[networkx.MultiGraph], bool]:
    """Read one graph, or a list of graphs; also return whether it was a list.

    A graph is ``{"nodes": [{"id": 0, ...}], "links": [{"source": 0, "target": 1, ...}]}``, with
    "edges" for "links" as newer versions of networkx write it. networkx's own reader makes nodes of
    unknown ends and one edge of repeated ones; here the first is an error, and the second is kept
    for the policies to judge.

    >>> pair = '{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}'
    >>> graphs, is_list = parse_node_link(pair, "pair.json")
    >>> list(graphs[0].edges()), is_list
    ([('a', 'b')], False)
    """
    try:
        content = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeats
        )
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not JSON that can be read ({error})") from error
    if isinstance(content, dict):
        return [_graph(content, where)], False
    if not isinstance(content, list) or not content:
        raise DatasetError(f"{where}: needs a graph in node-link layout, or a list of such graphs")
    return [_graph(item, f"{where}, graph {i}") for i, item in enumerate(content)], True


def _graph(content: Any, where: str) -> networkx.MultiGraph:
    import networkx

    if not isinstance(content, dict):
        raise DatasetError(f'{where}: needs an object with "nodes" and "links"')
    directed = bool(content.get("directed", False))
    graph = networkx.MultiDiGraph() if directed else networkx.MultiGraph()
    details = content.get("graph")
    name = details.get("name") if isinstance(details, dict) else None
    graph.name = name if isinstance(name, str) else ""
    for position, node in enumerate(_objects(content, ("nodes",), where)):
        at = f"{where}, node {position}"
        key = _key(node, "id", at)
        if key in graph:
            raise DatasetError(f"{at}: the id {shown(repr(key))} is taken")
        graph.add_nodes_from([(key, node)])
    for position, link in enumerate(_objects(content, ("links", "edges"), where)):
        at = f"{where}, link {position}"
        ends = _key(link, "source", at), _key(link, "target", at)
        for end in ends:
            if end not in graph:
                raise DatasetError(f"{at}: there is no node {shown(repr(end))}")
        graph.add_edges_from([(*ends, link)])
    return graph


def _objects(content: dict[str, Any], keys: tuple[str, ...], where: str) -> list[dict[str, Any]]:
    for key in keys:
        items = content.get(key)
        if isinstance(items, list) and all(isinstance(item, dict) for item in items):
            return items
    raise DatasetError(f'{where}: needs "{keys[0]}", a list of objects')


def _key(item: dict[str, Any], field: str, at: str) -> Any:
    """Return what names a node; lists become tuples, as networkx writes tuples as lists."""
    key = item.pop(field, None)
    if isinstance(key, list):
        key = tuple(key)
    try:
        hash(key)
    except TypeError:
        key = None
    if key is None:
        raise DatasetError(f'{at}: needs "{field}", a number, a text or a list of those')
    return key


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a key twice, of which Python would take the last and say nothing."""
    content = dict(pairs)
    if len(content) != len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"an object has {shown(repr(twice))} twice")
    return content


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
