"""Which graphs become sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import ParameterError
from ddgk.graphs import Policies
from ddgk.graphs.convert import as_graphs
from ddgk.graphs.graph import Graph
from ddgk.hashing import scramble
from ddgk.targets import Encoding

MAX_SOURCE_NODES = 64  # of a larger graph, a connected part becomes the source


def choose_sources(
    graphs: Sequence[Graph], sources: Any, n_sources: int, seed: int, policies: Policies | None
) -> tuple[list[Graph], NDArray[np.int64] | None]:
    """Return the sources, and their positions among the graphs.

    sources: "random" draws `n_sources` of the graphs without replacement, all where there are
    fewer; otherwise the graphs to use, or their positions.
    """
    if isinstance(sources, str):
        if sources != "random":
            raise ParameterError(
                f"sources must be 'random', graphs or positions of graphs, not {sources!r}"
            )
        drawn = np.random.default_rng(seed).permutation(len(graphs))[:n_sources]
        positions = np.sort(drawn).astype(np.int64)
        return [graphs[place] for place in positions], positions
    given = list(sources) if isinstance(sources, Iterable) else None
    if not given:
        raise ParameterError("sources must be graphs, positions of graphs, or 'random'")
    if all(isinstance(item, int | np.integer) and not isinstance(item, bool) for item in given):
        for place in given:
            if not 0 <= place < len(graphs):
                raise ParameterError(
                    f"sources names position {place}, but there are {len(graphs)} graphs "
                    f"(0..{len(graphs) - 1})"
                )
        positions = np.asarray(given, dtype=np.int64)
        return [graphs[place] for place in positions], positions
    return as_graphs(given, policies=policies), None


def source_part(graph: Graph, encoding: Encoding, seed: int) -> Graph:
    """Return the graph, or of a large one a connected part of `MAX_SOURCE_NODES` nodes.

    Breadth-first from a random node, in canonical order, so that node order does not matter.
    """
    if graph.n_nodes <= MAX_SOURCE_NODES:
        return graph
    ordered = graph.permuted(encoding.canonical_order(graph))
    word = scramble(np.array([seed], dtype=np.uint64))[0]
    tails, heads = np.concatenate([ordered.edges, ordered.edges[:, ::-1]]).T
    order = np.lexsort((heads, tails))
    ends = np.searchsorted(tails[order], np.arange(ordered.n_nodes + 1))
    seen = np.zeros(ordered.n_nodes, dtype=bool)
    first = int(word % np.uint64(ordered.n_nodes))
    chosen: list[int] = []
    for start in (*range(first, ordered.n_nodes), *range(first)):
        queue = [] if seen[start] else [start]
        seen[start] = True
        while queue and len(chosen) < MAX_SOURCE_NODES:
            node = queue.pop(0)
            chosen.append(node)
            for near in heads[order[ends[node] : ends[node + 1]]]:
                if not seen[near]:
                    seen[near] = True
                    queue.append(int(near))
        if len(chosen) >= MAX_SOURCE_NODES:
            break
    return induced(ordered, np.sort(np.asarray(chosen)))


def induced(graph: Graph, nodes: NDArray[np.int64]) -> Graph:
    """Return the subgraph on some nodes with all that they carry."""
    place = np.full(graph.n_nodes, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    kept = np.flatnonzero((place[graph.edges] >= 0).all(axis=1))
    changes: dict[str, Any] = {"n_nodes": len(nodes), "edges": place[graph.edges[kept]]}
    for name, rows in (
        ("node_labels", nodes),
        ("node_names", nodes),
        ("edge_labels", kept),
    ):
        values = getattr(graph, name)
        changes[name] = None if values is None else [values[row] for row in rows]
    for name, rows in (
        ("node_attributes", nodes),
        ("edge_weights", kept),
        ("edge_attributes", kept),
    ):
        values = getattr(graph, name, None)
        if values is not None:
            changes[name] = values[rows]
    return graph.replace(**changes)
