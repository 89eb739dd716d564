"""Why two graphs are alike: common neighbourhoods, split over pairs of nodes, or an alignment."""

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

Array = NDArray[np.float64]
Shares = dict[Hashable, float]
EdgeShares = dict[tuple[Hashable, Hashable], float]

MAX_LISTED = 6  # pairs of nodes with different labels that are named


@dataclass(frozen=True, repr=False)
class SimilarityExplanation:
    """How the similarity of two graphs adds up.

    The kernel is K = exp(-sum of `distances`); `ddgk.features` has the equations. The distance of
    neighbourhoods is c (1 - shared) with a constant c. `shared` is a sum over pairs of nodes with
    the same neighbourhood, averaged over radii from 0 hops on with the weights r_t.

    Attributes
    ----------
    first, second : Graph
    kernel : float
        K, 1 for graphs that the method cannot tell apart.
    distances : dict from str to float
        What "views", "neighbourhoods", "labels", "size" and "attributes" add to the exponent.
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

    def _sides(self) -> tuple[tuple[Graph, Array], tuple[Graph, Array]]:
        """Return both graphs, each with the shares of its nodes."""
        return (self.first, self.pairs.sum(1)), (self.second, self.pairs.sum(0))

    def by_node(self) -> tuple[Shares, Shares]:
        """Return the share of every node of both graphs; each sums to `shared`."""
        (one, mine), (other, theirs) = self._sides()
        first = dict(zip(one.node_names, mine.tolist(), strict=True))
        return first, dict(zip(other.node_names, theirs.tolist(), strict=True))

    def by_edge(self) -> tuple[EdgeShares, EdgeShares]:
        """Return the share of every edge of both graphs.

        The share of a node is divided equally among its edges; nodes without edges keep theirs, so
        the edges of a graph without isolated nodes sum to `shared`.
        """
        one, other = self._sides()
        return _by_edge(*one), _by_edge(*other)

    def summary(self) -> str:
        """Return kernel, shared part and distances in words."""
        apart = ", ".join(f"{name} {value:.3f}" for name, value in self.distances.items())
        return f"kernel {self.kernel:.3f}, shared {self.shared:.3f}; distances: {apart}"

    def __repr__(self) -> str:
        both = f"{describe(self.first.name)} and {describe(self.second.name)}"
        return f"SimilarityExplanation({both}: {self.summary()})"

    def _repr_html_(self) -> str:
        """Show a notebook both graphs, coloured by what their nodes share."""
        drawings = [
            display.draw(graph, display.shade(shares), None, [f": {share:.4g}" for share in shares])
            for graph, shares in self._sides()
        ]
        return display.page(repr(self), *drawings)


def _by_edge(graph: Graph, shares: Array) -> EdgeShares:
    degrees = np.bincount(graph.edges.reshape(-1), minlength=graph.n_nodes)
    part = shares / np.maximum(degrees, 1)
    names = graph.node_names
    return {(names[u], names[v]): float(part[u] + part[v]) for u, v in graph.edges}


def explain_pair(model: LocalModel, first: Graph, second: Graph) -> SimilarityExplanation:
    """Split the similarity of two graphs over their nodes."""
    distances = model.map.parts_of_pair(model.describe([first, second]))
    pairs = np.zeros((first.n_nodes, second.n_nodes))
    radii = model.neighbourhoods([first, second])
    weights = model.map.radius_weights / max(model.map.radius_weights.sum(), 1e-300)
    for weight, ids in zip(weights, radii, strict=True):
        one, other = ids[: first.n_nodes], ids[first.n_nodes :]
        mine = np.bincount(one, minlength=ids.max() + 1).astype(np.float64)
        theirs = np.bincount(other, minlength=ids.max() + 1).astype(np.float64)
        common = np.minimum(mine / first.n_nodes, theirs / second.n_nodes)
        each = common / np.maximum(mine * theirs, 1.0)
        pairs += weight * np.where(one[:, None] == other[None, :], each[one][:, None], 0.0)
    kernel = float(np.exp(-sum(distances.values())))
    return SimilarityExplanation(first, second, kernel, distances, pairs)


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
    kept = {}
    for name in ("edge_labels", "edge_weights", "edge_attributes"):
        values = getattr(graph, name)
        kept[name] = None if values is None else [values[place] for place in first.tolist()]
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
    from ddgk.alignment.result import kept_edges, labels_agree

    target, source = found.target, found.source
    shared = int(labels_agree(target, source, found.pairs).sum())
    mine, theirs = target.edge_labels, source.edge_labels
    for t, s in kept_edges(target, source, found.pairs).tolist():
        shared += mine is None or theirs is None or mine[t] == theirs[s]
    return shared / (target.n_nodes + target.n_edges + source.n_nodes + source.n_edges - shared)


def match_lines(found: Alignment) -> list[str]:
    """Return an alignment in words: what is shared and what differs, a line each."""
    from ddgk.alignment.result import labels_agree

    target, source = found.target, found.source
    lines = [
        f"{len(found.pairs)} of {target.n_nodes} nodes have a partner among {source.n_nodes}",
        f"{found.n_kept_edges} of {target.n_edges} edges are kept; the other graph has "
        f"{source.n_edges}",
    ]
    differing = found.pairs[~labels_agree(target, source, found.pairs)].tolist()
    told = [f"{_called(target, t)} to {_called(source, s)}" for t, s in differing[:MAX_LISTED]]
    if told:
        more = len(differing) - MAX_LISTED
        ending = f" and {more} more" if more > 0 else ""
        lines.append(f"labels differ: {', '.join(told)}{ending}")
    if len(found.pairs):
        lines.append(f"mean confidence {found.sureness.mean():.2f}")
    return [*lines, f"shared part {shared_part(found):.0%}"]


def _called(graph: Graph, node: int) -> str:
    labels = graph.node_labels or ()
    return f"{visible(graph.node_names[node], 24)} ({visible(labels[node], 24)})"
