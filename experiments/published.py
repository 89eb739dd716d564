"""The paper's presets under the paper's and the authors' protocols, and under nested.

All three see the same divergences from all graphs of the set (up to 200 drawn ones). The difference
between the protocols is what the optimistic one adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments import models
from experiments.data import GraphSet
from experiments.neighbours import euclidean
from experiments.protocols import authors_accuracies, nested_folds, paper_accuracies
from experiments.statistics import markdown
from experiments.svm import choose_and_score, gaussian_kernels, standardised

MAX_SOURCES = 200


def measure(data: GraphSet, *, seed: int = 0, n_jobs: int = 1) -> dict[str, Any]:
    """Return accuracies of both presets under every protocol that applies."""
    found = {}
    drawn = np.random.default_rng(seed).permutation(len(data.graphs))[:MAX_SOURCES]
    for preset in ("paper", "authors"):
        model = models.make(
            seed, preset=preset, n_jobs=n_jobs, sources=[data.graphs[i] for i in drawn]
        )
        model.fit(data.graphs)
        columns, place = models.source_columns(model, data.graphs)
        sources = drawn[place]
        nested = []
        for train, test in nested_folds(data.classes, 1, seed):
            kept = standardised(columns[:, np.isin(sources, train)], train)
            kernels = gaussian_kernels(kept, train)
            nested.append(choose_and_score(kernels, data.classes, train, test, seed))
        found[preset] = {
            "nested": nested,
            "paper": paper_accuracies(columns, data.classes, seed=seed, sources=sources),
            "authors": authors_accuracies(euclidean(columns), data.classes, seed=seed),
        }
    return {"set": data.name, "n_sources": len(drawn), "rows": found}


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return accuracies of the paper's presets under three protocols."""
    lines = [
        [
            f"{one['set']}, preset {preset}",
            *(f"{100 * np.mean(row[name]):.1f}" for name in ("nested", "paper", "authors")),
        ]
        for one in contents
        for preset, row in one["rows"].items()
    ]
    return markdown(["", "nested", "paper", "authors (optimistic)"], lines)
