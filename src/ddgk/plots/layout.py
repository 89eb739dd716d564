"""Where the nodes of a drawn graph stand; numbers only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment import Alignment
from ddgk.graphs import Graph

Array = NDArray[np.float64]

# Above this many nodes springs are good enough, and stress takes too long.
MOST_BY_STRESS = 150

# A matching that loses more edges than this makes a tangle of the target's drawing.
LEAST_KEPT = 0.5


def lay_out(graph: Graph) -> Array:
    """Place nodes so that drawn lengths follow distances, in [-1, 1] x [-1, 1].

    Components stand side by side, the largest first; the longer side lies across. The same graph
    in the same node order always gets the same places. Returns (n_nodes, 2).
    """
    import networkx

    whole = networkx.Graph()
    whole.add_nodes_from(range(graph.n_nodes))
    whole.add_edges_from(graph.edges.tolist())
    parts = sorted(networkx.connected_components(whole), key=lambda part: (-len(part), min(part)))
    places = np.zeros((graph.n_nodes, 2))
    edge = 0.0
    for part in parts:
        nodes = sorted(part)
        own = _lay_out_connected(whole.subgraph(nodes), nodes)
        own[:, 0] += edge - own[:, 0].min()
        places[nodes] = own
        edge = float(own[:, 0].max()) + 0.6
    return fit(places)


def lay_out_pair(found: Alignment, *, matched: bool) -> tuple[Array, Array]:
    """Place target and source; where `matched`, target nodes stand as the partners they found.

    A matching that keeps too few of the target's edges does not place anything.
    """
    source = lay_out(found.source)
    if not matched or found.edge_correctness < LEAST_KEPT:
        return lay_out(found.target), source
    places: dict[int, Any] = {t: source[s] for t, s in found.pairs.tolist()}
    if len(places) < found.target.n_nodes:
        places = _settle_the_rest(found.target, places)
    return np.array([places[node] for node in range(found.target.n_nodes)]), source


def fit(places: Array) -> Array:
    """Centre places and scale both axes alike, so that the longer one spans [-1, 1]."""
    low, high = places.min(axis=0), places.max(axis=0)
    reach = float((high - low).max()) / 2
    fitted: Array = (places - (low + high) / 2) / (reach if reach > 0 else 1.0)
    return fitted


def _lay_out_connected(graph: Any, nodes: list[int]) -> Array:
    """Place one component, with about one unit between neighbours."""
    import networkx

    if len(nodes) == 1:
        return np.zeros((1, 2))
    if len(nodes) == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    if len(nodes) <= MOST_BY_STRESS:
        found = networkx.kamada_kawai_layout(graph)
    else:
        found = networkx.spring_layout(graph, seed=0)
    places = np.array([found[node] for node in nodes])
    lengths = [np.linalg.norm(found[u] - found[v]) for u, v in graph.edges]
    return _lie_down(places / max(float(np.mean(lengths)), 1e-9))


def _lie_down(places: Array) -> Array:
    """Turn places so that the longer axis lies across and the first node is at the left."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned: Array = centred @ axes.T
    turned *= np.where(turned[0] > 0, -1.0, 1.0)
    return turned


def _settle_the_rest(graph: Graph, places: dict[int, Any]) -> dict[int, Any]:
    """Let springs place the nodes without partners among those that have one."""
    import networkx

    whole = networkx.Graph()
    whole.add_nodes_from(range(graph.n_nodes))
    whole.add_edges_from(graph.edges.tolist())
    gap = 1.2 / np.sqrt(graph.n_nodes)
    settled: dict[int, Any] = networkx.spring_layout(
        whole, pos=places, fixed=list(places), k=gap, seed=0
    )
    return {node: np.clip(place, -1.25, 1.25) for node, place in settled.items()}
