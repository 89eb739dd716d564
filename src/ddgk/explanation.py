"""Which nodes and edges a divergence comes from (paper eq. 3)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import ParameterError
from ddgk.graphs.graph import Graph, describe

Array = NDArray[np.float64]

# What loss terms measure, in words that reports use: how badly a source predicts this of a node.
TERMS_IN_WORDS = {
    "edges": "edges",
    "non_edges": "absent edges",
    "forward_background": "absent edges, seen from each node",
    "reverse_background": "absent edges, seen from all other nodes",
    "node_labels.attention": "labels of nodes",
    "node_labels.reverse": "labels of neighbours",
    "edge_labels.attention": "labels of a node's edges",
    "edge_labels.reverse": "labels of edges one step away",
    "node_attributes.attention": "attributes of nodes",
    "node_attributes.reverse": "attributes of neighbours",
    "edge_attributes.attention": "attributes of a node's edges",
    "edge_attributes.reverse": "attributes of edges one step away",
    "total": "all loss terms",
}


@dataclass(frozen=True, repr=False)
class Explanation:
    """How the divergence of one target from one source adds up.

    Attributes
    ----------
    target, source : Graph
    terms : tuple of str
        Names of the loss terms; `TERMS_IN_WORDS` says what they measure.
    checkpoints : tuple of int
    nodes : array of shape (n_terms, n_checkpoints, n_target_nodes)
        Every node's share of D'; ``nodes.sum(-1) - baseline`` is the divergence.
    entries : array of shape (2, n_target_units, n_target_nodes)
        At the last checkpoint, the share of every entry of the target matrix in the structure
        loss: as an edge, and as a non-edge.
    baseline : array of shape (n_terms, n_checkpoints)
        What eq. 10 subtracts.
    attention : array of shape (n_target_nodes, n_source_nodes)
        At the last checkpoint; rows sum to 1. Where units other than nodes have attention, a node
        averages theirs, and a node in no unit has a row of zeros.
    matrix : str
        The name of the target matrix.
    mirror : Explanation or None
        The other direction of a symmetric divergence.
    """

    target: Graph
    source: Graph
    terms: tuple[str, ...]
    checkpoints: tuple[int, ...]
    nodes: Array = field(compare=False)
    entries: Array = field(compare=False)
    baseline: Array = field(compare=False)
    attention: Array = field(compare=False)
    matrix: str = "adjacency"
    mirror: Explanation | None = None

    def __repr__(self) -> str:
        at_end = self.divergence[:, -1]
        shown = ", ".join(f"{n} {v:.4g}" for n, v in zip(self.terms, at_end, strict=True))
        return (
            f"Explanation({describe(self.target.name)} of {self.target.n_nodes} nodes from "
            f"{describe(self.source.name)} of {self.source.n_nodes} nodes, "
            f"at step {self.checkpoints[-1]}: {shown})"
        )

    def _repr_html_(self) -> str:
        """Show a notebook the target, coloured by shares, and the nodes with the largest ones."""
        from ddgk.graphs import display

        shares = np.array(list(self.by_node().values()))
        names = self.target.node_names
        rows = [(names[node], f"{shares[node]:.4g}") for node in np.argsort(-shares, kind="stable")]
        notes = [f": {share:.4g}" for share in shares]
        return display.page(
            repr(self),
            display.draw(self.target, display.shade(shares), None, notes),
            display.table(("node", "share"), rows, len(rows)),
        )

    @property
    def divergence(self) -> Array:
        """Return D, (n_terms, n_checkpoints)."""
        own: Array = self.nodes.sum(-1) - self.baseline
        return own if self.mirror is None else own + self.mirror.divergence

    def by_node(self, term: str | None = None) -> dict[Hashable, float]:
        """Return every node's share at the last checkpoint, of one term or of all."""
        chosen = self.nodes[:, -1] if term is None else self.nodes[[self._place(term)], -1]
        shares = chosen.sum(0)
        return {name: float(shares[i]) for i, name in enumerate(self.target.node_names)}

    def by_edge(self) -> dict[tuple[Hashable, Hashable], float]:
        """Return every target edge's share in the term `edges` at the last checkpoint."""
        edges, names = self.target.edges, self.target.node_names
        shares = self.entries[0]
        if self.matrix == "neighborhood":
            raise ParameterError("random walks have no shares of edges; use another target matrix")
        if self.matrix == "edge_to_nodes":
            found = shares.sum(axis=1)
        else:
            tails, heads = edges.T
            found = shares[tails, heads]
            if not self.target.directed:
                found = found + np.where(tails == heads, 0.0, shares[heads, tails])
        return {(names[u], names[v]): float(found[e]) for e, (u, v) in enumerate(edges.tolist())}

    def _place(self, term: str) -> int:
        if term not in self.terms:
            raise ParameterError(f"no term {term!r}; there are {', '.join(self.terms)}")
        return self.terms.index(term)
