"""Sources: which graphs they are, and the encoder of each.

An encoder is a small network that is trained to predict the target matrix of its source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.config import Config
from ddgk.engine.arrays import Engine, Source
from ddgk.engine.initialisation import initial_weights
from ddgk.errors import NonFiniteLossError, ParameterError
from ddgk.graphs import Policies
from ddgk.graphs.convert import as_graphs
from ddgk.graphs.graph import Graph, describe
from ddgk.hashing import scramble
from ddgk.targets import Encoding, refuse_large

MAX_SOURCE_NODES = 64  # of a larger graph, a connected part becomes the source
LARGE = "an encoder learns all pairs of nodes; fit with smaller graphs as sources"


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
    from scipy.sparse.csgraph import breadth_first_order

    ordered = graph.permuted(encoding.canonical_order(graph))
    n_nodes, word = graph.n_nodes, scramble(np.array([seed], dtype=np.uint64))[0]
    links = sparse.csr_array((np.ones(graph.n_edges), tuple(ordered.edges.T)), (n_nodes, n_nodes))
    links, first = sparse.csr_array(links + links.T), int(word % np.uint64(n_nodes))
    chosen: list[int] = []
    for start in (*range(first, n_nodes), *range(first)):
        if start not in chosen and len(chosen) < MAX_SOURCE_NODES:
            near = breadth_first_order(links, start, return_predecessors=False)
            chosen += near[: MAX_SOURCE_NODES - len(chosen)].tolist()
    return induced(ordered, np.sort(np.asarray(chosen)))


def induced(graph: Graph, nodes: NDArray[np.int64]) -> Graph:
    """Return the subgraph on some nodes with all that they carry."""
    place = np.full(graph.n_nodes, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    kept = np.flatnonzero((place[graph.edges] >= 0).all(axis=1))
    changes: dict[str, Any] = {"n_nodes": len(nodes), "edges": place[graph.edges[kept]]}
    carried = {
        **dict.fromkeys(("node_labels", "node_names", "node_attributes"), nodes),
        **dict.fromkeys(("edge_labels", "edge_weights", "edge_attributes"), kept),
    }
    for name, rows in carried.items():
        values = getattr(graph, name)
        if isinstance(values, np.ndarray):
            changes[name] = values[rows]
        else:
            changes[name] = None if values is None else [values[row] for row in rows]
    return graph.replace(**changes)


@dataclass(frozen=True)
class Encoder:
    """A trained source.

    graph: the source, as it was given. order: the canonical order of its nodes, (n_nodes,); rows
    and columns of `source` are in this order, so a renumbered graph has a bitwise identical
    encoder. seed: of the random initialisation of its pairs. source: what engines take.
    """

    graph: Graph
    order: NDArray[np.int64]
    seed: int
    source: Source

    def __repr__(self) -> str:
        dimension = self.source.weights.table.shape[1]
        return f"Encoder({describe(self.graph.name)}, {self.graph.n_nodes} nodes, d={dimension})"


def train_encoders(
    graphs: Sequence[Graph], encoding: Encoding, config: Config, engine: Engine, seed: int
) -> list[Encoder]:
    """Train an encoder for every graph (paper eq. 4).

    The initial weights are drawn from a hash of the seed and the encoded graph: its name, its
    position and its node order do not matter. Graphs have at most `ddgk.targets.MAX_NODES` nodes.

    >>> from ddgk.engine import make_engine
    >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> train_encoders([ring], Encoding(), Config(encoder_epochs=5), make_engine(), 0)
    [Encoder(graph, 4 nodes, d=4)]
    """
    for place, graph in enumerate(graphs):
        refuse_large(graph, LARGE, place)
    orders = [encoding.canonical_order(graph) for graph in graphs]
    ordered = [graph.permuted(order) for graph, order in zip(graphs, orders, strict=True)]
    encoded = [encoding.encode(graph, quotient=False) for graph in ordered]
    seeds = [content_seed(seed, one.digest) for one in encoded]
    initial = [
        initial_weights((one.n_attending, one.matrix.shape[1]), own, config)
        for one, own in zip(encoded, seeds, strict=True)
    ]
    encoders = []
    for place, weights in enumerate(engine.train_encoders(encoded, initial, config, seeds)):
        if not all(np.isfinite(array).all() for array in weights.arrays()):
            raise NonFiniteLossError(
                f"the encoder of {describe(graphs[place].name, place)} diverged; lower "
                f"encoder_learning_rate (it is {config.encoder_learning_rate:g})"
            )
        rows, members = encoding.source_rows(ordered[place])
        source = Source(weights, tuple(rows), members)
        encoders.append(Encoder(graphs[place], orders[place], seeds[place], source))
    return encoders


def content_seed(seed: int, content: str) -> int:
    """Hash a seed and a content digest to 64 bits."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{content}".encode()).digest()[:8], "big")
