"""Sources become a model: their encoders, and what each costs by itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ddgk.divergence import Scorer
from ddgk.embedding.progress import progress
from ddgk.embedding.runs import keep_model
from ddgk.encoder import Encoder
from ddgk.graphs.graph import Graph
from ddgk.store.models import StoredModel, identify_model

SOURCES_AT_ONCE = 32  # between two looks at the progress bar


def train_model(scorer: Scorer, sources: Sequence[Graph], verbose: bool) -> StoredModel:
    """Train the encoders of all sources."""
    encoders: list[Encoder] = []
    with progress("Training", len(sources), "sources", verbose) as advance:
        for first in range(0, len(sources), SOURCES_AT_ONCE):
            encoders += scorer.encode(sources[first : first + SOURCES_AT_ONCE])
            advance(len(encoders) - first)
    baselines = scorer.baselines(encoders)
    return StoredModel(scorer.method, scorer.reader, scorer.seed, tuple(encoders), baselines)


def train_model_in(
    run: str | os.PathLike[str],
    scorer: Scorer,
    sources: Sequence[Graph],
    parameters: dict[str, Any],
    if_busy: str,
    verbose: bool,
) -> StoredModel:
    """Train the encoders into a run folder, unless they are there; refuse a folder of others."""
    untrained = StoredModel(scorer.method, scorer.reader, scorer.seed, (), np.empty(0))
    expected = identify_model(untrained) | {"sources": [graph.digest for graph in sources]}
    del expected["encoders"]
    train = partial(train_model, scorer, sources, verbose)
    return keep_model(run, expected, train, parameters, if_busy)
