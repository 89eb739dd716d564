"""Section 5.4: accuracy against the share of source graphs, on the paper's divergences.

Divergences from all sources are computed once. In each fold, sources are drawn from those in its
training part. The compact embedding's numbers of sources are part of `ablation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments import models
from experiments.data import GraphSet
from experiments.protocols import N_FOLDS, nested_folds
from experiments.statistics import markdown
from experiments.svm import choose_and_score, gaussian_kernels, standardised

SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MAX_SOURCES = 200


def measure(
    data: GraphSet,
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    shares: Sequence[float] = SHARES,
    max_sources: int = MAX_SOURCES,
    preset: str = "default",
    n_jobs: int = 1,
) -> dict[str, Any]:
    """Return accuracies by share, seed and fold, (n_shares, n_seeds, 10)."""
    n_sources = min(max_sources, len(data.graphs))
    drawn = np.random.default_rng(0).permutation(len(data.graphs))[:n_sources]
    model = models.make(
        0, preset=preset, n_jobs=n_jobs, sources=[data.graphs[place] for place in drawn]
    )
    model.fit(data.graphs)
    columns, source_of = models.source_columns(model, data.graphs)
    found = np.empty((len(shares), len(seeds), N_FOLDS))
    for j, seed in enumerate(seeds):
        order = np.random.default_rng(seed).permutation(n_sources)  # smaller samples are nested
        for fold, (train, test) in enumerate(nested_folds(data.classes, 1, seed)):
            known = order[np.isin(drawn[order], train)]
            for i, share in enumerate(shares):
                chosen = known[: max(1, round(share * len(known)))]
                kept = standardised(columns[:, np.isin(source_of, chosen)], train)
                kernels = gaussian_kernels(kept, train)
                found[i, j, fold] = choose_and_score(kernels, data.classes, train, test, seed)
    return {
        "set": data.name,
        "shares": list(shares),
        "seeds": list(seeds),
        "n_sources": n_sources,
        "preset": preset,
        "accuracies": found.tolist(),
    }


def draw(path: str, contents: Sequence[dict[str, Any]]) -> None:
    """Draw accuracy, relative to all sources, against the share of sources; a line per set."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for one in contents:
        values = np.array(one["accuracies"]).mean(axis=2)  # shares x seeds
        relative = 100 * values / values[-1].mean()
        shares = 100 * np.array(one["shares"])
        axes.plot(shares, relative.mean(axis=1), marker="o", label=one["set"])
        axes.fill_between(shares, relative.min(axis=1), relative.max(axis=1), alpha=0.15)
    axes.set_xscale("log")
    axes.set_xlabel("sources, % of the training graphs used as candidates")
    axes.set_ylabel("accuracy, % of that with all sources")
    axes.legend(frameon=False)
    figure.savefig(path)
    pyplot.close(figure)


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return accuracy by share of sources, a column per set."""
    lines = []
    for place, share in enumerate(contents[0]["shares"]):
        means = [np.mean(one["accuracies"][place]) for one in contents]
        lines.append([f"{share:.0%}", *(f"{100 * mean:.1f}" for mean in means)])
    heads = ["share of sources", *(f"{one['set']} ({one['n_sources']})" for one in contents)]
    return markdown(heads, lines)
