"""A quick embedding for tests of what is built on embeddings: counts of nodes by degree."""

from __future__ import annotations

import json

import networkx
import numpy as np

from ddgk.graphs.convert import as_graph

WIDTH = 12


class DegreeCounts:
    """Embeds a graph as the number of nodes of every degree."""

    def transform(self, graphs):
        """Return (n_graphs, WIDTH)."""
        rows = []
        for graph in map(as_graph, graphs):
            degrees = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
            rows.append(np.bincount(np.minimum(degrees, WIDTH - 1), minlength=WIDTH))
        return np.asarray(rows, dtype=np.float32).reshape(len(rows), WIDTH)

    def save(self, path):
        """Write a file, which `GraphIndex.load(model=...)` does not read."""
        path.write_text(json.dumps({"width": WIDTH}))


def rings_and_stars(n_each=6):
    """Return rings, then stars, with names."""
    rings = [networkx.cycle_graph(n) for n in range(5, 5 + n_each)]
    stars = [networkx.star_graph(n) for n in range(5, 5 + n_each)]
    names = [f"ring {len(g)}" for g in rings] + [f"star {len(g)}" for g in stars]
    return [as_graph(g).replace(name=name) for g, name in zip(rings + stars, names, strict=True)]
