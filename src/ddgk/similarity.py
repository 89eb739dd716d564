"""Why two graphs are alike: the kernel of node views split over pairs of nodes, or an alignment."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs import display
from ddgk.graphs.graph import Graph, describe
from ddgk.models import LocalModel
from ddgk.plain import visible

if TYPE_CHECKING:
    from ddgk.alignment import Alignment

MAX_LISTED = 6  # pairs of nodes with different labels that are named

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

    def summary(self) -> str:
        """Return kernel and distances in words."""
        said = (
            f"kernel {self.kernel:.3f}; distances: divergences {self.divergence_distance:.3f}, "
            f"views {self.view_distance:.3f}"
        )
        return said + (
            f", attributes {self.attribute_distance:.3f}" * bool(self.attribute_distance)
        )

    def __repr__(self) -> str:
        both = f"{describe(self.first.name)} and {describe(self.second.name)}"
        return f"SimilarityExplanation({both}: {self.summary()})"

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


def match_graphs(target: Graph, source: Graph, max_restarts: int = 1) -> Alignment:
    """Align two graphs quickly; where only one of them is directed, its directions are ignored."""
    from ddgk.alignment import AlignmentOptions, align

    if target.directed != source.directed:
        target, source = _without_directions(target), _without_directions(source)
    return align(target, source, options=AlignmentOptions(max_restarts=max_restarts))


def _without_directions(graph: Graph) -> Graph:
    if not graph.directed:
        return graph
    edges, first = np.unique(np.sort(graph.edges, axis=1), axis=0, return_index=True)
    kept = {
        name: None if values is None else [values[place] for place in first.tolist()]
        for name, values in (
            ("edge_labels", graph.edge_labels),
            ("edge_weights", graph.edge_weights),
            ("edge_attributes", graph.edge_attributes),
        )
    }
    return graph.replace(edges=edges, directed=False, **kept)


def shared_part(found: Alignment) -> float:
    """Return nodes and edges that two aligned graphs share over those that either has.

    Pairs of nodes and edges whose labels differ are not shared. 1 for isomorphic graphs with equal
    labels.

    Examples
    --------
    >>> import ddgk, networkx
    >>> shared_part(ddgk.align(networkx.path_graph(3), networkx.cycle_graph(3)))
    0.8333333333333334
    """
    from ddgk.alignment.checking import kept_edges, labels_agree

    target, source = found.target, found.source
    shared = int(labels_agree(target, source, found.pairs).sum())
    mine, theirs = target.edge_labels, source.edge_labels
    for t, s in kept_edges(target, source, found.pairs).tolist():
        shared += mine is None or theirs is None or mine[t] == theirs[s]
    return shared / (target.n_nodes + target.n_edges + source.n_nodes + source.n_edges - shared)


def match_lines(found: Alignment) -> list[str]:
    """Return an alignment in words: what is shared and what differs, a line each."""
    target, source = found.target, found.source
    lines = [
        f"{len(found.pairs)} of {target.n_nodes} nodes have a partner among {source.n_nodes}",
        f"{found.n_kept_edges} of {target.n_edges} edges are kept; the other graph has "
        f"{source.n_edges}",
    ]
    mine, theirs = target.node_labels or (), source.node_labels or ()
    differing = []
    for t, s in found.pairs.tolist() if mine and theirs else ():
        if mine[t] != theirs[s]:
            names = visible(target.node_names[t], 24), visible(source.node_names[s], 24)
            differing.append(
                f"{names[0]} ({visible(mine[t], 24)}) to {names[1]} ({visible(theirs[s], 24)})"
            )
    if differing:
        more = len(differing) - MAX_LISTED
        listed = ", ".join(differing[:MAX_LISTED])
        lines.append(f"labels differ: {listed}" + (f" and {more} more" if more > 0 else ""))
    if len(found.pairs):
        lines.append(f"mean confidence {found.sureness.mean():.2f}")
    return [*lines, f"shared part {shared_part(found):.0%}"]
