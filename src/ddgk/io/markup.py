"""Read formats of graphs with attributes: GML, GraphML, GEXF, JSON, Pajek, graph6 and sparse6.

networkx parses some of them, after checks of its weak points.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import warnings
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn
from xml.parsers import expat

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph
from ddgk.graphs.edges import build_graph
from ddgk.io.reading import MAX_DEPTH, Options, check_n_nodes, decode

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

    text = _without_keys(decode(data, where))
    graph = _guarded(lambda: networkx.parse_gml(text, label="id"), where, "GML")
    _restore_keys(graph)
    names = {node: values.pop("label", None) for node, values in graph.nodes(data=True)}
    if names and None not in names.values() and _are_names(names, where, options):
        graph = networkx.relabel_nodes(graph, names)
    return [options.convert(graph, name)]


def read_graphml(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """GraphML: one graph, with the node ids as names."""
    return [options.convert(_read_xml(data, where, "GraphML"), name)]


def read_gexf(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """GEXF: one graph, with the node ids as names; labels of nodes are labels."""
    graph = _read_xml(data, where, "GEXF")
    if graph.graph.get("mode") == "dynamic":
        raise DatasetError(f"{where}: a dynamic graph; export one moment of it as a static graph")
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


def _without_keys(text: str) -> str:
    """Rename the keys that tell parallel edges apart: between them networkx searches for free ones.

    Graphs have no use for these keys; whether parallel edges are allowed is for the policies.
    """
    if "multigraph" not in text:
        return text
    return GML_KEYS.sub(lambda found: GML_KEY if found[0] == "key" else found[0], text)


def _restore_keys(graph: networkx.Graph) -> None:
    for *_, values in (*graph.nodes(data=True), *graph.edges(data=True)):
        if GML_KEY in values:
            values["key"] = values.pop(GML_KEY)


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
        content = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeats
        )
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not JSON that can be read ({error})") from error
    if isinstance(content, dict):
        graph = _node_link_graph(content, where)
        return [options.convert(graph, graph.name or name)]
    if not isinstance(content, list) or not content:
        raise DatasetError(f"{where}: needs a graph in node-link layout, or a list of such graphs")
    graphs = [_node_link_graph(item, f"{where}, graph {i}") for i, item in enumerate(content)]
    return [options.convert(graph, graph.name or f"{name}-{i}") for i, graph in enumerate(graphs)]


def _node_link_graph(content: Any, where: str) -> networkx.MultiGraph:
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


def read_pajek(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    r"""Pajek: one graph of *Vertices with *Arcs, *Edges, *Arcslist, *Edgeslist or *Matrix.

    >>> text = b'*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Edges\n1 2 0.5\n2 3 2\n'
    >>> graph, = read_pajek(text, "toy.net", "toy", Options())
    >>> graph.node_names, graph.edge_weights.tolist()
    (('a', 'b', 'c'), [0.5, 2.0])
    """
    names: list[str] = []
    given: set[int] = set()
    arcs: list[tuple[int, int, float]] = []
    edges: list[tuple[int, int, float]] = []
    section, n_nodes, row = "", -1, 0
    for number, line in enumerate(decode(data, where).splitlines(), start=1):
        at = f"{where}, line {number}"
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if line.startswith("*"):
            section = line.split()[0].casefold()
            if section == "*vertices":
                if n_nodes >= 0:
                    raise DatasetError(f"{at}: a second *Vertices; Pajek is read one per file")
                n_nodes = _stated_count(line, at)
                names = [str(i) for i in range(1, n_nodes + 1)]
            elif n_nodes < 0 and section != "*network":
                raise DatasetError(f"{at}: *Vertices must come before {shown(line, 60)!r}")
            continue
        if section == "*vertices":
            place, called = _vertex(line, n_nodes, at)
            if place in given:
                raise DatasetError(f"{at}: vertex {place + 1} is listed twice")
            given.add(place)
            names[place] = called
        elif section in ("*arcs", "*edges"):
            u, v, *rest = _numbers(line, 2, at)
            ends = _node(u, n_nodes, at), _node(v, n_nodes, at)
            (arcs if section == "*arcs" else edges).append((*ends, rest[0] if rest else 1.0))
        elif section in ("*arcslist", "*edgeslist"):
            first, *others = (_node(x, n_nodes, at) for x in _numbers(line, 1, at, all_of=True))
            target = arcs if section == "*arcslist" else edges
            target += [(first, other, 1.0) for other in others]
        elif section == "*matrix":
            values = _numbers(line, n_nodes, at, all_of=True)
            if len(values) != n_nodes or row >= n_nodes:
                raise DatasetError(f"{at}: a matrix of {n_nodes} vertices has as many numbers")
            arcs += [(row, column, x) for column, x in enumerate(values) if x]
            row += 1
        else:
            raise DatasetError(f"{at}: {shown(line, 60)!r} stands in no section that is read")
    if n_nodes < 0:
        raise DatasetError(f"{where}: not a Pajek network, it has no *Vertices")
    return [_pajek_graph(names, arcs, edges, section == "*matrix", name, options)]


def read_graph6(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    r"""graph6 or sparse6: one graph per line.

    >>> [graph.n_edges for graph in read_graph6(b"Bw\nA_\n", "toy.g6", "toy", Options())]
    [3, 1]
    """
    import networkx

    lines = [line for line in data.splitlines() if line.strip()]
    if not lines:
        raise DatasetError(f"{where}: it is empty")
    graphs = []
    for position, line in enumerate(lines):
        at = f"{where}, line {position + 1}"
        for header in (b">>graph6<<", b">>sparse6<<"):
            line = line.removeprefix(header)
        line = line.strip()
        sparse = line.startswith(b":")
        content = line.removeprefix(b":")
        if not content or any(not 63 <= byte <= 126 for byte in content):
            raise DatasetError(f"{at}: not a line of graph6 or sparse6")
        check_n_nodes(_graph6_size(content, at), at)
        try:
            parse = networkx.from_sparse6_bytes if sparse else networkx.from_graph6_bytes
            parsed = parse(line)
        # On hostile bytes networkx fails in any way Python can.
        except Exception as error:
            reason = shown(str(error) or type(error).__name__, 100)
            raise DatasetError(f"{at}: not a line of graph6 or sparse6 ({reason})") from error
        graphs.append(options.convert(parsed, name if len(lines) == 1 else f"{name}-{position}"))
    return graphs


def _pajek_graph(
    names: list[str],
    arcs: list[tuple[int, int, float]],
    edges: list[tuple[int, int, float]],
    matrix: bool,
    name: str,
    options: Options,
) -> Graph:
    rows = edges
    if arcs:  # an undirected edge of a directed graph runs both ways
        rows = arcs + edges + [(v, u, w) for u, v, w in edges if u != v]
    weights: Any = [weight for *_, weight in rows]
    if all(weight == 1 for weight in weights) or options.edge_weights is None:
        weights = None
    distinct = names if len(set(names)) == len(names) else None
    labels = None if distinct is not None else names
    return build_graph(
        len(names),
        [(u, v) for u, v, _ in rows],
        edge_weights=weights,
        listing=("both" if matrix else "directed") if arcs else "once",
        policies=options.policies,
        name=name,
        node_names=distinct,
        node_labels=labels,
    )


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
    place = _node(_number(parts[0], at), n_nodes, at)
    return place, parts[1] if len(parts) > 1 else parts[0]


def _numbers(line: str, least: int, at: str, *, all_of: bool = False) -> list[float]:
    """Return the numbers of a line: two ends and a weight, or all; what follows is formatting."""
    parts = line.split()
    if len(parts) < least:
        raise DatasetError(f"{at}: {shown(line, 60)!r} has too few numbers")
    return [_number(part, at) for part in (parts if all_of else parts[:3])]


def _number(text: str, at: str) -> float:
    if not re.fullmatch(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]{1,3})?|[-+]?[0-9]+\.", text[:400]):
        raise DatasetError(f"{at}: {shown(text, 60)!r} is not a number")
    return float(text[:400])


def _node(number: float, n_nodes: int, at: str) -> int:
    if not number.is_integer() or not 1 <= number <= n_nodes:
        raise DatasetError(f"{at}: there is no vertex {number:g}; there are {n_nodes}")
    return int(number) - 1


def _graph6_size(content: bytes, at: str) -> int:
    """Return the number of nodes that a line states."""
    values = [byte - 63 for byte in content[:8]]
    if values[0] < 63:
        return values[0]
    long = len(values) > 1 and values[1] == 63
    digits = values[2:8] if long else values[1:4]
    if len(digits) != (6 if long else 3):
        raise DatasetError(f"{at}: not a line of graph6 or sparse6")
    size = 0
    for digit in digits:
        size = size * 64 + digit
    return size
