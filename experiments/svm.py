"""A support vector classifier on Gram matrices, its parameters chosen inside the training part.

The optimisation problem is that of `sklearn.svm.SVC`, and a test compares the predictions. A
protocol fits ten thousand classifiers of a hundred graphs each; this solver has no set-up cost and
continues from the solution for the previous C.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Kernel = Callable[[Integers, Integers], Array]  # row and column positions -> entries
Split = tuple[Integers, Integers]  # training and test positions
Candidate = tuple[Kernel, float]  # a kernel and a value of C

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)  # C
GAMMAS = (0.1, 0.3, 1.0, 3.0)  # for squared distances of mean 2 in the training part
N_INNER = 5

# Above SAMPLE training graphs, all candidates are compared on a stratified sample of that size and
# the best N_FINALISTS on the whole training part: the solver takes cubic time.
SAMPLE = 1000
N_FINALISTS = 3
N_FINAL_SPLITS = 2

TOLERANCE = 1e-3  # libsvm's
MAX_STEPS, STEPS_PER_GRAPH = 20_000, 10  # columns without signal converge slowly at large C


def gaussian_kernels(columns: Array, train: Integers) -> list[Kernel]:
    """Return exp(-gamma d^2) for each gamma, d^2 scaled to mean 2 in the training part.

    columns: (n_graphs, n_columns), taken as they are.
    """
    values = np.asarray(columns, dtype=np.float64)
    squares = np.einsum("ij,ij->i", values, values)
    squared = np.maximum(squares[:, None] + squares[None, :] - 2.0 * (values @ values.T), 0.0)
    mean = squared[np.ix_(train, train)].mean()
    squared *= 2.0 / mean if mean > 0 else 1.0
    return [_Gaussian(squared, gamma) for gamma in GAMMAS]


def standardised(columns: Array, train: Integers) -> Array:
    """Return columns with mean 0 and variance 1 in the training part; constant columns are 0."""
    values = np.asarray(columns, dtype=np.float64)
    mean, spread = values[train].mean(axis=0), values[train].std(axis=0)
    kept = spread > 1e-12 * (1.0 + np.abs(mean))
    return (values - mean)[:, kept] / spread[kept]


def precomputed(matrices: Sequence[NDArray[np.floating]]) -> list[Kernel]:
    """Return kernels that read their entries from (n_graphs, n_graphs) matrices."""
    return [_Entries(matrix) for matrix in matrices]


class _Gaussian:
    def __init__(self, squared: Array, gamma: float) -> None:
        self.squared, self.gamma = squared, gamma

    def __call__(self, rows: Integers, columns: Integers) -> Array:
        return np.exp(-self.gamma * self.squared[np.ix_(rows, columns)])


class _Entries:
    def __init__(self, matrix: NDArray[np.floating]) -> None:
        self.matrix = matrix

    def __call__(self, rows: Integers, columns: Integers) -> Array:
        return self.matrix[np.ix_(rows, columns)].astype(np.float64)


def choose_and_score(
    kernels: Sequence[Kernel], classes: Integers, train: Integers, test: Integers, seed: int
) -> float:
    """Choose kernel and C by cross-validation in `train`; return the accuracy on `test`."""
    splits = inner_splits(classes, train, seed)
    if len(train) > SAMPLE:
        sample = stratified_sample(classes, train, SAMPLE, seed)
        finalists = smoothed_ranking(kernels, classes, inner_splits(classes, sample, seed))
        kernel, penalty = ranking(finalists[:N_FINALISTS], classes, splits[:N_FINAL_SPLITS])[0]
    else:
        kernel, penalty = smoothed_ranking(kernels, classes, splits)[0]
    return accuracies(kernel, [penalty], classes, train, test)[0]


def smoothed_ranking(
    kernels: Sequence[Kernel], classes: Integers, splits: Sequence[Split]
) -> list[Candidate]:
    """Rank (kernel, C) by the mean accuracy of each grid point and its neighbours.

    Held-out parts of a few dozen graphs separate candidates by a point or two of luck; neighbours
    in the grid share a candidate's merit and not its luck.
    """
    candidates = [(kernel, penalty) for kernel in kernels for penalty in PENALTIES]
    grid = mean_accuracies(candidates, classes, splits).reshape(len(kernels), len(PENALTIES))
    smooth = np.round(neighbourhood_means(grid).ravel(), 9)
    return [candidates[place] for place in np.argsort(-smooth, kind="stable")]


def ranking(
    candidates: Sequence[Candidate], classes: Integers, splits: Sequence[Split]
) -> list[Candidate]:
    """Rank candidates by mean accuracy; of equal ones the first stays first."""
    order = np.argsort(-mean_accuracies(candidates, classes, splits), kind="stable")
    return [candidates[place] for place in order]


def neighbourhood_means(grid: Array) -> Array:
    """Return the mean of every entry and the up to eight entries that touch it.

    >>> neighbourhood_means(np.array([[0.0, 0.0, 3.0]]))
    array([[0. , 1. , 1.5]])
    """
    means = np.empty_like(grid)
    for row, column in np.ndindex(*grid.shape):
        means[row, column] = grid[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2].mean()
    return means


def mean_accuracies(
    candidates: Sequence[Candidate], classes: Integers, splits: Sequence[Split]
) -> Array:
    """Return the mean accuracy of every candidate over splits."""
    scores = np.zeros(len(candidates))
    for kernel in {id(kernel): kernel for kernel, _ in candidates}.values():
        places = [i for i, candidate in enumerate(candidates) if candidate[0] is kernel]
        penalties = [candidates[i][1] for i in places]
        for train, test in splits:
            scores[places] += accuracies(kernel, penalties, classes, train, test)
    return np.round(scores / len(splits), 9)  # sums in another order differ in the last bits


def accuracies(
    kernel: Kernel, penalties: Sequence[float], classes: Integers, train: Integers, test: Integers
) -> list[float]:
    """Fit one classifier per value of C and return their accuracies on `test`."""
    found = predict(kernel(train, train), classes[train], kernel(test, train), penalties)
    return [float(share) for share in (found == classes[test]).mean(axis=1)]


def inner_splits(classes: Integers, train: Integers, seed: int) -> list[Split]:
    """Split a training part into five folds, fewer if a class has fewer members."""
    from sklearn.model_selection import StratifiedKFold

    rarest = int(np.unique(classes[train], return_counts=True)[1].min())
    splitter = StratifiedKFold(max(2, min(N_INNER, rarest)), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with one member
        return [(train[a], train[b]) for a, b in splitter.split(train, classes[train])]


def stratified_sample(classes: Integers, train: Integers, size: int, seed: int) -> Integers:
    """Draw about `size` training graphs, every class by its share, at least two of each."""
    generator = np.random.default_rng(seed)
    drawn = []
    for value in np.unique(classes[train]):
        members = train[classes[train] == value]
        count = max(2, round(size * len(members) / len(train)))
        drawn.append(generator.permutation(members)[:count])
    return np.sort(np.concatenate(drawn))


def predict(known: Array, classes: Integers, asked: Array, penalties: Sequence[float]) -> Integers:
    """Fit one classifier per value of C and return predictions, (n_penalties, n_asked).

    known: (n_train, n_train); classes: (n_train,); asked: (n_asked, n_train). Several classes: one
    classifier per pair of classes, the majority decides, and of equal ones the first.
    """
    values = np.unique(classes)
    order = np.argsort(penalties, kind="stable")
    votes = np.zeros((len(penalties), len(asked), len(values)), dtype=np.int64)
    for first, second in combinations(range(len(values)), 2):
        mine = np.flatnonzero((classes == values[first]) | (classes == values[second]))
        signs = np.where(classes[mine] == values[first], 1.0, -1.0)
        gram = known if len(mine) == len(classes) else known[np.ix_(mine, mine)]
        gram = np.ascontiguousarray(gram, dtype=np.float64)
        weights, residual = np.zeros(len(mine)), signs.copy()
        max_steps = max(MAX_STEPS, STEPS_PER_GRAPH * len(mine))
        for place in order:
            penalty = float(penalties[place])
            bias = _solve(gram, signs, penalty, weights, residual, TOLERANCE, max_steps)
            ahead = asked[:, mine] @ weights + bias > 0
            votes[place, :, first] += ahead
            votes[place, :, second] += ~ahead
    chosen: Integers = values[votes.argmax(axis=2)]
    return chosen


@njit(cache=True, nogil=True, error_model="numpy")
def _solve(
    gram: Array,
    signs: Array,
    penalty: float,
    weights: Array,
    residual: Array,
    tolerance: float,
    max_steps: int,
) -> float:
    """Continue from `weights` until the optimality conditions hold; return the bias.

        max  signs . w - w' K w / 2   subject to  sum w = 0,  0 <= signs_i w_i <= penalty

    weights (changed): w; residual (changed): signs - K w. Second-order working set selection as in
    libsvm (Fan, Chen and Lin 2005).
    """
    n = len(signs)
    tops, floors = np.where(signs > 0, penalty, 0.0), np.where(signs > 0, 0.0, -penalty)
    diagonal = np.diag(gram).copy()
    gains = np.empty(n)
    highest, lowest = 0.0, 0.0
    for _ in range(max_steps):
        i = -1
        highest = -np.inf
        for t in range(n):
            if residual[t] > highest and weights[t] < tops[t]:
                highest = residual[t]
                i = t
        j = -1
        lowest = np.inf
        gain = 0.0
        own, row = diagonal[i], gram[i]
        for t in range(n):
            gap = max(highest - residual[t], 0.0)
            gains[t] = gap * gap / max(own + diagonal[t] - 2.0 * row[t], 1e-12)
        for t in range(n):
            if weights[t] > floors[t]:
                lowest = min(lowest, residual[t])
                if gains[t] > gain:
                    gain = gains[t]
                    j = t
        if j < 0 or highest - lowest < tolerance:
            break
        other = gram[j]
        curvature = max(own + diagonal[j] - 2.0 * row[j], 1e-12)
        step = (highest - residual[j]) / curvature
        # Bounds are met exactly, otherwise rounding would select the same pair again.
        step = min(step, tops[i] - weights[i], weights[j] - floors[j])
        weights[i] = tops[i] if step >= tops[i] - weights[i] else weights[i] + step
        weights[j] = floors[j] if step >= weights[j] - floors[j] else weights[j] - step
        for t in range(n):
            residual[t] -= step * (row[t] - other[t])
    if not (np.isfinite(highest) and np.isfinite(lowest)):
        return 0.0
    return (highest + lowest) / 2.0
