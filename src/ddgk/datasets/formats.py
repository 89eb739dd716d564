"""One reader per file format; each takes a file's bytes and returns its graphs."""

from __future__ import annotations

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from ddgk.datasets.edge_lists import parse_edge_list
from ddgk.datasets.node_link import parse_node_link
from ddgk.errors import DatasetError, DDGKError, shown
from ddgk.graphs import Graph, Policies, from_edges, from_networkx

if TYPE_CHECKING:
    import networkx


# Numbering parallel edges takes networkx the square of their number; more than this is no data.
MAX_PARALLEL = 1000
# Strings, comments (networkx ends lines where str.splitlines does), and the word "key".
GML_KEYS = re.compile(r'"[^"]*"|#[^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]*|\bkey\b')
GML_KEY = "key_of_an_edge"


@dataclass(frozen=True)
class Conversion:
    """What of a file's content a graph takes, and how: the parameters of `from_networkx`."""

    node_labels: str | None = "label"
    edge_labels: str | None = "label"
    node_attributes: str | None = "attributes"
    edge_weights: str | None = "weight"
    policies: Policies | None = None

    def apply(self, graph: networkx.Graph, name: str) -> Graph:
        """Convert one parsed graph."""
        return from_networkx(
            graph,
            node_labels=self.node_labels,
            edge_labels=self.edge_labels,
            node_attributes=self.node_attributes,
            edge_weights=self.edge_weights,
            name=name,
            policies=self.policies,
        )


def read_gml(data: bytes, where: str, name: str, conversion: Conversion) -> list[Graph]:
    """GML: one graph; a node's `label` is its name, as networkx has it, else its `id` is."""
    import networkx

    text = _without_keys(decode(data, where))
    graph = _guarded(lambda: networkx.parse_gml(text, label="id"), where, "GML")
    _restore_keys(graph)
    names = {node: values.pop("label", None) for node, values in graph.nodes(data=True)}
    if names and None not in names.values():
        graph = networkx.relabel_nodes(graph, _checked_names(names, where))
    return [conversion.apply(graph, name)]


def read_graphml(data: bytes, where: str, name: str, conversion: Conversion) -> list[Graph]:
    """GraphML: one graph, with the node ids as names."""
    import networkx

    n_nodes, n_edges = _check_xml(data, where)
    graph = _guarded(lambda: networkx.read_graphml(io.BytesIO(data)), where, "GraphML")
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
    return [conversion.apply(graph, name)]


def read_edge_list(data: bytes, where: str, name: str, conversion: Conversion) -> list[Graph]:
    """Edge lists: one graph, a line per edge, with an optional weight."""
    listed = parse_edge_list(decode(data, where), where)
    third = "weight" if listed.weighted and conversion.edge_weights is not None else None
    edges = [edge[:3] if third else edge[:2] for edge in listed.edges]
    policies = conversion.policies
    return [from_edges(edges, nodes=listed.nodes, third=third, name=name, policies=policies)]


def read_json(data: bytes, where: str, name: str, conversion: Conversion) -> list[Graph]:
    """JSON: networkx's node-link layout, one graph or a list of them."""
    graphs, is_list = parse_node_link(decode(data, where), where)
    return [
        conversion.apply(graph, graph.name or (f"{name}-{i}" if is_list else name))
        for i, graph in enumerate(graphs)
    ]


Reader = Callable[[bytes, str, str, Conversion], list[Graph]]

READERS: dict[str, Reader] = {
    ".gml": read_gml,
    ".graphml": read_graphml,
    ".edges": read_edge_list,
    ".edgelist": read_edge_list,
    ".txt": read_edge_list,
    ".csv": read_edge_list,
    ".json": read_json,
}


def convert(data: bytes, suffix: str, where: str, name: str, conversion: Conversion) -> list[Graph]:
    """Read a file's bytes by the table, with the file's name on every complaint."""
    try:
        graphs = READERS[suffix](data, where, name, conversion)
        for graph in graphs:
            _check_texts(graph)
    except DDGKError as error:
        reason = str(error).removeprefix(where)
        reason = reason if len(reason) < len(str(error)) else f": {reason}"
        raise type(error)(where + shown(reason)) from error
    except RecursionError as error:
        raise DatasetError(f"{where}: something in it is nested too deeply") from error
    return graphs


def decode(data: bytes, where: str) -> str:
    """Return the text of a file, which must be UTF-8."""
    if b"\0" in data:
        # UTF-16 looks like UTF-8 with NUL characters in it: every name would be another one.
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise DatasetError(f"{where}, line {line}: not UTF-8 text (NUL found); save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DatasetError(f"{where}, line {line}: not UTF-8 text; save it as UTF-8") from error


def _check_texts(graph: Graph) -> None:
    """Refuse halves of characters, which an escape in a file can make: no file can hold them."""
    columns = ((graph.name,), graph.node_names, graph.node_labels or (), graph.edge_labels or ())
    for column in columns:
        try:
            "".join(text for text in column if isinstance(text, str)).encode()
        except UnicodeEncodeError as error:
            raise DatasetError(
                f"{error.object[error.start]!a} is half of a character (a lone surrogate)"
            ) from error


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
        reason = str(error) or type(error).__name__
        raise DatasetError(
            f"{where}: not {kind} that networkx can read ({reason[:200]}); "
            f"correct it, or write it anew with networkx.write_{kind.lower()}"
        ) from error


def _checked_names(names: dict[Any, Any], where: str) -> dict[Any, Any]:
    for node, name in names.items():
        if not isinstance(name, str | int | float):
            raise DatasetError(f"{where}: node {node} needs a text or a number as its label")
    name, count = Counter(names.values()).most_common(1)[0]
    if count > 1:
        raise DatasetError(
            f"{where}: the label {name!r} names {count} nodes, but in GML a label is the node's "
            'name; store kinds under another key, such as kind, and read with node_labels="kind"'
        )
    return names


def _check_xml(data: bytes, where: str) -> tuple[int, int]:
    """Walk the file once without building anything, and return how many nodes and edges it has.

    Stops at any declaration of entities: those can unfold to gigabytes or name files of this
    machine, and no GraphML needs them.
    """
    tags: Counter[str] = Counter()
    joined: Counter[tuple[str, ...]] = Counter()

    def refuse(*_: object) -> None:
        raise DatasetError(f"{where}: refused, it has a DOCTYPE; GraphML needs none, so remove it")

    def count(tag: str, attributes: dict[str, str]) -> None:
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
    try:
        parser.Parse(data, True)
    except DatasetError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise DatasetError(f"{where}: not XML ({error})") from error
    if tags["graph"] != 1:
        raise DatasetError(
            f"{where}: {tags['graph']} graphs in one file; GraphML is read one per file"
        )
    return tags["node"], tags["edge"]
