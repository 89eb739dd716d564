"""Classifiers whose parameters are chosen inside the training part."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.evaluation.machines import predict
from ddgk.evaluation.representations import Kernel, Positions, Representation

Classes = NDArray[np.int64]
Classifier = Callable[[Representation, Classes, Positions, Positions, int], float]

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
N_INNER = 5

# Beyond so many training graphs all candidates are tried on a stratified sample of them, and only
# the best go on to the whole training part: a support vector machine takes cubic time.
SAMPLE = 1000
N_FINALISTS = 3
N_FINAL_SPLITS = 2

Candidate = tuple[Kernel, float]
Split = tuple[Positions, Positions]


def svm_accuracy(
    representation: Representation, classes: Classes, train: Positions, test: Positions, seed: int
) -> float:
    """Return the accuracy of a support vector machine, kernel and penalty chosen in `train`."""
    kernels = representation.kernels(train)
    splits = inner_splits(classes, train, seed)
    if len(train) > SAMPLE:
        sample = stratified_sample(classes, train, SAMPLE, seed)
        finalists = by_plateau(kernels, classes, inner_splits(classes, sample, seed))[:N_FINALISTS]
        kernel, penalty = ranked(finalists, classes, splits[:N_FINAL_SPLITS])[0]
    else:
        kernel, penalty = by_plateau(kernels, classes, splits)[0]
    (accuracy,) = machine_accuracies(kernel, [penalty], classes, train, test)
    return accuracy


def by_plateau(
    kernels: Sequence[Kernel], classes: Classes, splits: Sequence[Split]
) -> list[Candidate]:
    """Sort kernels with penalties by the mean accuracy of each and its neighbours in the grid.

    A few dozen graphs held out tell machines apart by a point or two of luck; neighbours share the
    merit of a machine but not its luck.
    """
    candidates = [(kernel, penalty) for kernel in kernels for penalty in PENALTIES]
    alone = mean_accuracies(candidates, classes, splits).reshape(len(kernels), len(PENALTIES))
    around = np.round(neighbourhood_means(alone).ravel(), 9)
    return [candidates[place] for place in np.argsort(-around, kind="stable")]


def neighbourhood_means(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of every entry and those that touch it, corners too.

    >>> neighbourhood_means(np.array([[0.0, 0.0, 3.0]]))
    array([[0. , 1. , 1.5]])
    """
    n_rows, n_columns = grid.shape
    means = np.empty_like(grid)
    for row in range(n_rows):
        for column in range(n_columns):
            near = grid[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
            means[row, column] = near.mean()
    return means


def linear_accuracy(
    representation: Representation, classes: Classes, train: Positions, test: Positions, seed: int
) -> float:
    """Return the accuracy of ridge regression on the classes, its penalty chosen leave-one-out."""
    from sklearn.linear_model import RidgeClassifierCV

    del seed  # nothing is drawn
    machine = RidgeClassifierCV(alphas=np.logspace(-1, 5, 13))
    return _score(machine, representation.columns(train), classes, train, test)


def boosting_accuracy(
    representation: Representation, classes: Classes, train: Positions, test: Positions, seed: int
) -> float:
    """Return the accuracy of boosted trees, their number chosen on a tenth of `train`."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    machine = HistGradientBoostingClassifier(
        max_iter=200,
        max_leaf_nodes=15,
        max_features=0.1,
        early_stopping=len(train) > SAMPLE,
        random_state=seed,
    )
    return _score(machine, representation.columns(train), classes, train, test)


CLASSIFIERS: dict[str, Classifier] = {
    "svm": svm_accuracy,
    "linear": linear_accuracy,
    "boosting": boosting_accuracy,
}


def ranked(
    candidates: Sequence[Candidate], classes: Classes, splits: Sequence[Split]
) -> list[Candidate]:
    """Sort candidates by their mean accuracy over splits; of equal ones the first stays ahead."""
    order = np.argsort(-mean_accuracies(candidates, classes, splits), kind="stable")
    return [candidates[i] for i in order]


def mean_accuracies(
    candidates: Sequence[Candidate], classes: Classes, splits: Sequence[Split]
) -> NDArray[np.float64]:
    """Return the mean accuracy of every candidate over splits."""
    scores = np.zeros(len(candidates))
    kernels = list({id(kernel): kernel for kernel, _ in candidates}.values())
    for kernel in kernels:
        places = [i for i, candidate in enumerate(candidates) if candidate[0] is kernel]
        penalties = [candidates[i][1] for i in places]
        for train, test in splits:
            scores[places] += machine_accuracies(kernel, penalties, classes, train, test)
    # Equal sums of fractions may differ in their last bits by the order of terms; no merit in that.
    return np.round(scores / len(splits), 9)


def machine_accuracies(
    kernel: Kernel, penalties: Sequence[float], classes: Classes, train: Positions, test: Positions
) -> list[float]:
    """Fit a machine for each penalty and return their accuracies on `test`."""
    known, asked = kernel(train, train), kernel(test, train)
    found = predict(known, classes[train], asked, penalties)
    return [float(share) for share in (found == classes[test]).mean(axis=1)]


def inner_splits(classes: Classes, train: Positions, seed: int) -> list[Split]:
    """Split a training part again; a class with fewer members than splits is spread as it goes."""
    from sklearn.model_selection import StratifiedKFold

    rarest = int(np.unique(classes[train], return_counts=True)[1].min())
    n_splits = max(2, min(N_INNER, rarest))
    splitter = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of one member
        return [(train[a], train[b]) for a, b in splitter.split(train, classes[train])]


def stratified_sample(classes: Classes, train: Positions, size: int, seed: int) -> Positions:
    """Draw about `size` of the training graphs, every class by its share and none left out."""
    generator = np.random.default_rng(seed)
    drawn = []
    for value in np.unique(classes[train]):
        members = train[classes[train] == value]
        count = max(2, round(size * len(members) / len(train)))
        drawn.append(generator.permutation(members)[:count])
    return np.sort(np.concatenate(drawn))


def _score(
    machine: Any, columns: Any, classes: Classes, train: Positions, test: Positions
) -> float:
    machine.fit(columns[train], classes[train])
    return float(np.mean(machine.predict(columns[test]) == classes[test]))
