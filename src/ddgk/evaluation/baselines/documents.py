"""Graphs as text for gensim: graph2vec (words are colours) and node2vec (sentences are walks)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import MissingExtraError
from ddgk.evaluation.baselines.weisfeiler_lehman import colourings
from ddgk.evaluation.representations import Columns
from ddgk.graphs import Graph

DIMENSION = 128
N_WALKS = 10
WALK_LENGTH = 40


def graph2vec(graphs: Sequence[Graph], seed: int) -> Columns:
    """Learn a vector per graph that predicts its colours (Narayanan et al. 2017), two rounds."""
    models = _gensim()
    words: list[list[str]] = [[] for _ in graphs]
    for colours in colourings(graphs, 2):
        for place, of_graph in enumerate(colours):
            words[place] += map(str, of_graph)
    tagged = [models.doc2vec.TaggedDocument(text, [place]) for place, text in enumerate(words)]
    model = models.Doc2Vec(
        tagged,
        vector_size=DIMENSION,
        window=0,
        min_count=1,
        dm=0,
        sample=1e-4,
        epochs=50,
        workers=1,
        seed=seed,
        hashfxn=_hashed,
    )
    return Columns(np.array([model.dv[place] for place in range(len(graphs))], dtype=np.float64))


def node2vec(graphs: Sequence[Graph], seed: int) -> Columns:
    """Learn a vector per node from walks (Grover and Leskovec 2016; p = q = 1), and average them.

    Nodes of different graphs never meet in a walk, so their vectors are hardly comparable: that is
    the baseline's weakness, and why it is in the paper's table.
    """
    models = _gensim()
    generator = np.random.default_rng(seed)
    walks = [walk for place, g in enumerate(graphs) for walk in _walks(place, g, generator)]
    model = models.Word2Vec(
        walks,
        vector_size=DIMENSION,
        window=5,
        min_count=1,
        sg=1,
        epochs=2,
        workers=1,
        seed=seed,
        hashfxn=_hashed,
    )
    means = [
        np.mean([model.wv[f"{place}/{node}"] for node in range(max(1, g.n_nodes))], axis=0)
        for place, g in enumerate(graphs)
    ]
    return Columns(np.array(means, dtype=np.float64))


def _walks(place: int, graph: Graph, generator: np.random.Generator) -> list[list[str]]:
    """Walk from every node; from a node without neighbours the walk is the node."""
    n = graph.n_nodes
    both = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    degrees = np.bincount(both[:, 0], minlength=n)
    begins = np.concatenate([[0], np.cumsum(degrees)])
    current = np.tile(np.arange(max(n, 1)), N_WALKS)
    steps: list[NDArray[np.int64]] = [current]
    if len(both):
        for _ in range(WALK_LENGTH - 1):
            drawn = (generator.random(len(current)) * degrees[current]).astype(np.int64)
            place_of = np.minimum(begins[current] + drawn, len(both) - 1)
            current = np.where(degrees[current] > 0, both[place_of, 1], current)
            steps.append(current)
    return [[f"{place}/{node}" for node in walk] for walk in np.stack(steps, axis=1).tolist()]


def _hashed(text: str) -> int:
    """Hash text the same way in every process."""
    return crc32(text.encode())


def _gensim() -> Any:
    try:
        import gensim.models
    except ImportError as error:
        raise MissingExtraError(
            "graph2vec and node2vec need gensim: pip install 'ddgk[baselines]'"
        ) from error
    return gensim.models
