"""Why two graphs are alike: common neighbourhoods, split over pairs of nodes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs import display
from ddgk.graphs.graph import Graph, describe
from ddgk.models import LocalModel

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class SimilarityExplanation:
    """How the similarity of two graphs adds up.

    The kernel is K = exp(-sum of `distances`). The distance of neighbourhoods is
    c (1 - shared) with a constant c (see `ddgk.features`), and `shared` is a sum over pairs of
    nodes: a node of one graph shares with the nodes of the other that have the same
    neighbourhood, averaged over radii of 0 to 4 hops.

    Attributes
    ----------
    first, second : Graph
    kernel : float
        K, 1 for graphs that the method cannot tell apart.
    distances : dict from str to float
        What "views", "neighbourhoods", "size" and "attributes" add to the exponent.
    pairs : array of shape (n_first, n_second)
        The share of every pair of nodes in `shared`.
    shared : float
        The sum of `pairs`: 1 where the graphs have the same neighbourhoods, 0 where none is common.
    """

    first: Graph
    second: Graph
    kernel: float
    distances: dict[str, float] = field(compare=False)
    pairs: Array = field(compare=False)

    @property
    def shared(self) -> float:
        """Return the share of common neighbourhoods."""
        return float(self.pairs.sum())

    def by_node(self) -> tuple[dict[Hashable, float], dict[Hashable, float]]:
        """Return the share of every node of both graphs; each sums to `shared`."""
        sides = ((self.first, self.pairs.sum(1)), (self.second, self.pairs.sum(0)))
        first, second = (
            {name: float(value) for name, value in zip(graph.node_names, shares, strict=True)}
            for graph, shares in sides
        )
        return first, second

    def by_edge(
        self,
    ) -> tuple[dict[tuple[Hashable, Hashable], float], dict[tuple[Hashable, Hashable], float]]:
        """Return the share of every edge of both graphs.

        The share of a node is divided equally among its edges; nodes without edges keep theirs, so
        the edges of a graph without isolated nodes sum to `shared`.
        """
        sides = ((self.first, self.pairs.sum(1)), (self.second, self.pairs.sum(0)))
        first, second = (_by_edge(graph, shares) for graph, shares in sides)
        return first, second

    def __repr__(self) -> str:
        apart = ", ".join(f"{name} {value:.3f}" for name, value in self.distances.items())
        return (
            f"SimilarityExplanation({describe(self.first.name)} and {describe(self.second.name)}: "
            f"kernel {self.kernel:.3f}, shared {self.shared:.3f}; distances: {apart})"
        )

    def _repr_html_(self) -> str:
        """Show a notebook both graphs, coloured by what their nodes share."""
        sides = ((self.first, self.pairs.sum(1)), (self.second, self.pairs.sum(0)))
        drawings = [
            display.draw(graph, display.shade(shares), None, [f": {share:.4g}" for share in shares])
            for graph, shares in sides
        ]
        return display.page(repr(self), *drawings)


def _by_edge(graph: Graph, shares: Array) -> dict[tuple[Hashable, Hashable], float]:
    degrees = np.bincount(graph.edges.reshape(-1), minlength=graph.n_nodes)
    part = shares / np.maximum(degrees, 1)
    names = graph.node_names
    return {(names[u], names[v]): float(part[u] + part[v]) for u, v in graph.edges}


def explain_pair(model: LocalModel, first: Graph, second: Graph) -> SimilarityExplanation:
    """Split the similarity of two graphs over their nodes."""
    distances = model.map.parts_of_pair(model.describe([first, second]))
    pairs = np.zeros((first.n_nodes, second.n_nodes))
    radii = model.neighbourhoods([first, second])
    for ids in radii:
        one, other = ids[: first.n_nodes], ids[first.n_nodes :]
        mine = np.bincount(one, minlength=ids.max() + 1).astype(np.float64)
        theirs = np.bincount(other, minlength=ids.max() + 1).astype(np.float64)
        common = np.minimum(mine / first.n_nodes, theirs / second.n_nodes)
        each = common / np.maximum(mine * theirs, 1.0)
        pairs += np.where(one[:, None] == other[None, :], each[one][:, None], 0.0) / len(radii)
    kernel = float(np.exp(-sum(distances.values())))
    return SimilarityExplanation(first, second, kernel, distances, pairs)
