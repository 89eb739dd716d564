"""Read formats of graphs with attributes: GML, GraphML, GEXF, JSON, Pajek, graph6 and sparse6.

networkx parses some of them, after checks of its weak points.
"""

from __future__ import annotations

import io
import json
import math
import re
import shlex
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph
from ddgk.graphs.edges import build_graph
from ddgk.graphs.foreign import MISSING, keyed_graph
from ddgk.graphs.validation import is_hashable
from ddgk.io.reading import MAX_DEPTH, REAL, Options, check_n_nodes, decode

if TYPE_CHECKING:
    import networkx

MAX_LINE = 10_000
# Numbering parallel edges takes networkx the square of their number; more than this is no data.
MAX_PARALLEL = 1000
# Strings, comments (networkx ends lines where str.splitlines does), and the word "key".
GML_KEYS = re.compile(r'"[^"]*"|#[^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]*|\bkey\b')
GML_KEY = "key_of_an_edge"


def read_gml(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """GML: one graph; a node's `label` is its name, as in networkx, else its `id` is.

    Labels that several nodes share cannot be names. They are an error, unless another key is given
    for node labels.
    """
    import networkx

    text = decode(data, where)
    if "multigraph" in text:
        # networkx searches for keys between those of parallel edges: rename them, then undo it.
        text = GML_KEYS.sub(lambda found: GML_KEY if found[0] == "key" else found[0], text)
    graph = _guarded(lambda: networkx.parse_gml(text, label="id"), where, "GML")
    for *_, values in (*graph.nodes(data=True), *graph.edges(data=True)):
        if GML_KEY in values:
            values["key"] = values.pop(GML_KEY)
    names = {node: values.pop("label", None) for node, values in graph.nodes(data=True)}
    if names and None not in names.values() and _are_names(names, where, options):
        graph = networkx.relabel_nodes(graph, names)
    return [options.convert(graph, name)]


def read_graphml(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """GraphML: one graph, with the node ids as names."""
    return [options.convert(_read_xml(data, where, "GraphML"), name)]


def read_gexf(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """GEXF: one graph, with the node ids as names; labels of nodes are labels.

    networkx writes the name of a node as its label where it has none: such labels are not read.
    """
    graph = _read_xml(data, where, "GEXF")
    if graph.graph.get("mode") == "dynamic":
        raise DatasetError(f"{where}: a dynamic graph; export one moment of it as a static graph")
    if all(str(node) == label for node, label in graph.nodes(data="label")):
        for _, values in graph.nodes(data=True):
            del values["label"]
    return [options.convert(graph, name)]


def _read_xml(data: bytes, where: str, kind: str) -> networkx.Graph:
    import networkx

    n_nodes, n_edges = _check_xml(data, where, kind)
    parse = networkx.read_graphml if kind == "GraphML" else networkx.read_gexf
    graph = _guarded(lambda: parse(io.BytesIO(data)), where, kind)
    # networkx makes one node of equal ids, and new ones of ends that no node has.
    if len(graph) != n_nodes:
        raise DatasetError(
            f"{where}: {n_nodes} nodes make {len(graph)}; each needs an id of its own, "
            "and edges must join nodes that are there"
        )
    if graph.number_of_edges() != n_edges:
        raise DatasetError(
            f"{where}: {n_edges} edges make {graph.number_of_edges()}; those that join the same "
            "nodes need different ids, or none"
        )
    return graph


def _guarded(parse: Callable[[], Any], where: str, kind: str) -> Any:
    try:
        with warnings.catch_warnings():
            # A warning of networkx says that it leaves something out; that an attribute without a
            # type is text is no such thing.
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "No key type")
            return parse()
    # On hostile text networkx fails in any way Python can; all of them mean the same here.
    except Exception as error:
        reason = shown(str(error) or type(error).__name__, 200)
        raise DatasetError(
            f"{where}: not {kind} that networkx can read ({reason}); "
            f"correct it, or write it anew with networkx.write_{kind.lower()}"
        ) from error


def _are_names(names: dict[Any, Any], where: str, options: Options) -> bool:
    for node, name in names.items():
        if not isinstance(name, str | int | float):
            raise DatasetError(f"{where}: node {node} needs a text or a number as its label")
    name, count = Counter(names.values()).most_common(1)[0]
    if count > 1 and options.node_labels == "label":
        raise DatasetError(
            f"{where}: the label {shown(repr(name))} names {count} nodes, but in GML a label is "
            "the node's name",
            advice="store kinds under another key, such as kind",
            policy="node_labels",
            choices=("kind",),
            call="read",
        )
    return count == 1


def _check_xml(data: bytes, where: str, kind: str) -> tuple[int, int]:
    """Walk the file once without building anything, and return how many nodes and edges it has.

    Stops at any declaration of entities, which can unfold to gigabytes or name local
    files, and at elements nested deeper than any graph format does.
    """
    tags: Counter[str] = Counter()
    joined: Counter[tuple[str, ...]] = Counter()
    depth = 0

    def refuse(*_: object) -> None:
        raise DatasetError(f"{where}: refused, it has a DOCTYPE; {kind} needs none, so remove it")

    def close(_: str) -> None:
        nonlocal depth
        depth -= 1

    def count(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise DatasetError(f"{where}: refused, over {MAX_DEPTH} elements inside each other")
        local = tag.rpartition(":")[2]
        if local in ("graph", "node", "edge"):
            tags[local] += 1
        if local == "edge":
            ends = tuple(sorted((attributes.get("source", ""), attributes.get("target", ""))))
            joined[ends] += 1
            if joined[ends] > MAX_PARALLEL:
                raise DatasetError(f"{where}: over {MAX_PARALLEL} edges join the same two nodes")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = count
    parser.EndElementHandler = close
    try:
        parser.Parse(data, True)
    except DatasetError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise DatasetError(f"{where}: not XML ({error})") from error
    if tags["graph"] != 1:
        raise DatasetError(
            f"{where}: {tags['graph']} graphs in one file; {kind} is read one per file"
        )
    return tags["node"], tags["edge"]


def read_json(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """JSON: networkx's node-link layout, one graph or a list of them.

    A graph is ``{"nodes": [{"id": 0, ...}], "links": [{"source": 0, "target": 1, ...}]}``, with
    "edges" for "links" as newer versions of networkx write it. networkx's own reader makes nodes of
    unknown ends and one edge of repeated ones; here the first is an error, and the second is kept
    for the policies to judge.

    >>> pair = b'{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}'
    >>> read_json(pair, "pair.json", "pair", Options())
    [Graph(n_nodes=2, n_edges=1, name='pair')]
    """
    text = decode(data, where)
    try:
        content = json.loads(text, parse_constant=_constant, object_pairs_hook=_refuse_repeats)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not JSON that can be read ({error})") from error
    if isinstance(content, dict):
        return [_node_link_graph(content, where, name, options)]
    if not isinstance(content, list) or not content:
        raise DatasetError(f"{where}: needs a graph in node-link layout, or a list of such graphs")
    return [
        _node_link_graph(item, f"{where}, graph {i}", f"{name}-{i}", options)
        for i, item in enumerate(content)
    ]


def _node_link_graph(content: Any, where: str, name: str, options: Options) -> Graph:
    if not isinstance(content, dict):
        raise DatasetError(f'{where}: needs an object with "nodes" and "links"')
    details = content.get("graph")
    own = details.get("name") if isinstance(details, dict) else None
    stored = {
        "node": _objects(content, ("nodes",), where),
        "edge": _objects(content, ("links", "edges"), where),
    }
    numbers: dict[Any, int] = {}
    for position, node in enumerate(stored["node"]):
        at = f"{where}, node {position}"
        key = _key(node, "id", at)
        if key in numbers:
            raise DatasetError(f"{at}: the id {shown(repr(key))} is taken")
        numbers[key] = position
    ends = []
    for position, link in enumerate(stored["edge"]):
        at = f"{where}, link {position}"
        pair = _key(link, "source", at), _key(link, "target", at)
        for end in pair:
            if end not in numbers:
                raise DatasetError(f"{at}: there is no node {shown(repr(end))}")
        ends.append((numbers[pair[0]], numbers[pair[1]]))
    return keyed_graph(
        list(numbers),
        ends,
        lambda kind, key: [item.get(key, MISSING) for item in stored[kind]],
        options.keys,
        directed=bool(content.get("directed", False)),
        name=own if isinstance(own, str) and own else name,
        policies=options.policies,
    )


def _objects(content: dict[str, Any], keys: tuple[str, ...], where: str) -> list[dict[str, Any]]:
    for key in keys:
        items = content.get(key)
        if isinstance(items, list) and all(isinstance(item, dict) for item in items):
            return items
    raise DatasetError(f'{where}: needs "{keys[0]}", a list of objects')


def _key(item: dict[str, Any], field: str, at: str) -> Any:
    """Return what names a node; lists become tuples, as networkx writes tuples as lists."""
    key = item.get(field)
    key = tuple(key) if isinstance(key, list) else key
    if key is None or not is_hashable(key):
        raise DatasetError(f'{at}: needs "{field}", a number, a text or a list of those')
    return key


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a key twice, of which Python would take the last and say nothing."""
    content = dict(pairs)
    if len(content) != len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"an object has {shown(repr(twice))} twice")
    return content


def _constant(constant: str) -> float:
    """Read NaN, as Python writes missing attributes; infinity is no JSON and no attribute."""
    if constant != "NaN":
        raise ValueError(f"{constant} is not JSON")
    return math.nan


def read_pajek(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    r"""Pajek: one graph of *Vertices with *Arcs, *Edges, *Arcslist, *Edgeslist or *Matrix.

    >>> text = b'*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Edges\n1 2 0.5\n2 3 2\n'
    >>> graph, = read_pajek(text, "toy.net", "toy", Options())
    >>> graph.node_names, graph.edge_weights.tolist()
    (('a', 'b', 'c'), [0.5, 2.0])
    """
    names: dict[int, str] = {}
    rows: dict[bool, list[tuple[int, int, float]]] = {True: [], False: []}  # directed or not
    section, n_nodes, n_lines = "", -1, 0
    for number, line in enumerate(decode(data, where).splitlines(), start=1):
        at, line = f"{where}, line {number}", line.strip()
        if not line or line.startswith("%"):
            continue
        if line.startswith("*"):
            section, n_lines = line.split()[0].casefold(), 0
            if section == "*vertices":
                if n_nodes >= 0:
                    raise DatasetError(f"{at}: a second *Vertices; Pajek is read one per file")
                n_nodes = _stated_count(line, at)
            elif n_nodes < 0 and section != "*network":
                raise DatasetError(f"{at}: *Vertices must come before {shown(line, 60)!r}")
            continue
        target = rows[section.startswith(("*arcs", "*matrix"))]
        if section == "*vertices":
            place, called = _vertex(line, n_nodes, at)
            if place in names:
                raise DatasetError(f"{at}: vertex {place + 1} is listed twice")
            names[place] = called
        elif section in ("*arcs", "*edges"):  # behind two ends and a weight there is formatting
            u, v, weight = (*_numbers(line.split()[:3], at), 1.0)[:3]
            target.append((_node(u, n_nodes, at), _node(v, n_nodes, at), weight))
        elif section in ("*arcslist", "*edgeslist"):
            first, *others = (_node(x, n_nodes, at) for x in _numbers(line.split(), at))
            target += [(first, other, 1.0) for other in others]
        elif section == "*matrix":
            values = _numbers(line.split(), at)
            if len(values) != n_nodes or n_lines >= n_nodes:
                raise DatasetError(f"{at}: a matrix of {n_nodes} vertices has as many numbers")
            target += [(n_lines, column, x) for column, x in enumerate(values) if x]
            n_lines += 1
        else:
            raise DatasetError(f"{at}: {shown(line, 60)!r} stands in no section that is read")
    if n_nodes < 0:
        raise DatasetError(f"{where}: not a Pajek network, it has no *Vertices")
    arcs, edges = rows[True], rows[False]
    if arcs:  # an undirected edge of a directed graph runs both ways
        edges = arcs + edges + [(v, u, w) for u, v, w in edges if u != v]
    weighted = options.edge_weights is not None and any(weight != 1 for *_, weight in edges)
    called_nodes = [names.get(i, str(i + 1)) for i in range(n_nodes)]
    distinct = len(set(called_nodes)) == n_nodes
    graph = build_graph(
        n_nodes,
        [(u, v) for u, v, _ in edges],
        edge_weights=[weight for *_, weight in edges] if weighted else None,
        listing=("both" if section == "*matrix" else "directed") if arcs else "once",
        policies=options.policies,
        name=name,
        node_names=called_nodes if distinct else None,
        node_labels=None if distinct else called_nodes,
    )
    return [graph]


def _stated_count(line: str, at: str) -> int:
    found = re.fullmatch(r"\*\w+\s+([0-9]{1,15})(\s.*)?", line)
    if found is None:
        raise DatasetError(f"{at}: *Vertices needs the number of vertices")
    if found[2] and found[2].strip():
        raise DatasetError(f"{at}: two-mode networks are not read; list one kind of vertices")
    check_n_nodes(int(found[1]), at)
    return int(found[1])


def _vertex(line: str, n_nodes: int, at: str) -> tuple[int, str]:
    """Return the place and name of a vertex; coordinates and shapes after the name are not read."""
    if len(line) > MAX_LINE:
        raise DatasetError(f"{at}: a line of {len(line)} characters")
    try:
        parts = shlex.split(line, posix=True)
    except ValueError as error:
        raise DatasetError(f"{at}: {shown(line, 60)!r} is not a vertex ({error})") from error
    place = _node(_numbers(parts[:1], at, 1)[0], n_nodes, at)
    return place, parts[1] if len(parts) > 1 else parts[0]


def _numbers(parts: list[str], at: str, least: int = 2) -> list[float]:
    if len(parts) < least:
        raise DatasetError(f"{at}: {shown(' '.join(parts), 60)!r} has too few numbers")
    for part in parts:
        if not REAL.fullmatch(part):
            raise DatasetError(f"{at}: {shown(part, 60)!r} is not a number")
    return [float(part) for part in parts]


def _node(number: float, n_nodes: int, at: str) -> int:
    if not number.is_integer() or not 1 <= number <= n_nodes:
        raise DatasetError(f"{at}: there is no vertex {number:g}; there are {n_nodes}")
    return int(number) - 1


def read_graph6(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    r"""graph6 or sparse6: one graph per line.

    >>> [graph.n_edges for graph in read_graph6(b"Bw\nA_\n", "toy.g6", "toy", Options())]
    [3, 1]
    """
    import networkx
    from networkx.readwrite.graph6 import data_to_n

    lines = [line for line in data.splitlines() if line.strip()]
    if not lines:
        raise DatasetError(f"{where}: it is empty")
    graphs = []
    for position, line in enumerate(lines):
        at = f"{where}, line {position + 1}"
        line = line.strip().removeprefix(b">>graph6<<").removeprefix(b">>sparse6<<")
        kind, parse = "graph6", networkx.from_graph6_bytes
        if line.startswith(b":"):
            kind, parse = "sparse6", networkx.from_sparse6_bytes
        values = [byte - 63 for byte in line.removeprefix(b":")]
        if not values or min(values) < 0 or max(values) > 63:
            raise DatasetError(f"{at}: not a line of graph6 or sparse6")
        size, _ = _guarded(partial(data_to_n, values[:8]), at, kind)
        check_n_nodes(size, at)
        parsed = _guarded(partial(parse, line), at, kind)
        graphs.append(options.convert(parsed, name if len(lines) == 1 else f"{name}-{position}"))
    return graphs
