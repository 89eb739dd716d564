"""Search of the paper's grid: which parameters classify the dev splits best.

A tenth of the graphs is held out as the test part and has no say. The others are split five times
into training and dev parts; a trial is worth the mean dev accuracy of the best machine. Sources are
graphs of the training parts. A trial embeds against a quarter of them, then half, then all, and
ends early where it falls behind the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.datasets import Dataset
from ddgk.embedding.progress import Advance, progress
from ddgk.errors import DatasetError, MissingExtraError, NonFiniteLossError, ParameterError
from ddgk.estimator import DDGK
from ddgk.evaluation.classifiers import (
    PENALTIES,
    inner_splits,
    machine_accuracies,
    mean_accuracies,
)
from ddgk.evaluation.protocols import checked_classes, nested_folds
from ddgk.evaluation.representations import Columns
from ddgk.evaluation.results import Results, Table
from ddgk.method import PRESETS, preset_method

GRID: dict[str, tuple[Any, ...]] = {
    "dimension": (2, 4, 8, 16, 32),
    "depth": (1, 2, 3, 4),
    "rate": (1e-4, 1e-3, 1e-2, 1e-1, 1.0),
    "epochs": (100, 300, 600),
    "coefficients": (0.0, 0.5, 1.0, 1.5, 2.0),
}
SHARES = (0.25, 0.5, 1.0)
LEAST_SOURCES = 2
N_SHOWN = 10
N_BEFORE_PRUNING = 5


@dataclass(frozen=True)
class Budget:
    """How much may be tried: trials in all, those of earlier calls included, and seconds now."""

    trials: int
    seconds: float | None = None


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried; accuracies are None where the trial ended early."""

    parameters: dict[str, Any]
    state: str
    dev: float | None
    test: float | None


class Objective:
    """What a trial is worth."""

    def __init__(
        self, dataset: Dataset, preset: str, n_sources: int, seed: int, n_jobs: int
    ) -> None:
        if dataset.classes is None:
            raise DatasetError(f"{dataset.name} has no classes, so nothing can be tuned")
        preset_method(preset, {})
        self.graphs, self.preset, self.seed, self.n_jobs = dataset.graphs, preset, seed, n_jobs
        self.classes = checked_classes(dataset.classes, len(dataset.graphs))
        self.rest, self.test = nested_folds(self.classes, 1, seed)[0]
        self.splits = inner_splits(self.classes, self.rest, seed)
        self.sources = draw_sources([dev for _, dev in self.splits], n_sources, seed)

    def __call__(self, trial: Any) -> float:
        """Embed against more and more sources, and report the dev accuracy each time."""
        import optuna

        parameters = {name: trial.suggest_categorical(name, GRID[name]) for name in GRID}
        blocks: list[NDArray[np.float64]] = []
        done, value = 0, 0.0
        for share in SHARES:
            upto = max(done + 1, LEAST_SOURCES, round(share * len(self.sources)))
            if done >= len(self.sources):
                break
            try:
                blocks.append(self._embed(parameters, self.sources[done:upto]))
            except NonFiniteLossError as error:
                raise optuna.TrialPruned(str(error)) from error
            done = upto
            values = np.hstack(blocks)
            behind = np.repeat(self.sources[:done], values.shape[1] // len(self.sources[:done]))
            value, test = self._accuracies(Columns(values, behind, absolute=True))
            trial.report(value, done)
            if done < len(self.sources) and trial.should_prune():
                raise optuna.TrialPruned
        trial.set_user_attr("test", test)
        return value

    def _embed(self, parameters: dict[str, Any], sources: list[int]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = DDGK(
            preset=self.preset,
            sources=sources,
            random_state=self.seed,
            n_jobs=self.n_jobs,
            **as_method(parameters, self.preset),
        ).fit_transform(self.graphs)
        return found

    def _accuracies(self, columns: Columns) -> tuple[float, float]:
        """Return the best machine's mean accuracy on the dev parts, and its one on the test part.

        A split sees only columns of sources in its training part.
        """
        by_split = []
        for train, dev in self.splits:
            candidates = [(k, penalty) for k in columns.kernels(train) for penalty in PENALTIES]
            by_split.append(mean_accuracies(candidates, self.classes, [(train, dev)]))
        means = np.mean(by_split, axis=0)
        best = int(means.argmax())
        kernel, penalty = (
            columns.kernels(self.rest)[best // len(PENALTIES)],
            PENALTIES[best % len(PENALTIES)],
        )
        (test,) = machine_accuracies(kernel, [penalty], self.classes, self.rest, self.test)
        return float(means[best]), test


def draw_sources(parts: list[NDArray[np.int64]], n_sources: int, seed: int) -> list[int]:
    """Draw from every dev part in turn, so that any two sources leave each split one to train on.

    >>> draw_sources([np.array([0, 1]), np.array([2, 3])], 3, seed=0)
    [0, 2, 1]
    """
    generator = np.random.default_rng(seed)
    shuffled = [generator.permutation(part).tolist() for part in parts]
    rounds = zip_longest(*shuffled)
    return [int(source) for row in rounds for source in row if source is not None][:n_sources]


def as_method(parameters: dict[str, Any], preset: str) -> dict[str, Any]:
    """Return parameters of `DDGK` from a point of the grid.

    The paper has one learning rate and one number of epochs for encoders and pairs. Where a preset
    reports a curve of early steps, the curve is kept and epochs are those of the encoder.
    """
    found = {
        "dimension": parameters["dimension"],
        "depth": parameters["depth"],
        "rate": parameters["rate"],
        "encoder_rate": parameters["rate"],
        "encoder_epochs": parameters["epochs"],
        "coefficients": parameters["coefficients"],
    }
    if len(PRESETS[preset].curve) == 1:
        found["curve"] = (parameters["epochs"],)
    return found


def tune(
    dataset: Dataset,
    folder: Path,
    budget: Budget,
    *,
    preset: str = "default",
    n_sources: int = 16,
    seed: int = 0,
    n_jobs: int = 1,
    verbose: bool = False,
) -> list[Trial]:
    """Try until the budget is spent, and return all trials, the best first.

    folder: keeps every trial, in a database of its own for each set and setting; the same call goes
    on with them.
    """
    if n_sources < LEAST_SOURCES or budget.trials < 1:
        raise ParameterError("tuning needs at least two sources and one trial")
    optuna = _optuna()
    objective = Objective(dataset, preset, n_sources, seed, n_jobs)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{dataset.fingerprint[:12]}-{preset}-{n_sources}-{seed}"
    # Without these an absolute path with a question mark or hash would be read as something else.
    database = (folder / f"tuning-{name}.sqlite").resolve().as_posix().replace("%", "%25")
    database = database.replace("?", "%3F").replace("#", "%23")
    study = optuna.create_study(
        storage=f"sqlite:///{database}",
        study_name=name,
        load_if_exists=True,
        direction="maximize",
        pruner=optuna.pruners.MedianPruner(n_startup_trials=N_BEFORE_PRUNING),
    )
    ended = [trial for trial in study.trials if trial.state.is_finished()]
    # A sampler that began again with the same seed would try the same again.
    study.sampler = optuna.samplers.TPESampler(seed=seed + 1000 * len(study.trials))
    left = max(0, budget.trials - len(ended))
    with progress(f"Tuning on {dataset.name}", left, "trials", verbose) as advance:
        _spend(study, objective, left, budget.seconds, advance)
    return ranked_trials(study)


def ranked_trials(study: Any) -> list[Trial]:
    """Return all trials that ended, by dev accuracy; those that ended early come last."""
    trials = [
        Trial(
            dict(trial.params),
            trial.state.name.lower(),
            trial.value if trial.state.name == "COMPLETE" else None,
            trial.user_attrs.get("test"),
        )
        for trial in study.trials
        if trial.state.is_finished()
    ]
    return sorted(trials, key=lambda trial: -1.0 if trial.dev is None else trial.dev, reverse=True)


def summarise(
    trials: list[Trial], dataset: Dataset, command: str, configuration: dict[str, Any]
) -> Results:
    """Put the best trials into a table."""
    complete = [trial for trial in trials if trial.dev is not None]
    rows = tuple(
        (
            *(f"{trial.parameters[name]:g}" for name in GRID),
            f"{100 * (trial.dev or 0):.1f}",
            "" if trial.test is None else f"{100 * trial.test:.1f}",
        )
        for trial in complete[:N_SHOWN]
    )
    table = Table(
        f"Best of {len(trials)} trials on {dataset.name}, {len(trials) - len(complete)} of which "
        "ended early; the test part had no say",
        (*GRID, "dev accuracy", "test accuracy"),
        rows,
    )
    about = {"dataset": dataset.name, "graphs": len(dataset.graphs), **configuration}
    found = [trial.__dict__ for trial in trials]
    return Results("tune", command, about, [table], {"trials": found})


def _spend(
    study: Any, objective: Objective, trials: int, seconds: float | None, advance: Advance
) -> None:
    began = perf_counter()
    for _ in range(trials):
        if seconds is not None and perf_counter() - began >= seconds:
            break
        study.optimize(objective, n_trials=1)
        advance(1)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError("tuning needs Optuna: pip install 'ddgk[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
