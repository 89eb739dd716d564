"""Nested 10-fold accuracy of a preset beside the trivial baselines, on the same folds.

    python benchmarks/accuracy.py MUTAG PTC_MR --sources 32 --repeats 2

Protocol `nested`: stratified 10-fold, repeated with other shuffles; C and gamma of an RBF support
vector machine are chosen by 5-fold cross-validation inside each training part, on columns
standardised by that training part. Graphs are embedded once; per fold only columns of sources in
the training part count.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.svm import SVC

import ddgk

Array = NDArray[np.float64]
PENALTIES = (0.1, 1, 10, 100, 1000)
GAMMAS = (0.1, 0.3, 1, 3)  # in units of 1 / n_columns, scikit-learn's "scale" on such columns


def trivial_features(graphs: list[ddgk.Graph], *, histogram: bool) -> Array:
    """Return n, m and, if wanted, how often each node label occurs."""
    sizes = [[g.n_nodes, g.n_edges] for g in graphs]
    if not histogram or graphs[0].node_labels is None:
        return np.array(sizes, dtype=float)
    alphabet = sorted({label for g in graphs for label in g.node_labels or ()}, key=repr)
    counts = [Counter(g.node_labels) for g in graphs]
    return np.array(
        [[*s, *(c[label] for label in alphabet)] for s, c in zip(sizes, counts, strict=True)],
        dtype=float,
    )


def fold_accuracies(
    features: Array, classes: NDArray, folds: list, columns_of: NDArray | None
) -> Array:
    """Return the accuracy of every fold; `columns_of` is the source graph behind each column."""
    found = []
    for train, test in folds:
        kept = features if columns_of is None else features[:, np.isin(columns_of, train)]
        statistics = ddgk.kernel.Statistics.of(kept[train])
        grams = [
            ddgk.kernel.rbf(kept, gamma=gamma / kept.shape[1], statistics=statistics)
            for gamma in GAMMAS
        ]
        inner = list(StratifiedKFold(5, shuffle=True, random_state=0).split(train, classes[train]))

        def inner_score(gram: Array, penalty: float, train=train, inner=inner) -> float:
            parts = [(train[a], train[b]) for a, b in inner]
            return float(np.mean([accuracy(gram, penalty, classes, a, b) for a, b in parts]))

        gram, penalty = max(itertools.product(grams, PENALTIES), key=lambda s: inner_score(*s))
        found.append(accuracy(gram, penalty, classes, train, test))
    return np.array(found)


def accuracy(gram: Array, penalty: float, classes: NDArray, train: NDArray, test: NDArray) -> float:
    machine = SVC(C=penalty, kernel="precomputed").fit(gram[np.ix_(train, train)], classes[train])
    return float(machine.score(gram[np.ix_(test, train)], classes[test]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--reduction", default=None, choices=("mean", "sum", "both"))
    parser.add_argument("--sources", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("DDGK_DATA", str(beside))

    for name in arguments.datasets:
        graphs, classes = ddgk.datasets.load(name)
        began = time.perf_counter()
        model = ddgk.DDGK(
            n_sources=arguments.sources,
            preset=arguments.preset,
            reduction=arguments.reduction,
            random_state=arguments.seed,
            n_jobs=2,
        )
        embedding = model.fit_transform(graphs)
        seconds = time.perf_counter() - began
        behind = np.repeat(model.source_indices_, embedding.shape[1] // len(model.sources_))
        folds = list(
            RepeatedStratifiedKFold(
                n_splits=10, n_repeats=arguments.repeats, random_state=arguments.seed
            ).split(embedding, classes)
        )
        ours = f"ddgk, preset {arguments.preset}"
        rows = {
            ours: fold_accuracies(embedding, classes, folds, behind),
            "(n, m)": fold_accuracies(
                trivial_features(graphs, histogram=False), classes, folds, None
            ),
            "(n, m, label histogram)": fold_accuracies(
                trivial_features(graphs, histogram=True), classes, folds, None
            ),
        }
        print(
            f"\n{name}: nested 10-fold x {arguments.repeats}, {len(model.sources_)} sources, "
            f"seed {arguments.seed}, {model.method_.curve[-1]} steps, "
            f"reduction {model.method_.reduction}, embedded in {seconds:.1f} s"
        )
        for label, scores in rows.items():
            line = f"  {label:26s} {100 * scores.mean():5.1f} ± {100 * scores.std():4.1f}"
            if label != ours:
                ahead = 100 * (rows[ours] - scores)
                error = ahead.std(ddof=1) / np.sqrt(len(ahead))
                line += f"   ddgk ahead by {ahead.mean():+.1f} (paired standard error {error:.1f})"
            print(line, flush=True)


if __name__ == "__main__":
    main()
