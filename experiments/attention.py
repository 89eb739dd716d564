"""Section 5.1: attention between a graph and a copy of itself, barbells and the karate club.

Copies are shuffled before they are aligned and put back in order afterwards: nothing can be read
off the node order, and a node matched with itself lies on the diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddgk import Graph
from experiments import models
from experiments.data import barbell, karate_club
from experiments.statistics import markdown

LABELS: dict[str, dict[str, Any]] = {
    "none": {},
    "nodes": {"node_labels": True},
    "nodes, edges": {"node_labels": True, "edge_labels": True},
}
REWIRED = (0.0, 0.1)  # shares of the karate club's edges


def align_all(restarts: int = 8, seed: int = 0) -> dict[str, Any]:
    """Align barbells with three degrees of labelling, and karate clubs whole and rewired."""
    found = {}
    order = np.random.default_rng(seed).permutation(10)
    for kind, labels in LABELS.items():
        target = barbell(**labels)
        copy = target.replace(name="copy", node_names=range(10, 20))
        aligned = models.align(target, copy.permuted(order), restarts=restarts, seed=seed)
        found[f"barbell, labels: {kind}"] = aligned.reordered(np.argsort(order))
    club = karate_club()
    order = np.random.default_rng(seed).permutation(club.n_nodes)
    for share in REWIRED:
        name = f"karate, {share:.0%} rewired" if share else "karate, copy"
        copy = rewire(club, share, seed).replace(name=name)
        aligned = models.align(club, copy.permuted(order), restarts=restarts, seed=seed)
        found[name] = aligned.reordered(np.argsort(order))
    return found


def measure(*, restarts: int = 8, seed: int = 0, n_jobs: int = 1) -> dict[str, Any]:  # noqa: ARG001
    """Return what is known of every alignment.

    symmetries: automorphisms of the target, None where they were not counted; attention_in_ring:
    share of attention that stays in the same ring; nodes_right: nodes matched with their own copy,
    or with a node tied with it.
    """
    rings = np.arange(10) // 5
    measured = []
    for name, found in align_all(restarts, seed).items():
        of_barbell = name.startswith("barbell")
        attention = np.asarray(found.attention)
        if of_barbell:
            inside = float(attention[rings[:, None] == rings].sum() / attention.sum())
            right = sum(int(t == s) for t, s in found.pairs.tolist())
        else:
            inside = None
            tied = {node: set(orbit.nodes) for orbit in found.orbits for node in orbit.nodes}
            right = sum(s in tied.get(t, {t}) for t, s in found.matching.items())
        measured.append(
            {
                "name": name,
                "n_nodes": found.target.n_nodes,
                "n_edges": found.target.n_edges,
                "isomorphism": bool(found.is_isomorphism),
                "edges_kept": round(found.edge_correctness * found.target.n_edges),
                "nodes_right": right,
                "confidence": float(np.mean(list(found.confidence.values()))),
                "symmetries": count_symmetries(found.target) if of_barbell else None,
                "attention_in_ring": inside,
                "attention": attention.tolist(),
            }
        )
    return {"restarts": restarts, "seed": seed, "pairs": measured}


def draw(path: str, contents: Sequence[dict[str, Any]]) -> None:
    """Draw all alignments."""
    from ddgk import plots

    found = align_all(contents[0]["restarts"], contents[0]["seed"])
    plots.alignments(list(found.values()), layout="own", titles=list(found), path=path)


def rewire(graph: Graph, share: float, seed: int) -> Graph:
    """Replace a share of the edges, drawn uniformly, by as many new ones."""
    n_removed = round(share * graph.n_edges)
    generator = np.random.default_rng(seed)
    drawn = generator.permutation(graph.n_edges)[:n_removed]
    removed = {(u, v) for u, v in graph.edges[drawn].tolist()}
    kept = {(u, v) for u, v in graph.edges.tolist()} - removed
    while len(kept) < graph.n_edges:
        u, v = sorted(generator.choice(graph.n_nodes, 2, replace=False).tolist())
        if (u, v) not in removed:
            kept.add((u, v))
    return Graph(graph.n_nodes, sorted(kept), name=graph.name)


def count_symmetries(graph: Graph) -> int:
    """Count the automorphisms of a small graph, labels included, by enumeration."""
    from networkx.algorithms import isomorphism

    whole = graph.to_networkx()
    matcher = isomorphism.GraphMatcher(
        whole,
        whole,
        node_match=isomorphism.categorical_node_match("label", 0),
        edge_match=isomorphism.categorical_edge_match("label", 0),
    )
    return sum(1 for _ in matcher.isomorphisms_iter())


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return what was found of every alignment."""
    lines = [
        [
            one["name"],
            "" if one["symmetries"] is None else str(one["symmetries"]),
            f"{one['edges_kept']} of {one['n_edges']}",
            f"{one['nodes_right']} of {one['n_nodes']}",
            f"{one['confidence']:.2f}",
            "" if one["attention_in_ring"] is None else f"{one['attention_in_ring']:.0%}",
        ]
        for one in contents[0]["pairs"]
    ]
    heads = ["", "symmetries", "edges kept", "nodes right", "confidence", "attention in ring"]
    return markdown(heads, lines)
