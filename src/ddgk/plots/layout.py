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

PUSHES = 200

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


def lay_out_pair(
    found: Alignment, *, matched: bool, gaps: tuple[float, float] = (0.0, 0.0)
) -> tuple[Array, Array]:
    """Place target and source; where `matched`, target nodes stand as the partners they found.

    A matching that keeps too few of the target's edges would make a tangle of it: then the target
    is only turned over, to whichever side has it nearest to its partners.

    gaps: how wide and how high the disc of a node is; discs are pushed apart.
    """
    source = keep_apart(lay_out(found.source), gaps)
    if not matched:
        return keep_apart(lay_out(found.target), gaps), source
    if found.edge_correctness < LEAST_KEPT:
        return _turn_over(keep_apart(lay_out(found.target), gaps), source, found.pairs), source
    places: dict[int, Any] = {t: source[s] for t, s in found.pairs.tolist()}
    alone = np.array([node not in places for node in range(found.target.n_nodes)])
    if alone.any():
        places = _settle_the_rest(found.target, places)
    target = np.array([places[node] for node in range(found.target.n_nodes)])
    return keep_apart(target, gaps, movable=alone), source


def keep_apart(
    places: Array, gaps: tuple[float, float], *, movable: NDArray[np.bool_] | None = None
) -> Array:
    """Push nodes whose discs overlap away from each other, a little at a time.

    gaps: width and height of a disc. movable: which may be pushed, all by default.
    """
    if min(gaps) <= 0 or len(places) < 2:
        return places
    free = np.ones(len(places), dtype=bool) if movable is None else movable
    scaled = places / np.array(gaps)
    for _ in range(PUSHES):
        apart = scaled[:, None] - scaled[None]
        lengths = np.linalg.norm(apart, axis=2)
        np.fill_diagonal(lengths, np.inf)
        if lengths[free].min(initial=np.inf) >= 1:
            break
        # Nodes at one place have no direction: the later goes to the right of the earlier.
        same = lengths < 1e-9
        apart[same] = np.sign(np.subtract(*np.nonzero(same)))[:, None] * np.array([1.0, 0.3])
        lengths[same] = 1e-9
        pushes = np.clip(1 - lengths, 0, None)[:, :, None] * apart
        pushes /= np.maximum(np.linalg.norm(apart, axis=2), 1e-9)[:, :, None]
        scaled[free] += 0.55 * pushes.sum(axis=1)[free]
    moved: Array = scaled * np.array(gaps)
    return moved


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


def _turn_over(places: Array, source: Array, pairs: NDArray[np.int64]) -> Array:
    """Mirror places, across, up and down or both, to bring nodes nearest to their partners."""
    turns = [np.array(turn) for turn in ((1, 1), (-1, 1), (1, -1), (-1, -1))]
    mine, theirs = places[pairs[:, 0]], source[pairs[:, 1]]
    best = min(turns, key=lambda turn: float(((mine * turn - theirs) ** 2).sum()))
    turned: Array = places * best
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
