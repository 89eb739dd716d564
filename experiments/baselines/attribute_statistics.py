"""Trivial baseline of sets with real attributes: counts, and statistics of every attribute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments.baselines.counting import histogram


def columns(graphs: Sequence[Graph], seed: int) -> NDArray[np.float64]:
    """Return numbers of nodes, edges and labels; mean, deviation, minimum, maximum of attributes.

    Examples
    --------
    >>> graph = Graph(2, [(0, 1)], node_attributes=[[1.0], [3.0]])
    >>> columns([graph], seed=0).tolist()
    [[2.0, 1.0, 2.0, 1.0, 1.0, 3.0]]
    """
    counts = histogram(graphs, seed)
    if any(graph.node_attributes is None for graph in graphs):
        return counts
    values = [np.asarray(graph.node_attributes) for graph in graphs]
    rows = [np.concatenate([v.mean(0), v.std(0), v.min(0), v.max(0)]) for v in values]
    return np.hstack([counts, rows])
