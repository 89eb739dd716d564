"""What every reader returns: graphs, their classes if they have any, a name and a report."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph
from ddgk.graphs.graph import natural_key
from ddgk.io.catalogue import DATASETS

MOST_LISTED = 12


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


@dataclass(frozen=True)
class Summary:
    """Counts over a set.

    `class_sizes` is None without classes. Attributes are numbers of columns, 0 for none. `weights`
    is the smallest and the largest edge weight, or None. `matches_published` compares the content
    with what `DATASETS` says, and is None for sets that are not in it.
    """

    name: str
    n_graphs: int
    mean_nodes: float
    mean_edges: float
    min_nodes: int
    max_nodes: int
    class_sizes: dict[int, int] | None
    node_labels: list[Hashable]
    edge_labels: list[Hashable]
    node_attributes: int
    edge_attributes: int
    missing_values: int
    weights: tuple[float, float] | None
    directed_graphs: int
    self_loops: int
    isolated_nodes: int
    disconnected_graphs: int
    matches_published: bool | None

    def rows(self) -> list[tuple[str, str]]:
        """Return what a table shows: a title and a text per line."""
        some = f"{self.directed_graphs} of {self.n_graphs} graphs"
        directed = {0: "no", self.n_graphs: "yes"}.get(self.directed_graphs, some)
        missing = [("missing values", str(self.missing_values))] if self.missing_values else []
        return [
            ("graphs", str(self.n_graphs)),
            ("mean nodes", f"{self.mean_nodes:.2f}"),
            ("mean edges", f"{self.mean_edges:.2f}"),
            ("smallest, largest", f"{self.min_nodes}, {self.max_nodes} nodes"),
            ("classes", _joined(f"{key}: {n}" for key, n in (self.class_sizes or {}).items())),
            ("node labels", _counted(self.node_labels)),
            ("edge labels", _counted(self.edge_labels)),
            ("node attributes", _columns(self.node_attributes)),
            ("edge attributes", _columns(self.edge_attributes)),
            *missing,
            ("edge weights", "{:g} to {:g}".format(*self.weights) if self.weights else "-"),
            ("directed", directed),
            ("self-loops", str(self.self_loops or "-")),
            ("isolated nodes", str(self.isolated_nodes)),
            ("disconnected graphs", str(self.disconnected_graphs)),
            ("as published", {None: "-", True: "yes", False: "no"}[self.matches_published]),
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
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

    graphs: list[Graph]
    classes: NDArray[np.int64] | None = None
    name: str = ""
    report: ReadReport = ReadReport()

    def __iter__(self) -> Iterator[Any]:
        return iter((self.graphs, self.classes))

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the digests of the graphs and their classes, in order.

        It does not see names, nor how files spell the same content: order of lines, white space,
        repeated lines.
        """
        content = hashlib.sha256("".join(graph.digest for graph in self.graphs).encode())
        if self.classes is not None:
            content.update(b"classes:" + self.classes.astype("<i8").tobytes())
        return content.hexdigest()

    def summary(self) -> Summary:
        """Count what is in the set.

        Examples
        --------
        >>> from ddgk import io
        >>> karate = io.read("karate").summary()
        >>> karate.n_graphs, karate.mean_edges, karate.disconnected_graphs
        (1, 78.0, 0)
        >>> karate.rows()[0]
        ('graphs', '1')
        """
        graphs, classes = self
        if not graphs:
            raise DatasetError(f"{self.name!r} has no graphs to count")

        def every(kind: str) -> list[Any]:
            return [values for graph in graphs if (values := getattr(graph, kind)) is not None]

        sizes = [graph.n_nodes for graph in graphs]
        on_nodes, on_edges = every("node_attributes"), every("edge_attributes")
        weights = np.concatenate([np.empty(0), *every("edge_weights")])
        isolated_nodes, disconnected_graphs = _count_holes(graphs)
        known = DATASETS.get(self.name)
        counted = None if classes is None else Counter(classes.tolist())
        class_sizes = None if counted is None else dict(sorted(counted.items()))
        return Summary(
            name=self.name,
            n_graphs=len(graphs),
            mean_nodes=float(np.mean(sizes)),
            mean_edges=float(np.mean([graph.n_edges for graph in graphs])),
            min_nodes=min(sizes),
            max_nodes=max(sizes),
            class_sizes=class_sizes,
            node_labels=sorted(set().union(*every("node_labels")), key=natural_key),
            edge_labels=sorted(set().union(*every("edge_labels")), key=natural_key),
            node_attributes=max((values.shape[1] for values in on_nodes), default=0),
            edge_attributes=max((values.shape[1] for values in on_edges), default=0),
            missing_values=sum(int(np.isnan(values).sum()) for values in on_nodes + on_edges),
            weights=(float(weights.min()), float(weights.max())) if len(weights) else None,
            directed_graphs=sum(graph.directed for graph in graphs),
            self_loops=sum(int((graph.edges[:, 0] == graph.edges[:, 1]).sum()) for graph in graphs),
            isolated_nodes=isolated_nodes,
            disconnected_graphs=disconnected_graphs,
            matches_published=None if known is None else self.fingerprint == known.fingerprint,
        )

    def __repr__(self) -> str:
        n_classes = 0 if self.classes is None else len(np.unique(self.classes))
        return f"Dataset({self.name!r}, graphs={len(self.graphs)}, classes={n_classes})"


def _columns(count: int) -> str:
    return "-" if not count else f"{count} column{'s' if count > 1 else ''}"


def _count_holes(graphs: list[Graph]) -> tuple[int, int]:
    """Count isolated nodes and disconnected graphs, with all graphs as blocks of one matrix."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.cumsum([graph.n_nodes for graph in graphs])
    starts = ends - [graph.n_nodes for graph in graphs]
    pairs = [graph.edges + start for graph, start in zip(graphs, starts, strict=True)]
    u, v = np.concatenate(pairs).T
    matrix = coo_array((np.ones(len(u), dtype=bool), (u, v)), shape=(ends[-1], ends[-1]))
    _, components = connected_components(matrix, directed=False)
    _, first_nodes = np.unique(components, return_index=True)
    owners = np.searchsorted(ends, first_nodes, side="right")
    n_isolated = int(ends[-1]) - len(np.unique(np.concatenate([u[u != v], v[u != v]])))
    return n_isolated, int((np.bincount(owners) > 1).sum())


def _counted(labels: list[Hashable]) -> str:
    listed = _joined(shown(str(label), 40) for label in labels)
    return f"{len(labels)}: {listed}" if labels else "-"


def _joined(texts: Iterable[str]) -> str:
    listed = list(texts)
    return ", ".join(listed[:MOST_LISTED] + ["..."] * (len(listed) > MOST_LISTED)) or "-"
