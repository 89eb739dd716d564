"""Positions of the nodes of one graph in drawings; numbers only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs.graph import Graph

Array = NDArray[np.float64]

# Above this many nodes a spectral layout is used, since stress needs all distances.
MOST_BY_STRESS = 300
ITERATIONS = 60  # of stress majorisation


def lay_out(graph: Graph) -> Array:
    """Return positions of the nodes in [-1, 1] x [-1, 1], (n_nodes, 2).

    Stress majorisation [1]_: drawn distances approximate path lengths. Components are placed in a
    row, the largest first. The same graph in the same node order always gets the same positions.

    References
    ----------
    .. [1] Gansner, E. R., Koren, Y., and North, S. "Graph drawing by stress majorization." Graph
       Drawing (2004): 239-250.

    Examples
    --------
    >>> from ddgk.graphs import Graph
    >>> lay_out(Graph(3, [(0, 1), (1, 2)]))[:, 0].round(3).tolist()
    [-1.0, 0.0, 1.0]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = graph.n_nodes
    loops = graph.edges[:, 0] == graph.edges[:, 1]
    u, v = graph.edges[~loops].T
    ones = np.ones(2 * len(u))
    ends = (np.concatenate([u, v]), np.concatenate([v, u]))
    adjacency = coo_array((ones, ends), shape=(n, n)).tocsr()
    n_parts, part_of = connected_components(adjacency, directed=False)
    members = np.split(np.argsort(part_of, kind="stable"), np.cumsum(np.bincount(part_of))[:-1])
    places = np.zeros((n, 2))
    edge = 0.0
    for nodes in sorted(members, key=lambda part: (-len(part), part[0]))[:n_parts]:
        own = _lay_out_connected(adjacency[nodes][:, nodes])
        own[:, 0] += edge - own[:, 0].min()
        places[nodes] = own
        edge = float(own[:, 0].max()) + 0.6
    return fit(places)


def fit(places: Array) -> Array:
    """Centre places and scale both axes alike, so that the longer one spans [-1, 1]."""
    low, high = places.min(axis=0), places.max(axis=0)
    reach = float((high - low).max()) / 2
    fitted: Array = (places - (low + high) / 2) / (reach if reach > 0 else 1.0)
    return fitted


def _lay_out_connected(adjacency: Any) -> Array:
    """Return positions of one component, with about one unit between neighbours."""
    n = adjacency.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    if n == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    places = _by_stress(adjacency) if n <= MOST_BY_STRESS else _by_spectrum(adjacency)
    u, v = adjacency.nonzero()
    length = float(np.linalg.norm(places[u] - places[v], axis=1).mean())
    return _lie_down(places / max(length, 1e-9))


def _by_stress(adjacency: Any) -> Array:
    """Minimise sum_ij (|x_i - x_j| - d_ij)^2 / d_ij^2, d the path lengths."""
    from scipy.sparse.csgraph import shortest_path

    wanted = shortest_path(adjacency, unweighted=True, directed=False)
    n = len(wanted)
    weights = 1 / np.where(wanted > 0, wanted, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.inv(laplacian + 1.0 / n)
    # Classical scaling, and a small fixed deviation where it is degenerate.
    centred = wanted**2 - (wanted**2).mean(axis=0)
    centred = -(centred - centred.mean(axis=1, keepdims=True)) / 2
    values, directions = np.linalg.eigh(centred)
    places: Array = directions[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    if values[-2] > 1e-9:
        places = places + 0.01 * np.cos(np.arange(2 * n).reshape(n, 2) * 2.4)
    for _ in range(ITERATIONS):
        apart = places[:, None] - places[None]
        lengths = np.sqrt((apart**2).sum(axis=2))
        np.fill_diagonal(lengths, 1.0)
        ratio = -weights * wanted / np.maximum(lengths, 1e-9)
        np.fill_diagonal(ratio, 0.0)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        places = inverse @ (ratio @ places)
        places -= places.mean(axis=0)
    return places


def _by_spectrum(adjacency: Any) -> Array:
    """Return the second and third eigenvector of the normalised adjacency matrix."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    degrees = np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0)
    scale = diags_array(1 / np.sqrt(degrees))
    begin = np.cos(np.arange(adjacency.shape[0]) * 2.4)
    _, directions = eigsh(scale @ adjacency @ scale, k=3, which="LA", v0=begin, maxiter=2000)
    places: Array = directions[:, 1::-1] / np.sqrt(degrees)[:, None]
    spread: Array = np.sign(places) * np.abs(places) ** 0.5  # eigenvectors concentrate near 0
    return spread


def _lie_down(places: Array) -> Array:
    """Rotate so that the longer axis is horizontal and the first node is on the left."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned: Array = centred @ axes.T
    turned *= np.where(turned[0] > 0, -1.0, 1.0)
    return turned
