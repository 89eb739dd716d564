"""Convert igraph graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddgk.graphs.edges import EdgeTable, build_graph
from ddgk.graphs.foreign import MISSING, require, whole_column
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.policies import Policies, chosen_policies

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

    The vertex attribute "name", where there is one, gives the node names. The first five
    parameters name vertex and edge attributes. igraph says None where an attribute is not set, so
    None counts as missing; an attribute must be set everywhere or nowhere, and one you name
    yourself must be there.

    Parameters
    ----------
    graph : igraph.Graph
    node_labels, edge_labels : str or None
        Attributes with labels (any hashable). None reads none.
    node_attributes, edge_attributes : str or None
        Attributes with vectors.
    edge_weights : str or None
        Edge attribute with weights.
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
    policies = chosen_policies(policies)
    if name is None and "name" in graph.attributes():
        name = graph["name"] or None
    who = describe(name)
    ends = graph.get_edgelist()
    names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())

    def column(
        items: Any, key: str | None, usual: str, parameter: str, called: Callable[[int], str]
    ) -> list[Any] | None:
        if key is None:
            return None
        known = items[key] if key in items.attributes() else [None] * len(items)
        values = [MISSING if value is None else value for value in known]
        return whole_column(values, key, usual=usual, parameter=parameter, called=called, who=who)

    def of_nodes(key: str | None, usual: str, parameter: str) -> list[Any] | None:
        return column(graph.vs, key, usual, parameter, lambda i: f"node {names[i]!r}")

    def of_edges(key: str | None, usual: str, parameter: str) -> list[Any] | None:
        return column(
            graph.es,
            key,
            usual,
            parameter,
            lambda i: f"edge ({names[ends[i][0]]!r}, {names[ends[i][1]]!r})",
        )

    ignored = policies.weights == "ignore"
    return build_graph(
        graph.vcount(),
        EdgeTable(
            ends,
            labels=of_edges(edge_labels, "label", "edge_labels"),
            weights=None if ignored else of_edges(edge_weights, "weight", "edge_weights"),
            attributes=of_edges(edge_attributes, "attributes", "edge_attributes"),
            listing="directed" if graph.is_directed() else "once",
        ),
        policies=policies,
        name=name,
        node_names=names,
        node_labels=of_nodes(node_labels, "label", "node_labels"),
        node_attributes=of_nodes(node_attributes, "attributes", "node_attributes"),
    )
