"""Drawings of graphs as plain numbers, which the page turns into SVG."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddgk.graphs import Graph
from ddgk.graphs.display import bond_orders, lay_out
from ddgk.plain import visible

MAX_NODES = 1_000  # above, the page tells the size in place of a drawing
MAX_EDGES = 5_000
SCALE = 500  # coordinates are whole numbers from -500 to 500


def drawing_values(graph: Graph) -> dict[str, Any]:
    """Return a drawing of a graph.

    Returns
    -------
    dict
        "n", "m": numbers of nodes and edges. Unless it is too large: "p": coordinates, x and y of
        each node in turn; "e": ends of each edge in turn; "l": node labels as text, "t": node names
        as text, "o": bond orders (4 is aromatic) where it is a molecule, "b": edge labels as text
        where it is not, "d": 1 where it is directed.

    Examples
    --------
    >>> drawing_values(Graph(2, [(0, 1)]))
    {'n': 2, 'm': 1, 'p': [-500, 0, 500, 0], 'e': [0, 1]}
    """
    drawn: dict[str, Any] = {"n": graph.n_nodes, "m": graph.n_edges}
    if graph.n_nodes > MAX_NODES or graph.n_edges > MAX_EDGES:
        return drawn
    orders = bond_orders(graph)
    drawn["p"] = np.rint(lay_out(graph) * SCALE).astype(int).ravel().tolist()
    drawn["e"] = graph.edges.ravel().tolist()
    if graph.node_labels is not None:
        drawn["l"] = [visible(label, 12) for label in graph.node_labels]
    if graph.node_names != tuple(range(graph.n_nodes)):
        drawn["t"] = [visible(name, 40) for name in graph.node_names]
    if orders:
        drawn["o"] = orders
    elif graph.edge_labels is not None:
        drawn["b"] = [visible(label, 12) for label in graph.edge_labels]
    if graph.directed:
        drawn["d"] = 1
    return drawn
