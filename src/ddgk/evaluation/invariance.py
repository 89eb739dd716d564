"""Relabelling noise: how much the numbering of nodes matters, for a method on a set of graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddgk.datasets import Dataset
from ddgk.estimator import DDGK
from ddgk.evaluation.results import Results, Table
from ddgk.graphs import Graph
from ddgk.kernel import distances


def relabelling_noise(model: DDGK, graphs: Sequence[Graph], seed: int = 0) -> float:
    """Return how far renumbered graphs are from themselves, in units of how far graphs are apart.

        mean ||Psi(G) - Psi(G renumbered)|| / mean ||Psi(G) - Psi(H)||

    The second mean is over all pairs of different graphs; 0 where the model sees no difference at
    all.
    """
    generator = np.random.default_rng(seed)
    renumbered = [graph.permuted(generator.permutation(graph.n_nodes)) for graph in graphs]
    before, after = model.transform(graphs), model.transform(renumbered)
    own = np.linalg.norm(before - after, axis=1).mean()
    between = distances(before)[np.triu_indices(len(graphs), 1)].mean()
    return float(own / between) if between > 0 else float(own)


def measure_noise(
    sets: Sequence[Dataset], presets: Sequence[str], *, n_graphs: int, n_sources: int, seed: int,
    n_jobs: int = 1,
) -> list[list[float]]:  # fmt: skip
    """Return the noise of every set (rows) under every preset, on graphs drawn from each."""
    found: list[list[float]] = []
    for dataset in sets:
        drawn = np.random.default_rng(seed).permutation(len(dataset.graphs))[:n_graphs]
        graphs = [dataset.graphs[place] for place in np.sort(drawn).tolist()]
        found.append([])
        for preset in presets:
            model = DDGK(n_sources, preset=preset, random_state=seed, n_jobs=n_jobs).fit(graphs)
            found[-1].append(relabelling_noise(model, graphs, seed))
    return found


def summarise(
    noise: Sequence[Sequence[float]], sets: Sequence[Dataset], presets: Sequence[str],
    setting: dict[str, int], command: str,
) -> Results:  # fmt: skip
    """Put the noise into a table."""
    table = Table(
        "Relabelling noise: how far renumbered graphs are from themselves, by how far graphs are",
        ("set", "graphs", *(f"preset {preset}" for preset in presets)),
        tuple(
            (
                dataset.name,
                str(min(setting["graphs"], len(dataset.graphs))),
                *(f"{value:.3g}" for value in row),
            )
            for dataset, row in zip(sets, noise, strict=True)
        ),
    )
    configuration = {"dataset": ", ".join(dataset.name for dataset in sets), **setting}
    return Results("invariance", command, configuration, [table], {"noise": [*map(list, noise)]})
