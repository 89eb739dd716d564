"""Why two graphs are alike: the kernel of node views, split over pairs of nodes."""

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

    The kernel is K = exp(-(a D + b d^2)), with real attributes exp(-((1 - w) (a D + b d^2) + w W)),
    where d^2 = (k(A, A) + k(B, B) - 2 k(A, B)) / unit (see `ddgk.features`). k(A, B) is a sum over
    pairs of nodes, which is split here.

    Attributes
    ----------
    first, second : Graph
    kernel : float
        K, 1 for graphs that the method cannot tell apart.
    divergence_distance : float
        D, the distance of the divergences.
    view_distance : float
        d^2, the squared distance of the node views.
    attribute_distance : float
        W, the distance of the real attributes; 0 without them.
    pairs : array of shape (n_first, n_second)
        The share of every pair of nodes in `shared`.
    shared : float
        k(A, B), the sum of `pairs`.
    """

    first: Graph
    second: Graph
    kernel: float
    divergence_distance: float
    view_distance: float
    attribute_distance: float
    pairs: Array = field(compare=False)

    @property
    def shared(self) -> float:
        """Return k(A, B)."""
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
        return (
            f"SimilarityExplanation({describe(self.first.name)} and {describe(self.second.name)}: "
            f"kernel {self.kernel:.3f}; distances: divergences {self.divergence_distance:.3f}, "
            f"views {self.view_distance:.3f}, attributes {self.attribute_distance:.3f})"
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
    described, outcome = model.describe([first, second])
    features = model.map
    rows = features.node_views(outcome)
    cut, scale = first.n_nodes, 1.0 / np.sqrt(first.n_nodes * second.n_nodes)
    pairs = np.zeros((first.n_nodes, second.n_nodes))
    norms = np.zeros(2)
    for views in rows:
        kernel = _gaussian(views, features.bandwidth)
        pairs += kernel[:cut, cut:] * scale
        norms += kernel[:cut, :cut].sum() / cut, kernel[cut:, cut:].sum() / second.n_nodes
    columns = features.standardised(described)
    apart = float(np.abs(columns[0] - columns[1]).sum() / features.units[0])
    view_distance = float(max(0.0, norms.sum() - 2 * pairs.sum()) / features.units[1])
    columns = features.attribute_columns(described)
    attribute_distance = float(np.abs(columns[0] - columns[1]).sum() / features.units[2])
    parts = (np.array(part) for part in (apart, view_distance, attribute_distance))
    value = float(features.similarity(*parts))
    return SimilarityExplanation(
        first, second, value, apart, view_distance, attribute_distance, pairs
    )


def _gaussian(views: NDArray[np.float32], bandwidth: float) -> Array:
    from scipy.spatial.distance import cdist

    points = views.astype(np.float64)
    return np.asarray(np.exp(-cdist(points, points, "sqeuclidean") / (2 * bandwidth**2)))
