"""Compare graphs: distances, neighbours, clusters and outliers in one call."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import ParameterError
from ddgk.graphs import Graph, display
from ddgk.graphs.convert import as_graph
from ddgk.plain import graph_names
from ddgk.traits import Trait, measure, measure_divergences, set_apart
from ddgk.vectors import neighbor_table, principal_axes

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_MATRIX = 5_000  # graphs; above, no distance matrix is computed
MAX_CLUSTERS = 20  # that the automatic choice tries, and no more than a quarter of the graphs
LEAST_SILHOUETTE = 0.0  # up to this, the graphs are one cluster
N_COMPONENTS = 10  # principal components that are clustered
N_PROTOTYPES = 1_000  # leaves of the tree above MAX_MATRIX graphs
N_SAMPLED = 2_000  # graphs on which the silhouette is computed above MAX_MATRIX graphs
OUTLIER_FACTOR = 3.0  # interquartile ranges above the upper quartile


@dataclass(frozen=True)
class Cluster:
    """One cluster of a comparison.

    Attributes
    ----------
    label : int
        From 0, the largest cluster first.
    members : array of int
        Positions of its graphs.
    medoid : int
        Position of the graph nearest to the cluster's mean.
    traits : tuple of Trait
        What sets it apart from all other graphs, the largest difference first: size, structure,
        labels, weights.
    divergences : tuple of Trait
        The same for the model's loss terms and its divergences from sources.
    classes : dict
        Number of its graphs of every known class.
    """

    label: int
    members: Integers
    medoid: int
    traits: tuple[Trait, ...]
    divergences: tuple[Trait, ...] = ()
    classes: dict[Hashable, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """How similar graphs are; what `compare` returns.

    Attributes
    ----------
    graphs : list of Graph
    names : list of str
    embedding : array of shape (n_graphs, n_columns)
    distances : array of shape (n_graphs, n_graphs) or None
        Euclidean distances of the embedding. None above 5,000 graphs.
    neighbors : array of int, of shape (n_graphs, n_neighbors)
        Positions of the nearest other graphs, nearest first.
    neighbor_distances : array of shape (n_graphs, n_neighbors)
    tree : array of shape (n_leaves - 1, 4)
        Linkage matrix in scipy's form.
    leaves : array of int, of shape (n_graphs,)
        The leaf of the tree that holds each graph. Above 5,000 graphs a leaf is a group of similar
        graphs, else one graph.
    leaf_distances : array of shape (n_leaves, n_leaves)
        Euclidean distances of the leaves.
    labels : array of int, of shape (n_graphs,)
        The cluster of each graph.
    silhouettes : dict of int to float
        Mean silhouette for every number of clusters that was tried; empty if it was given.
    outlier_scores : array of shape (n_graphs,)
        Mean distance to the nearest neighbours.
    outliers : array of int
        Positions of graphs whose score is more than 3 interquartile ranges above the upper
        quartile, and at least twice that quartile; the farthest first.
    clusters : tuple of Cluster
    classes : list of hashables or None
        Known classes.
    model : object
        The fitted model.
    """

    graphs: list[Graph] = field(repr=False)
    names: list[str]
    embedding: NDArray[Any]
    distances: Array | None
    neighbors: Integers
    neighbor_distances: Array
    tree: Array
    leaves: Integers
    leaf_distances: Array
    labels: Integers
    silhouettes: dict[int, float]
    outlier_scores: Array
    outliers: Integers
    clusters: tuple[Cluster, ...]
    classes: list[Hashable] | None = field(repr=False)
    model: Any = field(repr=False)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.clusters)

    def __repr__(self) -> str:
        return (
            f"Comparison({len(self.names):,} graphs, {self.n_clusters} clusters, "
            f"{len(self.outliers)} outliers)"
        )

    def __rich__(self) -> Any:
        """Return the report that `rich` prints."""
        from ddgk.comparison_report import report

        return report(self)

    def _repr_html_(self) -> str:
        """Show a notebook the clusters."""
        rows = [
            (own.label, f"{len(own.members):,}", self.names[own.medoid],
             "; ".join(str(trait) for trait in own.traits[:3]))
            for own in self.clusters
        ]  # fmt: skip
        heading = ("cluster", "graphs", "medoid", "set apart by")
        return display.page(repr(self), display.table(heading, rows, len(rows)))

    def nearest(self, position: int) -> list[tuple[str, float]]:
        """Return names and distances of the graphs nearest to one, given by its position."""
        found = zip(self.neighbors[position], self.neighbor_distances[position], strict=True)
        return [(self.names[other], float(apart)) for other, apart in found]

    def to_files(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write tables, the report and figures into a folder, which is made if need be.

        Text in the tables cannot be mistaken for formulas. Figures need matplotlib, the Parquet
        file pyarrow; without them they are left out.

        Returns
        -------
        list of Path
            The files that were written.
        """
        from ddgk.comparison_report import write_files

        return write_files(self, Path(folder))


def compare(
    graphs: Iterable[Any],
    *,
    model: Any = None,
    names: Sequence[str] | None = None,
    classes: Sequence[Hashable] | None = None,
    embedding: NDArray[Any] | None = None,
    n_neighbors: int = 10,
    n_clusters: int | str = "auto",
    random_state: int = 0,
    n_jobs: int = 1,
) -> Comparison:
    """Find out how similar graphs are.

    The graphs are embedded; distances and neighbours are Euclidean. Clusters are a cut of Ward's
    tree of the 10 leading principal components, which hold what groups of graphs have in common,
    into the number with the largest mean silhouette [1]_. Above 5,000 graphs, k-means groups the
    graphs first, the tree is that of 1,000 groups, and there is no distance matrix.

    Parameters
    ----------
    graphs : iterable of graphs
        At least 2.
    model : DDGK, optional
        Fitted. Default: ``DDGK(random_state=random_state)``, fitted to the graphs.
    names : sequence of str, optional
        One per graph. Default: the names the graphs have, else their positions.
    classes : sequence of hashables, optional
        Known classes, counted in every cluster and never used to cluster.
    embedding : array of shape (n_graphs, n_columns), optional
        What the model returns for the graphs, if it is known already.
    n_neighbors : int
        Neighbours of every graph.
    n_clusters : int or "auto"
    random_state : int
    n_jobs : int
        Threads; results do not depend on it up to 20,000 graphs.

    Returns
    -------
    Comparison

    References
    ----------
    .. [1] Rousseeuw, P. J. "Silhouettes: a graphical aid to the interpretation and validation of
       cluster analysis." Journal of Computational and Applied Mathematics 20 (1987): 53-65.

    Examples
    --------
    >>> import networkx
    >>> from ddgk.comparison import compare
    >>> make = (networkx.cycle_graph, networkx.star_graph)
    >>> graphs = [kind(n) for kind in make for n in (6, 7, 8)]
    >>> compare(graphs, n_clusters=2, n_neighbors=2).labels.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    collection = [as_graph(graph) for graph in graphs]
    n = len(collection)
    if n < 2:
        raise ParameterError(f"comparing needs at least 2 graphs, not {n}")
    if n_neighbors < 1:
        raise ParameterError(f"n_neighbors must be at least 1, not {n_neighbors!r}")
    if n_clusters != "auto" and not (isinstance(n_clusters, int) and 1 <= n_clusters <= n):
        raise ParameterError(f"n_clusters must be 'auto' or between 1 and {n}, not {n_clusters!r}")
    if classes is not None and len(classes) != n:
        raise ParameterError(f"{n} graphs need as many classes, not {len(classes)}")
    called = graph_names(collection, names)
    if embedding is None:
        if model is None:
            from ddgk.estimator import DDGK

            model = DDGK(random_state=random_state, n_jobs=n_jobs).fit(collection)
        embedding = model.transform(collection)
    rows = np.ascontiguousarray(embedding, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != n or not np.isfinite(rows).all():
        raise ParameterError(f"the embedding must be finite, a row for each of {n} graphs")
    distances = _matrix(rows) if n <= MAX_MATRIX else None
    near, apart = neighbor_table(rows, n_neighbors, n_jobs=n_jobs)
    grouping = _cluster(rows, distances, n_clusters, random_state)
    scores = apart.mean(axis=1)
    low, high = np.quantile(scores, (0.25, 0.75))
    # Evenly spaced graphs have a range near 0; an outlier has at least twice the upper quartile.
    far = np.flatnonzero(scores > high + OUTLIER_FACTOR * max(high - low, high / 3))
    far = far if high > 0 else far[:0]
    outliers = far[np.argsort(-scores[far], kind="stable")]
    return Comparison(
        graphs=collection,
        names=called,
        embedding=rows,
        distances=distances,
        neighbors=near,
        neighbor_distances=apart,
        **grouping,
        outlier_scores=scores,
        outliers=outliers,
        clusters=_describe_clusters(collection, rows, grouping["labels"], classes, model),
        classes=None if classes is None else list(classes),
        model=model,
    )


def _matrix(rows: NDArray[np.floating[Any]]) -> Array:
    from scipy.spatial.distance import pdist, squareform

    found: Array = squareform(pdist(rows.astype(np.float64)))
    return found


def _cluster(
    rows: NDArray[np.float32],
    distances: Array | None,
    n_clusters: int | str,
    random_state: int,
) -> dict[str, Any]:
    """Return the tree, which leaf holds each graph, the cut, and how it was chosen."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    n = len(rows)
    mean, axes = principal_axes(rows, N_COMPONENTS)
    points = ((rows - mean) @ axes).astype(np.float64)
    leaves = sampled = np.arange(n)
    leaf_distances, leaf_points = distances, points
    if leaf_distances is None:
        leaves, leaf_points = _prototypes(points, random_state)
        order, sizes = np.argsort(leaves, kind="stable"), np.bincount(leaves)
        sums = np.add.reduceat(rows[order], np.cumsum(sizes) - sizes, axis=0)
        leaf_distances = _matrix(sums / sizes[:, None])
        sampled = np.sort(np.random.default_rng(random_state).choice(n, N_SAMPLED, replace=False))
    tree = linkage(pdist(leaf_points), "ward") if len(leaf_points) > 1 else np.empty((0, 4))
    if n_clusters == "auto":
        scores = _silhouettes(tree, leaves, sampled, _matrix(points[sampled]))
        best = max(scores, key=lambda k: (scores[k], -k), default=1)
        chosen = best if scores.get(best, 0.0) > LEAST_SILHOUETTE else 1
    else:
        scores, chosen = {}, min(int(n_clusters), len(leaf_points))
    return {
        "tree": tree,
        "leaves": leaves,
        "leaf_distances": leaf_distances,
        "labels": _cut(tree, leaves, chosen),
        "silhouettes": scores,
    }


def _prototypes(points: Array, random_state: int) -> tuple[Integers, Array]:
    """Group graphs by k-means; return the group of each, and the means."""
    from sklearn.cluster import MiniBatchKMeans

    means = MiniBatchKMeans(N_PROTOTYPES, batch_size=4096, n_init=1, random_state=random_state)
    groups = means.fit(points).predict(points)
    used, leaves = np.unique(groups, return_inverse=True)
    return leaves.astype(np.int64), means.cluster_centers_[used]


def _silhouettes(
    tree: Array, leaves: Integers, sampled: Integers, distances: Array
) -> dict[int, float]:
    from sklearn.metrics import silhouette_score

    scores = {}
    most = min(MAX_CLUSTERS, max(2, len(sampled) // 4), len(tree))
    for k in range(2, most + 1):
        labels = _cut(tree, leaves, k)[sampled]
        if 1 < len(np.unique(labels)) < len(labels):
            scores[k] = float(silhouette_score(distances, labels, metric="precomputed"))
    return scores


def _cut(tree: Array, leaves: Integers, k: int) -> Integers:
    """Cut the tree into k clusters, numbered from the largest, equal ones by their first graph."""
    from scipy.cluster.hierarchy import cut_tree

    if k == 1:
        return np.zeros(len(leaves), dtype=np.int64)
    raw = cut_tree(tree, n_clusters=k)[:, 0][leaves]
    _, first, codes, counts = np.unique(
        raw, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.argsort(np.lexsort((first, -counts)))
    found: Integers = rank[codes]
    return found


def _describe_clusters(
    graphs: Sequence[Graph],
    rows: NDArray[np.float32],
    labels: Integers,
    classes: Sequence[Hashable] | None,
    model: Any,
) -> tuple[Cluster, ...]:
    names, values = measure(graphs)
    # Divergences are computed again, so of many graphs only for every so manieth of each cluster.
    sampled = np.argsort(labels, kind="stable")[:: -(-len(graphs) // N_SAMPLED)]
    terms, divergences = measure_divergences(model, [graphs[place] for place in sampled.tolist()])
    found = []
    for label in range(int(labels.max()) + 1):
        inside = labels == label
        members = np.flatnonzero(inside)
        own = rows[members].astype(np.float64)
        medoid = int(members[((own - own.mean(axis=0)) ** 2).sum(axis=1).argmin()])
        traits = set_apart(names, values, inside)
        apart = set_apart(terms, divergences, inside[sampled])
        counts = Counter(classes[place] for place in members.tolist()) if classes else {}
        found.append(Cluster(label, members, medoid, traits, apart, dict(counts)))
    return tuple(found)
