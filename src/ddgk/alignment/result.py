"""What an alignment is: soft attention, a one-to-one matching, and what they are worth."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.alignment.checking import induced_edges, is_isomorphism, kept_edges
from ddgk.alignment.communities import GroupAlignment, Grouping, Groups, as_plain, coarsen
from ddgk.alignment.orbits import Orbit, find_orbits
from ddgk.graphs.graph import Graph

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Restart:
    """What one start found.

    Attributes
    ----------
    pairs : array of shape (n_matched, 2)
        Target node, source node.
    loss : float
        Of the matching, as the search sees it.
    edge_correctness : float
    is_isomorphism : bool
    """

    pairs: Integers
    loss: float
    edge_correctness: float
    is_isomorphism: bool


@dataclass(frozen=True)
class Alignment:
    """How a target's nodes correspond to a source's.

    Attributes
    ----------
    target, source : Graph
    attention : array of shape (n_target_nodes, n_source_nodes)
        Where each target node attends; rows sum to 1. Between large graphs a sparse array of at
        most 16 entries a row, and none for nodes without a partner.
    loss : float
        Mean squared error with which the matching reconstructs the target's relations and labels
        from what was learned of the source; 0 is perfect.
    losses : array of shape (n_restarts,)
        Of every start that was run; `loss` is that of the one kept.
    families : tuple of str
        Which labels and attributes steered the match.
    divergence : float
        How much worse, in nats, the target is reconstructed through the matching than the source is
        by itself (paper eq. 10). 0 for an isomorphism; nan where nothing was trained.
    restarts : tuple of Restart
        Every start that was run, in order.
    matched : array of shape (n_matched, 2), optional
        The matching as it was found; where it is not given, the attention is matched.
    sureness : array of shape (n_matched,), optional
        The confidence in each of these pairs; where it is not given, its attention.
    groups : pair of Grouping, optional
        Of the target's and of the source's nodes, where the attention was learned by groups too.
    """

    target: Graph
    source: Graph
    attention: Any
    loss: float
    losses: Array
    families: tuple[str, ...] = ()
    divergence: float = float("nan")
    restarts: tuple[Restart, ...] = field(default=(), repr=False)
    matched: Integers | None = field(default=None, repr=False)
    sureness: Array | None = field(default=None, repr=False)
    groups: tuple[Grouping, Grouping] | None = field(default=None, repr=False)

    @cached_property
    def pairs(self) -> Integers:
        """Return the one-to-one matching, (n_matched, 2): target node, source node.

        The smaller graph is matched whole; but of large graphs only nodes that something speaks
        for.
        """
        return match_attention(self.attention) if self.matched is None else self.matched

    @property
    def matching(self) -> dict[Hashable, Hashable]:
        """Return {target node: source node} in the caller's names; unmatched nodes are left out."""
        there, here = self.target.node_names, self.source.node_names
        return {there[t]: here[s] for t, s in self.pairs.tolist()}

    @property
    def unmatched(self) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
        """Return the nodes without a partner, of the target and of the source."""
        mine, theirs = (
            tuple(
                graph.node_names[node]
                for node in np.setdiff1d(np.arange(graph.n_nodes), self.pairs[:, side]).tolist()
            )
            for side, graph in enumerate((self.target, self.source))
        )
        return mine, theirs

    @property
    def confidence(self) -> dict[Hashable, float]:
        """Return how sure each matched target node's partner is, between 0 and 1.

        The share of its partner when a node is spread over all source nodes by how little the whole
        matching loses if the node takes that one and whoever had it takes the node's. Two leaves of
        one node have a half each; a tie that takes more than one exchange shows in `orbits` alone.
        """
        names = self.target.node_names
        sure = self.sureness
        if sure is None:
            sure = self.attention[self.pairs[:, 0], self.pairs[:, 1]]
        return {names[t]: float(c) for t, c in zip(self.pairs[:, 0], sure, strict=True)}

    @cached_property
    def edge_correctness(self) -> float:
        """Return the share of the target's edges that the matching maps onto source edges."""
        return edge_correctness(self.target, self.source, self.pairs)

    @cached_property
    def symmetric_edge_score(self) -> float:
        """Return the share of kept edges among those that either graph has between matched nodes.

        S3 = kept / (edges of the target + edges between partners in the source - kept)
        """
        kept = len(kept_edges(self.target, self.source, self.pairs))
        either = self.target.n_edges + induced_edges(self.source, self.pairs[:, 1]) - kept
        return 1.0 if either == 0 else kept / either

    @cached_property
    def is_isomorphism(self) -> bool:
        """Check edge by edge whether the matching keeps all edges and non-edges.

        Labels and attributes are checked too, where they steered the match.
        """
        return is_isomorphism(self.target, self.source, self.pairs, self.families)

    @cached_property
    def orbits(self) -> tuple[Orbit, ...]:
        """Return which target nodes could change places, so that the matching is one of several."""
        exact = [restart.pairs for restart in self.restarts if restart.is_isomorphism]
        return find_orbits(self.target, self.source, self.families, self.pairs, exact)

    def coarsen(
        self, target_groups: Groups | None = None, source_groups: Groups | None = None
    ) -> GroupAlignment:
        """Find which part of the target corresponds to which part of the source.

        Parameters
        ----------
        target_groups, source_groups : sequence, array or mapping, optional
            A label for every node, {node: label}, or a list of lists or sets of nodes, each in one.
            Default: the groups it was learned with, else the communities that Louvain's method
            finds.

        Examples
        --------
        >>> import ddgk
        >>> graph = ddgk.datasets.barbell()
        >>> found = ddgk.align(graph, graph).coarsen("aaaaabbbbb")
        >>> found.target_groups.names, found.attention.sum(axis=1).round(3).tolist()
        (('a', 'b'), [1.0, 1.0])
        """
        return coarsen(self, target_groups, source_groups)

    def reordered(self, order: Integers) -> Alignment:
        """Return the same with the source's nodes renumbered: new node i is old ``order[i]``."""
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))

        def moved(pairs: Integers) -> Integers:
            return np.stack([pairs[:, 0], place[pairs[:, 1]]], axis=1)

        restarts = tuple(
            Restart(**{**vars(restart), "pairs": moved(restart.pairs)}) for restart in self.restarts
        )
        return Alignment(
            self.target,
            self.source.permuted(order),
            self.attention[:, order],
            self.loss,
            self.losses,
            self.families,
            self.divergence,
            restarts,
            moved(self.pairs),
            self.sureness,
            None
            if self.groups is None
            else (self.groups[0], replace(self.groups[1], codes=self.groups[1].codes[order])),
        )

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values, node names as text where they are not plain."""
        confidence = self.confidence
        return {
            "target": self.target.name,
            "source": self.source.name,
            "loss": self.loss,
            "divergence": None if np.isnan(self.divergence) else self.divergence,
            "edge_correctness": self.edge_correctness,
            "symmetric_edge_score": self.symmetric_edge_score,
            "is_isomorphism": self.is_isomorphism,
            "matching": [
                {"target": as_plain(t), "source": as_plain(s), "confidence": confidence[t]}
                for t, s in self.matching.items()
            ],
            "orbits": [
                {
                    "nodes": [as_plain(node) for node in orbit.nodes],
                    "partners": [as_plain(node) for node in orbit.partners],
                    "exchanged": orbit.exchanged,
                }
                for orbit in self.orbits
            ],
            "restarts": [
                {
                    "loss": restart.loss,
                    "edge_correctness": restart.edge_correctness,
                    "is_isomorphism": restart.is_isomorphism,
                }
                for restart in self.restarts
            ],
            "attention": _attention_as_json(self.attention),
        }


def _attention_as_json(attention: Any) -> Any:
    """Return rows of numbers; of a sparse array places and values."""
    if not sparse.issparse(attention):
        return attention.tolist()
    entries = attention.tocoo()
    return {
        "target": entries.row.tolist(),
        "source": entries.col.tolist(),
        "value": entries.data.tolist(),
    }


def match_attention(attention: Array) -> Integers:
    """Match nodes one to one, so that the attention they pay each other adds up to the most.

    Returns (n_matched, 2): target node, source node.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(attention, maximize=True)
    return np.stack([rows, columns], axis=1).astype(np.int64)


def edge_correctness(target: Graph, source: Graph, pairs: Integers) -> float:
    """Return the share of the target's edges that a matching maps onto source edges."""
    if target.n_edges == 0:
        return 1.0
    return len(kept_edges(target, source, pairs)) / target.n_edges
