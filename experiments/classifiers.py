"""Ordinary classifiers on the columns as they come: nothing tuned, nothing standardised.

The same folds as `classification`, one repeat, next to the label histogram under the
protocol nested.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from experiments import models
from experiments.classification import classify, embed, fingerprint_of
from experiments.data import GraphSet
from experiments.methods import METHODS
from experiments.protocols import nested_folds
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
