"""Quality without classes: neighbours, clusters, and whether distance is only size.

For each description of graphs, by its own plain distance:

    agreement      share of a graph's k nearest neighbours that have its class (k = 10)
    adjusted_rand  adjusted Rand index of Ward's clusters, as many as classes, and classes
    size           Pearson's correlation of distance with the difference in numbers of nodes

Molecules with a property y instead of classes have, in place of the first two,

    difference     mean |y(G) - y(H)| of G and its 10 nearest H, divided by the mean over all pairs
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments import models
from experiments.baselines import counting, weisfeiler_lehman
from experiments.baselines.graph2vec import graph2vec
from experiments.baselines.netlsd import heat_traces
from experiments.data import MOLECULES, GraphSet, PropertySet
from experiments.statistics import markdown

Array = NDArray[np.float64]
N_NEIGHBOURS = 10
N_ROUNDS = 4  # of Weisfeiler-Lehman, without a training part to choose it in
RADIUS = 2


def measure_distances(apart: Array, classes: Sequence[Any], sizes: Array, k: int) -> dict[str, Any]:
    """Return agreement, adjusted Rand index and correlation with size; apart: (n, n)."""
    return {
        "agreement": agreement(apart, classes, k),
        "adjusted_rand": adjusted_rand(ward_clusters(apart, len(set(classes))), classes),
        "size": size_correlation(apart, sizes),
    }


def size_correlation(apart: Array, sizes: Array) -> float:
    """Return Pearson's correlation of distance with the difference in numbers of nodes."""
    upper = np.triu_indices(len(apart), 1)
    gaps = np.abs(sizes[:, None] - sizes[None, :])[upper]
    between = apart[upper]
    spread = between.std() * gaps.std()
    return float(np.corrcoef(between, gaps)[0, 1]) if spread > 0 else 0.0


def agreement(apart: Array, classes: Sequence[Any], k: int) -> float:
    """Return the mean share of each graph's k nearest other graphs that have its class.

    Graphs at equal distance share the remaining places.

    >>> agreement(np.array([[0.0, 1, 2], [1, 0, 2], [2, 2, 0]]), [0, 0, 1], 1)
    0.6666666666666666
    """
    kinds = np.unique(np.asarray(classes), return_inverse=True)[1]
    return mean_of_nearest(apart, kinds[:, None] == kinds[None, :], k)


def property_difference(apart: Array, values: Array, k: int) -> float:
    """Return the mean difference of a property to the k nearest, 1 where they are as any others.

    >>> apart = np.array([[0.0, 1, 2], [1, 0, 2], [2, 3, 0]])
    >>> round(property_difference(apart, np.array([0.0, 1.0, 5.0]), 1), 3)  # (1 + 1 + 5) / 10
    0.7
    """
    gaps = np.abs(values[:, None] - values[None, :])
    return mean_of_nearest(apart, gaps, k) / float(gaps[np.triu_indices(len(gaps), 1)].mean())


def mean_of_nearest(apart: Array, pairs: NDArray[Any], k: int) -> float:
    """Return the mean of pairs (G, H) over all G and their k nearest H.

    Graphs at equal distance share the remaining places.
    """
    means = []
    for place, row in enumerate(apart):
        others = np.delete(np.arange(len(row)), place)
        away, own = row[others], pairs[place][others]
        border = np.partition(away, k - 1)[k - 1]
        inside, tied = away < border, away == border
        left = k - inside.sum()
        means.append((own[inside].sum() + left * own[tied].mean()) / k)
    return float(np.mean(means))


def ward_clusters(apart: Array, n_clusters: int) -> NDArray[np.int64]:
    """Cut Ward's tree of distances into clusters."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(apart, checks=False), "ward")
    return np.asarray(fcluster(tree, n_clusters, "maxclust"))


def adjusted_rand(clusters: Sequence[Any], classes: Sequence[Any]) -> float:
    """Return the adjusted Rand index."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(list(classes), list(clusters)))


def kernel_distances(gram: Array) -> Array:
    """Return sqrt(K(i, i) + K(j, j) - 2 K(i, j))."""
    own = gram.diagonal().astype(np.float64)
    return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2.0 * gram, 0.0))


def standardised_distances(columns: Array) -> Array:
    """Return Euclidean distances of standardised columns."""
    spread = columns.std(axis=0)
    values = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return euclidean(values)


def euclidean(columns: Array) -> Array:
    """Return Euclidean distances of rows."""
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(np.asarray(columns, dtype=np.float64))))


def fingerprint_distances(graphs: Sequence[Graph]) -> Array:
    """Return 1 - Tanimoto similarity of Morgan fingerprints (sets of environments, radius 2).

    Computed from atom and bond labels as the sets give them; unfolded, without counts.
    """
    environments = [_environments(graph) for graph in graphs]
    place: dict[Any, int] = {}
    for one in environments:
        for environment in one:
            place.setdefault(environment, len(place))
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(len(graphs)), [len(one) for one in environments])
    columns = np.array([place[environment] for one in environments for environment in one])
    bits = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(graphs), len(place)))
    return tanimoto_distances(np.asarray((bits @ bits.T).todense()))


def tanimoto_distances(common: Array) -> Array:
    """Return 1 - Tanimoto similarity; common: numbers of bits that both have, (n, n)."""
    counts = common.diagonal()
    return 1.0 - common / np.maximum(counts[:, None] + counts[None, :] - common, 1.0)


def _environments(graph: Graph) -> set[Any]:
    around: list[list[tuple[Any, int]]] = [[] for _ in range(graph.n_nodes)]
    bonds = graph.edge_labels or [None] * graph.n_edges
    for (u, v), bond in zip(graph.edges.tolist(), bonds, strict=True):
        around[u].append((repr(bond), v))
        around[v].append((repr(bond), u))
    current: list[Any] = [repr(x) for x in graph.node_labels or [None] * graph.n_nodes]
    found = {(0, state) for state in current}
    for radius in range(1, RADIUS + 1):
        current = [
            hash_text(current[v], sorted((bond, current[u]) for bond, u in around[v]))
            for v in range(graph.n_nodes)
        ]
        found |= {(radius, state) for state in current}
    return found


def hash_text(*parts: Any) -> str:
    """Return a short text that stands for nested parts, the same in every process."""
    from hashlib import blake2b

    return blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def descriptions(
    graphs: Sequence[Graph],
    *,
    seed: int,
    n_jobs: int,
    fingerprints: Callable[[], Array] | None = None,
) -> dict[str, Callable[[], Array]]:
    """Return functions that compute distances, by title; fingerprints: that of molecules."""

    def ours() -> Array:
        model = models.make(seed, n_jobs=n_jobs)
        return models.distances(model.fit_transform(graphs))

    found = {
        "DDGK": ours,
        "WL kernel": lambda: kernel_distances(weisfeiler_lehman.subtree_grams(graphs)[N_ROUNDS]),
        "WL-OA": lambda: kernel_distances(weisfeiler_lehman.assignment_grams(graphs)[N_ROUNDS]),
        "WWL": lambda: weisfeiler_lehman.wasserstein_distances(graphs)[N_ROUNDS],
        "NetLSD": lambda: euclidean(heat_traces(graphs, seed)),
        "graph2vec": lambda: euclidean(graph2vec(graphs, seed)),
        "label histogram": lambda: standardised_distances(counting.histogram(graphs, seed)),
        "nodes and edges": lambda: standardised_distances(counting.sizes(graphs, seed)),
    }
    if fingerprints is not None:
        found["Morgan, Tanimoto"] = fingerprints
    return found


def measure(
    data: GraphSet | PropertySet, *, seed: int = 0, n_jobs: int = 1, only: Sequence[str] = ()
) -> dict[str, Any]:
    """Measure every description of one set. The 30 graphs have five per family: k = 4."""
    sizes = np.array([graph.n_nodes for graph in data.graphs], dtype=np.float64)
    about, fingerprints = _about(data)
    k = about["k"]
    ways = descriptions(data.graphs, seed=seed, n_jobs=n_jobs, fingerprints=fingerprints)
    found = {}
    for title, describe in ways.items():
        if only and title not in only:
            continue
        began = perf_counter()
        apart = describe()
        took = perf_counter() - began
        if isinstance(data, PropertySet):
            measured = {
                "difference": property_difference(apart, data.values, k),
                "size": size_correlation(apart, sizes),
            }
        else:
            measured = measure_distances(apart, data.classes.tolist(), sizes, k)
        found[title] = {**measured, "seconds": took}
    return {"set": data.name, **about, "rows": found}


def _about(data: GraphSet | PropertySet) -> tuple[dict[str, Any], Callable[[], Array] | None]:
    """Return k and what random neighbours give, and the fingerprints of molecules."""
    if isinstance(data, PropertySet):
        smiles, values = data.smiles, data.values

        def morgan() -> Array:
            from experiments.regression import morgan_bits

            bits = morgan_bits(smiles)
            return tanimoto_distances(bits @ bits.T)

        gaps = np.abs(values[:, None] - values[None, :])
        chance = float(gaps[np.triu_indices(len(gaps), 1)].mean())
        k = min(N_NEIGHBOURS, len(smiles) - 1)
        return {"k": k, "n_graphs": len(smiles), "property": data.what, "chance": chance}, morgan
    counts = np.bincount(data.classes)
    chance = float((counts * (counts - 1)).sum() / (counts.sum() * (counts.sum() - 1)))
    described = {"k": min(N_NEIGHBOURS, int(counts.min()) - 1), "chance": chance}
    graphs = data.graphs
    return described, (lambda: fingerprint_distances(graphs)) if data.name in MOLECULES else None


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return a table of the sets with classes, and one of those with a property."""
    classes = [one for one in contents if "property" not in one]
    properties = [one for one in contents if "property" in one]
    parts = []
    if classes:
        heads = [f"{one['set']} (k={one['k']}, chance {one['chance']:.2f})" for one in classes]
        parts += [
            "k-nearest-neighbour class agreement / adjusted Rand index of Ward's clusters / "
            "correlation of distance with the difference in size. Mean: over the sets, where all "
            "are measured, without the correlation.",
            _matrix(classes, heads, ("agreement", "adjusted_rand", "size"), (3, 2, 2)),
        ]
    if properties:
        heads = [f"{x['set']} ({x['n_graphs']:,} molecules, {x['property']})" for x in properties]
        parts += [
            "Mean difference of a property to the 10 nearest molecules, as a share of the mean "
            "difference over all pairs (less is better, 1 is random) / correlation of distance "
            "with the difference in size. Morgan: RDKit's, 2,048 bits, radius 2.",
            _matrix(properties, heads, ("difference", "size"), (3, 2)),
        ]
    return "\n\n".join(parts)


def _matrix(
    contents: Sequence[dict[str, Any]],
    heads: Sequence[str],
    measures: Sequence[str],
    digits: Sequence[int],
) -> str:
    """Return a row per description, a column per set, and the mean over sets."""
    lines = []
    for title in dict.fromkeys(title for one in contents for title in one["rows"]):
        rows = [one["rows"].get(title) for one in contents]
        cells = [_cell([row[name] for name in measures], digits) if row else "" for row in rows]
        if len(contents) > 1:
            means = [np.mean([row[name] for row in rows if row]) for name in measures[:-1]]
            cells.append(_cell(means, digits[:-1]) if all(rows) else "")
        lines.append([title, *cells])
    return markdown(["", *heads, *(["mean"] if len(contents) > 1 else [])], lines)


def _cell(values: Sequence[Any], digits: Sequence[int]) -> str:
    return " / ".join(f"{value:.{n}f}" for value, n in zip(values, digits, strict=True))
