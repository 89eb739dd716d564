"""Search of hyper-parameters by dev accuracy, with Optuna.

A tenth of the graphs is held out and has no influence. A trial is worth the mean accuracy on five
dev parts of the rest, with the embedding fitted and the SVM chosen on each training part. The best
value is a maximum over trials and therefore optimistic; the held-out accuracy is reported too.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from experiments import models
from experiments.classification import embed
from experiments.data import GraphSet
from experiments.protocols import nested_folds
from experiments.statistics import markdown
from experiments.storage import Cache
from experiments.svm import choose_and_score, gaussian_kernels, inner_splits, standardised


def measure(
    data: GraphSet,
    *,
    cache_in: Cache,
    preset: str = "default",
    trials: int = 50,
    seconds: float | None = None,
    n_sources: int = 8,
    seed: int = 0,
    n_jobs: int = 1,
) -> dict[str, Any]:
    """Try points of the preset's grid until the budget is spent; resumes from the cache."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError("tuning needs Optuna: pip install optuna") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    grid = models.GRIDS[preset]
    rest, test = nested_folds(data.classes, 1, seed)[0]
    splits = inner_splits(data.classes, rest, seed)

    def accuracy(changes: dict[str, Any], train: Any, held: Any) -> float:
        model = models.make(
            seed, preset=preset, changes=changes, n_sources=n_sources, n_jobs=n_jobs
        )
        columns, _ = embed(data, model, train, Cache(None), "")
        kernels = gaussian_kernels(
            columns if preset == "default" else standardised(columns, train), train
        )
        return choose_and_score(kernels, data.classes, train, held, seed)

    def objective(trial: Any) -> float:
        changes = {name: trial.suggest_categorical(name, values) for name, values in grid.items()}
        scores = []
        for step, (train, dev) in enumerate(splits):
            scores.append(accuracy(changes, train, dev))
            trial.report(float(np.mean(scores)), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        trial.set_user_attr("test", accuracy(changes, rest, test))
        return float(np.mean(scores))

    name = f"{data.fingerprint}-{preset}-{n_sources}-{seed}"
    storage = None
    if cache_in.folder is not None:
        cache_in.folder.mkdir(parents=True, exist_ok=True)
        path = cache_in.folder / f"tuning-{name}.log"
        backend = optuna.storages.journal.JournalFileBackend(str(path))
        storage = optuna.storages.JournalStorage(backend)
    study = optuna.create_study(
        storage=storage,
        study_name=name,
        load_if_exists=True,
        direction="maximize",
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )
    # A sampler that started again with the same seed would propose the same points.
    study.sampler = optuna.samplers.TPESampler(seed=seed + 1000 * len(study.trials))
    began = perf_counter()
    while len([t for t in study.trials if t.state.is_finished()]) < trials:
        if seconds is not None and perf_counter() - began >= seconds:
            break
        study.optimize(objective, n_trials=1)
    found = [
        {
            "parameters": dict(trial.params),
            "state": trial.state.name.lower(),
            "dev": trial.value if trial.state.name == "COMPLETE" else None,
            "test": trial.user_attrs.get("test"),
        }
        for trial in study.trials
        if trial.state.is_finished()
    ]
    found.sort(key=lambda trial: -1.0 if trial["dev"] is None else trial["dev"], reverse=True)
    return {"set": data.name, "preset": preset, "n_sources": n_sources, "trials": found}


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return the best trial of every search."""
    lines = []
    for one in contents:
        complete = [trial for trial in one["trials"] if trial["dev"] is not None]
        for trial in complete[:1]:
            chosen = ", ".join(f"{name} {value}" for name, value in trial["parameters"].items())
            lines.append(
                [
                    f"{one['set']}, preset {one['preset']}, {len(one['trials'])} trials",
                    chosen,
                    f"{100 * trial['dev']:.1f}",
                    f"{100 * trial['test']:.1f}",
                ]
            )
    return markdown(["", "best", "dev accuracy (a maximum)", "held-out accuracy"], lines)
