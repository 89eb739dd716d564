"""Relabelling noise: how far renumbered graphs are from themselves.

mean ||f(G) - f(G renumbered)|| / mean ||f(G) - f(H)||
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddgk import Graph
from experiments import models
from experiments.data import GraphSet
from experiments.statistics import markdown

PRESETS = ("default", "paper", "authors")


def relabelling_noise(model: Any, graphs: Sequence[Graph], seed: int = 0) -> float:
    """Return the noise of a fitted model; 0 where renumbering changes nothing."""
    generator = np.random.default_rng(seed)
    renumbered = [graph.permuted(generator.permutation(graph.n_nodes)) for graph in graphs]
    before, after = (
        np.asarray(model.transform(given), dtype=np.float64) for given in (graphs, renumbered)
    )
    own = np.linalg.norm(before - after, axis=1).mean()
    differences = before[:, None, :] - before[None, :, :]
    between = np.linalg.norm(differences, axis=2)[np.triu_indices(len(before), 1)].mean()
    return float(own / between) if between > 0 else float(own)


def measure(
    data: GraphSet,
    *,
    presets: Sequence[str] = PRESETS,
    n_graphs: int = 30,
    n_sources: int = 8,
    seed: int = 0,
    n_jobs: int = 1,
) -> dict[str, Any]:
    """Return the noise under every preset, on graphs drawn from the set."""
    drawn = np.random.default_rng(seed).permutation(len(data.graphs))[:n_graphs]
    graphs = [data.graphs[place] for place in np.sort(drawn)]
    noise = {}
    for preset in presets:
        model = models.make(seed, preset=preset, n_sources=n_sources, n_jobs=n_jobs)
        noise[preset] = relabelling_noise(model.fit(graphs), graphs, seed)
    return {"set": data.name, "n_graphs": n_graphs, "n_sources": n_sources, "noise": noise}


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return relabelling noise by set and preset."""
    presets = list(contents[0]["noise"])
    lines = [
        [one["set"], *(f"{one['noise'][preset]:.3g}" for preset in presets)] for one in contents
    ]
    return markdown(["set", *(f"preset {preset}" for preset in presets)], lines)
