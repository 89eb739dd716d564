"""The content of an alignment figure: discs, colours, sizes, lines and places, before drawing."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.alignment import Alignment, GroupAlignment, Grouping
from ddgk.alignment.result import kept_edges
from ddgk.errors import ParameterError
from ddgk.graphs import Graph
from ddgk.graphs.display import PALETTE, UNLABELLED, lay_out
from ddgk.plain import visible
from ddgk.plots.canvas import LONGEST, OTHER, assign_colours, node_size

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Above this many nodes communities are drawn in place of nodes.
MOST_NODES = 60
# Above this many nodes without labels, colours show communities.
MOST_PLAIN_NODES = 20
# Attention to other nodes than the partner is drawn from this value on.
STRONG = 0.15
# Below this share of kept edges the target is not drawn at the places of its partners.
LEAST_KEPT = 0.5
PUSHES = 200


@dataclass(frozen=True)
class DrawnGraph:
    """One graph of a pair, as it is drawn.

    colours: of every node. sizes: of their discs, in square points, (n,). kept: which edges have a
    counterpart, (n_edges,). widths: of the edges in points, or None for all alike. matched: which
    nodes have a partner, (n,). text: what the sheet is called. ticks: names along the heat map.
    """

    graph: Graph
    colours: list[str]
    sizes: Array
    kept: Flags
    widths: Array | None
    matched: Flags
    text: str
    ticks: list[str]


@dataclass(frozen=True)
class Scene:
    """A pair as it is drawn: nodes, or groups of nodes.

    found: the alignment of what is drawn. legend: what colours stand for. verdict: the line below
    the title. unit: what the discs are called.
    """

    found: Alignment
    target: DrawnGraph
    source: DrawnGraph
    legend: dict[Hashable, str]
    title: str
    verdict: str
    unit: str

    @property
    def links(self) -> tuple[NDArray[np.int64], Array, Flags]:
        """Return lines between the sheets, (k, 2), their strength, and whether they are matches.

        The strength of a match is its confidence. Each target node has up to two more lines, to
        other nodes with high attention.
        """
        found = self.found
        sure = np.array(list(found.confidence.values()))
        elsewhere = found.attention.copy()
        elsewhere[found.pairs[:, 0], found.pairs[:, 1]] = 0.0
        best = np.argsort(-elsewhere, axis=1, kind="stable")[:, :2]
        rows = np.repeat(np.arange(len(best)), best.shape[1])
        others = np.stack([rows, best.ravel()], axis=1)
        strength = elsewhere[others[:, 0], others[:, 1]]
        strong = strength >= STRONG
        return (
            np.concatenate([found.pairs, others[strong]]),
            np.concatenate([sure, strength[strong]]),
            np.arange(len(found.pairs) + int(strong.sum())) < len(found.pairs),
        )


def show_nodes(found: Alignment) -> Scene:
    """Describe an alignment with a disc for every node."""
    if sparse.issparse(found.attention):
        sizes = f"{found.target.n_nodes:,} and {found.source.n_nodes:,}"
        raise ParameterError(
            f"graphs of {sizes} nodes are too large to draw node by node; pass detail='groups', "
            "or draw found.coarsen(...)"
        )
    kept = kept_edges(found.target, found.source, found.pairs)
    size = node_size(max(found.target.n_nodes, found.source.n_nodes))
    own, legend = _colour_nodes(found)
    both = [
        DrawnGraph(
            graph,
            own[place],
            np.full(graph.n_nodes, size),
            _flags(graph.n_edges, kept[:, place]),
            None,
            _flags(graph.n_nodes, found.pairs[:, place]),
            _called(graph, what),
            [str(name) for name in graph.node_names],
        )
        for place, (graph, what) in enumerate(_graphs(found))
    ]
    return Scene(found, both[0], both[1], legend, title_of(found), _judge_nodes(found), "node")


def show_groups(groups: GroupAlignment) -> Scene:
    """Describe an alignment with a disc for every group; its area is the number of nodes."""
    small = groups.quotient
    kept = kept_edges(small.target, small.source, small.pairs)
    own = _colour_groups(groups)
    largest = max(int(g.sizes.max()) for g in (groups.target_groups, groups.source_groups))
    crowd = max(small.target.n_nodes, small.source.n_nodes)
    both = []
    for place, ((graph, what), grouping) in enumerate(
        zip(_graphs(small), (groups.target_groups, groups.source_groups), strict=True)
    ):
        weights = np.ones(graph.n_edges) if graph.edge_weights is None else graph.edge_weights
        both.append(
            DrawnGraph(
                graph,
                own[place],
                np.clip(min(1500, 9000 / crowd) * grouping.sizes / largest, 60, None),
                _flags(graph.n_edges, kept[:, place]),
                0.4 + 5.0 * weights / weights.max(initial=1e-9),
                _flags(graph.n_nodes, small.pairs[:, place]),
                f"{_called(graph, what)}, {len(grouping.codes)} nodes in {graph.n_nodes} groups",
                [f"{n} ({k})" for n, k in zip(grouping.names, grouping.sizes, strict=True)],
            )
        )
    return Scene(small, both[0], both[1], {}, title_of(small), _judge_groups(groups), "group")


def title_of(found: Alignment) -> str:
    """Name a pair."""
    target, source = (visible(graph.name or what, LONGEST) for graph, what in _graphs(found))
    return f"{target} onto {source}"


def _judge_nodes(found: Alignment) -> str:
    n_edges = found.target.n_edges
    kept = round(found.edge_correctness * n_edges)
    said = f"isomorphic, all {n_edges}" if found.is_isomorphism else f"{kept} of {n_edges}"
    confidence = np.mean(list(found.confidence.values()))
    return f"{said} edges kept, mean confidence {confidence:.2f}"


def _judge_groups(groups: GroupAlignment) -> str:
    return f"{_judge_nodes(groups.nodes)}, {groups.share_within:.0%} attend the matched group"


def _graphs(found: Alignment) -> tuple[tuple[Graph, str], tuple[Graph, str]]:
    return (found.target, "target"), (found.source, "source")


def _called(graph: Graph, what: str) -> str:
    return f"{what}: {visible(graph.name, LONGEST)}" if graph.name else what


def _flags(n: int, places: Any) -> Flags:
    flags = np.zeros(n, dtype=bool)
    flags[places] = True
    return flags


def _colour_nodes(
    found: Alignment,
) -> tuple[tuple[list[str], list[str]], dict[Hashable, str]]:
    """Return colours of target and source nodes, and the legend."""
    labels = [graph.node_labels for graph, _ in _graphs(found)]
    labelled = any(own is not None for own in labels)
    many = min(found.target.n_nodes, found.source.n_nodes) > MOST_PLAIN_NODES
    if not labelled and many:
        return _colour_communities(found)
    if not labelled:
        return ([UNLABELLED] * found.target.n_nodes, [UNLABELLED] * found.source.n_nodes), {}
    known = assign_colours(label for own in labels for label in own or ())
    mine, theirs = (
        [UNLABELLED] * graph.n_nodes if own is None else [known[label] for label in own]
        for (graph, _), own in zip(_graphs(found), labels, strict=True)
    )
    legend: dict[Hashable, str] = {
        f"label {value}" if isinstance(value, int | float) else value: colour
        for value, colour in known.items()
    }
    return (mine, theirs), legend


def _colour_communities(
    found: Alignment,
) -> tuple[tuple[list[str], list[str]], dict[Hashable, str]]:
    groups = found.coarsen()
    mine, theirs = _colour_groups(groups)

    def spread(grouping: Grouping, own: list[str]) -> list[str]:
        return [own[code] for code in grouping.codes.tolist()]

    legend: dict[Hashable, str] = {
        f"community {name}": colour
        for name, colour in zip(groups.source_groups.names, theirs, strict=True)
    }
    return (spread(groups.target_groups, mine), spread(groups.source_groups, theirs)), legend


def _colour_groups(groups: GroupAlignment) -> tuple[list[str], list[str]]:
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
    target = _move_onto(lay_out(found.target), source, found.pairs)
    alone = ~_flags(found.target.n_nodes, found.pairs[:, 0])
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
