import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.svm import SVC

from experiments import protocols
from experiments.neighbours import euclidean
from experiments.protocols import (
    AUTHORS_PENALTIES,
    AUTHORS_SEED,
    authors_accuracies,
    nested_folds,
    paper_accuracies,
)
from experiments.statistics import interval, paired


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Columns without signal converge slowly; end early."""
    monkeypatch.setattr("experiments.svm.MAX_STEPS", 3000)


@pytest.fixture
def noise():
    generator = np.random.default_rng(0)
    return generator.normal(size=(60, 4)), np.arange(60) % 2


@pytest.fixture
def shifted(noise):
    columns, classes = noise
    return columns + np.outer(classes, [3.0, 0, 0, 0]), classes


def test_folds_are_stratified_and_cover_everything():
    classes = np.repeat([0, 1], [70, 30])
    folds = nested_folds(classes, repeats=2, seed=0)
    assert len(folds) == 20
    for train, test in folds:
        assert classes[test].mean() == pytest.approx(0.3)
        assert sorted([*train, *test]) == list(range(100))
    for repeat in (folds[:10], folds[10:]):
        assert sorted(np.concatenate([test for _, test in repeat])) == list(range(100))


def test_folds_need_ten_graphs_of_each_class():
    with pytest.raises(ValueError, match="smallest with 5"):
        nested_folds(np.arange(60) // 55, 1, 0)


def test_paper_finds_signal_and_no_noise(noise, shifted):
    assert np.mean(paper_accuracies(*noise)) < 0.7
    assert np.mean(paper_accuracies(*shifted)) > 0.75


def test_paper_never_trains_on_dev_or_test(monkeypatch, shifted):
    seen = []
    real = protocols.accuracies

    def spy(kernel, penalties, classes, train, test):
        seen.append((set(train), set(test)))
        return real(kernel, penalties, classes, train, test)

    monkeypatch.setattr(protocols, "accuracies", spy)
    paper_accuracies(*shifted)
    assert len(seen) == 10
    for train, test in seen:
        assert not train & test
        assert len(train) == 48, "a tenth is the dev part and is not trained on"


def test_a_column_whose_source_is_tested_is_not_used():
    """Column i gives away the class of graph i alone: only a leak could use it."""
    classes = np.arange(40) % 2
    leak = np.diag(2.0 * classes - 1)
    assert np.mean(paper_accuracies(leak, classes, sources=np.arange(40))) < 0.75


def test_authors_is_the_best_score_of_a_grid_search(shifted, monkeypatch):
    columns, classes = shifted
    apart = euclidean(columns)
    grid = {"C": AUTHORS_PENALTIES[:5], "kernel": ["linear", "rbf", "poly", "sigmoid"]}
    splits = ShuffleSplit(10, test_size=0.1, random_state=AUTHORS_SEED)
    search = GridSearchCV(SVC(gamma="auto"), grid, cv=splits).fit(apart, classes)
    monkeypatch.setattr(protocols, "AUTHORS_PENALTIES", AUTHORS_PENALTIES[:5])
    assert np.mean(authors_accuracies(apart, classes)) == pytest.approx(search.best_score_)


def test_intervals_are_wider_than_plain_ones():
    values = np.random.default_rng(0).normal(0.8, 0.1, 100)
    found = interval(values)
    plain = 1.984 * values.std(ddof=1) / 10
    assert found.high - found.mean == pytest.approx(plain * np.sqrt(1 + 100 / 9), rel=1e-3)
    with pytest.raises(ValueError, match="at least two"):
        interval([0.5])


def test_pairs_take_the_repeats_that_both_have():
    first = [0.9, 0.8, 0.7, 0.1, 0.1]
    assert paired(first, [0.8, 0.8, 0.8]).mean == pytest.approx(0.0)
