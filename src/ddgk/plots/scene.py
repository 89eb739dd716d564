"""The content of an alignment figure: discs, colours, sizes, lines and places, before drawing."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment import Alignment, GroupAlignment
from ddgk.alignment.result import kept_edges
from ddgk.graphs import Graph
from ddgk.graphs.display import PALETTE, UNLABELLED, lay_out
from ddgk.plain import visible
from ddgk.plots.canvas import LONGEST, OTHER, assign_colours, node_size

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Colours = list[str]

MOST_NODES = 60  # above, communities are drawn in place of nodes
MOST_PLAIN_NODES = 20  # above, colours of nodes without labels show communities
STRONG = 0.15  # attention to other nodes than the partner is drawn from this value on
PUSHES = 200


@dataclass(frozen=True)
class DrawnGraph:
    """One graph of a pair, as it is drawn.

    colours, sizes, ticks: of every node; sizes of discs are in square points, ticks are the names
    along the heat map. kept: which edges have a counterpart, (n_edges,). widths: of the edges in
    points, or None for all alike. matched: which nodes have a partner, (n,). text: what the sheet
    is called.
    """

    graph: Graph
    colours: Colours
    sizes: Array
    ticks: list[str]
    kept: Flags
    widths: Array | None
    matched: Flags
    text: str


@dataclass(frozen=True)
class Scene:
    """A pair as it is drawn: nodes, or groups of nodes.

    found: the alignment of what is drawn. drawn: target and source. legend: what colours stand for.
    verdict: the line below the title. unit: what the discs are called.
    """

    found: Alignment
    drawn: list[DrawnGraph]
    legend: dict[Hashable, str]
    verdict: str
    unit: str

    @property
    def title(self) -> str:
        """Return the names of both graphs."""
        target, source = self.found.target.name, self.found.source.name
        return f"{visible(target or 'target', LONGEST)} onto {visible(source or 'source', LONGEST)}"

    @property
    def links(self) -> tuple[NDArray[np.int64], Array, Flags]:
        """Return lines between the sheets, (k, 2), their strength, and whether they are matches.

        The strength of a match is its confidence. Each target node has up to two more lines, to
        other nodes with high attention.
        """
        pairs = self.found.pairs
        elsewhere = self.found.attention.copy()
        elsewhere[pairs[:, 0], pairs[:, 1]] = 0.0
        best = np.argsort(-elsewhere, axis=1, kind="stable")[:, :2]
        others = np.stack([np.repeat(np.arange(len(best)), best.shape[1]), best.ravel()], axis=1)
        strength = elsewhere[others[:, 0], others[:, 1]]
        others, strength = others[strength >= STRONG], strength[strength >= STRONG]
        sure = np.array(list(self.found.confidence.values()))
        matches = np.repeat([True, False], [len(pairs), len(others)])
        return np.concatenate([pairs, others]), np.concatenate([sure, strength]), matches


def set_scene(found: Alignment | GroupAlignment) -> Scene:
    """Choose between a disc for every node and a disc for every group, and describe them."""
    if isinstance(found, GroupAlignment):
        return _show_groups(found)
    if max(found.target.n_nodes, found.source.n_nodes) > MOST_NODES:
        return _show_groups(found.coarsen())
    size = node_size(max(found.target.n_nodes, found.source.n_nodes))
    colours, legend = _colour_nodes(found)
    drawn = []
    for side, graph in enumerate((found.target, found.source)):
        ticks = list(map(str, graph.node_names))
        sizes = np.full(graph.n_nodes, size)
        drawn.append(_show_graph(found, side, colours[side], sizes, ticks))
    return Scene(found, drawn, legend, _judge(found), "node")


def _show_groups(groups: GroupAlignment) -> Scene:
    """Describe a disc for every group; its area is the number of nodes."""
    small, both = groups.quotient, (groups.target_groups, groups.source_groups)
    colours = _colour_groups(groups)
    largest = max(int(grouping.sizes.max()) for grouping in both)
    area = min(1500, 9000 / max(small.target.n_nodes, small.source.n_nodes))
    drawn = []
    for side, (graph, own) in enumerate(zip((small.target, small.source), both, strict=True)):
        weights = np.ones(graph.n_edges) if graph.edge_weights is None else graph.edge_weights
        drawn.append(
            _show_graph(
                small,
                side,
                colours[side],
                np.clip(area * own.sizes / largest, 60, None),
                [f"{name} ({size})" for name, size in zip(own.names, own.sizes, strict=True)],
                widths=0.4 + 5.0 * weights / weights.max(initial=1e-9),
                more=f", {len(own.codes)} nodes in {graph.n_nodes} groups",
            )
        )
    verdict = f"{_judge(groups.nodes)}, {groups.share_within:.0%} attend the matched group"
    return Scene(small, drawn, {}, verdict, "group")


def _show_graph(
    found: Alignment,
    side: int,
    colours: Colours,
    sizes: Array,
    ticks: list[str],
    widths: Array | None = None,
    more: str = "",
) -> DrawnGraph:
    graph, what = ((found.target, "target"), (found.source, "source"))[side]
    edges = kept_edges(found.target, found.source, found.pairs)[:, side]
    kept = np.isin(np.arange(graph.n_edges), edges)
    matched = np.isin(np.arange(graph.n_nodes), found.pairs[:, side])
    text = (f"{what}: {visible(graph.name, LONGEST)}" if graph.name else what) + more
    return DrawnGraph(graph, colours, sizes, ticks, kept, widths, matched, text)


def _judge(found: Alignment) -> str:
    n_edges = found.target.n_edges
    said = f"{found.n_kept_edges} of {n_edges}"
    said = f"isomorphic, all {n_edges}" if found.is_isomorphism else said
    confidence = np.mean(list(found.confidence.values()))
    return f"{said} edges kept, mean confidence {confidence:.2f}"


def _colour_nodes(found: Alignment) -> tuple[list[Colours], dict[Hashable, str]]:
    """Return colours of target and source nodes, and the legend."""
    graphs, legend = (found.target, found.source), dict[Hashable, str]()
    if any(graph.node_labels is not None for graph in graphs):
        known = assign_colours(label for graph in graphs for label in graph.node_labels or ())
        for value, colour in known.items():
            legend[f"label {value}" if isinstance(value, int | float) else value] = colour
        return [
            [UNLABELLED] * graph.n_nodes
            if graph.node_labels is None
            else [known[label] for label in graph.node_labels]
            for graph in graphs
        ], legend
    if min(graph.n_nodes for graph in graphs) <= MOST_PLAIN_NODES:
        return [[UNLABELLED] * graph.n_nodes for graph in graphs], legend
    groups = found.coarsen()
    mine, theirs = _colour_groups(groups)
    for name, colour in zip(groups.source_groups.names, theirs, strict=True):
        legend[f"community {name}"] = colour
    return [
        [mine[code] for code in groups.target_groups.codes.tolist()],
        [theirs[code] for code in groups.source_groups.codes.tolist()],
    ], legend


def _colour_groups(groups: GroupAlignment) -> tuple[Colours, Colours]:
    """Colour source groups, the largest first; target groups take the colour of their partner."""
    sizes = groups.source_groups.sizes
    theirs = [OTHER] * len(sizes)
    for colour, group in zip(PALETTE, np.argsort(-sizes, kind="stable").tolist(), strict=False):
        theirs[group] = colour
    mine = [OTHER] * len(groups.target_groups.names)
    for t, s in groups.pairs.tolist():
        mine[t] = theirs[s]
    return mine, theirs


def lay_out_pair(
    found: Alignment, *, matched: bool, gaps: tuple[float, float]
) -> tuple[Array, Array]:
    """Return positions of target and source; with `matched`, partners have equal positions.

    gaps: width and height of a node's disc; discs that overlap are moved apart.
    """
    target, source = lay_out(found.target), keep_apart(lay_out(found.source), gaps)
    if not matched:
        return keep_apart(target, gaps), source
    alone = ~np.isin(np.arange(len(target)), found.pairs[:, 0])
    return keep_apart(_move_onto(target, source, found.pairs), gaps, movable=alone), source


def keep_apart(places: Array, gaps: tuple[float, float], *, movable: Flags | None = None) -> Array:
    """Move nodes whose discs overlap away from each other, in small steps.

    gaps: width and height of a disc. movable: which may be pushed, all by default.
    """
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
        pushes = np.clip(1 - lengths, 0, None)[:, :, None] * apart
        pushes /= np.maximum(np.linalg.norm(apart, axis=2), 1e-9)[:, :, None]
        scaled[free] += 0.55 * pushes.sum(axis=1)[free]
    moved: Array = scaled * np.array(gaps)
    return moved


def _move_onto(places: Array, source: Array, pairs: NDArray[np.int64]) -> Array:
    """Give nodes the places of their partners; turn and scale the layout of the others to fit."""
    from scipy.linalg import orthogonal_procrustes

    if not len(pairs):
        return places
    mine, theirs = places[pairs[:, 0]], source[pairs[:, 1]]
    centred, wanted = mine - mine.mean(axis=0), theirs - theirs.mean(axis=0)
    turn, reach = orthogonal_procrustes(centred, wanted)
    scale = reach / float((centred**2).sum()) if reach > 1e-9 else 1.0
    moved: Array = (places - mine.mean(axis=0)) @ turn * scale + theirs.mean(axis=0)
    moved = np.clip(moved, -1.25, 1.25)
    moved[pairs[:, 0]] = theirs
    return moved
