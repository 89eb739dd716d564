"""Connected pieces of a large graph: what it looks like from a node, as small graphs.

In a graph of 20,000 nodes nearly all pairs are non-edges, and a loss over all pairs says hardly
more than how many. Its pieces are as dense as small graphs are; their divergences, averaged, say
what the graph is like near a node, whatever its size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import ParameterError
from ddgk.graphs.graph import Graph

Indices = NDArray[np.int64]


def sample_pieces(graph: Graph, n_pieces: int, n_nodes: int, *, seed: int = 0) -> list[Graph]:
    """Draw connected pieces: a node, those around it, those around these, up to a number of nodes.

    Parameters
    ----------
    graph : Graph
    n_pieces : int
        How many. Each begins at a node of its own as long as there are enough.
    n_nodes : int
        How many nodes a piece has at most; the edges are all that the graph has among them. A
        piece of a smaller component is all of it.
    seed : int
        Draws where pieces begin, and who comes first among those equally far away.

    Returns
    -------
    list of Graph
        With the labels, attributes and weights of their nodes and edges.

    Examples
    --------
    >>> from ddgk.datasets import barbell
    >>> [piece.n_nodes for piece in sample_pieces(barbell(5), 3, 4)]
    [4, 4, 4]
    """
    for name, value in (("n_pieces", n_pieces), ("n_nodes", n_nodes)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}")
    generator = np.random.default_rng(seed)
    arcs = _Arcs.of(graph)
    rounds = -(-n_pieces // graph.n_nodes)
    order = np.concatenate([generator.permutation(graph.n_nodes) for _ in range(rounds)])
    return [
        _piece(graph, _around(int(centre), n_nodes, arcs, generator), arcs)
        for centre in order[:n_pieces]
    ]


@dataclass(frozen=True)
class _Arcs:
    """Both directions of every edge, by the node they leave.

    starts: where those of each node begin, (n + 1,); heads: where they lead, (2 m,); edges: which
    edge of the graph each belongs to, (2 m,).
    """

    starts: Indices
    heads: Indices
    edges: Indices

    @classmethod
    def of(cls, graph: Graph) -> _Arcs:
        both = np.concatenate([graph.edges, graph.edges[:, ::-1]])
        order = np.lexsort((both[:, 1], both[:, 0]))
        counts = np.bincount(both[:, 0], minlength=graph.n_nodes)
        starts = np.concatenate([[0], np.cumsum(counts)])
        return cls(starts, both[order, 1], order % max(1, graph.n_edges))

    def leaving(self, node: int) -> slice:
        """Return which arcs leave a node."""
        return slice(self.starts[node], self.starts[node + 1])


def _around(centre: int, n_nodes: int, arcs: _Arcs, generator: np.random.Generator) -> list[int]:
    """Return the nodes nearest to a node, itself first; of those equally far whoever is drawn."""
    found, seen = [centre], {centre}
    for node in found:  # it grows as we go: those around the first come before those around them
        if len(found) >= n_nodes:
            break
        near = generator.permutation(arcs.heads[arcs.leaving(node)]).tolist()
        new = [other for other in near if other not in seen][: n_nodes - len(found)]
        found += new
        seen.update(new)
    return found


def _piece(graph: Graph, nodes: list[int], arcs: _Arcs) -> Graph:
    """Return the graph of some nodes, in their order, and all edges among them."""
    place = {node: number for number, node in enumerate(nodes)}
    ends, edges = [], []
    for number, node in enumerate(nodes):
        leaving = arcs.leaving(node)
        for head, edge in zip(
            arcs.heads[leaving].tolist(), arcs.edges[leaving].tolist(), strict=True
        ):
            other = place.get(head, -1)
            if other > number:
                ends.append((number, other))
                edges.append(edge)
    labels, names = graph.node_labels, graph.node_names
    carried, weights, attributes = graph.edge_labels, graph.edge_weights, graph.node_attributes
    return Graph(
        len(nodes),
        ends,
        node_labels=None if labels is None else [labels[node] for node in nodes],
        edge_labels=None if carried is None else [carried[edge] for edge in edges],
        node_attributes=None if attributes is None else attributes[nodes],
        edge_weights=None if weights is None else weights[edges],
        node_names=None if names is None else [names[node] for node in nodes],
        name=graph.name,
    )
