"""graph2vec (Narayanan et al. 2017): document vectors, words are Weisfeiler-Lehman colours.

Graphs come in random order: the learning rate falls during training, so vectors would otherwise
tell the position of a graph in its set, and sets are often sorted by class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments.baselines.gensim_models import import_gensim, stable_hash
from experiments.baselines.weisfeiler_lehman import colourings

DIMENSION, N_ROUNDS, EPOCHS = 128, 2, 50


def graph2vec(graphs: Sequence[Graph], seed: int) -> NDArray[np.float64]:
    """Return one vector per graph, trained to predict its colours, (n_graphs, 128)."""
    models = import_gensim()
    words: list[list[str]] = [[] for _ in graphs]
    for colours in colourings(graphs, N_ROUNDS):
        for place, of_graph in enumerate(colours):
            words[place] += map(str, of_graph.tolist())
    order = np.random.default_rng(seed).permutation(len(graphs)).tolist()
    tagged = [models.doc2vec.TaggedDocument(words[place], [place]) for place in order]
    model = models.Doc2Vec(
        tagged,
        vector_size=DIMENSION,
        window=0,
        min_count=1,
        dm=0,
        sample=1e-4,
        epochs=EPOCHS,
        workers=1,
        seed=seed,
        hashfxn=stable_hash,
    )
    return np.array([model.dv[place] for place in range(len(graphs))], dtype=np.float64)
