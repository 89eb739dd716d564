import numpy as np
import pytest
from sklearn.svm import SVC

from experiments.protocols import nested_folds
from experiments.svm import GAMMAS, choose_and_score, gaussian_kernels, predict, standardised

PENALTIES = (0.1, 1.0, 10.0, 100.0)


def problem(n_classes, seed, n=90):
    generator = np.random.default_rng(seed)
    columns = generator.normal(size=(n, 5))
    classes = np.digitize(
        columns[:, 0] + 0.5 * columns[:, 1] * columns[:, 2] + 0.4 * generator.normal(size=n),
        np.linspace(-1, 1, n_classes + 1)[1:-1],
    )
    squared = ((columns[:, None] - columns[None]) ** 2).sum(-1)
    return np.exp(-0.2 * squared), classes * 3 + 7


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_scikit_learn(n_classes, seed):
    gram, classes = problem(n_classes, seed)
    train, test = np.arange(60), np.arange(60, 90)
    found = predict(
        gram[np.ix_(train, train)], classes[train], gram[np.ix_(test, train)], PENALTIES
    )
    assert found.shape == (4, 30)
    for penalty, ours in zip(PENALTIES, found, strict=True):
        classifier = SVC(C=penalty, kernel="precomputed")
        classifier.fit(gram[np.ix_(train, train)], classes[train])
        theirs = classifier.predict(gram[np.ix_(test, train)])
        # Both stop at the same tolerance, so only a graph on the border may go either way.
        assert (ours != theirs).sum() <= (1 if n_classes == 2 else 3)
    assert (found[0] != found[-1]).any(), "penalties that change nothing would prove nothing"


def test_the_order_of_penalties_does_not_matter():
    gram, classes = problem(2, 0)
    up = predict(gram, classes, gram, PENALTIES)
    down = predict(gram, classes, gram, PENALTIES[::-1])
    assert (up == down[::-1]).all()


def test_a_kernel_that_separates_nothing_still_ends():
    classes = np.repeat([0, 1], [20, 10])
    found = predict(np.ones((30, 30)), classes, np.ones((5, 30)), [1.0, 1e9])
    assert (found == 0).all(), "the majority"


def test_an_indefinite_kernel_still_ends():
    gram, classes = problem(2, 1)
    found = predict(np.tanh(3 * gram - 2), classes, gram, [1e9])
    assert np.isin(found, classes).all()


def test_mean_squared_distance_is_two_in_the_training_part():
    columns = np.random.default_rng(0).normal(size=(30, 4)) * 7
    train = np.arange(20)
    narrow = gaussian_kernels(columns, train)[GAMMAS.index(1.0)](train, train)
    assert -np.log(narrow).mean() == pytest.approx(2.0)


def test_the_training_part_alone_decides_the_scale():
    columns = np.random.default_rng(1).normal(size=(40, 3))
    train, test = np.arange(36), np.arange(36, 40)
    before = standardised(columns, train)
    columns[test] *= 1000
    assert (standardised(columns, train)[train] == before[train]).all()


def test_constant_columns_are_dropped():
    columns = np.ones((10, 3))
    columns[:, 1] = np.arange(10)
    assert standardised(columns, np.arange(8)).shape == (10, 1)


def test_large_sets_are_chosen_on_a_sample(monkeypatch):
    """The short way must stay close to the long one; here the sample is 30 of 54."""
    generator = np.random.default_rng(0)
    classes = np.arange(60) % 2
    columns = generator.normal(size=(60, 4)) + np.outer(classes, [2.0, 0, 0, 0])
    folds = nested_folds(classes, 2, 0)

    def mean():
        return np.mean(
            [
                choose_and_score(gaussian_kernels(columns, train), classes, train, test, 0)
                for train, test in folds
            ]
        )

    whole = mean()
    monkeypatch.setattr("experiments.svm.SAMPLE", 30)
    assert abs(mean() - whole) < 0.1
