"""Attention networks of fixed size (sections 3.2 and 4.5) beside the full matrix.

A full matrix has n_T n_S numbers per pair of graphs. A network with hidden layers of fixed size has
in the order of (n_T + n_S) q. Measured on graphs of up to 150 nodes: the numbers that are trained
per pair, seconds, and the accuracy of the divergences from a few sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np

from experiments import models
from experiments.baselines.counting import histogram
from experiments.data import GraphSet
from experiments.protocols import nested_folds
from experiments.statistics import interval, markdown, seconds
from experiments.svm import choose_and_score, gaussian_kernels, standardised

MAX_NODES = 150
N_SOURCES = 4
REPEATS = 3
LAYERS = ((), (4, 4), (16, 16))
TRAINING = {"learning_rate": 0.1, "checkpoints": (20, 60)}  # of the preset paper, shortened


def n_trained(n_target: int, n_source: int, layers: Sequence[int], initialisation: str) -> int:
    """Return how many numbers a pair trains: attention, reverse attention and its bias.

    From an equivariant initialisation, all layers but the first are fixed projections.

    >>> n_trained(10, 20, (), "glorot"), n_trained(10, 20, (4, 4), "glorot")
    (410, 282)
    >>> n_trained(10, 20, (4, 4), "equivariant")
    90
    """
    if not layers:
        return 2 * n_target * n_source + n_target
    found = n_target * layers[0]
    if initialisation == "glorot":
        found += sum(a * b for a, b in pairwise(layers)) + layers[-1] * n_source
    return 2 * found + n_target


def measure(
    data: GraphSet, *, n_graphs: int = 60, seed: int = 0, n_jobs: int = 1
) -> dict[str, Any]:
    """Return what a full matrix and networks give from both initialisations."""
    small = [i for i, graph in enumerate(data.graphs) if graph.n_nodes <= MAX_NODES]
    chosen = np.sort(np.random.default_rng(seed).permutation(small)[: n_graphs + N_SOURCES])
    drawn = np.random.default_rng(seed).permutation(chosen)
    sources = [data.graphs[i] for i in drawn[:N_SOURCES]]
    graphs, classes = [data.graphs[i] for i in drawn[N_SOURCES:]], data.classes[drawn[N_SOURCES:]]
    folds = nested_folds(classes, REPEATS, seed)

    def accuracies(columns: Any) -> list[float]:
        return [
            choose_and_score(
                gaussian_kernels(standardised(columns, train), train), classes, train, test, seed
            )
            for train, test in folds
        ]

    rows = []
    for layers in LAYERS:
        for initialisation in ("equivariant", "glorot"):
            changes = {**TRAINING, "attention_layers": layers, "initialisation": initialisation}
            model = models.make(
                seed, preset="paper", changes=changes, n_jobs=n_jobs, sources=sources
            )
            model.fit(graphs)
            began = process_time()
            columns, _ = models.source_columns(model, graphs)
            rows.append(
                {
                    "layers": list(layers),
                    "initialisation": initialisation,
                    "seconds": process_time() - began,
                    "trained": float(
                        np.mean(
                            [
                                n_trained(g.n_nodes, s.n_nodes, layers, initialisation)
                                for g in graphs
                                for s in sources
                            ]
                        )
                    ),
                    "accuracies": accuracies(columns),
                }
            )
    return {
        "set": data.name,
        "n_graphs": len(graphs),
        "n_sources": N_SOURCES,
        "histogram": accuracies(histogram(graphs, seed)),
        "rows": rows,
    }


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return trained numbers per pair, seconds and accuracy."""
    parts = []
    for one in contents:
        lines = [
            [
                "full matrix" if not row["layers"] else f"hidden layers {tuple(row['layers'])}",
                row["initialisation"],
                f"{row['trained']:,.0f}",
                seconds(row["seconds"]),
                interval(row["accuracies"]).percent(),
            ]
            for row in one["rows"]
        ]
        lines.append(["label histogram", "", "", "", interval(one["histogram"]).percent()])
        title = f"{one['set']}, {one['n_graphs']} graphs, {one['n_sources']} sources"
        heads = [title, "initialisation", "trained per pair", "processor seconds", "accuracy"]
        parts.append(markdown(heads, lines))
    return "\n\n".join(parts)
