"""node2vec (Grover and Leskovec 2016; p = q = 1): node vectors from random walks, averaged.

Nodes of different graphs never meet in a walk, so their vectors are hardly comparable. That is the
baseline's weakness, and why it is in the paper's table. Walks of graphs come in random order: the
learning rate falls during training, so vectors would otherwise tell the position of a graph in its
set, and sets are often sorted by class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments.baselines.gensim_models import import_gensim, stable_hash

DIMENSION, N_WALKS, WALK_LENGTH = 128, 10, 40


def node2vec(graphs: Sequence[Graph], seed: int) -> NDArray[np.float64]:
    """Return the mean vector of every graph's nodes, (n_graphs, 128)."""
    means = [vectors.mean(axis=0) for vectors in node_vectors(graphs, seed)]
    return np.array(means, dtype=np.float64)


def node_vectors(graphs: Sequence[Graph], seed: int) -> list[NDArray[np.float32]]:
    """Return the vectors of every graph's nodes, (n_nodes, 128) each."""
    model = import_gensim().Word2Vec(
        Walks(graphs, seed),
        vector_size=DIMENSION,
        window=5,
        min_count=1,
        sg=1,
        epochs=2,
        workers=1,
        seed=seed,
        hashfxn=stable_hash,
    )
    return [
        model.wv[[f"{place}/{node}" for node in range(graph.n_nodes)]]
        for place, graph in enumerate(graphs)
    ]


class Walks:
    """Sentences of node names: ten walks of forty nodes from every node, generated on the fly."""

    def __init__(self, graphs: Sequence[Graph], seed: int) -> None:
        self.graphs, self.seed = graphs, seed

    def __iter__(self) -> Iterator[list[str]]:
        for place in np.random.default_rng(self.seed).permutation(len(self.graphs)).tolist():
            graph = self.graphs[place]
            names = [f"{place}/{node}" for node in range(graph.n_nodes)]
            for walk in walks_of(graph, [self.seed, place], N_WALKS, WALK_LENGTH).tolist():
                yield [names[node] for node in walk]


def walks_of(graph: Graph, seed: list[int], n_walks: int, length: int) -> NDArray[np.int64]:
    """Return uniform random walks from every node, (n_nodes * n_walks, length).

    A walk stays where there is no neighbour.
    """
    generator = np.random.default_rng(seed)
    both = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    degrees = np.bincount(both[:, 0], minlength=graph.n_nodes)
    begins = np.concatenate([[0], np.cumsum(degrees)])
    current = np.tile(np.arange(graph.n_nodes), n_walks)
    steps = [current]
    for _ in range(length - 1):
        if len(both):
            drawn = (generator.random(len(current)) * degrees[current]).astype(np.int64)
            chosen = np.minimum(begins[current] + drawn, len(both) - 1)
            current = np.where(degrees[current] > 0, both[chosen, 1], current)
        steps.append(current)
    return np.stack(steps, axis=1)
