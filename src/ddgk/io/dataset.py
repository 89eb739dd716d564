"""What every reader returns: graphs, their classes if they have any, a name and a report."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import shown
from ddgk.graphs import Graph


@dataclass(frozen=True)
class ReadReport:
    """What a reader left out, so that nothing is dropped without a word.

    Parameters
    ----------
    skipped : tuple of str
        Files and graphs that were not read, each with the reason.
    notes : tuple of str
        Parts of a file that were not read, such as further columns of a table.

    Examples
    --------
    >>> from ddgk.io import ReadReport
    >>> print(ReadReport(skipped=("notes.md: not a graph file",)))
    skipped notes.md: not a graph file
    """

    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def lines(self, most: int = 10) -> list[str]:
        """Return the report as lines of text, at most so many of each kind."""
        lines = []
        for kind, items in (("skipped", self.skipped), ("note:", self.notes)):
            lines += [f"{kind} {shown(item)}" for item in items[:most]]
            if len(items) > most:
                lines.append(f"{kind} {len(items) - most} more")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


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
    report : ReadReport
        What was not read.

    Examples
    --------
    >>> from ddgk.graphs import Graph
    >>> from ddgk.io import Dataset
    >>> toy = Dataset([Graph(2, [(0, 1)]), Graph(3, [])], np.array([1, -1]), "toy")
    >>> graphs, classes = toy
    >>> len(graphs), classes.tolist()
    (2, [1, -1])
    >>> toy
    Dataset('toy', graphs=2, classes=2)
    """

    name: str
    report: ReadReport

    def __new__(
        cls,
        graphs: list[Graph],
        classes: NDArray[np.int64] | None = None,
        name: str = "",
        report: ReadReport | None = None,
    ) -> Dataset:
        """Make the pair; name and report are attributes, since fields would have to be unpacked."""
        dataset = super().__new__(cls, graphs, classes)
        dataset.name = name
        dataset.report = ReadReport() if report is None else report
        return dataset

    @property
    def fingerprint(self) -> str:
        """SHA-256 over edges, labels, attributes and classes, in order, as hexadecimal text.

        It does not see names or weights, nor how files spell the same content: order of lines,
        white space, repeated lines. Catalogues store it, so it has a form of its own and does not
        follow `Graph.digest` when that changes.
        """
        content = hashlib.sha256(b"ddgk dataset 1")
        for graph in self.graphs:
            content.update(f"graph {graph.n_nodes} {graph.n_edges}:".encode())
            content.update(graph.edges.astype("<i8").tobytes())
            for labels in (graph.node_labels, graph.edge_labels):
                text = "" if labels is None else "\x00".join(map(repr, labels))
                content.update(f"labels {len(text)}:{text}".encode())
            for kind in ("node_attributes", "edge_attributes"):
                values = getattr(graph, kind)
                if values is not None:
                    content.update(f"{kind} {values.shape}:".encode())
                    content.update(values.astype("<f8").tobytes())
            if graph.directed:
                content.update(b"directed")
        if self.classes is not None:
            content.update(b"classes:" + self.classes.astype("<i8").tobytes())
        return content.hexdigest()

    def __repr__(self) -> str:
        n_classes = 0 if self.classes is None else len(np.unique(self.classes))
        return f"Dataset({self.name!r}, graphs={len(self.graphs)}, classes={n_classes})"
