"""Random graphs of any size with a mean degree of ten: five models that degree alone cannot tell.

Time and memory are linear in the number of nodes. The same arguments give the same graph.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import ParameterError
from ddgk.graphs import Graph

MEAN_DEGREE = 10
REWIRED = 0.1
N_BLOCKS = 5
DEGREE_OUTSIDE = 2
FEWEST_NODES = 50  # blocks of fewer could not hold eight neighbours

Edges = NDArray[np.int64]


def barabasi_albert(n_nodes: int, seed: int = 0) -> Graph:
    """Return a graph of preferential attachment: a new node joins five others, by degree.

    It has 5 (n - 5) edges: a star of six nodes, and five for every later node.

    Examples
    --------
    >>> from experiments.graphs.generators import barabasi_albert
    >>> barabasi_albert(100, seed=1)
    Graph(n_nodes=100, n_edges=475, name='barabasi_albert-100-1')
    """
    _check(n_nodes, seed)
    joined = MEAN_DEGREE // 2
    draw = random.Random(seed).random  # noqa: S311  (a million calls of numpy's would be slower)
    edges = [(0, node) for node in range(1, joined + 1)]
    ends = [end for edge in edges for end in edge]  # every node as often as its degree
    for node in range(joined + 1, n_nodes):
        chosen: dict[int, None] = {}
        while len(chosen) < joined:
            chosen[ends[int(draw() * len(ends))]] = None
        for other in chosen:
            edges.append((other, node))
            ends += (other, node)
    return Graph(n_nodes, np.array(edges), name=f"barabasi_albert-{n_nodes}-{seed}")


def watts_strogatz(n_nodes: int, seed: int = 0) -> Graph:
    """Return a ring of ten neighbours each, with one end of every tenth edge moved: a small world.

    It has 5 n edges.

    Examples
    --------
    >>> from experiments.graphs.generators import watts_strogatz
    >>> watts_strogatz(100, seed=1)
    Graph(n_nodes=100, n_edges=500, name='watts_strogatz-100-1')
    """
    _check(n_nodes, seed)
    generator = np.random.default_rng(seed)
    near = np.repeat(np.arange(n_nodes), MEAN_DEGREE // 2)
    far = (near + np.tile(np.arange(1, MEAN_DEGREE // 2 + 1), n_nodes)) % n_nodes
    moved = generator.random(len(far)) < REWIRED
    bad = moved
    while bad.any():
        far[bad] = generator.integers(n_nodes, size=bad.sum())
        # Among edges that are the same, those of the ring come first and stay.
        bad = moved & _repeated(n_nodes, near, far, moved)
    return Graph(n_nodes, np.column_stack([near, far]), name=f"watts_strogatz-{n_nodes}-{seed}")


def stochastic_blocks(n_nodes: int, seed: int = 0) -> Graph:
    """Return five blocks of one size; a node has eight neighbours in its own, two in the others.

    Examples
    --------
    >>> from experiments.graphs.generators import stochastic_blocks
    >>> stochastic_blocks(100, seed=1).n_nodes
    100
    """
    _check(n_nodes, seed)
    generator = np.random.default_rng(seed)
    borders = np.linspace(0, n_nodes, N_BLOCKS + 1).astype(np.int64)
    size = n_nodes / N_BLOCKS
    inside = (MEAN_DEGREE - DEGREE_OUTSIDE) / (size - 1)
    outside = DEGREE_OUTSIDE / (n_nodes - size)
    parts: list[Edges] = []
    for one in range(N_BLOCKS):
        height = borders[one + 1] - borders[one]
        for other in range(one, N_BLOCKS):
            width = borders[other + 1] - borders[other]
            n_pairs = height * (height - 1) // 2 if one == other else height * width
            chance = inside if one == other else outside
            n_drawn = generator.binomial(n_pairs, min(1.0, chance))
            drawn = generator.choice(n_pairs, n_drawn, replace=False, shuffle=False)
            rows, columns = _triangle(drawn) if one == other else np.divmod(drawn, width)
            parts.append(np.column_stack([borders[one] + rows, borders[other] + columns]))
    return Graph(n_nodes, np.concatenate(parts), name=f"blocks-{n_nodes}-{seed}")


def random_geometric(n_nodes: int, seed: int = 0) -> Graph:
    """Return points on a square without borders (a torus), joined where they are close.

    Examples
    --------
    >>> from experiments.graphs.generators import random_geometric
    >>> random_geometric(100, seed=1).n_nodes
    100
    """
    from scipy.spatial import cKDTree

    _check(n_nodes, seed)
    points = np.random.default_rng(seed).random((n_nodes, 2))
    radius = math.sqrt(MEAN_DEGREE / (math.pi * (n_nodes - 1)))
    edges = cKDTree(points, boxsize=1.0).query_pairs(radius, output_type="ndarray")
    return Graph(n_nodes, edges, name=f"geometric-{n_nodes}-{seed}")


def configuration_model(n_nodes: int, seed: int = 0, *, degrees: ArrayLike) -> Graph:
    """Return a graph whose degrees are drawn from a sequence, scaled to ten on average.

    Ends are joined at random; loops and parallel edges are dropped, which leaves slightly fewer
    than ten neighbours a node, and in small graphs nine.

    Parameters
    ----------
    n_nodes, seed : int
    degrees : array-like of int
        Of any number of nodes, for example those of a real network.

    Examples
    --------
    >>> from ddgk.io import karate_club
    >>> from experiments.graphs.generators import configuration_model, degrees_of
    >>> configuration_model(100, seed=1, degrees=degrees_of(karate_club())).n_nodes
    100
    """
    _check(n_nodes, seed)
    known = np.asarray(degrees, dtype=np.float64)
    if known.ndim != 1 or not known.size or not (known >= 0).all() or not known.any():
        raise ParameterError("degrees must be a list of numbers from 0 on, not all of them 0")
    generator = np.random.default_rng(seed)
    scaled = generator.choice(known, n_nodes) * (MEAN_DEGREE / known.mean())
    # Up or down by chance, so that the mean stays what it is.
    wanted = np.floor(scaled + generator.random(n_nodes)).astype(np.int64)
    ends = generator.permutation(np.repeat(np.arange(n_nodes), wanted))
    near, far = ends[: len(ends) // 2], ends[len(ends) // 2 : 2 * (len(ends) // 2)]
    kept = ~_repeated(n_nodes, near, far, np.zeros(len(near), dtype=bool))
    edges = np.column_stack([near, far])[kept]
    return Graph(n_nodes, edges, name=f"configuration-{n_nodes}-{seed}")


def thinned(graph: Graph, n_edges: int, seed: int = 0) -> Graph:
    """Return a graph with so many of its edges, drawn at random; with all, where it has no more.

    Examples
    --------
    >>> from experiments.graphs.generators import thinned, watts_strogatz
    >>> thinned(watts_strogatz(100), 450).n_edges
    450
    """
    if n_edges >= graph.n_edges:
        return graph
    drawn = np.random.default_rng(seed).permutation(graph.n_edges)[:n_edges]
    return Graph(graph.n_nodes, graph.edges[drawn], name=graph.name)


def degrees_of(graph: Graph) -> NDArray[np.int64]:
    """Return how many neighbours each node has, (n_nodes,)."""
    return np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)


def generators(degrees: ArrayLike) -> dict[str, Callable[[int, int], Graph]]:
    """Return all five kinds by name; degrees: those of the configuration model."""

    def like_degrees(n_nodes: int, seed: int) -> Graph:
        return configuration_model(n_nodes, seed, degrees=degrees)

    return {
        "barabasi_albert": barabasi_albert,
        "watts_strogatz": watts_strogatz,
        "blocks": stochastic_blocks,
        "geometric": random_geometric,
        "configuration": like_degrees,
    }


def _check(n_nodes: int, seed: int) -> None:
    if n_nodes < FEWEST_NODES:
        raise ParameterError(f"n_nodes must be at least {FEWEST_NODES}, not {n_nodes!r}")
    if seed < 0:
        raise ParameterError(f"seed must not be negative, not {seed!r}")


def _repeated(n_nodes: int, near: Edges, far: Edges, later: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say which edges are loops or repeat another; of equal ones those not `later` come first."""
    keys = np.minimum(near, far) * n_nodes + np.maximum(near, far)
    order = np.lexsort((later, keys))
    found: NDArray[np.bool_] = near == far
    found[order[1:]] |= keys[order[1:]] == keys[order[:-1]]
    return found


def _triangle(places: Edges) -> tuple[Edges, Edges]:
    """Return the pairs (row < column) that stand at these places: (0, 1), (0, 2), (1, 2), ...

    column (column - 1) / 2 + row = place
    """
    columns = np.floor((1 + np.sqrt(8.0 * places + 1)) / 2).astype(np.int64)
    rows = places - columns * (columns - 1) // 2
    return rows, columns
