"""Read GML, GraphML and GEXF; networkx parses them after checks of its weak points."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph
from ddgk.io.limits import MAX_DEPTH
from ddgk.io.options import Options, decode

if TYPE_CHECKING:
    import networkx

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
    import networkx

    n_nodes, n_edges = _check_xml(data, where, "GraphML")
    graph = _guarded(lambda: networkx.read_graphml(io.BytesIO(data)), where, "GraphML")
    _check_counts(graph, n_nodes, n_edges, where)
    return [options.convert(graph, name)]


def read_gexf(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """GEXF: one graph, with the node ids as names; labels of nodes are labels."""
    import networkx

    n_nodes, n_edges = _check_xml(data, where, "GEXF")
    graph = _guarded(lambda: networkx.read_gexf(io.BytesIO(data)), where, "GEXF")
    if set(graph.graph) & {"mode"} and graph.graph["mode"] == "dynamic":
        raise DatasetError(f"{where}: a dynamic graph; export one moment of it as a static graph")
    _check_counts(graph, n_nodes, n_edges, where)
    return [options.convert(graph, name)]


def _check_counts(graph: networkx.Graph, n_nodes: int, n_edges: int, where: str) -> None:
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
