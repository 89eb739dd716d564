"""The grid of all targets against all sources in memory, tile by tile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk.divergence import Scorer, plan_tiles
from ddgk.embedding.progress import progress
from ddgk.encoder import Encoder
from ddgk.graphs.graph import Graph


def embed(
    scorer: Scorer,
    targets: Sequence[Graph],
    encoders: Sequence[Encoder],
    baselines: NDArray[np.float64],
    *,
    verbose: bool = False,
) -> NDArray[np.float64]:
    """Return Psi of every target (paper eq. 11), (n_targets, n_sources, n_columns).

    A row depends on its target and the sources alone, never on the other targets.
    """
    grid = np.empty((len(targets), len(encoders), len(scorer.columns)))
    with progress("Scoring", len(targets) * len(encoders), "pairs", verbose) as advance:
        for tile in plan_tiles([graph.n_nodes for graph in targets], len(encoders)):
            chosen = [targets[i] for i in tile]
            grid[tile] = scorer.divergences(chosen, encoders, baselines, tile)
            advance(len(tile) * len(encoders))
    return grid
