"""Simple statistics of graphs, and which of them set a group of graphs apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs import Graph
from ddgk.graphs.graph import label_key
from ddgk.plain import visible

Array = NDArray[np.float64]

MAX_LABELS = 12  # of each kind; rarer ones are not counted
LEAST_DIFFERENCE = 0.5  # standard deviations


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
        more = "higher" if self.difference > 0 else "lower"
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
    columns = [_structure(graph) for graph in graphs]
    values = np.array(columns, dtype=np.float64).reshape(len(graphs), len(names))
    parts = [values]
    for kind in ("node", "edge"):
        own, shares = _label_shares(graphs, kind)
        names += own
        parts.append(shares)
    if any(graph.edge_weights is not None for graph in graphs):
        names.append("mean edge weight")
        parts.append(np.array([[_mean_weight(graph)] for graph in graphs]))
    return names, np.concatenate(parts, axis=1)


def set_apart(names: Sequence[str], values: Array, inside: NDArray[np.bool_]) -> tuple[Trait, ...]:
    """Return the statistics in which a group differs most from all other graphs.

    Examples
    --------
    >>> values = np.array([[1.0], [1.0], [5.0], [5.0]])
    >>> str(set_apart(["nodes"], values, np.array([True, True, False, False]))[0])
    'lower nodes (1 against 5)'
    """
    if inside.all() or not inside.any():
        return ()
    spread = values.std(axis=0)
    mine, others = values[inside].mean(axis=0), values[~inside].mean(axis=0)
    difference = np.divide(mine - others, spread, out=np.zeros_like(spread), where=spread > 0)
    order = np.argsort(-np.abs(difference), kind="stable")
    return tuple(
        Trait(names[place], float(mine[place]), float(others[place]), float(difference[place]))
        for place in order.tolist()
        if abs(difference[place]) >= LEAST_DIFFERENCE
    )


def _structure(graph: Graph) -> tuple[float, ...]:
    n, m = graph.n_nodes, graph.n_edges
    degrees = np.bincount(graph.edges.ravel(), minlength=n) if m else np.zeros(n)
    possible = n * (n - 1) / (1 if getattr(graph, "directed", False) else 2)
    parts = _count_components(graph)
    return (
        n,
        m,
        m / possible if possible else 0.0,
        degrees.mean(),
        degrees.max(),
        (degrees == 1).mean(),
        parts,
        m - n + parts,
    )


def _count_components(graph: Graph) -> int:
    if graph.n_nodes > 200:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        u, v = graph.edges.T
        matrix = coo_array((np.ones(len(u)), (u, v)), shape=(graph.n_nodes, graph.n_nodes))
        return int(connected_components(matrix, directed=False, return_labels=False))
    # For a small graph a plain loop is several times faster than building a matrix.
    parent = list(range(graph.n_nodes))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    count = graph.n_nodes
    for u, v in graph.edges.tolist():
        first, second = root(u), root(v)
        if first != second:
            parent[second] = first
            count -= 1
    return count


def _label_shares(graphs: Sequence[Graph], kind: str) -> tuple[list[str], Array]:
    """Return the share of every frequent label among the nodes or edges of every graph."""
    counts = [Counter(getattr(graph, f"{kind}_labels") or ()) for graph in graphs]
    total: Counter[object] = Counter()
    for own in counts:
        total.update(own)
    frequent = sorted(total, key=lambda label: (-total[label], label_key(label)))[:MAX_LABELS]
    names = [f"share of {kind} label {visible(label, 24)}" for label in frequent]
    shares = np.zeros((len(graphs), len(frequent)))
    for row, own in enumerate(counts):
        size = sum(own.values())
        if size:
            shares[row] = [own[label] / size for label in frequent]
    return names, shares


def _mean_weight(graph: Graph) -> float:
    weights = graph.edge_weights
    return float(weights.mean()) if weights is not None and len(weights) else 1.0
