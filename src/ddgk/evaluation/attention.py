"""The paper's section 5.1, cross-graph attention: barbells and the karate club."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ddgk.alignment import Alignment
from ddgk.datasets import barbell, karate_club
from ddgk.errors import ParameterError
from ddgk.graphs import Graph

LABELS: dict[str, dict[str, Any]] = {
    "none": {},
    "nodes": {"node_labels": True},
    "nodes, edges": {"node_labels": True, "edge_labels": True},
}
REWIRED = (0.0, 0.1)  # shares of the karate club's edges


@dataclass(frozen=True)
class Attention:
    """An alignment of a graph with a copy whose true partners are known.

    symmetries: ways to map the target onto itself, or None where nobody counted them.
    own_part: attention that stays in the same ring, or None where there are no rings.
    right: nodes matched with their own copy or with one that is tied with it.
    """

    name: str
    found: Alignment
    symmetries: int | None
    own_part: float | None
    right: int

    @property
    def confidence(self) -> float:
        """Return the mean confidence of the matching."""
        return float(np.mean(list(self.found.confidence.values())))

    @property
    def kept(self) -> int:
        """Return how many edges of the target lie on edges of the copy."""
        return round(self.found.edge_correctness * self.found.target.n_edges)

    def as_json(self) -> dict[str, Any]:
        """Return what was found as plain values, the attention included."""
        return {
            "name": self.name,
            "n_nodes": self.found.target.n_nodes,
            "n_edges": self.found.target.n_edges,
            "isomorphism": bool(self.found.is_isomorphism),
            "edges_kept": self.kept,
            "nodes_right": self.right,
            "confidence": self.confidence,
            "symmetries": self.symmetries,
            "attention_in_own_ring": self.own_part,
            "attention": self.found.attention.tolist(),
        }


def align_barbells(restarts: int = 8, seed: int = 0) -> dict[str, Alignment]:
    """Align the paper's barbell with a copy: without labels, with node labels, with edge labels.

    The copy is shuffled before the work and put back in order after it: nothing can be read off
    the order of the nodes, and a node that is matched with itself lies on the diagonal.
    """
    from ddgk.alignment import align

    order = np.random.default_rng(seed).permutation(10)
    pairs = {}
    for kind, labels in LABELS.items():
        target = barbell(**labels)
        copy = target.replace(name="copy", node_names=range(10, 20))
        found = align(target, copy.permuted(order), restarts=restarts, random_state=seed)
        pairs[kind] = found.reordered(np.argsort(order))
    return pairs


def align_karate(restarts: int = 8, seed: int = 0) -> dict[str, Alignment]:
    """Align the karate club with a renumbered copy of itself, whole and with edges rewired."""
    from ddgk.alignment import align

    club = karate_club()
    order = np.random.default_rng(seed).permutation(club.n_nodes)
    pairs = {}
    for share in REWIRED:
        name = "copy" if share == 0 else f"{share:.0%} rewired"
        copy = rewire(club, share, seed).replace(name=f"{name}, renumbered")
        found = align(club, copy.permuted(order), restarts=restarts, random_state=seed)
        pairs[name] = found.reordered(np.argsort(order))
    return pairs


def attend(restarts: int = 8, seed: int = 0) -> list[Attention]:
    """Align barbells and karate clubs, and compare with what is known of them."""
    rings = np.arange(10) // 5
    measured = []
    for kind, found in align_barbells(restarts, seed).items():
        inside = float(found.attention[rings[:, None] == rings].sum() / found.attention.sum())
        own = sum(int(t == s) for t, s in found.pairs.tolist())
        symmetries = count_symmetries(found.target)
        measured.append(Attention(f"barbell, labels: {kind}", found, symmetries, inside, own))
    for kind, found in align_karate(restarts, seed).items():
        # Names of nodes came along when the copy was renumbered, so that they say what is right.
        tied = {node: set(orbit.nodes) for orbit in found.orbits for node in orbit.nodes}
        right = sum(s in tied.get(t, {t}) for t, s in found.matching.items())
        measured.append(Attention(f"karate, {kind}", found, None, None, right))
    return measured


def rewire(graph: Graph, share: float, seed: int) -> Graph:
    """Replace a share of the edges, drawn evenly, by as many new ones."""
    if not 0 <= share <= 1:
        raise ParameterError(f"share must lie in [0, 1], not {share!r}")
    n_gone = round(share * graph.n_edges)
    n_pairs = graph.n_nodes * (graph.n_nodes - 1) // 2
    if n_gone > n_pairs - graph.n_edges:
        raise ParameterError(f"{n_gone} edges have nowhere to go: the graph is too dense")
    generator = np.random.default_rng(seed)
    edges = {(u, v) for u, v in graph.edges.tolist()}
    drawn = generator.permutation(graph.n_edges)[:n_gone]
    gone = {(u, v) for u, v in graph.edges[drawn].tolist()}
    kept = edges - gone
    while len(kept) < graph.n_edges:
        u, v = sorted(generator.choice(graph.n_nodes, 2, replace=False).tolist())
        if (u, v) not in gone:
            kept.add((u, v))
    return Graph(graph.n_nodes, sorted(kept), name=graph.name)


def count_symmetries(graph: Graph) -> int:
    """Count the ways to map a small graph onto itself, labels included, by trying them."""
    from networkx.algorithms import isomorphism

    whole = graph.to_networkx()
    matcher = isomorphism.GraphMatcher(
        whole,
        whole,
        node_match=isomorphism.categorical_node_match("label", 0),
        edge_match=isomorphism.categorical_edge_match("label", 0),
    )
    return sum(1 for _ in matcher.isomorphisms_iter())
