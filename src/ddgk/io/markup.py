"""Read formats of graphs with attributes: GML, GraphML, GEXF, JSON, Pajek and graph6.

networkx parses some of them, after checks of its weak points.
"""

from __future__ import annotations

import io
import json
import re
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
from ddgk.io.reading import MAX_DEPTH, REAL, Options, check_n_nodes, decode, placed

if TYPE_CHECKING:
    import networkx

# Numbering parallel edges takes networkx the square of their number; more than this is no data.
MAX_PARALLEL = 1000
# Strings, comments (networkx ends lines where str.splitlines does), and keys of parallel edges.
GML_KEYS = re.compile(r'("[^"]*"|#[^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]*)|\bkey\s++[-+.0-9eE]++')
# A line of Pajek: the number of a vertex, its name; behind it coordinates and shapes.
VERTEX = re.compile(r"""\s*+\S++\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"']*+))(?:\s.*)?""")


def read_gml(data: bytes, name: str, options: Options) -> list[Graph]:
    """GML: one graph; a node's `label` is its name, as in networkx, else its `id` is.

    Labels that several nodes share cannot be names. They are an error, unless another key is given
    for node labels.
    """
    import networkx

    text = decode(data)
    if "multigraph" in text:  # networkx searches for keys between those of parallel edges
        text = GML_KEYS.sub(lambda found: found[1] or "", text)
    graph = _guarded(lambda: networkx.parse_gml(text, label="id"), "GML")
    names = {node: values.pop("label", None) for node, values in graph.nodes(data=True)}
    if names and None not in names.values() and _are_names(names, options):
        graph = networkx.relabel_nodes(graph, names)
    return [options.convert(graph, name)]


def read_graphml(data: bytes, name: str, options: Options) -> list[Graph]:
    """GraphML: one graph, with the node ids as names."""
    return [options.convert(_read_xml(data, "GraphML"), name)]


def read_gexf(data: bytes, name: str, options: Options) -> list[Graph]:
    """GEXF: one graph, with the node ids as names; labels of nodes are labels.

    networkx writes the name of a node as its label where it has none: such labels are not read.
    """
    graph = _read_xml(data, "GEXF")
    if graph.graph.get("mode") == "dynamic":
        raise DatasetError("a dynamic graph; export one moment of it as a static graph")
    if all(str(node) == label for node, label in graph.nodes(data="label")):
        for _, values in graph.nodes(data=True):
            del values["label"]
    return [options.convert(graph, name)]


def _read_xml(data: bytes, kind: str) -> networkx.Graph:
    import networkx

    tags = _checked_tags(data, kind)
    parse = networkx.read_graphml if kind == "GraphML" else networkx.read_gexf
    graph = _guarded(lambda: parse(io.BytesIO(data)), kind)
    # networkx makes one node of equal ids, and new ones of ends that no node has.
    for tag, made in (("node", len(graph)), ("edge", graph.number_of_edges())):
        if made != tags[tag]:
            raise DatasetError(
                f"{tags[tag]} {tag}s make {made}; each node needs an id of its own, edges "
                "join nodes that are there, and those of the same two nodes need different ids"
            )
    return graph


def _guarded(parse: Callable[[], Any], kind: str, at: str = "") -> Any:
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
            f"{at}not {kind} that networkx can read ({reason}); "
            f"correct it, or write it anew with networkx.write_{kind.lower()}"
        ) from error


def _are_names(names: dict[Any, Any], options: Options) -> bool:
    for node, name in names.items():
        if not isinstance(name, str | int | float):
            raise DatasetError(f"node {node} needs a text or a number as its label")
    name, count = Counter(names.values()).most_common(1)[0]
    if count > 1 and options.node_labels == "label":
        raise DatasetError(
            f"the label {shown(repr(name))} names {count} nodes, but in GML a label is "
            "the node's name",
            advice="store kinds under another key, such as kind",
            policy="node_labels",
            choices=("kind",),
            call="read",
        )
    return count == 1


def _checked_tags(data: bytes, kind: str) -> Counter[str]:
    """Walk the file once without building anything, and count its elements.

    Stops at a DOCTYPE, whose entities can unfold to gigabytes or name local files, and at elements
    nested deeper than any graph format does.
    """
    tags: Counter[str] = Counter()
    joined: Counter[tuple[str, ...]] = Counter()
    depth = 0

    def refuse(*_: object) -> None:
        raise DatasetError(f"refused, it has a DOCTYPE; {kind} needs none, so remove it")

    def enter(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise DatasetError(f"refused, over {MAX_DEPTH} elements inside each other")
        local = tag.rpartition(":")[2]
        tags[local] += 1
        if local == "edge":
            ends = tuple(sorted(attributes.get(end, "") for end in ("source", "target")))
            joined[ends] += 1
            if joined[ends] > MAX_PARALLEL:
                raise DatasetError(f"over {MAX_PARALLEL} edges join the same two nodes")

    def leave(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    try:
        parser.Parse(data, True)
    except DatasetError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise DatasetError(f"not XML ({error})") from error
    if tags["graph"] != 1:
        raise DatasetError(f"{tags['graph']} graphs in one file; {kind} is read one per file")
    return tags


def read_json(data: bytes, name: str, options: Options) -> list[Graph]:
    """JSON: networkx's node-link layout, one graph or a list of them.

    A graph is ``{"nodes": [{"id": 0, ...}], "links": [{"source": 0, "target": 1, ...}]}``, with
    "edges" for "links" as newer versions of networkx write it. networkx's own reader makes nodes of
    unknown ends and one edge of repeated ones; here the first is an error, and the second is kept
    for the policies to judge.

    >>> pair = b'{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}'
    >>> read_json(pair, "pair", Options())
    [Graph(n_nodes=2, n_edges=1, name='pair')]
    """
    text = decode(data)
    try:
        content = json.loads(text, object_pairs_hook=_refuse_repeats)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"not JSON that can be read ({error})") from error
    if isinstance(content, dict):
        return [_node_link_graph(content, name, options)]
    if not isinstance(content, list) or not content:
        raise DatasetError("needs a graph in node-link layout, or a list of such graphs")
    graphs = []
    for i, item in enumerate(content):
        try:
            graphs.append(_node_link_graph(item, f"{name}-{i}", options))
        except DatasetError as error:
            error.problem = placed(f"graph {i}", error.problem)
            raise
    return graphs


def _node_link_graph(content: Any, name: str, options: Options) -> Graph:
    content = content if isinstance(content, dict) else {}
    stored: dict[str, Any] = {
        "node": content.get("nodes"),
        "edge": content.get("links", content.get("edges")),
    }
    for kind, items in stored.items():
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            key = "nodes" if kind == "node" else "links"
            raise DatasetError(f'needs "{key}", a list of objects')
    numbers: dict[Any, int] = {}
    for position, node in enumerate(stored["node"]):
        key = _key(node, "id", f"node {position}")
        if numbers.setdefault(key, position) != position:
            raise DatasetError(f"node {position}: the id {shown(repr(key))} is taken")
    ends = []
    for position, link in enumerate(stored["edge"]):
        at = f"link {position}"
        pair = _key(link, "source", at), _key(link, "target", at)
        for end in pair:
            if end not in numbers:
                raise DatasetError(f"{at}: there is no node {shown(repr(end))}")
        ends.append((numbers[pair[0]], numbers[pair[1]]))
    own = content.get("graph")
    own = own.get("name") if isinstance(own, dict) else None
    return keyed_graph(
        list(numbers),
        ends,
        lambda kind, key: [item.get(key, MISSING) for item in stored[kind]],
        options.keys,
        directed=bool(content.get("directed", False)),
        name=own if isinstance(own, str) and own else name,
        policies=options.policies,
    )


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


def read_pajek(data: bytes, name: str, options: Options) -> list[Graph]:
    r"""Pajek: one graph of *Vertices with *Arcs or *Edges, one per line.

    >>> text = b'*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Edges\n1 2 0.5\n2 3 2\n'
    >>> graph, = read_pajek(text, "toy", Options())
    >>> graph.node_names, graph.edge_weights.tolist()
    (('a', 'b', 'c'), [0.5, 2.0])
    """
    names: list[str] = []
    listed: set[int] = set()
    rows: dict[str, list[tuple[int, int, float]]] = {"*arcs": [], "*edges": []}
    section = ""
    for number, line in enumerate(decode(data).splitlines(), start=1):
        at, words = f"line {number}", line.split()
        if not words or words[0].startswith("%"):
            continue
        if words[0].startswith("*"):
            section = words[0].casefold()
            if section == "*vertices":
                if names or len(words) != 2 or not re.fullmatch("[0-9]{1,15}", words[1]):
                    raise DatasetError(f"{at}: one *Vertices is read per file, with their number")
                check_n_nodes(int(words[1]))
                names = [str(i + 1) for i in range(int(words[1]))]
        elif section == "*vertices":
            found, place = VERTEX.fullmatch(line), _vertex(words[0], names, at)
            if found is None:
                raise DatasetError(f"{at}: {shown(line, 60)!r} is not a vertex")
            if place in listed:
                raise DatasetError(f"{at}: vertex {place + 1} is listed twice")
            listed.add(place)
            names[place] = next(filter(None, found.groups()), words[0])
        elif section in rows:  # behind two ends and a weight there is formatting
            if len(words) < 2:
                raise DatasetError(f"{at}: {shown(line, 60)!r} is not an edge")
            u, v = (_vertex(word, names, at) for word in words[:2])
            rows[section].append((u, v, _number(words[2], at) if len(words) > 2 else 1.0))
        else:
            raise DatasetError(f"{at}: {shown(line, 60)!r} stands in no section that is read")
    if not section:
        raise DatasetError("not a Pajek network, it has no *Vertices")
    arcs, edges = rows["*arcs"], rows["*edges"]
    if arcs:  # an undirected edge of a directed graph runs both ways
        edges = arcs + edges + [(v, u, w) for u, v, w in edges if u != v]
    weighted = options.edge_weights is not None and any(weight != 1 for *_, weight in edges)
    distinct = len(set(names)) == len(names)
    graph = build_graph(
        len(names),
        [(u, v) for u, v, _ in edges],
        edge_weights=[weight for *_, weight in edges] if weighted else None,
        listing="directed" if arcs else "once",
        policies=options.policies,
        name=name,
        node_names=names if distinct else None,
        node_labels=None if distinct else names,
    )
    return [graph]


def _vertex(word: str, names: list[str], at: str) -> int:
    number = _number(word, at)
    if not number.is_integer() or not 1 <= number <= len(names):
        raise DatasetError(f"{at}: there is no vertex {number:g}; there are {len(names)}")
    return int(number) - 1


def _number(word: str, at: str) -> float:
    if not REAL.fullmatch(word):
        raise DatasetError(f"{at}: {shown(word, 60)!r} is not a number")
    return float(word)


def read_graph6(data: bytes, name: str, options: Options) -> list[Graph]:
    r"""graph6: one graph per line.

    >>> [graph.n_edges for graph in read_graph6(b"Bw\nA_\n", "toy", Options())]
    [3, 1]
    """
    import networkx

    lines = [line.strip().removeprefix(b">>graph6<<") for line in data.splitlines()]
    graphs: list[Graph] = []
    for number, line in enumerate(lines, start=1):
        at = f"line {number}: "
        if line and min(line) < 63:
            raise DatasetError(f"{at}not a line of graph6")
        if line:
            parsed = _guarded(partial(networkx.from_graph6_bytes, line), "graph6", at)
            called = f"{name}-{len(graphs)}" if len(lines) > 1 else name
            graphs.append(options.convert(parsed, called))
    if not graphs:
        raise DatasetError("it is empty")
    return graphs
