"""Matching without training the pair: nodes that cost a model's sources alike correspond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.result import Alignment, match_attention
from ddgk.graphs.graph import Graph

Array = NDArray[np.float64]


class Profiler(Protocol):
    """What is asked of a model: `DDGK`, fitted, does it."""

    def node_profiles(self, graph: Any) -> Array:
        """Return what every node of a graph costs against every source, (n_nodes, n_columns)."""
        ...


def match_profiles(
    target: Graph, source: Graph, mine: Array, theirs: Array, families: Sequence[str] = ()
) -> Alignment:
    """Match nodes one to one, so that their profiles are as near as can be.

    mine, theirs: profiles of the target's and of the source's nodes, (n_t, k) and (n_s, k).
    """
    attention = profile_affinity(mine, theirs)
    pairs = match_attention(np.log(attention))
    distances = _distances(mine, theirs)
    loss = float(distances[pairs[:, 0], pairs[:, 1]].mean())
    return Alignment(
        target,
        source,
        attention,
        loss,
        np.array([loss]),
        tuple(families),
        matched=pairs,
        sureness=attention[pairs[:, 0], pairs[:, 1]],
    )


def profile_affinity(mine: Array, theirs: Array) -> Array:
    """Spread each target node over the source nodes by how near their profiles are, (n_t, n_s).

        P_ij ~ exp(-d_ij / s),  s: the mean over target nodes of the least but one d_ij

    Nodes with equal profiles share alike.
    """
    distances = _distances(mine, theirs)
    scale = float(np.sort(distances, axis=1)[:, :2].mean())
    nearest = distances.min(axis=1, keepdims=True)
    weights = np.exp(-np.minimum((distances - nearest) / max(scale, 1e-12), 50.0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _distances(mine: Array, theirs: Array) -> Array:
    """Return the mean squared difference of standardised profiles, (n_t, n_s)."""
    both = np.concatenate([mine, theirs])
    spread = both.std(axis=0)
    scale = np.where(spread > 1e-12, spread, 1.0)
    centre = both.mean(axis=0)
    left, right = (mine - centre) / scale, (theirs - centre) / scale
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2 * left @ right.T, 0.0) / mine.shape[1])
