"""To and from networkx graphs, directed, multiple or simple."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddgk.errors import GraphError
from ddgk.graphs.foreign import MISSING, USUAL, keyed_graph, require
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.policies import Policies

if TYPE_CHECKING:
    import networkx


def from_networkx(
    graph: networkx.Graph,
    *,
    node_labels: str | None = "label",
    edge_labels: str | None = "label",
    node_attributes: str | None = "attributes",
    edge_attributes: str | None = "attributes",
    edge_weights: str | None = "weight",
    name: str | None = None,
    policies: Policies | None = None,
) -> Graph:
    """Convert a networkx Graph, DiGraph, MultiGraph or MultiDiGraph.

    Nodes keep the order of the networkx graph. The first five parameters name keys of its node and
    edge dictionaries. A key must be on every node (edge) or on none; one you name yourself must be
    there. A graph without edges has no edge labels.

    Parameters
    ----------
    graph : networkx.Graph
        Or a subclass.
    node_labels, edge_labels : str or None
        Keys of labels (any hashable). None reads none.
    node_attributes, edge_attributes : str or None
        Keys of attribute vectors.
    edge_weights : str or None
        Key of an edge's weight.
    name : str, optional
        Default: the networkx graph's own name.
    policies : Policies, optional
        How to read what can be read in more than one way.

    Examples
    --------
    >>> import networkx
    >>> from ddgk.graphs import Policies, from_networkx
    >>> water = networkx.Graph([("O", "H1"), ("O", "H2")])
    >>> networkx.set_node_attributes(water, {"O": "O", "H1": "H", "H2": "H"}, "label")
    >>> from_networkx(water).node_labels
    ('O', 'H', 'H')
    >>> arrows = networkx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])
    >>> from_networkx(arrows)
    Graph(n_nodes=3, n_edges=3, directed)
    >>> from_networkx(arrows, policies=Policies(directed="undirected")).n_edges
    2
    """
    require(graph, "networkx", "Graph", "from_networkx", name)
    name = name if name is not None else graph.graph.get("name") or None
    numbers = {node: number for number, node in enumerate(graph)}
    stored: dict[str, list[dict[Any, Any]]] = {
        "node": [data for _, data in graph.nodes(data=True)],
        "edge": [data for _, _, data in graph.edges(data=True)],
    }
    return keyed_graph(
        list(graph),
        [(numbers[u], numbers[v]) for u, v in graph.edges()],
        lambda kind, key: [data.get(key, MISSING) for data in stored[kind]],
        (node_labels, edge_labels, node_attributes, edge_attributes, edge_weights),
        directed=graph.is_directed(),
        name=name,
        policies=policies,
    )


def to_networkx(graph: Graph) -> networkx.Graph:
    """Convert to networkx, with the caller's node names; the inverse of `from_networkx`.

    A directed graph becomes a DiGraph. Labels are stored under "label", attributes under
    "attributes", weights under "weight".

    Examples
    --------
    >>> from ddgk.graphs import Graph, to_networkx
    >>> pair = Graph(2, [(0, 1)], node_names=["a", "b"], edge_labels=["bond"])
    >>> list(to_networkx(pair).edges(data=True))
    [('a', 'b', {'label': 'bond'})]
    """
    import networkx

    names = graph.node_names
    if None in names:
        raise GraphError(
            f"{describe(graph.name)}: networkx cannot hold a node named None; "
            "use graph.replace(node_names=...)"
        )
    result = networkx.DiGraph() if graph.directed else networkx.Graph()
    if graph.name is not None:
        result.graph["name"] = graph.name
    result.add_nodes_from(names)
    ends = [(names[u], names[v]) for u, v in graph.edges.tolist()]
    result.add_edges_from(ends)
    for parameter, key in USUAL.items():
        values: Any = getattr(graph, parameter)
        target, owners = (result.nodes, names) if "node" in parameter else (result.edges, ends)
        if values is not None:
            plain = values if isinstance(values, tuple) else values.tolist()
            for owner, value in zip(owners, plain, strict=True):
                target[owner][key] = value
    return result
