"""What two aligned graphs share and where they differ, in numbers and in words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ddgk.errors import LabelError
from ddgk.plain import visible

if TYPE_CHECKING:
    from ddgk.alignment import Alignment
    from ddgk.graphs import Graph

MAX_LISTED = 6


@dataclass(frozen=True)
class Match:
    """An alignment, reduced to what a reader wants to know.

    Attributes
    ----------
    pairs : tuple of (int, int, float)
        Target node, source node, confidence, as positions in the graphs.
    kept : tuple of (int, int)
        Edges of the target that fall on an edge of the source, and that edge, as positions.
    n_target_edges, n_source_edges, n_target_nodes, n_source_nodes : int
    relabelled : tuple of (str, str, str, str)
        Target node, its label, source node, its label, of pairs whose labels differ.
    similarity : float
        Shared nodes and edges over those that either graph has: 1 for isomorphic graphs with equal
        labels.
    """

    pairs: tuple[tuple[int, int, float], ...]
    kept: tuple[tuple[int, int], ...]
    n_target_nodes: int
    n_source_nodes: int
    n_target_edges: int
    n_source_edges: int
    relabelled: tuple[tuple[str, str, str, str], ...]
    similarity: float

    @property
    def lines(self) -> list[str]:
        """The match in words, a line for each finding."""
        lines = [
            f"{len(self.pairs)} of {self.n_target_nodes} nodes have a partner among "
            f"{self.n_source_nodes}",
            f"{len(self.kept)} of {self.n_target_edges} edges are kept; the other graph has "
            f"{self.n_source_edges}",
        ]
        if self.relabelled:
            listed = ", ".join(
                f"{t} ({mine}) to {s} ({theirs})"
                for t, mine, s, theirs in self.relabelled[:MAX_LISTED]
            )
            more = len(self.relabelled) - MAX_LISTED
            lines.append(f"labels differ: {listed}" + (f" and {more} more" if more > 0 else ""))
        if self.pairs:
            mean = sum(sure for *_, sure in self.pairs) / len(self.pairs)
            lines.append(f"mean confidence {mean:.2f}")
        lines.append(f"shared part {self.similarity:.0%}")
        return lines


def match_graphs(target: Graph, source: Graph) -> Match:
    """Align two graphs and describe the match.

    Where only one of them has labels, neither's are used.
    """
    from ddgk.alignment import align

    try:
        return describe_match(align(target, source))
    except LabelError:
        plain = {"node_labels": None, "edge_labels": None, "node_attributes": None}
        return describe_match(align(target.replace(**plain), source.replace(**plain)))


def describe_match(found: Alignment) -> Match:
    """Count what an alignment keeps and what it changes.

    Examples
    --------
    >>> import ddgk, networkx
    >>> from ddgk.matching import describe_match
    >>> ring = networkx.cycle_graph(5)
    >>> describe_match(ddgk.align(ring, ring)).similarity
    1.0
    """
    target, source = found.target, found.source
    here = {name: place for place, name in enumerate(target.node_names)}
    there = {name: place for place, name in enumerate(source.node_names)}
    sure = found.confidence
    partner = {here[t]: there[s] for t, s in found.matching.items()}
    pairs = tuple(sorted((here[t], there[s], float(sure[t])) for t, s in found.matching.items()))
    places = {_edge(source, u, v): place for place, (u, v) in enumerate(source.edges.tolist())}
    kept = []
    for place, (u, v) in enumerate(target.edges.tolist()):
        if u in partner and v in partner:
            other = places.get(_edge(source, partner[u], partner[v]))
            if other is not None:
                kept.append((place, other))
    relabelled = _relabelled(found, pairs)
    same_edges = sum(_same(target.edge_labels, t, source.edge_labels, s) for t, s in kept)
    shared = len(pairs) - len(relabelled) + same_edges
    either = target.n_nodes + target.n_edges + source.n_nodes + source.n_edges - shared
    return Match(
        pairs=pairs,
        kept=tuple(kept),
        n_target_nodes=target.n_nodes,
        n_source_nodes=source.n_nodes,
        n_target_edges=target.n_edges,
        n_source_edges=source.n_edges,
        relabelled=relabelled,
        similarity=shared / either,
    )


def _relabelled(
    found: Alignment, pairs: tuple[tuple[int, int, float], ...]
) -> tuple[tuple[str, str, str, str], ...]:
    mine, theirs = found.target.node_labels, found.source.node_labels
    if mine is None or theirs is None:
        return ()
    return tuple(
        (
            visible(found.target.node_names[t], 24),
            visible(mine[t], 24),
            visible(found.source.node_names[s], 24),
            visible(theirs[s], 24),
        )
        for t, s, _ in pairs
        if mine[t] != theirs[s]
    )


def _edge(graph: Graph, u: int, v: int) -> tuple[int, int]:
    directed: Any = getattr(graph, "directed", False)
    return (u, v) if directed or u <= v else (v, u)


def _same(
    mine: tuple[Hashable, ...] | None, t: int, theirs: tuple[Hashable, ...] | None, s: int
) -> bool:
    return mine is None or theirs is None or mine[t] == theirs[s]
