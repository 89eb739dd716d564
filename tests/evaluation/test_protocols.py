import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.svm import SVC

from ddgk.errors import ParameterError
from ddgk.evaluation.classifiers import CLASSIFIERS
from ddgk.evaluation.protocols import (
    AUTHORS_PENALTIES,
    AUTHORS_SEED,
    authors_code_accuracies,
    nested_accuracies,
    nested_folds,
    paper_accuracies,
)
from ddgk.evaluation.representations import Columns
from ddgk.kernel import distances


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Machines that do not converge end soon: of noise many do not."""
    monkeypatch.setattr("ddgk.evaluation.machines.MOST_STEPS", 3000)


@pytest.fixture
def noise():
    """Columns that say nothing of two classes."""
    generator = np.random.default_rng(0)
    return generator.normal(size=(60, 4)), np.arange(60) % 2


@pytest.fixture
def shifted(noise):
    """Columns of which the first says something."""
    features, classes = noise
    return features + np.outer(classes, [2.0, 0, 0, 0]), classes


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_signal_is_found_and_noise_is_not(classifier, noise, shifted):
    assert nested_accuracies(*shifted, repeats=1, classifier=classifier).mean() > 0.65
    assert nested_accuracies(*noise, repeats=1, classifier=classifier).mean() < 0.65


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_threads_and_repetition_change_nothing(classifier, shifted):
    once = nested_accuracies(*shifted, repeats=2, seed=3, classifier=classifier)
    again = nested_accuracies(*shifted, repeats=2, seed=3, classifier=classifier, n_jobs=2)
    assert once.shape == (20,)
    assert (once == again).all()
    assert (once[:10] != once[10:]).any(), "repeats deal the graphs anew"
    assert (once != nested_accuracies(*shifted, repeats=2, seed=4, classifier=classifier)).any()


def test_a_column_whose_source_is_tested_does_not_exist():
    """Column i gives away the class of graph i and of nobody else: only a leak could use it."""
    classes = np.arange(40) % 2
    leak = np.diag(2.0 * classes - 1)
    behind = np.arange(40)
    open_to_all = Columns.of(leak)
    guarded = Columns.of(leak, behind)
    train = np.arange(36)
    test = np.arange(36, 40)
    assert (open_to_all.columns(train)[test] != open_to_all.columns(train)[test][0]).any()
    assert (guarded.columns(train)[test] == guarded.columns(train)[test][0]).all()
    # Without the guard, a linear machine over all rows would read the class off the own column.
    one = nested_accuracies(guarded, classes, repeats=1, classifier="linear")
    assert one.mean() < 0.75


def test_sources_never_seen_in_training_are_an_error():
    with pytest.raises(ParameterError, match="more sources"):
        nested_accuracies(np.ones((40, 2)), np.arange(40) % 2, repeats=1, columns_of=[7, 7])


def test_the_training_part_alone_decides_the_scale():
    """What is done to graphs of the test part changes nothing for the others."""
    generator = np.random.default_rng(1)
    features = generator.normal(size=(40, 3))
    train, test = np.arange(36), np.arange(36, 40)
    before = Columns.of(features).columns(train)
    features[test] *= 1000
    assert (Columns.of(features).columns(train)[train] == before[train]).all()


def test_folds_are_stratified_and_cover_everything():
    classes = np.repeat([0, 1], [70, 30])
    folds = nested_folds(classes, repeats=2, seed=0)
    assert len(folds) == 20
    for train, test in folds:
        assert classes[test].mean() == pytest.approx(0.3)
        assert set(train) | set(test) == set(range(100))
        assert not set(train) & set(test)
    for repeat in (folds[:10], folds[10:]):
        assert sorted(np.concatenate([test for _, test in repeat])) == list(range(100))


def test_large_sets_are_chosen_on_a_sample(monkeypatch, shifted):
    """The short way must stay close to the long one; here the sample is 30 of 54."""
    whole = nested_accuracies(*shifted, repeats=2)
    monkeypatch.setattr("ddgk.evaluation.classifiers.SAMPLE", 30)
    sampled = nested_accuracies(*shifted, repeats=2)
    assert (sampled != whole).any(), "the sample was not used"
    assert abs(sampled.mean() - whole.mean()) < 0.1


def test_paper_chooses_the_embedding_on_the_dev_part(noise):
    useless, classes = noise
    useful = useless + 9.0 * classes[:, None]
    assert paper_accuracies([useless], classes, repeats=1).shape == (10,)
    assert paper_accuracies([useless], classes, repeats=1).mean() < 0.7
    assert paper_accuracies([useless, useful], classes, repeats=1).mean() > 0.8
    assert paper_accuracies([useful, useless], classes, repeats=1).mean() > 0.8


def test_paper_never_trains_on_dev_or_test(monkeypatch, shifted):
    seen = []
    from ddgk.evaluation import protocols

    real = protocols.machine_accuracies

    def spy(kernel, penalties, classes, train, test):
        seen.append((set(train), set(test)))
        return real(kernel, penalties, classes, train, test)

    monkeypatch.setattr(protocols, "machine_accuracies", spy)
    paper_accuracies([shifted[0]], shifted[1], repeats=1)
    assert len(seen) == 10
    for train, test in seen:
        assert not train & test
        assert len(train) == 48, "a tenth is the dev part, and is not trained on"


def test_authors_code_is_the_best_score_of_a_grid_search(shifted):
    features, classes = shifted
    grid = {"C": AUTHORS_PENALTIES[:5], "kernel": ["linear", "rbf", "poly", "sigmoid"]}
    splits = ShuffleSplit(10, test_size=0.1, random_state=AUTHORS_SEED)
    search = GridSearchCV(SVC(gamma="auto"), grid, cv=splits)
    search.fit(distances(features), classes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ddgk.evaluation.protocols.AUTHORS_PENALTIES", AUTHORS_PENALTIES[:5])
        found = authors_code_accuracies(features, classes)
    assert found.mean() == pytest.approx(search.best_score_)


def test_authors_code_is_optimistic(noise):
    assert authors_code_accuracies(*noise).mean() > nested_accuracies(*noise, repeats=3).mean()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"classes": [0, 1]}, "60 graphs, but classes of shape"),
        ({"classes": np.zeros(60)}, "two classes"),
        ({"classes": np.arange(60) // 55}, "class .*1.* has 5"),
        ({"features": np.full((60, 2), np.nan)}, "not finite"),
        ({"features": np.ones(60)}, "n_graphs, n_columns"),
        ({"classifier": "forest"}, "'svm', 'linear', 'boosting'"),
        ({"repeats": 0}, "at least 1"),
        ({"columns_of": [0]}, "each of the 4 columns"),
    ],
)
def test_refusals(changed, message, noise):
    features, classes = noise
    given = {"features": features, "classes": classes} | changed
    with pytest.raises(ParameterError, match=message):
        nested_accuracies(**given)


def test_progress_counts_folds(shifted):
    done = []
    nested_accuracies(*shifted, repeats=2, progress=done.append)
    assert sum(done) == 20
