import numpy as np
import pytest
from sklearn.svm import SVC

from ddgk.evaluation.machines import predict

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
        machine = SVC(C=penalty, kernel="precomputed")
        machine.fit(gram[np.ix_(train, train)], classes[train])
        theirs = machine.predict(gram[np.ix_(test, train)])
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
