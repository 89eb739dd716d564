"""Classification: every method on the same folds, protocol nested."""

from __future__ import annotations

import hashlib
import inspect
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from experiments import models, storage
from experiments.data import GraphSet, load
from experiments.methods import METHODS, Method
from experiments.protocols import N_FOLDS, NESTED, default_repeats, nested_folds
from experiments.storage import Cache
from experiments.svm import (
    Integers,
    Kernel,
    Split,
    choose_and_score,
    gaussian_kernels,
    standardised,
)

Measured = dict[str, float]  # of one fold: accuracy, describing (s), classifying (s)


def classify(
    data: GraphSet,
    method: Method,
    *,
    repeats: int,
    seed: int = 0,
    cache_in: Cache | None = None,
    n_jobs: int = 1,
    limit: float = math.inf,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure one method on all folds and return its row.

    limit: no repeat is begun that would probably end later than after this many seconds.
    describing: seconds to describe all graphs once (for methods fitted per fold, the mean over
    folds); classifying: seconds per fold for choosing parameters and for the SVM.
    """
    from threadpoolctl import threadpool_limits

    cached = cache_in or Cache(None)
    folds = nested_folds(data.classes, repeats, seed)
    measure = _per_fold(data, method, seed, n_jobs, cached) if method.per_fold else _once(
        data, method, seed
    )  # fmt: skip
    key = {"set": data.fingerprint, "seed": seed, "method": measure.key}
    found: list[Measured] = []
    began = perf_counter()
    with threadpool_limits(1):  # libraries round differently on several threads
        for place, fold in enumerate(folds):
            found.append(cached.value({**key, "fold": place}, lambda fold=fold: measure(fold)))
            if (place + 1) % N_FOLDS == 0:
                mean = np.mean([one["accuracy"] for one in found])
                say(f"{data.name}, {method.title}: {100 * mean:.2f} after {place + 1} folds")
                if (perf_counter() - began) * (len(found) + N_FOLDS) / len(found) > limit:
                    break
    return {
        "title": method.title,
        "supervised": method.supervised,
        "accuracies": [one["accuracy"] for one in found],
        "describing": float(np.mean([one["describing"] for one in found])),
        "classifying": float(np.mean([one["classifying"] for one in found])),
        "repeats": len(found) // N_FOLDS,
        "seed": seed,
    }


class _Measure:
    """A function of a fold, and the key under which its results are cached."""

    def __init__(self, key: Any, function: Callable[[Split], Measured]) -> None:
        self.key, self.function = key, function

    def __call__(self, fold: Split) -> Measured:
        return self.function(fold)


def _once(data: GraphSet, method: Method, seed: int) -> _Measure:
    """Describe all graphs once, without classes, and classify fold by fold."""

    @cache
    def described() -> tuple[Any, float]:
        began = perf_counter()
        found = method.function()(data.graphs, seed)
        return found, perf_counter() - began

    def measure(fold: Split) -> Measured:
        (found, seconds), (train, test) = described(), fold
        began = perf_counter()
        if method.kind == "kernels":
            kernels: Sequence[Kernel] = found
        else:
            kernels = gaussian_kernels(standardised(found, train), train)
        accuracy = choose_and_score(kernels, data.classes, train, test, seed)
        return {
            "accuracy": accuracy,
            "describing": seconds,
            "classifying": perf_counter() - began,
        }

    return _Measure(_source_key(method), measure)


def _per_fold(data: GraphSet, method: Method, seed: int, n_jobs: int, cached: Cache) -> _Measure:
    """Fit the method on the training graphs of every fold."""
    make = method.function()
    if method.kind == "transformer":
        key = f"{method.home} {fingerprint_of(make(data.name, seed, n_jobs))}"
    else:
        key = _source_key(method)

    def measure(fold: Split) -> Measured:
        train, test = fold
        began = perf_counter()
        estimator = make(data.name, seed, n_jobs)
        if method.kind == "classifier":
            estimator.fit([data.graphs[i] for i in train], data.classes[train])
            found = estimator.predict([data.graphs[i] for i in test])
            accuracy = float(np.mean(found == data.classes[test]))
            return {"accuracy": accuracy, "describing": 0.0, "classifying": perf_counter() - began}
        columns, described = embed(data, estimator, train, cached, key)
        began = perf_counter()
        if method.standardise:
            columns = standardised(columns, train)
        kernels = gaussian_kernels(columns, train)
        accuracy = choose_and_score(kernels, data.classes, train, test, seed)
        return {
            "accuracy": accuracy,
            "describing": described,
            "classifying": perf_counter() - began,
        }

    return _Measure(key, measure)


def _source_key(method: Method) -> str:
    """Return the method's name and a hash of its source code."""
    source = inspect.getsource(inspect.getmodule(method.function()))
    return f"{method.home} {hashlib.sha256(source.encode()).hexdigest()[:16]}"


def fingerprint_of(estimator: Any) -> str:
    """Return what an embedding's cache key holds of a transformer."""
    return models.fingerprint(estimator) if hasattr(estimator, "n_sources") else repr(estimator)


def embed(
    data: GraphSet, estimator: Any, train: Integers, cached: Cache, key: str
) -> tuple[Any, float]:
    """Fit on the training graphs and embed all, cached by fold; return rows and seconds."""
    about = {"set": data.fingerprint, "train": train.tolist(), "estimator": key}

    def compute() -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*label.*")  # labels unseen in training
            estimator.fit([data.graphs[i] for i in train])
            return estimator.transform(data.graphs)

    began = perf_counter()
    found = cached.array(about, compute)
    took = cached.value({**about, "what": "seconds"}, lambda: perf_counter() - began)
    return found, took


def run_rows(
    set_name: str,
    names: Sequence[str],
    *,
    repeats: int | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    cache_in: Cache | None = None,
    limit: float = math.inf,
    folder: Path = storage.RESULTS,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure rows of one set and add each to the set's results file when it is finished."""
    data = load(set_name)
    for name in names:
        method = METHODS[name]
        n_repeats = repeats or default_repeats(len(data.graphs), supervised=method.supervised)
        row = classify(
            data,
            method,
            repeats=n_repeats,
            seed=seed,
            cache_in=cache_in,
            n_jobs=n_jobs,
            limit=limit,
            say=say,
        )
        add_row(data.name, name, row, data=data, folder=folder)
    return storage.read_results(folder / f"{set_name}.json") or {}


def row_key(name: str, seed: int) -> str:
    """Return the name of a row in a results file; other seeds than 0 have rows of their own.

    >>> row_key("ddgk", 0), row_key("ddgk", 3)
    ('ddgk', 'ddgk@3')
    """
    return f"{name}@{seed}" if seed else name


def usual_repeats(content: Mapping[str, Any], row: Mapping[str, Any]) -> int:
    """Return how many repeats a row of a results file gets by default."""
    return default_repeats(content["n_graphs"], supervised=row["supervised"])


def add_row(
    set_name: str,
    name: str,
    row: Mapping[str, Any],
    *,
    data: GraphSet | None = None,
    folder: Path = storage.RESULTS,
) -> None:
    """Add a row to a set's results file, replacing an earlier one of the same name and seed."""
    path = folder / f"{set_name}.json"
    content = storage.read_results(path) or {
        "experiment": "classification",
        "protocol": NESTED,
        "set": set_name,
        "rows": {},
    }
    if data is not None:
        content |= {"n_graphs": len(data.graphs), "fingerprint": data.fingerprint}
    unusual = bool(row["accuracies"]) and row["repeats"] != usual_repeats(content, row)
    about = {
        "command": f"python -m experiments classification {set_name} --rows {name}"
        + (f" --seed {row['seed']}" if row["seed"] else "")
        + (f" --repeats {row['repeats']}" if unusual else ""),
        "versions": storage.versions(),
    }
    content["rows"][row_key(name, row["seed"])] = {**row, **about}
    storage.write_results(path, content)
