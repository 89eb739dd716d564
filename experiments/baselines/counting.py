"""Trivial baselines: numbers of nodes and edges, and how often each node label occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from ddgk import Graph

Array = NDArray[np.float64]


class LabelHistogram(TransformerMixin, BaseEstimator):
    """Count nodes, edges and the node labels seen by `fit`.

    Examples
    --------
    >>> graphs = [Graph(2, [(0, 1)], node_labels="CO"), Graph(2, [], node_labels="CC")]
    >>> LabelHistogram().fit_transform(graphs).tolist()
    [[2.0, 1.0, 1.0, 1.0], [2.0, 0.0, 2.0, 0.0]]
    """

    def fit(self, X: Sequence[Graph], y: object = None) -> Self:  # noqa: ARG002, N803
        """Learn the alphabet."""
        seen = {label for graph in X for label in graph.node_labels or ()}
        self.alphabet_ = sorted(seen, key=repr)
        return self

    def transform(self, X: Sequence[Graph]) -> Array:  # noqa: N803
        """Return (n_graphs, 2 + n_labels): nodes, edges, and a count for each label."""
        rows = []
        for graph in X:
            counts = Counter(graph.node_labels or ())
            own = [counts[label] for label in self.alphabet_]
            rows.append([graph.n_nodes, graph.n_edges, *own])
        return np.array(rows, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        """Accept lists of graphs."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def sizes(graphs: Sequence[Graph], seed: int) -> Array:  # noqa: ARG001
    """Return numbers of nodes and edges, (n_graphs, 2)."""
    return np.array([[graph.n_nodes, graph.n_edges] for graph in graphs], dtype=np.float64)


def histogram(graphs: Sequence[Graph], seed: int) -> Array:  # noqa: ARG001
    """Return numbers of nodes, edges and node labels."""
    return np.asarray(LabelHistogram().fit_transform(graphs))


def degree_quantiles(graphs: Sequence[Graph], n_quantiles: int = 8) -> Array:
    """Return evenly spaced quantiles of log(1 + degree), (n_graphs, n_quantiles)."""
    at = (np.arange(n_quantiles) + 0.5) / n_quantiles
    rows = [
        np.quantile(np.log1p(np.bincount(g.edges.ravel(), minlength=g.n_nodes)), at) for g in graphs
    ]
    return np.array(rows)
