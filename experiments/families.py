"""Is the nearest network of the same kind? Big graphs of one size, and networks of four sizes.

big       five kinds, ten graphs each, about 20,000 nodes; mean degrees 9.0 to 9.4 by thinning, so
          that counting cannot tell them apart; sources are small graphs of the same kinds
sizes     seven kinds, four sizes each: nearest must be of the same kind though of another size
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments import models
from experiments.baselines import counting
from experiments.baselines.netlsd import heat_traces
from experiments.data import degrees_of, generators, load_network, thinned
from experiments.neighbours import euclidean, standardised_distances
from experiments.statistics import markdown, seconds

Array = NDArray[np.float64]
NETWORK = "celegansneural"  # the configuration model draws its degrees
N_PER_KIND = 10
SPREAD = 0.1  # of the number of nodes
MEAN_DEGREES = (9.0, 9.4)
SOURCE_NODES = (100, 200)
N_SOURCES = 10
SIZES = (250, 500, 1000, 2000)


def big_graphs(
    n_nodes: int = 20_000, n_per_kind: int = N_PER_KIND, seed: int = 0
) -> tuple[list[Graph], list[str], list[Graph]]:
    """Return graphs, their kinds, and small graphs of the same kinds as sources."""
    kinds = generators(degrees_of(load_network(NETWORK)))
    graphs, names = [], []
    low, high = round((1 - SPREAD) * n_nodes), round((1 + SPREAD) * n_nodes)
    for place, (kind, make) in enumerate(kinds.items()):
        for number in range(n_per_kind):
            generator = np.random.default_rng([seed, 0, place, number])
            size, own_seed = int(generator.integers(low, high + 1)), int(generator.integers(2**31))
            n_edges = round(size * generator.uniform(*MEAN_DEGREES) / 2)
            graphs.append(thinned(make(size, own_seed), n_edges, own_seed))
            names.append(kind)
    sources = []
    for number in range(N_SOURCES):
        place = number % len(kinds)
        generator = np.random.default_rng([seed, 1, place, number])
        size = int(generator.integers(*SOURCE_NODES))
        sources.append([*kinds.values()][place](size, int(generator.integers(2**31))))
    return graphs, names, sources


def networks_of_four_sizes(seed: int = 0) -> tuple[list[Graph], list[str]]:
    """Return 28 networks of seven kinds, 250 to 2,000 nodes, and their kinds."""
    kinds = generators(degrees_of(load_network(NETWORK)))
    kinds["random"] = lambda n, own: Graph.from_networkx(
        networkx.fast_gnp_random_graph(n, 10 / (n - 1), seed=own)
    )
    kinds["regular"] = lambda n, own: Graph.from_networkx(
        networkx.random_regular_graph(10, n, seed=own)
    )
    made = [
        (make(size, seed + place), kind)
        for kind, make in kinds.items()
        for place, size in enumerate(SIZES)
    ]
    return [graph for graph, _ in made], [kind for _, kind in made]


def nearest_is_own(apart: Array, kinds: Sequence[str]) -> dict[str, Any]:
    """Return the share of graphs whose nearest other graph is of the same kind, and by kind."""
    others = apart + np.diag(np.full(len(apart), np.inf))
    right = np.array(
        [kinds[near] == own for near, own in zip(others.argmin(1), kinds, strict=True)]
    )
    by_kind = {
        kind: float(right[[own == kind for own in kinds]].mean()) for kind in dict.fromkeys(kinds)
    }
    return {"share": float(right.mean()), "by_kind": by_kind}


def compare(
    graphs: Sequence[Graph], kinds: Sequence[str], ours: Callable[[], Array], seed: int
) -> dict[str, Any]:
    """Measure the embedding, NetLSD, degrees and counts."""
    ways: dict[str, Callable[[], Array]] = {
        "DDGK": ours,
        "NetLSD": lambda: euclidean(heat_traces(graphs, seed)),
        "degrees": lambda: euclidean(counting.degree_quantiles(graphs)),
        "nodes and edges": lambda: standardised_distances(counting.sizes(graphs, seed)),
    }
    found = {}
    for title, describe in ways.items():
        began = perf_counter()
        apart = describe()
        took = perf_counter() - began
        found[title] = {**nearest_is_own(apart, kinds), "seconds": took}
    return found


def measure(
    *, n_nodes: int = 20_000, n_per_kind: int = N_PER_KIND, seed: int = 0, n_jobs: int = 1
) -> dict[str, Any]:
    """Measure both collections."""
    graphs, kinds, sources = big_graphs(n_nodes, n_per_kind, seed)

    def big() -> Array:
        model = models.make(seed, sources=sources, n_jobs=n_jobs)
        return models.distances(model.fit_transform(graphs))

    found = {"big": compare(graphs, kinds, big, seed)}
    few, few_kinds = networks_of_four_sizes(seed)

    def small() -> Array:
        return models.distances(models.make(seed, n_jobs=n_jobs).fit_transform(few))

    found["sizes"] = compare(few, few_kinds, small, seed)
    return found


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return the share of networks whose nearest is of the same kind."""
    one = contents[0]
    lines = [
        [
            title,
            *(f"{one[name][title]['share']:.2f}" for name in ("big", "sizes")),
            seconds(one["big"][title]["seconds"]),
        ]
        for title in one["big"]
    ]
    heads = ["nearest is of its own kind", "50 big graphs", "7 kinds of 4 sizes", "seconds, big"]
    return markdown(heads, lines)
