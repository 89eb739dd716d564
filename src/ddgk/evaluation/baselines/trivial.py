"""What counting gives: nodes, edges, and how often each label occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from ddgk.evaluation.representations import Columns
from ddgk.graphs import Graph
from ddgk.graphs.convert import as_graphs

Array = NDArray[np.float64]


class LabelHistogram(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Count nodes, edges and the node labels that `fit` saw; a transformer for scikit-learn.

    Examples
    --------
    >>> from ddgk.graphs import Graph
    >>> graphs = [Graph(2, [(0, 1)], node_labels="CO"), Graph(2, [], node_labels="CC")]
    >>> LabelHistogram().fit_transform(graphs).tolist()
    [[2.0, 1.0, 1.0, 1.0], [2.0, 0.0, 2.0, 0.0]]
    """

    def fit(self, X: Sequence[Any], y: object = None) -> Self:  # noqa: ARG002, N803
        """Learn which labels there are."""
        seen = {label for graph in as_graphs(X) for label in graph.node_labels or ()}
        self.alphabet_ = sorted(seen, key=repr)
        return self

    def transform(self, X: Sequence[Any]) -> Array:  # noqa: N803
        """Return a row per graph: n, m, and a count for every label."""
        return np.array([self._count(graph) for graph in as_graphs(X)], dtype=np.float64)

    def _count(self, graph: Graph) -> list[int]:
        counts = Counter(graph.node_labels or ())
        return [graph.n_nodes, graph.n_edges, *(counts[label] for label in self.alphabet_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def sizes(graphs: Sequence[Graph], seed: int) -> Columns:  # noqa: ARG001
    """Count nodes and edges."""
    return Columns(np.array([[g.n_nodes, g.n_edges] for g in graphs], dtype=np.float64))


def histogram(graphs: Sequence[Graph], seed: int) -> Columns:  # noqa: ARG001
    """Count nodes, edges and node labels."""
    return Columns(LabelHistogram().fit_transform(graphs))
