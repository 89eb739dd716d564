"""Positions of the nodes of two aligned graphs; numbers only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment import Alignment
from ddgk.graphs import Graph
from ddgk.graphs.layout import lay_out

Array = NDArray[np.float64]

PUSHES = 200

# Below this share of kept edges the target is not drawn at the places of its partners.
LEAST_KEPT = 0.5


def lay_out_pair(
    found: Alignment, *, matched: bool, gaps: tuple[float, float] = (0.0, 0.0)
) -> tuple[Array, Array]:
    """Return positions of target and source; with `matched`, partners have equal positions.

    Where the matching keeps few edges, the target keeps its own layout and is only mirrored, to be
    near its partners.

    gaps: width and height of a node's disc; discs that overlap are moved apart.
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
    """Move nodes whose discs overlap away from each other, in small steps.

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
        # Of nodes at one place, the later moves to the right.
        same = lengths < 1e-9
        apart[same] = np.sign(np.subtract(*np.nonzero(same)))[:, None] * np.array([1.0, 0.3])
        lengths[same] = 1e-9
        pushes = np.clip(1 - lengths, 0, None)[:, :, None] * apart
        pushes /= np.maximum(np.linalg.norm(apart, axis=2), 1e-9)[:, :, None]
        scaled[free] += 0.55 * pushes.sum(axis=1)[free]
    moved: Array = scaled * np.array(gaps)
    return moved


def _turn_over(places: Array, source: Array, pairs: NDArray[np.int64]) -> Array:
    """Mirror positions, horizontally, vertically or both, to be nearest to the partners."""
    turns = [np.array(turn) for turn in ((1, 1), (-1, 1), (1, -1), (-1, -1))]
    mine, theirs = places[pairs[:, 0]], source[pairs[:, 1]]
    best = min(turns, key=lambda turn: float(((mine * turn - theirs) ** 2).sum()))
    turned: Array = places * best
    return turned


def _settle_the_rest(graph: Graph, places: dict[int, Any]) -> dict[int, Any]:
    """Place nodes without partners by springs, with all others fixed."""
    import networkx

    whole = networkx.Graph()
    whole.add_nodes_from(range(graph.n_nodes))
    whole.add_edges_from(graph.edges.tolist())
    gap = 1.2 / np.sqrt(graph.n_nodes)
    settled: dict[int, Any] = networkx.spring_layout(
        whole, pos=places, fixed=list(places), k=gap, seed=0
    )
    return {node: np.clip(place, -1.25, 1.25) for node, place in settled.items()}
