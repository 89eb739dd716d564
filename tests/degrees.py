"""A small embedder for tests of runs: statistics of degrees. It needs no training and no engine."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ddgk.errors import GraphError
from ddgk.graphs.graph import Graph, describe
from ddgk.store import graphs_from_tensors, graphs_to_tensors
from ddgk.store.sealed import model_identity
from specimens import random_graph


@dataclass
class DegreeEmbedder:
    """Powers of degrees, and the distance of their mean from those of some source graphs.

    delay: seconds a graph takes. failing: how often a graph of some name fails before it does not.
    """

    sources: list[Graph] = field(default_factory=lambda: [random_graph(7, labels=True)])
    n_powers: int = 3
    dtype: np.dtype = np.dtype("float32")  # noqa: RUF009
    engine_name: str = "fused"
    delay: float = 0.0
    seconds: float = 1.0
    failing: Counter = field(default_factory=Counter)
    computed: list[str] = field(default_factory=list)

    @property
    def columns(self):
        powers = [f"degree^{power}" for power in range(1, self.n_powers + 1)]
        return powers + [f"source{place}" for place in range(len(self.sources))]

    @property
    def identity(self):
        return model_identity(*self.to_parts())

    def rows(self, graphs, positions):
        found = []
        for graph, position in zip(graphs, positions, strict=True):
            if graph.n_nodes == 13 and self.n_powers == 13:
                raise GraphError(f"{describe(graph.name, position)}: 13 nodes are unlucky")
            if self.failing[graph.name] > 0:
                self.failing[graph.name] -= 1
                raise MemoryError("no memory today")
            time.sleep(self.delay)
            degrees = _degrees(graph)
            powers = [np.mean(degrees**power) for power in range(1, self.n_powers + 1)]
            means = [abs(_degrees(source).mean() - degrees.mean()) for source in self.sources]
            found.append(powers + means)
            self.computed.append(graph.name)
        return np.asarray(found, dtype=self.dtype)

    def cost(self, graph):
        return self.seconds * graph.n_nodes / 8

    def memory(self, graph):
        return 1000 * graph.n_nodes

    def to_parts(self):
        metadata = {
            "n_powers": self.n_powers,
            "dtype": str(self.dtype),
            "engine": self.engine_name,
            "delay": self.delay,
        }
        return graphs_to_tensors(self.sources, prefix="source."), metadata

    @classmethod
    def from_parts(cls, tensors, metadata):
        n_powers, dtype = metadata["n_powers"], metadata["dtype"]
        if type(n_powers) is not int or not 1 <= n_powers <= 100:
            raise ValueError(f"n_powers is {n_powers!r}")
        if dtype not in ("float32", "float64"):
            raise ValueError(f"dtype is {dtype!r}")
        sources = graphs_from_tensors(tensors, prefix="source.")
        engine, delay = str(metadata["engine"]), float(metadata["delay"])
        return cls(sources, n_powers, np.dtype(dtype), engine, delay)


def _degrees(graph):
    return np.bincount(graph.edges.ravel(), minlength=graph.n_nodes).astype(float)
