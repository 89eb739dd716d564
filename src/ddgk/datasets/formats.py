"""One reader per file format; each takes a file's bytes and returns its graphs."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from ddgk.datasets.edge_lists import parse_edge_list
from ddgk.datasets.node_link import parse_node_link
from ddgk.errors import DatasetError, GraphError
from ddgk.graphs import Graph, Policies, from_edges, from_networkx

if TYPE_CHECKING:
    import networkx


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

    text = decode(data, where)
    graph = _guarded(lambda: networkx.parse_gml(text, label="id"), where, "GML")
    names = {node: values.pop("label", None) for node, values in graph.nodes(data=True)}
    if None not in names.values():
        graph = networkx.relabel_nodes(graph, _checked_names(names, where))
    return [conversion.apply(graph, name)]


def read_graphml(data: bytes, where: str, name: str, conversion: Conversion) -> list[Graph]:
    """GraphML: one graph, with the node ids as names."""
    import networkx

    n_nodes = _check_xml(data, where)
    graph = _guarded(lambda: networkx.read_graphml(io.BytesIO(data)), where, "GraphML")
    # networkx makes one node of equal ids, and new ones of ends that no node has.
    if len(graph) != n_nodes:
        raise DatasetError(
            f"{where}: {n_nodes} nodes make {len(graph)}; each needs an id of its own, "
            "and edges must join nodes that are there"
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
        return READERS[suffix](data, where, name, conversion)
    except GraphError as error:
        raise type(error)(f"{where}: {error}") from error


def decode(data: bytes, where: str) -> str:
    """Return the text of a file, which must be UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DatasetError(f"{where}, line {line}: not UTF-8 text; save it as UTF-8") from error


def _guarded(parse: Callable[[], Any], where: str, kind: str) -> Any:
    try:
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


def _check_xml(data: bytes, where: str) -> int:
    """Walk the file once without building anything, and return how many nodes it has.

    Stops at any declaration of entities: those can unfold to gigabytes or name files of this
    machine, and no GraphML needs them.
    """
    tags: Counter[str] = Counter()

    def refuse(*_: object) -> None:
        raise DatasetError(f"{where}: refused, it has a DOCTYPE; GraphML needs none, so remove it")

    def count(tag: str, _: object) -> None:
        local = tag.rpartition(":")[2]
        if local in ("graph", "node"):
            tags[local] += 1

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
    return tags["node"]
