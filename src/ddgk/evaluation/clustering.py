"""The paper's section 5.2: 30 graphs of 6 families, clustered by structure alone.

Labels are dropped: their codes are local to a set and would give the families away. A graph is
described by what its nodes cost against every source, as a distribution; see
docs/design/clustering.md for what else was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.datasets import family, load, load_network
from ddgk.errors import RunError, shown
from ddgk.estimator import DDGK
from ddgk.evaluation.results import Table
from ddgk.graphs import Graph
from ddgk.kernel import Statistics, distances

Array = NDArray[np.float64]

NETWORKS = {"c-elegans": "celegansneural", "karate": "karate", "words": "adjnoun"}
SETS = {"D&D": "DD", "PTC": "PTC_MR", "NCI1": "NCI1"}
N_MEMBERS = 5
N_STEPS = 50
LINKAGE = "ward"

# How nodes are costed: the whole loss of a node's row, as the paper sums it.
METHOD: dict[str, Any] = {
    "families": "none",
    "reduction": "sum",
    "output": "total",
    "baseline": "none",
    "curve": (1, 3, 8),
}
N_QUANTILES = 8
SMALLEST = 1e-6  # a cost below this is as good as none


@dataclass(frozen=True)
class Clustering:
    """Graphs, the families they are known to be of, and the clusters found without knowing.

    distances: (n_graphs, n_graphs); clusters: a number per graph; agreement: the adjusted Rand
    index of clusters and families.
    """

    names: list[str]
    families: list[str]
    distances: Array
    clusters: NDArray[np.int64]
    agreement: float

    def recovered(self, family: str) -> tuple[int, int]:
        """Return how many members stand in the family's largest cluster, and strangers there."""
        own = [c for c, f in zip(self.clusters, self.families, strict=True) if f == family]
        largest = max(set(own), key=own.count)
        return own.count(largest), int((self.clusters == largest).sum()) - own.count(largest)

    @property
    def perfect(self) -> list[str]:
        """Return the families that are a cluster: all members, and nobody else."""
        return [
            name
            for name in dict.fromkeys(self.families)
            if self.recovered(name) == (self.families.count(name), 0)
        ]


@dataclass(frozen=True)
class Trial:
    """What one way of describing graphs gave with one seed."""

    seed: int
    way: str
    perfect: tuple[str, ...]
    agreement: float


def cluster(
    apart: Array, names: Sequence[str], families: Sequence[str], linkage: str = LINKAGE
) -> Clustering:
    """Cut a tree of distances into as many clusters as there are families."""
    from scipy.cluster.hierarchy import fcluster
    from scipy.cluster.hierarchy import linkage as link
    from scipy.spatial.distance import squareform
    from sklearn.metrics import adjusted_rand_score

    tree = link(squareform(apart, checks=False), linkage)
    clusters = fcluster(tree, len(set(families)), "maxclust")
    agreement = float(adjusted_rand_score(list(families), clusters))
    return Clustering(list(names), list(families), apart, clusters, agreement)


def make_universe(seed: int) -> tuple[list[Graph], list[str]]:
    """Return the paper's 30 graphs without labels, and their families.

    The seed draws the mutants of the three networks and the graphs of the three sets.
    """
    graphs: list[Graph] = []
    families: list[str] = []
    for name, stored in NETWORKS.items():
        graphs += family(bare(load_network(stored), name), N_MEMBERS - 1, N_STEPS, seed=seed)
        families += [name] * N_MEMBERS
    generator = np.random.default_rng(seed)
    for name, stored in SETS.items():
        members = load(stored).graphs
        drawn = np.sort(generator.choice(len(members), N_MEMBERS, replace=False))
        graphs += [bare(members[place], f"{name}-{place}") for place in drawn]
        families += [name] * N_MEMBERS
    return graphs, families


def bare(graph: Graph, name: str) -> Graph:
    """Return nothing but the structure."""
    return Graph(graph.n_nodes, graph.edges, name=name)


def describe_by_nodes(
    graphs: Sequence[Graph],
    seed: int,
    *,
    n_jobs: int = 1,
    advance: Callable[[int], None] = lambda _: None,
) -> Array:
    """Return the distribution of node costs against every graph, (n_graphs, n_columns).

    Every graph is a source, as in the paper. A node's cost is its share of D', learned through the
    source's encoder; the columns are the quantiles of its logarithm over the nodes of a graph, so
    that their Euclidean distance is the Wasserstein distance of distributions, source by source,
    and a graph twice as large is not twice as far.
    """
    model = DDGK(sources=range(len(graphs)), random_state=seed, n_jobs=n_jobs, **METHOD)
    model.fit(graphs)
    rows = []
    for graph in graphs:
        rows.append(quantiles(np.log(np.maximum(model.node_profiles(graph), SMALLEST))).ravel())
        advance(1)
    columns: Array = np.array(rows) / np.sqrt(len(rows[0]))
    return columns


def describe_by_counts(graphs: Sequence[Graph], *, logarithms: bool) -> Array:
    """Return numbers of nodes and edges, or their logarithms, standardised."""
    counts = np.array([[graph.n_nodes, graph.n_edges] for graph in graphs], dtype=np.float64)
    values = np.log1p(counts) if logarithms else counts
    return Statistics.of(values).standardise(values)


def describe_by_degrees(graphs: Sequence[Graph]) -> Array:
    """Return quantiles of the degrees' logarithms: what node costs say without any learning."""
    rows = []
    for graph in graphs:
        degrees = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
        rows.append(quantiles(np.log1p(degrees)[:, None]).ravel())
    return np.array(rows)


def quantiles(values: ArrayLike) -> Array:
    """Return evenly spaced quantiles of each column, (n_quantiles, n_columns)."""
    at = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    found: Array = np.quantile(np.asarray(values, dtype=np.float64), at, axis=0)
    return found


WAYS = {
    "ddgk": "DDGK, distribution of node costs",
    "counts": "nodes and edges",
    "log_counts": "nodes and edges, logarithms",
    "degrees": "degrees, distribution",
}


def compare(
    graphs: Sequence[Graph],
    families: Sequence[str],
    seed: int,
    *,
    n_jobs: int = 1,
    advance: Callable[[int], None] = lambda _: None,
) -> dict[str, Clustering]:
    """Cluster graphs by their divergences, and by what divergences have to beat."""
    rows = {
        "ddgk": describe_by_nodes(graphs, seed, n_jobs=n_jobs, advance=advance),
        "counts": describe_by_counts(graphs, logarithms=False),
        "log_counts": describe_by_counts(graphs, logarithms=True),
        "degrees": describe_by_degrees(graphs),
    }
    names = [str(graph.name) for graph in graphs]
    return {way: cluster(distances(values), names, families) for way, values in rows.items()}


def measure(
    seed: int, *, n_jobs: int = 1, advance: Callable[[int], None] = lambda _: None
) -> dict[str, Any]:
    """Cluster the paper's graphs with one seed; what is returned can be kept as JSON."""
    found = compare(*make_universe(seed), seed, n_jobs=n_jobs, advance=advance)
    return {
        way: {
            "names": one.names,
            "families": one.families,
            "distances": one.distances.tolist(),
            "clusters": one.clusters.tolist(),
            "agreement": one.agreement,
        }
        for way, one in found.items()
    }


def restored(kept: Any) -> dict[str, Clustering]:
    """Undo what `measure` did to make JSON of it; nothing in it is trusted."""
    try:
        found = {way: _restored(kept[way]) for way in WAYS}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"a part of this run is damaged: {shown(str(error))}") from error
    return found


def _restored(kept: Any) -> Clustering:
    names, families = ([str(text) for text in kept[what]] for what in ("names", "families"))
    apart = np.array(kept["distances"], dtype=np.float64)
    clusters = np.array(kept["clusters"], dtype=np.int64)
    n = len(names)
    if not n or apart.shape != (n, n) or clusters.shape != (n,) or len(families) != n:
        raise ValueError(f"{n} names, but distances of shape {apart.shape}")
    if not np.isfinite(apart).all() or not -1 <= float(kept["agreement"]) <= 1:
        raise ValueError("numbers out of range")
    return Clustering(names, families, apart, clusters, float(kept["agreement"]))


def as_trials(found: dict[str, Clustering], seed: int) -> list[Trial]:
    """Keep what a table needs."""
    return [Trial(seed, way, tuple(one.perfect), one.agreement) for way, one in found.items()]


def tables(trials: Sequence[Trial]) -> list[Table]:
    """Put trials together over seeds, and list the families that the divergences found again."""
    lines = []
    for way, title in WAYS.items():
        own = [trial for trial in trials if trial.way == way]
        counts = [len(trial.perfect) for trial in own]
        agreements = [trial.agreement for trial in own]
        cells = (
            title,
            f"{np.median(counts):g}",
            f"{min(counts)} to {max(counts)}",
            f"{np.mean(agreements):.3f}",
            f"{min(agreements):.3f} to {max(agreements):.3f}",
        )
        lines.append(cells)
    ours = [trial for trial in trials if trial.way == "ddgk"]
    families = {name: sum(name in t.perfect for t in ours) for name in (*NETWORKS, *SETS)}
    return [
        Table(
            f"Families found again of {len(families)}, {len(ours)} seeds",
            ("by", "median", "range", "adjusted Rand index", "range of the index"),
            tuple(lines),
        ),
        Table(
            "Seeds in which a family is a cluster, by DDGK",
            tuple(families),
            (tuple(f"{count} of {len(ours)}" for count in families.values()),),
        ),
        Table(
            "Seed by seed, by DDGK",
            ("seed", "families", "adjusted Rand index", "found again"),
            tuple(
                (str(t.seed), str(len(t.perfect)), f"{t.agreement:.3f}", ", ".join(t.perfect))
                for t in ours
            ),
        ),
    ]


def configuration() -> dict[str, Any]:
    """Return everything that decides a clustering but its seeds."""
    return {
        "networks": dict(NETWORKS),
        "sets": dict(SETS),
        "members": N_MEMBERS,
        "mutation_steps": N_STEPS,
        "labels": "dropped",
        "linkage": LINKAGE,
        "quantiles": N_QUANTILES,
        **{f"method.{name}": value for name, value in asdict(_method()).items()},
    }


def _method() -> Any:
    from ddgk.method import preset_method

    return preset_method("default", METHOD)
