"""How accuracy is measured: `nested`, `paper` and `authors-code`.

    nested        stratified 10-fold, repeated with other shuffles; the classifier's parameters are
                  chosen by cross-validation inside each training part
    paper         train / dev / test; kernel, penalty and embedding are chosen by the dev accuracy
    authors-code  best score of the grid over random splits: optimistic, for comparison only

Under the first two nothing outside the training part has a say, the choice of sources included. A
number under one protocol says nothing about another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import ParameterError
from ddgk.evaluation.classifiers import (
    CLASSIFIERS,
    Classes,
    Split,
    machine_accuracies,
    ranked,
)
from ddgk.evaluation.representations import (
    Columns,
    Kernel,
    Learner,
    Positions,
    Representation,
)
from ddgk.kernel import distances

Array = NDArray[np.float64]
Advance = Callable[[int], None]
Fold = TypeVar("Fold")

N_FOLDS = 10
PAPER_PENALTIES = tuple(10.0**power for power in range(1, 10))
AUTHORS_PENALTIES = tuple(np.logspace(0, 8, 17).tolist())
AUTHORS_SEED = 8191


def ignore(done: int) -> None:
    """Show no progress."""


def nested_accuracies(
    features: ArrayLike | Representation | Learner,
    classes: ArrayLike,
    *,
    repeats: int = 10,
    seed: int = 0,
    columns_of: ArrayLike | None = None,
    classifier: str = "svm",
    n_jobs: int = 1,
    progress: Advance = ignore,
) -> Array:
    """Return the accuracies of repeated nested 10-fold cross-validation.

    With the same seed and classes the folds are the same, whatever is classified, so that methods
    can be compared fold by fold (`ddgk.evaluation.comparison.paired`).

    Beyond 1000 training graphs the support vector machine tries its 20 candidates on a stratified
    sample of 1000 of them, and the best three on the whole training part, on two inner splits.

    Parameters
    ----------
    features : array-like of shape (n_graphs, n_columns), Representation or Learner
        A learner has no use for the classifier.
    classes : array-like of shape (n_graphs,)
    repeats : int
        How often the graphs are dealt anew into ten folds.
    seed : int
    columns_of : array-like of int, of shape (n_columns,), optional
        The graph which is the source behind each column. A fold sees only columns whose source is
        in its training part.
    classifier : {"svm", "linear", "boosting"}
    n_jobs : int
        Threads. The result does not depend on it.
    progress : callable
        Called with 1 after every fold.

    Returns
    -------
    array of shape (repeats * 10,)

    Examples
    --------
    >>> classes = np.repeat([0, 1], 20)
    >>> features = classes[:, None] + np.linspace(0, 0.5, 40)[:, None]
    >>> nested_accuracies(features, classes, repeats=1).mean()
    np.float64(1.0)
    """
    if classifier not in CLASSIFIERS:
        listed = ", ".join(map(repr, CLASSIFIERS))
        raise ParameterError(f"classifier must be one of {listed}, not {classifier!r}")
    described = features if isinstance(features, Learner) else _representation(features, columns_of)
    known = checked_classes(classes, described.n_graphs)
    folds = nested_folds(known, repeats, seed)

    def of_fold(fold: Split) -> float:
        if isinstance(described, Learner):
            return described.accuracy(known, *fold, seed)
        return CLASSIFIERS[classifier](described, known, *fold, seed)

    return _over_folds(of_fold, folds, n_jobs, progress)


def paper_accuracies(
    candidates: Sequence[ArrayLike | Representation],
    classes: ArrayLike,
    *,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Advance = ignore,
) -> Array:
    """Return test accuracies under the paper's protocol.

    Every one of the ten test folds has another tenth as its dev part; the rest trains. Embedding
    (one of the candidates), kernel (linear, rbf, poly, sigmoid, on columns standardised by the
    training part) and penalty (10 to 1e9) are those of the highest dev accuracy.

    Parameters
    ----------
    candidates : sequence of arrays of shape (n_graphs, n_columns), or Representation
        The same graphs embedded with several hyperparameters; or once.
    classes, repeats, seed, n_jobs, progress
        As for `nested_accuracies`; the test folds are the same as there.
    """
    embeddings = [_representation(candidate, None) for candidate in candidates]
    if not embeddings:
        raise ParameterError("the paper's protocol needs at least one embedding")
    known = checked_classes(classes, embeddings[0].n_graphs)
    folds = nested_folds(known, repeats, seed)
    dev = [folds[i - i % N_FOLDS + (i + 1) % N_FOLDS][1] for i in range(len(folds))]

    def of_fold(fold: tuple[Split, Positions]) -> float:
        (rest, test), held = fold
        train = np.setdiff1d(rest, held)
        kernels = [k for e in embeddings for k in paper_kernels(e.columns(train))]
        grid = [(kernel, penalty) for kernel in kernels for penalty in PAPER_PENALTIES]
        kernel, penalty = ranked(grid, known, [(train, held)])[0]
        (accuracy,) = machine_accuracies(kernel, [penalty], known, train, test)
        return accuracy

    return _over_folds(of_fold, list(zip(folds, dev, strict=True)), n_jobs, progress)


def authors_code_accuracies(
    features: ArrayLike | Representation,
    classes: ArrayLike,
    *,
    seed: int = 0,
    progress: Advance = ignore,
) -> Array:
    """Return the accuracies of the best point of the grid, chosen by these very accuracies.

    As in the authors' released code: rows of Euclidean distances to all graphs are the features,
    over 10 random splits with a tenth to test; kernels linear, rbf, poly, sigmoid and 17 penalties
    from 1 to 1e8. Seed 0 gives their splits. All sources count, whichever part they are in.
    """
    from sklearn.model_selection import ShuffleSplit

    representation = _representation(features, None)
    everyone = np.arange(representation.n_graphs)
    known = checked_classes(classes, len(everyone))
    apart = (
        distances(representation.values)
        if isinstance(representation, Columns)
        else np.sqrt(representation.squared_distances(everyone))
    )
    kernels = paper_kernels(apart)
    splitter = ShuffleSplit(N_FOLDS, test_size=0.1, random_state=AUTHORS_SEED + seed)
    found = []
    for train, test in splitter.split(everyone):
        found.append(
            [machine_accuracies(k, AUTHORS_PENALTIES, known, train, test) for k in kernels]
        )
        progress(1)
    scores = np.array(found).reshape(N_FOLDS, -1)  # splits x grid
    best: Array = scores[:, scores.mean(axis=0).argmax()]
    return best


def nested_folds(classes: Classes, repeats: int, seed: int) -> list[Split]:
    """Return (train, test) of every fold of every repeat, the same whenever it is asked for."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    if not isinstance(repeats, int | np.integer) or repeats < 1:
        raise ParameterError(f"repeats must be a whole number of at least 1, not {repeats!r}")
    splitter = RepeatedStratifiedKFold(n_splits=N_FOLDS, n_repeats=int(repeats), random_state=seed)
    return list(splitter.split(np.zeros(len(classes)), classes))


def paper_kernels(columns: Array) -> list[Kernel]:
    """Return the four kernels of the paper's machine, with gamma 1 / n_columns.

    <x, y>,  exp(-gamma |x - y|^2),  (gamma <x, y>)^3,  tanh(gamma <x, y>)
    """
    products = columns @ columns.T
    gamma = 1.0 / columns.shape[1]
    own = products.diagonal()
    squared = np.maximum(own[:, None] + own[None, :] - 2.0 * products, 0.0)
    grams = [products, np.exp(-gamma * squared), (gamma * products) ** 3, np.tanh(gamma * products)]

    def reader(gram: Array) -> Kernel:
        return lambda rows, columns: gram[np.ix_(rows, columns)]

    return [reader(gram) for gram in grams]


def checked_classes(classes: ArrayLike, n_graphs: int) -> Classes:
    """Return classes as numbers from 0, or say why folds cannot be made of them."""
    given = np.asarray(classes)
    if given.shape != (n_graphs,):
        raise ParameterError(f"there are {n_graphs} graphs, but classes of shape {given.shape}")
    values, numbers, counts = np.unique(given, return_inverse=True, return_counts=True)
    if len(values) < 2 or counts.min() < N_FOLDS:
        rarest = values[counts.argmin()]
        raise ParameterError(
            f"{N_FOLDS} folds need two classes of {N_FOLDS} graphs each; there are {len(values)}, "
            f"and class {rarest!r} has {counts.min()}"
        )
    return numbers.astype(np.int64)


def _representation(
    features: ArrayLike | Representation, columns_of: ArrayLike | None
) -> Representation:
    if isinstance(features, Representation):
        return features
    return Columns.of(features, columns_of)


def _over_folds(
    of_fold: Callable[[Fold], float], folds: Sequence[Fold], n_jobs: int, progress: Advance
) -> Array:
    """Measure all folds on `n_jobs` threads.

    Libraries get one thread each whatever `n_jobs` is: they round differently on several.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    found = np.empty(len(folds))
    with threadpool_limits(1):
        work = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(of_fold)(fold) for fold in folds
        )
        for place, accuracy in enumerate(work):
            found[place] = accuracy
            progress(1)
    return found
