"""Make families of related graphs by the paper's mutation procedure ("Mutated Graphs")."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import GraphError, ParameterError
from ddgk.graphs import Graph

Integers = NDArray[np.int64]


def mutate(
    graph: Graph,
    steps: int = 50,
    *,
    p_add: float = 0.5,
    seed: int = 0,
    edge_label: Hashable | None = None,
    edge_weight: float | None = None,
) -> Graph:
    """Add and delete edges at random, `steps` times.

    Each step adds an edge with chance `p_add`, else it deletes one. Deletions choose among the
    edges present, each as likely. Additions choose among the pairs not joined, pair (i, j) with a
    chance proportional to d_i * d_j, the degrees in the given graph and not in its present state:
    preferential attachment, characterised by the seed graph. So a node without edges in the given
    graph stays without. When no pair with d_i * d_j > 0 is left to join (in a complete graph, say)
    the step deletes, and when no edge is left it adds.

    Nodes and their labels stay; so do the labels and weights of the edges that survive.

    Parameters
    ----------
    graph : Graph
        With at least one edge.
    steps : int
    p_add : float
    seed : int
        The same graph and seed give the same mutant.
    edge_label : hashable, optional
        The label of new edges; needed when the graph has edge labels.
    edge_weight : float, optional
        The weight of new edges; needed when the graph has weights.

    Examples
    --------
    >>> from ddgk.io import karate_club
    >>> mutate(karate_club(), steps=50, seed=1).n_nodes
    34
    """
    return _mutate(graph, graph, steps, p_add, [seed], edge_label, edge_weight)


def family(
    graph: Graph,
    n_mutants: int = 4,
    steps: int = 50,
    *,
    p_add: float = 0.5,
    seed: int = 0,
    chained: bool = False,
    edge_label: Hashable | None = None,
    edge_weight: float | None = None,
) -> list[Graph]:
    """Return a graph and its mutants: "karate-0" for the graph itself, then "karate-1", ...

    The paper runs the procedure 4 times with 50 steps each and gets 5 related graphs. Read as it
    stands, each run starts from the seed graph; that is the default. With `chained` each run goes
    on from the mutant before, so that later ones lie further away. Either way it is the degrees of
    the seed graph that attract new edges.

    Parameters
    ----------
    graph : Graph
    n_mutants : int
    steps, p_add, edge_label, edge_weight
        As for `mutate`.
    seed : int
        The first mutants of a family do not depend on how many are made.
    chained : bool

    Examples
    --------
    >>> from ddgk.io import karate_club
    >>> [member.name for member in family(karate_club())]
    ['karate-0', 'karate-1', 'karate-2', 'karate-3', 'karate-4']
    """
    name = graph.name or "graph"
    members = [graph.replace(name=f"{name}-0")]
    for i in range(1, n_mutants + 1):
        start = members[-1] if chained else graph
        mutant = _mutate(start, graph, steps, p_add, [seed, i], edge_label, edge_weight)
        members.append(mutant.replace(name=f"{name}-{i}"))
    return members


def _mutate(
    graph: Graph,
    origin: Graph,
    steps: int,
    p_add: float,
    seed: list[int],
    edge_label: Hashable | None,
    edge_weight: float | None,
) -> Graph:
    _check(graph, steps, p_add, min(seed), edge_label, edge_weight)
    chance = np.random.default_rng(seed)
    state = _State(graph, np.bincount(origin.edges.ravel(), minlength=graph.n_nodes))
    for _ in range(steps):
        adds = chance.random() < p_add
        can_add = state.n_ways() > 0
        if not can_add and not state.edges:
            raise GraphError(
                f"{graph}: it has neither an edge to delete nor a pair of nodes "
                "with edges to join; a graph without edges cannot be mutated"
            )
        if can_add and (adds or not state.edges):
            state.add(chance, edge_label, edge_weight)
        else:
            state.delete(chance)
    kept = state.content.values()
    return graph.replace(
        edges=list(state.content),
        edge_labels=None if graph.edge_labels is None else [label for label, _ in kept],
        edge_weights=None if graph.edge_weights is None else [weight for _, weight in kept],
    )


class _State:
    """A graph on its way, and how strongly each node attracts.

    The chance of a pair among those not joined is d_i d_j / W. Its first node is drawn by
    R_i = d_i * (sum of d_j over the j not joined to i), its second by d_j among those: together
    d_i d_j / sum(R), exactly, in whole numbers, and without ever listing the pairs.
    """

    def __init__(self, graph: Graph, degrees: Integers) -> None:
        labels = graph.edge_labels or [None] * graph.n_edges
        weights = [None] * graph.n_edges if graph.edge_weights is None else graph.edge_weights
        self.edges: list[tuple[int, int]] = [(u, v) for u, v in graph.edges.tolist()]
        self.content = dict(zip(self.edges, zip(labels, weights, strict=True), strict=True))
        self.degrees = degrees
        self.joined: list[set[int]] = [{node} for node in range(graph.n_nodes)]
        self.free = np.full(graph.n_nodes, degrees.sum()) - degrees
        for u, v in self.edges:
            self._join(u, v)

    def n_ways(self) -> int:
        """W, the sum of d_i d_j over ordered pairs not joined."""
        return int(self.degrees @ self.free)

    def add(
        self, chance: np.random.Generator, label: Hashable | None, weight: float | None
    ) -> None:
        u = _draw(self.degrees * self.free, chance)
        partners = self.degrees.copy()
        partners[list(self.joined[u])] = 0
        v = _draw(partners, chance)
        edge = (min(u, v), max(u, v))
        self.edges.append(edge)
        self.content[edge] = (label, weight)
        self._join(*edge)

    def delete(self, chance: np.random.Generator) -> None:
        position = int(chance.integers(len(self.edges)))
        self.edges[position], self.edges[-1] = self.edges[-1], self.edges[position]
        u, v = self.edges.pop()
        del self.content[u, v]
        self.joined[u].remove(v)
        self.joined[v].remove(u)
        self.free[u] += self.degrees[v]
        self.free[v] += self.degrees[u]

    def _join(self, u: int, v: int) -> None:
        self.joined[u].add(v)
        self.joined[v].add(u)
        self.free[u] -= self.degrees[v]
        self.free[v] -= self.degrees[u]


def _draw(weights: Integers, chance: np.random.Generator) -> int:
    """Return i with chance weights[i] / sum(weights)."""
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, chance.integers(sums[-1]), side="right"))


def _check(
    graph: Graph,
    steps: int,
    p_add: float,
    seed: int,
    edge_label: Hashable | None,
    edge_weight: float | None,
) -> None:
    if graph.directed or graph.edge_attributes is not None:
        raise ParameterError(f"{graph}: only undirected graphs without edge attributes are mutated")
    if steps < 0:
        raise ParameterError(f"steps must not be negative, not {steps!r}")
    if not 0 <= p_add <= 1:
        raise ParameterError(f"p_add must lie in [0, 1], not {p_add!r}")
    if seed < 0:
        raise ParameterError(f"seed must not be negative, not {seed!r}")
    for has, given, what in (
        (graph.edge_labels is not None, edge_label is not None, "edge_label"),
        (graph.edge_weights is not None, edge_weight is not None, "edge_weight"),
    ):
        if has and not given:
            raise ParameterError(
                f"{graph}: its edges have {what}s, so new edges need one: "
                f"pass {what}=, or mutate graph.replace({what}s=None)"
            )
        if given and not has:
            raise ParameterError(f"{graph}: its edges have no {what}s; leave out {what}=")
