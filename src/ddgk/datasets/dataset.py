"""What every loader returns: graphs, their classes if they have any, and a name."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs import Graph


class _GraphsAndClasses(NamedTuple):
    graphs: list[Graph]
    classes: NDArray[np.int64] | None


class Dataset(_GraphsAndClasses):
    """Graphs and their classes, which unpacks as the pair of them.

    Parameters
    ----------
    graphs : list of Graph
    classes : array of int, of shape (n_graphs,), or None
        None when the source does not say.
    name : str
        Used in messages and tables.

    Examples
    --------
    >>> from ddgk.datasets import Dataset
    >>> from ddgk.graphs import Graph
    >>> toy = Dataset([Graph(2, [(0, 1)]), Graph(3, [])], np.array([1, -1]), "toy")
    >>> graphs, classes = toy
    >>> len(graphs), classes.tolist()
    (2, [1, -1])
    >>> toy
    Dataset('toy', graphs=2, classes=2)
    """

    name: str

    def __new__(
        cls, graphs: list[Graph], classes: NDArray[np.int64] | None = None, name: str = ""
    ) -> Dataset:
        """Make the pair, then hang the name on it: a third field would have to be unpacked."""
        dataset = super().__new__(cls, graphs, classes)
        dataset.name = name
        return dataset

    @property
    def fingerprint(self) -> str:
        """SHA-256 over edges, labels and classes, in order, as hexadecimal text.

        It does not see names, attributes or weights, nor how files spelled the same content: order
        of lines, white space, one or both directions of an edge. It is written down in catalogues,
        so it has a form of its own and does not follow `Graph.digest` when that changes.
        """
        content = hashlib.sha256(b"ddgk dataset 1")
        for graph in self.graphs:
            content.update(f"graph {graph.n_nodes} {graph.n_edges}:".encode())
            content.update(graph.edges.astype("<i8").tobytes())
            for labels in (graph.node_labels, graph.edge_labels):
                text = "" if labels is None else "\x00".join(map(repr, labels))
                content.update(f"labels {len(text)}:{text}".encode())
        if self.classes is not None:
            content.update(b"classes:" + self.classes.astype("<i8").tobytes())
        return content.hexdigest()

    def __repr__(self) -> str:
        n_classes = 0 if self.classes is None else len(np.unique(self.classes))
        return f"Dataset({self.name!r}, graphs={len(self.graphs)}, classes={n_classes})"
