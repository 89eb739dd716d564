"""Make synthetic graphs: the paper's barbell, and families named by a size and a seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ddgk.errors import ParameterError
from ddgk.graphs import Graph, from_networkx, to_networkx


def barbell(
    size: int = 5, *, node_labels: bool = False, edge_labels: bool = False, name: str = "barbell"
) -> Graph:
    """Return two rings joined by an edge, as in the paper's study of attribute losses.

    Ring one is nodes 0..size-1, ring two size..2*size-1, and (0, size) joins them. Without labels
    it has 8 symmetries: either ring can be mirrored, and the rings can be swapped. Node labels
    leave 4, edge labels only the identity.

    Parameters
    ----------
    size : int
        Nodes per ring, at least 3.
    node_labels : bool
        Label the nodes 0 and 1 by their ring.
    edge_labels : bool
        Number the edges along ring one 0..size-1, along ring two size..2*size-1, and the joining
        edge 2*size. A model sees of a node the frequencies of the labels on its edges; two edges
        in a ring meet in one node only, so every node of the graph has frequencies of its own.
    name : str

    Examples
    --------
    >>> barbell()
    Graph(n_nodes=10, n_edges=11, name='barbell')
    >>> barbell(3, edge_labels=True).edge_labels
    (0, 2, 6, 1, 3, 5, 4)
    """
    if size < 3:
        raise ParameterError(f"size must be at least 3, since two nodes make no ring, not {size!r}")
    one = [(i, (i + 1) % size) for i in range(size)]
    two = [(size + u, size + v) for u, v in one]
    return Graph(
        2 * size,
        [*one, *two, (0, size)],
        node_labels=[0] * size + [1] * size if node_labels else None,
        edge_labels=range(2 * size + 1) if edge_labels else None,
        name=name,
    )


@dataclass(frozen=True)
class Family:
    """A kind of graph that can be made in any size.

    Call it with a size and a seed: it returns its largest member of at most that many nodes. The
    same arguments give the same graph; kinds without chance in them do not look at the seed.

    Parameters
    ----------
    name : str
    what : str
    minimum : int
        The smallest size there is.
    make : callable
        Takes networkx, a size and a seed; returns a networkx graph. networkx is handed in so that
        it is imported only when a graph is made.
    is_random : bool
        Whether the seed matters.

    Examples
    --------
    >>> FAMILIES["windmill"](8)
    Graph(n_nodes=7, n_edges=9, name='windmill-7')
    >>> FAMILIES["random_tree"](8, seed=3)
    Graph(n_nodes=8, n_edges=7, name='random_tree-8-3')
    """

    name: str
    what: str
    minimum: int
    make: Callable[[Any, int, int], Any]
    is_random: bool = False

    def __call__(self, n: int, seed: int = 0) -> Graph:
        """Return the member of at most `n` nodes that `seed` names."""
        import networkx

        if n < self.minimum:
            raise ParameterError(f"{self.name} needs n of at least {self.minimum}, not {n!r}")
        if seed < 0:
            raise ParameterError(f"seed must not be negative, not {seed!r}")
        made = networkx.convert_node_labels_to_integers(self.make(networkx, n, seed))
        ending = f"-{seed}" if self.is_random else ""
        return from_networkx(made, name=f"{self.name}-{len(made)}{ending}")


def _grid(networkx: Any, n: int, _seed: int) -> Any:
    n_rows = math.isqrt(n)
    return networkx.grid_2d_graph(n_rows, n // n_rows)


def _petersen(networkx: Any, n: int, _seed: int) -> Any:
    """Make an outer ring, an inner star that skips one, and spokes; n = 10 is Petersen's own."""
    size = n // 2
    outer = [(i, (i + 1) % size) for i in range(size)]
    inner = [(size + i, size + (i + 2) % size) for i in range(size)]
    return networkx.Graph(outer + inner + [(i, size + i) for i in range(size)])


def _blocks(networkx: Any, n: int, seed: int) -> Any:
    """Make three blocks; a node has about 6 neighbours in its own and 1 in the others."""
    size = n // 3
    inside, outside = min(1.0, 6 / size), min(1.0, 0.5 / size)
    chances = [[inside if i == j else outside for j in range(3)] for i in range(3)]
    return networkx.stochastic_block_model([size, size, n - 2 * size], chances, seed=seed)


_ROWS = (
    Family("path", "a line", 2, lambda nx, n, _: nx.path_graph(n)),
    Family("ring", "a cycle", 3, lambda nx, n, _: nx.cycle_graph(n)),
    Family("complete", "every pair joined", 2, lambda nx, n, _: nx.complete_graph(n)),
    Family("star", "one centre, the rest leaves", 2, lambda nx, n, _: nx.star_graph(n - 1)),
    Family("wheel", "a ring around a centre", 4, lambda nx, n, _: nx.wheel_graph(n)),
    Family(
        "windmill",
        "triangles that share one node, the friendship graph",
        5,
        lambda nx, n, _: nx.windmill_graph((n - 1) // 2, 3),
    ),
    Family("grid", "rows and columns, nearly square", 4, _grid),
    Family("ladder", "two joined rings", 6, lambda nx, n, _: nx.circular_ladder_graph(n // 2)),
    Family("petersen", "Petersen's graph, generalised", 10, _petersen),
    Family(
        "barbell", "two rings joined by an edge", 6, lambda _nx, n, _: to_networkx(barbell(n // 2))
    ),
    Family("binary_tree", "a balanced tree", 2, lambda nx, n, _: nx.full_rary_tree(2, n)),
    Family(
        "caveman",
        "a ring of cliques of 5",
        10,
        lambda nx, n, _: nx.connected_caveman_graph(n // 5, 5),
    ),
    Family(
        "random_tree",
        "a tree, all labelled trees being as likely",
        2,
        lambda nx, n, seed: nx.random_labeled_tree(n, seed=seed),
        is_random=True,
    ),
    Family(
        "random_regular",
        "every node with 3 neighbours",
        4,
        lambda nx, n, seed: nx.random_regular_graph(3, n - n % 2, seed=seed),
        is_random=True,
    ),
    Family(
        "erdos_renyi",
        "every pair joined by the same chance, about 4 neighbours each",
        2,
        lambda nx, n, seed: nx.gnp_random_graph(n, min(1.0, 4 / (n - 1)), seed=seed),
        is_random=True,
    ),
    Family(
        "barabasi_albert",
        "newcomers join 2 nodes, the popular ones more often",
        3,
        lambda nx, n, seed: nx.barabasi_albert_graph(n, 2, seed=seed),
        is_random=True,
    ),
    Family(
        "watts_strogatz",
        "a ring of 4 neighbours each, one end in ten moved: a small world",
        5,
        lambda nx, n, seed: nx.watts_strogatz_graph(n, 4, 0.1, seed=seed),
        is_random=True,
    ),
    Family("stochastic_block", "three dense blocks", 9, _blocks, is_random=True),
)

FAMILIES: dict[str, Family] = {row.name: row for row in _ROWS}
