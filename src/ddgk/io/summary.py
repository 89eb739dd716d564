"""Summarise a set in numbers, and list the sets that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph
from ddgk.io.catalogue import DATASETS, NETWORKS
from ddgk.io.dataset import Dataset
from ddgk.io.files import read
from ddgk.io.networks import BUILT_IN
from ddgk.io.storage import find_network, find_tu, list_stored


@dataclass(frozen=True)
class Summary:
    """Counts over a set.

    `class_sizes` is None without classes. Alphabets are sorted when their labels can be. Attributes
    are numbers of columns, 0 for none. `weights` is the smallest and the largest edge weight, or
    None. `matches_published` compares the content with what `DATASETS` says, and is None for sets
    that are not in it.
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
        sizes = self.class_sizes
        answer = {None: "-", True: "yes", False: "no"}[self.matches_published]
        return [
            ("graphs", str(self.n_graphs)),
            ("mean nodes", f"{self.mean_nodes:.2f}"),
            ("mean edges", f"{self.mean_edges:.2f}"),
            ("smallest, largest", f"{self.min_nodes}, {self.max_nodes} nodes"),
            ("classes", _joined([f"{key}: {n}" for key, n in sizes.items()] if sizes else [])),
            ("node labels", _counted(self.node_labels)),
            ("edge labels", _counted(self.edge_labels)),
            ("node attributes", _columns(self.node_attributes)),
            ("edge attributes", _columns(self.edge_attributes)),
            *([("missing values", str(self.missing_values))] if self.missing_values else []),
            ("edge weights", "{:g} to {:g}".format(*self.weights) if self.weights else "-"),
            ("directed", self._share(self.directed_graphs)),
            ("self-loops", str(self.self_loops) if self.self_loops else "-"),
            ("isolated nodes", str(self.isolated_nodes)),
            ("disconnected graphs", str(self.disconnected_graphs)),
            ("as published", answer),
        ]

    def _share(self, n_graphs: int) -> str:
        if n_graphs in (0, self.n_graphs):
            return "yes" if n_graphs else "no"
        return f"{n_graphs} of {self.n_graphs} graphs"


@dataclass(frozen=True)
class Listing:
    """A set or network: known by name, stored here, or both. `path` is None when not stored."""

    name: str
    what: str
    n_graphs: int | None
    path: Path | None
    built_in: bool = False


def describe(dataset: Dataset | str | PathLike[str]) -> Summary:
    """Count what is in a set.

    Parameters
    ----------
    dataset : Dataset, str or path
        A name or path is read by `read`.

    Examples
    --------
    >>> from ddgk import io
    >>> karate = io.describe("karate")
    >>> karate.n_graphs, karate.mean_edges, karate.disconnected_graphs
    (1, 78.0, 0)
    >>> karate.rows()[0]
    ('graphs', '1')
    """
    if not isinstance(dataset, Dataset):
        dataset = read(dataset)
    graphs, classes = dataset
    if not graphs:
        raise DatasetError(f"{dataset.name!r} has no graphs to count")
    sizes = [graph.n_nodes for graph in graphs]
    weights = [graph.edge_weights for graph in graphs if graph.edge_weights is not None]
    extremes = [(w.min(), w.max()) for w in weights if len(w)]
    isolated_nodes, disconnected_graphs = _count_holes(graphs)
    known = DATASETS.get(dataset.name)
    return Summary(
        name=dataset.name,
        n_graphs=len(graphs),
        mean_nodes=float(np.mean(sizes)),
        mean_edges=float(np.mean([graph.n_edges for graph in graphs])),
        min_nodes=min(sizes),
        max_nodes=max(sizes),
        class_sizes=None if classes is None else dict(sorted(Counter(classes.tolist()).items())),
        node_labels=_alphabet({x for graph in graphs for x in graph.node_labels or ()}),
        edge_labels=_alphabet({x for graph in graphs for x in graph.edge_labels or ()}),
        node_attributes=_width(graphs, "node_attributes"),
        edge_attributes=_width(graphs, "edge_attributes"),
        missing_values=sum(_count_missing(graph) for graph in graphs if graph.has_missing),
        weights=(float(min(low for low, _ in extremes)), float(max(high for _, high in extremes)))
        if extremes
        else None,
        directed_graphs=sum(graph.directed for graph in graphs),
        self_loops=sum(int((graph.edges[:, 0] == graph.edges[:, 1]).sum()) for graph in graphs),
        isolated_nodes=isolated_nodes,
        disconnected_graphs=disconnected_graphs,
        matches_published=None if known is None else dataset.fingerprint == known.fingerprint,
    )


def list_datasets() -> list[Listing]:
    """Return the known sets and networks, then others that are stored here.

    Examples
    --------
    >>> from ddgk import io
    >>> io.list_datasets()[0].name
    'MUTAG'
    """
    known = [
        Listing(row.name, row.what, row.n_graphs, find_tu(row.name)) for row in DATASETS.values()
    ]
    known += [
        Listing(row.name, row.what, 1, find_network(row.name), built_in=row.name == BUILT_IN)
        for row in NETWORKS.values()
    ]
    others = [name for name in list_stored() if name not in DATASETS and name not in NETWORKS]
    return known + [
        Listing(name, "stored here", None, find_tu(name) or find_network(name)) for name in others
    ]


def _width(graphs: list[Graph], kind: str) -> int:
    """Return the largest number of columns of attributes, 0 for none."""
    values = (getattr(graph, kind) for graph in graphs)
    return max((array.shape[1] for array in values if array is not None), default=0)


def _count_missing(graph: Graph) -> int:
    both = (graph.node_attributes, graph.edge_attributes)
    return sum(int(np.isnan(values).sum()) for values in both if values is not None)


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


def _alphabet(labels: set[Hashable]) -> list[Hashable]:
    """Labels of one kind in their own order, mixed ones by their text."""
    kinds = {type(label) for label in labels}
    comparable = len(kinds) == 1 and kinds <= {int, str, float}
    return sorted(labels, key=None if comparable else repr)  # type: ignore[type-var,arg-type]


def _counted(labels: list[Hashable]) -> str:
    return (
        f"{len(labels)}: {_joined([shown(str(label), 40) for label in labels])}" if labels else "-"
    )


def _joined(texts: list[str], most: int = 12) -> str:
    listed = ", ".join(texts[:most]) or "-"
    return listed + ", ..." if len(texts) > most else listed
