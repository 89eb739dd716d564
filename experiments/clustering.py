"""Section 5.2: 30 graphs of 6 families, clustered by structure alone.

C. elegans, the karate club and a network of words, each with four mutants of 50 steps, and five
graphs each of D&D, PTC and NCI1. Labels are dropped: their codes would identify the set. Ward's
linkage on the embedding's own distances, cut into six clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import models
from experiments.baselines import counting
from experiments.data import GraphSet, family, load, load_network, structure
from experiments.neighbours import (
    adjusted_rand,
    euclidean,
    standardised_distances,
    ward_clusters,
)
from experiments.statistics import markdown

NETWORKS = {"c-elegans": "celegansneural", "karate": "karate", "words": "adjnoun"}
SETS = {"D&D": "DD", "PTC": "PTC_MR", "NCI1": "NCI1"}
N_MEMBERS = 5
N_STEPS = 50


def thirty_graphs(seed: int) -> tuple[GraphSet, list[str]]:
    """Return the 30 graphs and the names of the families; the seed draws mutants and members."""
    graphs = []
    for name, stored in NETWORKS.items():
        network = structure(load_network(stored), name)
        graphs += family(network, N_MEMBERS - 1, N_STEPS, seed=seed)
    generator = np.random.default_rng(seed)
    for name, stored in SETS.items():
        members = load(stored).graphs
        drawn = np.sort(generator.choice(len(members), N_MEMBERS, replace=False))
        graphs += [structure(members[place], f"{name}-{place}") for place in drawn]
    names = [*NETWORKS, *SETS]
    return GraphSet("30 graphs", graphs, np.repeat(np.arange(len(names)), N_MEMBERS)), names


def perfect_families(
    clusters: NDArray[np.int64], classes: NDArray[np.int64], names: Sequence[str]
) -> list[str]:
    """Return the families that are exactly one cluster: all members and no other graph."""
    found = []
    for place, name in enumerate(names):
        own = clusters[classes == place]
        if len(set(own.tolist())) == 1 and (clusters == own[0]).sum() == len(own):
            found.append(name)
    return found


def measure(*, seeds: Sequence[int], n_jobs: int = 1) -> dict[str, Any]:
    """Cluster the graphs that each seed draws."""
    return {"seeds": [measure_seed(seed, n_jobs) for seed in seeds]}


def measure_seed(seed: int, n_jobs: int = 1) -> dict[str, Any]:
    """Cluster by the default embedding, by counts, by their logarithms, and by degrees."""
    data, names = thirty_graphs(seed)
    counts = counting.sizes(data.graphs, seed)

    def ours() -> Any:
        return models.distances(models.make(seed, n_jobs=n_jobs).fit_transform(data.graphs))

    ways = {
        "DDGK": ours,
        "nodes and edges": lambda: standardised_distances(counts),
        "logarithms of nodes and edges": lambda: standardised_distances(np.log1p(counts)),
        "degrees": lambda: euclidean(counting.degree_quantiles(data.graphs)),
    }
    found = {}
    for title, describe in ways.items():
        began = perf_counter()
        clusters = ward_clusters(describe(), len(names))
        found[title] = {
            "clusters": clusters.tolist(),
            "families": perfect_families(clusters, data.classes, names),
            "adjusted_rand": adjusted_rand(clusters.tolist(), data.classes.tolist()),
            "seconds": perf_counter() - began,
        }
    return {"seed": seed, "names": [graph.name for graph in data.graphs], "rows": found}


def draw(path: str, contents: Sequence[dict[str, Any]]) -> None:
    """Draw the tree of the first seed."""
    from ddgk import plots

    seed = contents[0]["seeds"][0]["seed"]
    data, names = thirty_graphs(seed)
    apart = models.distances(models.make(seed).fit_transform(data.graphs))
    labels = [str(graph.name) for graph in data.graphs]
    plots.clusters(apart, labels, [names[i] for i in data.classes], linkage="ward", path=path)


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return families found over seeds."""
    seeds = contents[0]["seeds"]
    lines = []
    for title in seeds[0]["rows"]:
        rows = [one["rows"][title] for one in seeds]
        counts = [len(row["families"]) for row in rows]
        indices = [row["adjusted_rand"] for row in rows]
        lines.append(
            [
                title,
                f"{np.median(counts):g} ({min(counts)} to {max(counts)})",
                f"{np.mean(indices):.2f} ({min(indices):.2f} to {max(indices):.2f})",
            ]
        )
    heads = [f"{len(seeds)} seeds", "families found of 6, median", "adjusted Rand index, mean"]
    return markdown(heads, lines)
