"""Simple statistics of graphs, and which of them set a group of graphs apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.explanation import TERMS_IN_WORDS
from ddgk.graphs import Graph
from ddgk.graphs.graph import label_key
from ddgk.plain import visible

Array = NDArray[np.float64]

MAX_LABELS = 12  # of each kind; rarer ones are not counted
LEAST_DIFFERENCE = 0.5  # standard deviations
COUNTED = ("nodes", "edges", "components", "independent cycles")
MISMATCH = "mismatch with sources"  # how names of loss terms begin


class Trait(NamedTuple):
    """How a group of graphs differs from the others in one statistic.

    Attributes
    ----------
    name : str
    inside, outside : float
        Mean over the group, and over all other graphs.
    difference : float
        (inside - outside) / standard deviation over all graphs.
    """

    name: str
    inside: float
    outside: float
    difference: float

    def __str__(self) -> str:
        words = ("fewer", "more") if self.name in COUNTED else ("lower", "higher")
        more = words[self.difference > 0]
        return f"{more} {self.name} ({self.inside:.3g} against {self.outside:.3g})"


def measure(graphs: Sequence[Graph]) -> tuple[list[str], Array]:
    """Return the names of statistics, and their values, (n_graphs, n_statistics).

    Size, density, degrees, independent cycles and connected components; where there are labels, the
    share of every frequent one; where there are weights, their mean.

    Examples
    --------
    >>> names, values = measure([Graph(3, [(0, 1), (1, 2), (0, 2)])])
    >>> dict(zip(names, values[0].tolist()))["independent cycles"]
    1.0
    """
    names = ["nodes", "edges", "density", "mean degree", "largest degree", "share of leaves",
             "components", "independent cycles"]  # fmt: skip
    parts = [_structure(graphs)]
    for kind in ("node", "edge"):
        own, shares = _label_shares(graphs, kind)
        names += own
        parts.append(shares)
    if any(graph.edge_weights is not None for graph in graphs):
        names.append("mean edge weight")
        parts.append(np.array([[_mean_weight(graph)] for graph in graphs]))
    if any(graph.directed for graph in graphs):
        names.append("share of directed edges")
        parts.append(np.array([[float(graph.directed)] for graph in graphs]))
    return names, np.concatenate(parts, axis=1)


def measure_divergences(model: Any, graphs: Sequence[Graph]) -> tuple[list[str], Array]:
    """Return loss terms and divergences from sources after training, per node, with their names.

    Loss terms are means over all sources, named by what they measure: the higher, the worse the
    sources predict it. The divergence from a source is its sum over loss terms,
    less the mean over all sources: negative where a graph is closer to this source than to others.
    A model without `divergences` has none.
    """
    if not hasattr(model, "divergences") or not graphs:
        return [], np.zeros((len(graphs), 0))
    sizes = np.array([max(graph.n_nodes, 1) for graph in graphs])
    found = np.nan_to_num(model.divergences(graphs)[..., -1]) / sizes[:, None, None]
    by_source = found.sum(axis=2)
    names = [f"{MISMATCH} in {TERMS_IN_WORDS[term]}" for term in model.term_names_]
    for place, source in enumerate(model.sources_):
        called = f"source {place}" if source.name is None else f"source {visible(source.name, 32)}"
        names.append(f"divergence from {called}")
    relative = by_source - by_source.mean(axis=1, keepdims=True)
    return names, np.concatenate([found.mean(axis=1), relative], axis=1)


def set_apart(names: Sequence[str], values: Array, inside: NDArray[np.bool_]) -> tuple[Trait, ...]:
    """Return the statistics in which a group differs most from all other graphs.

    Examples
    --------
    >>> values = np.array([[1.0], [1.0], [5.0], [5.0]])
    >>> str(set_apart(["nodes"], values, np.array([True, True, False, False]))[0])
    'fewer nodes (1 against 5)'
    """
    if inside.all() or not inside.any():
        return ()
    spread = values.std(axis=0)
    mine, others = values[inside].mean(axis=0), values[~inside].mean(axis=0)
    difference = np.divide(mine - others, spread, out=np.zeros_like(spread), where=spread > 1e-12)
    order = np.argsort(-np.abs(difference), kind="stable")
    return tuple(
        Trait(names[place], float(mine[place]), float(others[place]), float(difference[place]))
        for place in order.tolist()
        if abs(difference[place]) >= LEAST_DIFFERENCE
    )


def _structure(graphs: Sequence[Graph]) -> Array:
    """Return the statistics of structure of all graphs, computed on their disjoint union."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = np.array([graph.n_nodes for graph in graphs])
    m = np.array([graph.n_edges for graph in graphs])
    starts, total = np.cumsum(n) - n, int(n.sum())
    edges = np.concatenate([graph.edges for graph in graphs]) + np.repeat(starts, m)[:, None]
    owner = np.repeat(np.arange(len(graphs)), n)
    degrees = np.bincount(edges.ravel(), minlength=total)
    largest = np.zeros(len(graphs))
    np.maximum.at(largest, owner, degrees)
    matrix = coo_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), (total, total))
    _, part = connected_components(matrix, directed=False)
    first = np.unique(part, return_index=True)[1]
    parts = np.bincount(owner[first], minlength=len(graphs))
    leaves = np.bincount(owner, degrees == 1, minlength=len(graphs))
    possible = n * (n - 1) / np.where([graph.directed for graph in graphs], 1, 2)
    size = np.maximum(n, 1)
    columns = (n, m, m / np.maximum(possible, 1), 2 * m / size, largest, leaves / size, parts,
               m - n + parts)  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float64)


def _label_shares(graphs: Sequence[Graph], kind: str) -> tuple[list[str], Array]:
    """Return the share of every frequent label among the nodes or edges of every graph."""
    counts = [Counter(getattr(graph, f"{kind}_labels") or ()) for graph in graphs]
    total: Counter[object] = Counter()
    for own in counts:
        total.update(own)
    frequent = sorted(total, key=lambda label: (-total[label], label_key(label)))[:MAX_LABELS]
    names = [f'share of {kind}s labelled "{visible(label, 24)}"' for label in frequent]
    shares = np.zeros((len(graphs), len(frequent)))
    for row, own in enumerate(counts):
        size = sum(own.values())
        if size:
            shares[row] = [own[label] / size for label in frequent]
    return names, shares


def _mean_weight(graph: Graph) -> float:
    weights = graph.edge_weights
    return float(weights.mean()) if weights is not None and len(weights) else 1.0
