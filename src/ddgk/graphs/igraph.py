"""Convert igraph graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddgk.graphs.foreign import MISSING, keyed_graph, require
from ddgk.graphs.graph import Graph
from ddgk.graphs.policies import Policies

if TYPE_CHECKING:
    import igraph


def from_igraph(
    graph: igraph.Graph,
    *,
    node_labels: str | None = "label",
    edge_labels: str | None = "label",
    node_attributes: str | None = "attributes",
    edge_attributes: str | None = "attributes",
    edge_weights: str | None = "weight",
    name: str | None = None,
    policies: Policies | None = None,
) -> Graph:
    """Convert an igraph Graph, directed or not, simple or not.

    The vertex attribute "name", where there is one, gives the node names. igraph says None where an
    attribute is not set, so None counts as missing; an attribute must be set everywhere or nowhere,
    and one you name yourself must be there.

    Parameters
    ----------
    graph : igraph.Graph
    node_labels, edge_labels, node_attributes, edge_attributes, edge_weights : str or None
        Vertex and edge attributes, as for `from_networkx`.
    name : str, optional
        Default: the graph attribute "name".
    policies : Policies, optional
        How to read what can be read in more than one way.

    Examples
    --------
    >>> import igraph
    >>> from ddgk.graphs import from_igraph
    >>> ring = igraph.Graph.Ring(4)
    >>> ring.vs["label"] = ["a", "b", "a", "b"]
    >>> from_igraph(ring)
    Graph(n_nodes=4, n_edges=4, node_labels=2)
    """
    require(graph, "igraph", "Graph", "from_igraph", name)
    if name is None and "name" in graph.attributes():
        name = graph["name"] or None
    nodes, edges = graph.vs, graph.es

    def values(kind: str, key: str) -> list[Any]:
        items = nodes if kind == "node" else edges
        known = items[key] if key in items.attributes() else [None] * len(items)
        return [MISSING if value is None else value for value in known]

    return keyed_graph(
        nodes["name"] if "name" in nodes.attributes() else range(graph.vcount()),
        graph.get_edgelist(),
        values,
        (node_labels, edge_labels, node_attributes, edge_attributes, edge_weights),
        directed=graph.is_directed(),
        name=name,
        policies=policies,
    )
