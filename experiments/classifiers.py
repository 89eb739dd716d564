"""Ordinary classifiers on the columns as they come: nothing tuned, nothing standardised.

The same folds as `classification`, one repeat, next to the label histogram under the
protocol nested.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from experiments import models
from experiments.classification import classify, embed, fingerprint_of
from experiments.data import GraphSet
from experiments.methods import METHODS
from experiments.protocols import nested_folds
from experiments.statistics import markdown, seconds
from experiments.storage import Cache


def ordinary(seed: int) -> dict[str, Any]:
    """Return classifiers with scikit-learn's defaults except where the title says otherwise."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    return {
        "SVC(C=10)": SVC(C=10),
        "LogisticRegression(max_iter=1000)": LogisticRegression(max_iter=1000),
        "HistGradientBoostingClassifier()": HistGradientBoostingClassifier(random_state=seed),
        "RandomForestClassifier()": RandomForestClassifier(random_state=seed),
        "KNeighborsClassifier(10)": KNeighborsClassifier(10),
    }


def measure(
    data: GraphSet, *, seed: int = 0, n_jobs: int = 1, cache_in: Cache | None = None
) -> dict[str, Any]:
    """Return accuracies and seconds per fold of every classifier, and of the label histogram."""
    cached = cache_in or Cache(None)
    key = f"methods:ddgk {fingerprint_of(models.make(seed, n_jobs=n_jobs))}"
    rows: dict[str, dict[str, Any]] = {
        title: {"accuracies": [], "seconds": []} for title in ordinary(seed)
    }
    for train, test in nested_folds(data.classes, 1, seed):
        model = models.make(seed, n_jobs=n_jobs)
        columns, _ = embed(data, model, train, cached, key)
        for title, classifier in ordinary(seed).items():
            began = perf_counter()
            classifier.fit(columns[train], data.classes[train])
            found = classifier.predict(columns[test])
            rows[title]["seconds"].append(perf_counter() - began)
            rows[title]["accuracies"].append(float(np.mean(found == data.classes[test])))
    histogram = classify(data, METHODS["histogram"], repeats=1, seed=seed, cache_in=cache_in)
    return {"set": data.name, "rows": rows, "histogram": histogram["accuracies"]}


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return accuracies of ordinary classifiers, a column per set, and seconds."""
    slowest = {
        title: max(float(np.mean(one["rows"][title]["seconds"])) for one in contents)
        for title in contents[0]["rows"]
    }
    lines = [
        [
            title,
            *(f"{100 * np.mean(one['rows'][title]['accuracies']):.1f}" for one in contents),
            seconds(took),
        ]
        for title, took in slowest.items()
    ]
    histogram = [f"{100 * np.mean(one['histogram']):.1f}" for one in contents]
    lines.append(["label histogram, nested SVM", *histogram, ""])
    text = "Nothing tuned or standardised. Seconds: fitting and predicting one fold, slowest set."
    return f"{text}\n\n{markdown(['', *(one['set'] for one in contents), 'seconds'], lines)}"
