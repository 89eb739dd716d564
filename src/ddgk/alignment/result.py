"""What an alignment is: a one-to-one matching, soft attention, and what they are worth."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.alignment.communities import GroupAlignment, Groups, as_plain, coarsen, plain_pairs
from ddgk.alignment.encoding import Array, Integers, code_graphs
from ddgk.graphs.graph import Graph
from ddgk.symmetry import equitable_partition


@dataclass(frozen=True)
class Orbit:
    """Nodes of the target that refinement cannot tell apart, and what they were matched with.

    Attributes
    ----------
    nodes : tuple
        A class of the coarsest equitable partition (1-dimensional Weisfeiler-Leman, labels
        included), of two nodes at least. A true orbit always lies within one class.
    partners : tuple
        The source nodes they were matched with; any of them may as well be another one's.
    exchanged : bool
        Whether each of the nodes can be swapped with the others and nothing else changes (twins),
        in which case the class is an orbit.
    """

    nodes: tuple[Hashable, ...]
    partners: tuple[Hashable, ...]
    exchanged: bool


@dataclass(frozen=True, repr=False)
class Alignment:
    """How a target's nodes correspond to a source's.

    Attributes
    ----------
    target, source : Graph
    pairs : array of shape (n_matched, 2)
        The one-to-one matching: target node, source node, ascending.
    attention : array or sparse array of shape (n_target_nodes, n_source_nodes)
        Where each matched node would go if the others stayed; its rows sum to 1, those of nodes
        without partner are 0. Sparse where the graphs are large.
    sureness : array of shape (n_matched,)
        The confidence in each pair.
    attributes : tuple of str
        Which of node_labels, edge_labels, node_attributes, edge_weights steered the match.
    label_cost : float
        What a pair with different labels costs, in edges.
    proven : bool
        Whether no other matching can keep more: an isomorphism, or all edges and labels of the
        graph that has fewer edges are kept.
    stopped_early : bool
        Whether `max_seconds` or Ctrl-C ended the search: this is the best until then.
    n_restarts : int
        Restarts that were run; 0 where refinement found an isomorphism.
    """

    target: Graph
    source: Graph
    pairs: Integers
    attention: Any
    sureness: Array
    attributes: tuple[str, ...] = ()
    label_cost: float = 1.0
    proven: bool = False
    stopped_early: bool = False
    n_restarts: int = 0

    @property
    def matching(self) -> dict[Hashable, Hashable]:
        """Return {target node: source node} in the caller's names; unmatched nodes are left out."""
        there, here = self.target.node_names, self.source.node_names
        return {there[t]: here[s] for t, s in self.pairs.tolist()}

    @property
    def unmatched_target(self) -> tuple[Hashable, ...]:
        """Return the target's nodes without a partner."""
        return _left_out(self.target, self.pairs[:, 0])

    @property
    def unmatched_source(self) -> tuple[Hashable, ...]:
        """Return the source's nodes without a partner."""
        return _left_out(self.source, self.pairs[:, 1])

    @property
    def confidence(self) -> dict[Hashable, float]:
        """Return how sure each matched target node's partner is, between 0 and 1.

        The share of its partner among the nodes that it might swap to, each weighted by how little
        the matching loses. Two leaves of one node have a half each; a tie that takes more than one
        swap shows in `orbits` alone. It is halved where the labels of the two differ.
        """
        return dict(zip(self.matching, self.sureness.tolist(), strict=True))

    @cached_property
    def n_kept_edges(self) -> int:
        """Number of target edges that the matching maps onto source edges."""
        return len(kept_edges(self.target, self.source, self.pairs))

    @property
    def edge_correctness(self) -> float:
        """Return the share of the target's edges that are mapped onto source edges (EC)."""
        return self.n_kept_edges / self.target.n_edges if self.target.n_edges else 1.0

    @cached_property
    def symmetric_edge_score(self) -> float:
        """Return the share of kept edges among those that either graph has between matched nodes.

        S3 = kept / (edges of the target + edges between partners in the source - kept)
        """
        either = self._count_edges() - self.n_kept_edges
        return 1.0 if either == 0 else self.n_kept_edges / either

    @cached_property
    def objective(self) -> float:
        """Return what the search minimises: edges that either graph has and the other has not.

        Target edges that are lost, source edges between partners that the target does not have,
        and `label_cost` for every pair with different labels. 0 for an isomorphism.
        """
        differing = 0
        if "node_labels" in self.attributes:
            differing = int((~labels_agree(self.target, self.source, self.pairs)).sum())
        return self._count_edges() - 2 * self.n_kept_edges + self.label_cost * differing

    def _count_edges(self) -> int:
        """Count the edges of the target, and those between partners in the source."""
        inside = np.isin(self.source.edges, self.pairs[:, 1]).all(axis=1)
        return self.target.n_edges + int(inside.sum())

    @cached_property
    def is_isomorphism(self) -> bool:
        """Check edge by edge whether the matching keeps all edges and non-edges.

        Labels, attributes and weights are checked too, where they steered the match.
        """
        return is_isomorphism(self.target, self.source, self.pairs, self.attributes)

    @cached_property
    def orbits(self) -> tuple[Orbit, ...]:
        """Return which target nodes could change places, so that the matching is one of several."""
        return find_orbits(self.target, self.source, self.attributes, self.pairs)

    def coarsen(
        self, target_groups: Groups | None = None, source_groups: Groups | None = None
    ) -> GroupAlignment:
        """Find which part of the target corresponds to which part of the source.

        Parameters
        ----------
        target_groups, source_groups : sequence, array or mapping, optional
            A label for every node, {node: label}, or a list of lists or sets of nodes, each in one.
            Default: the communities that Louvain's method finds.

        Examples
        --------
        >>> import ddgk
        >>> path = ddgk.Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="wxyz")
        >>> found = ddgk.align(path, path).coarsen("aabb")
        >>> found.target_groups.names, found.attention.sum(axis=1).round(3).tolist()
        (('a', 'b'), [1.0, 1.0])
        """
        return coarsen(self, target_groups, source_groups)

    def reordered(self, order: Integers) -> Alignment:
        """Return the same with the source's nodes renumbered: new node i is old ``order[i]``."""
        place = np.argsort(order)
        return replace(
            self,
            source=self.source.permuted(order),
            pairs=np.stack([self.pairs[:, 0], place[self.pairs[:, 1]]], axis=1),
            attention=self.attention[:, order],
        )

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values, node names as text where they are not plain."""
        told = ("objective", "edge_correctness", "symmetric_edge_score", "is_isomorphism", "proven")
        return {
            "target": self.target.name,
            "source": self.source.name,
            **{name: getattr(self, name) for name in (*told, "stopped_early")},
            "matching": plain_pairs(self),
            "unmatched_target": list(map(as_plain, self.unmatched_target)),
            "unmatched_source": list(map(as_plain, self.unmatched_source)),
            "orbits": [
                {
                    "nodes": list(map(as_plain, orbit.nodes)),
                    "partners": list(map(as_plain, orbit.partners)),
                    "exchanged": orbit.exchanged,
                }
                for orbit in self.orbits
            ],
            "attention": _attention_as_json(self.attention),
        }

    def __repr__(self) -> str:
        parts = [
            f"{len(self.pairs)} of {self.target.n_nodes} and {self.source.n_nodes} nodes matched",
            f"{self.n_kept_edges} of {self.target.n_edges} edges kept",
        ]
        if self.is_isomorphism:
            parts.append("isomorphism")
        elif self.proven:
            parts.append("proven best")
        if self.stopped_early:
            parts.append("stopped early")
        return f"Alignment({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Show a notebook both graphs, partners in one colour, and the matching."""
        from ddgk.graphs import display

        graphs, drawings = (self.target, self.source), []
        kept = kept_edges(*graphs, self.pairs)
        for side, graph in enumerate(graphs):
            hues, notes = [display.UNMATCHED] * graph.n_nodes, [": unmatched"] * graph.n_nodes
            for place, pair in enumerate(self.pairs.tolist()):
                hues[pair[side]] = f"hsl({360 * place // len(self.pairs)},70%,60%)"
                notes[pair[side]] = f" - {graphs[1 - side].node_names[pair[1 - side]]}"
            lost = np.ones(graph.n_edges, dtype=bool)
            lost[kept[:, side]] = False
            drawings.append(display.draw(graph, hues, lost, notes))
        pairs = zip(self.matching.items(), self.sureness, strict=True)
        rows = [(*names, f"{sure:.2f}") for names, sure in pairs]
        table = display.table(("target", "source", "confidence"), rows, len(rows))
        return display.page(repr(self), *drawings, table)


def kept_edges(target: Graph, source: Graph, pairs: Integers) -> Integers:
    """Return (target edge, source edge) for every edge that a matching maps onto one, (n_kept, 2).

    pairs: (n_matched, 2), target node before source node.
    """
    partner = np.full(target.n_nodes, -1, dtype=np.int64)
    partner[pairs[:, 0]] = pairs[:, 1]
    ends = partner[target.edges]
    if not target.directed:
        ends.sort(axis=1)
    digits = np.array([source.n_nodes, 1])
    codes, known = ends @ digits, source.edges @ digits  # known ones ascend, as edges do
    here = np.flatnonzero((ends >= 0).all(axis=1) & np.isin(codes, known))
    return np.stack([here, np.searchsorted(known, codes[here])], axis=1)


def labels_agree(target: Graph, source: Graph, pairs: Integers) -> NDArray[np.bool_]:
    """Say of every pair whether its node labels are equal, (n_matched,)."""
    mine, theirs = target.node_labels, source.node_labels
    if mine is None or theirs is None:
        return np.ones(len(pairs), dtype=bool)
    return np.array([mine[t] == theirs[s] for t, s in pairs.tolist()], dtype=bool)


def is_isomorphism(target: Graph, source: Graph, pairs: Integers, used: Sequence[str]) -> bool:
    """Check that a matching keeps every edge and non-edge, and what nodes and edges carry."""
    edges = kept_edges(target, source, pairs)
    mine, theirs = (
        (g.n_nodes, g.n_edges, g.directed, g.edge_weights is None) for g in (target, source)
    )
    if mine != theirs or (len(pairs), len(edges)) != mine[:2]:
        return False

    def same(name: str) -> bool:
        here, there = getattr(target, name), getattr(source, name)
        matched = pairs if name.startswith("node") else edges
        if not len(matched) or name.endswith("labels"):
            return all(here[t] == there[s] for t, s in matched.tolist())
        return np.array_equal(here[matched[:, 0]], there[matched[:, 1]], equal_nan=True)

    return all(map(same, used))


def find_orbits(
    target: Graph, source: Graph, used: Sequence[str], pairs: Integers
) -> tuple[Orbit, ...]:
    """List the classes of two nodes or more."""
    codes = code_graphs([target], used)[0]
    classes = equitable_partition(codes.colours, codes.arcs).classes
    around: list[set[tuple[int, int]]] = [set() for _ in codes.colours]
    arcs = codes.arcs
    for tail, head, code in np.stack([arcs.tails, arcs.heads, arcs.codes], axis=1).tolist():
        around[tail].add((head, code))

    def twins(*pair: int) -> bool:
        mine, theirs = ({arc for arc in around[node] if arc[0] not in pair} for node in pair)
        return mine == theirs

    partner = dict(pairs.tolist())
    found = []
    order = np.argsort(classes, kind="stable")
    for group in np.split(order, np.cumsum(np.bincount(classes))[:-1]):
        members = group.tolist()
        if len(members) > 1:
            nodes = tuple(target.node_names[i] for i in members)
            partners = tuple(source.node_names[partner[i]] for i in members if i in partner)
            exchanged = all(twins(members[0], node) for node in members[1:])
            found.append(Orbit(nodes, partners, exchanged))
    return tuple(found)


def _left_out(graph: Graph, matched: Integers) -> tuple[Hashable, ...]:
    left = np.setdiff1d(np.arange(graph.n_nodes), matched)
    return tuple(graph.node_names[node] for node in left.tolist())


def _attention_as_json(attention: Any) -> Any:
    """Return rows of numbers; of a sparse array places and values."""
    if not sparse.issparse(attention):
        return attention.tolist()
    found = attention.tocoo()
    parts = zip(("target", "source", "value"), (found.row, found.col, found.data), strict=True)
    return {name: values.tolist() for name, values in parts}
