"""Deep Graph Kernels (Yanardag and Vishwanathan 2015) on Weisfeiler-Lehman substructures.

    K = P M P^T

P: colour counts of rounds 0 to 2, (n_graphs, n_colours). M: similarities of colours from skip-gram
vectors V (hierarchical softmax) trained on sentences, a sentence being the colours of one graph in
one round. Two forms of M: all inner products V V^T, and the diagonal of squared norms. Window and
dimension are chosen inside the training part, like M. Kernels are normalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments.baselines.gensim_models import import_gensim, stable_hash
from experiments.baselines.histograms import count_all
from experiments.baselines.weisfeiler_lehman import colourings
from experiments.svm import Array, Integers, Kernel

HEIGHT = 2
WINDOWS = DIMENSIONS = (2, 5, 10, 25, 50)


def kernels(graphs: Sequence[Graph], seed: int) -> list[Kernel]:
    """Return kernels for every form of M, dimension and window."""
    rounds = list(colourings(graphs, HEIGHT))
    counts = count_all(
        np.unique(np.concatenate(of_graph), return_counts=True)
        for of_graph in zip(*rounds, strict=True)
    )
    sentences = [list(map(str, of_graph.tolist())) for colours in rounds for of_graph in colours]
    n_colours = counts.shape[1]
    dense, diagonal = [], []
    for dimension in DIMENSIONS:
        for window in WINDOWS:
            vectors = colour_vectors(sentences, n_colours, dimension, window, seed)
            dense.append(Linear(counts @ vectors))
            norms = np.linalg.norm(vectors, axis=1)
            diagonal.append(Linear(counts * norms[None, :]))
    return [*dense, *diagonal]


def colour_vectors(
    sentences: Sequence[Sequence[str]], n_colours: int, dimension: int, window: int, seed: int
) -> Array:
    """Return skip-gram vectors of colours 0 .. n_colours - 1, (n_colours, dimension)."""
    model = import_gensim().Word2Vec(
        sentences,
        vector_size=dimension,
        window=window,
        min_count=0,
        sg=1,
        hs=1,
        negative=0,
        workers=1,
        seed=seed,
        hashfxn=stable_hash,
    )
    return np.array([model.wv[str(colour)] for colour in range(n_colours)], dtype=np.float64)


class Linear:
    """A cosine-normalised linear kernel of rows, dense or sparse."""

    def __init__(self, rows: Any) -> None:
        sparse = hasattr(rows, "tocsr")
        squares = (rows * rows).sum(axis=1) if sparse else np.einsum("ij,ij->i", rows, rows)
        lengths = np.sqrt(np.asarray(squares).ravel())
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        self.rows = (rows * scale[:, None]).tocsr() if sparse else rows * scale[:, None]

    def __call__(self, rows: Integers, columns: Integers) -> NDArray[np.float64]:
        """Return entries of the Gram matrix."""
        found = self.rows[rows] @ self.rows[columns].T
        return np.asarray(found.todense() if hasattr(found, "todense") else found)
