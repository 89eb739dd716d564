import numpy as np
import pytest

from ddgk.datasets import Dataset
from ddgk.errors import DatasetError, ParameterError, RunError
from ddgk.evaluation import sampling
from ddgk.evaluation.protocols import nested_accuracies, nested_folds
from ddgk.evaluation.sampling import Embedded, Sampled, Sampling, Setting
from ddgk.graphs import Graph
from ddgk.method import Method
from ddgk.sources import CHOICES

CLASSES = np.arange(60) % 2


@pytest.fixture
def embedded():
    """Sixty graphs of forty sources, of which every column says a little of the class."""
    generator = np.random.default_rng(0)
    grid = generator.normal(size=(60, 40, 2)) + CLASSES[:, None, None]
    graphs = [Graph(n + 2, [(0, 1)]) for n in range(60)]
    return Embedded(graphs, CLASSES, grid, np.arange(10, 50), Method())


@pytest.fixture
def pilots():
    return np.arange(0, 60, 6), np.random.default_rng(1).normal(size=(60, 10, 3))


@pytest.mark.parametrize("how", CHOICES)
def test_sources_are_of_the_training_part(embedded, pilots, how):
    for train, _ in nested_folds(CLASSES, 1, 0):
        known = np.isin(embedded.sources, train)
        chosen = Sampled(embedded, *pilots, how, 0.2, 0).choose(train)
        assert len(chosen) == round(0.2 * known.sum())
        assert len(set(chosen)) == len(chosen)
        assert known[chosen].all()


@pytest.mark.parametrize("how", ["farthest", "facility"])
def test_pilots_that_are_tested_have_no_say(embedded, pilots, how):
    places, grid = pilots
    (train, _), *_ = nested_folds(CLASSES, 1, 0)
    outside = ~np.isin(places, train)
    assert outside.any(), "the fold tests a pilot, or this shows nothing"
    other = grid.copy()
    other[:, outside] = 1e6 * np.random.default_rng(2).normal(size=other[:, outside].shape)
    once, again = (
        Sampled(embedded, places, values, how, 0.2, 0).choose(train) for values in (grid, other)
    )
    assert once.tolist() == again.tolist()


def test_random_sources_are_nested_over_shares_and_differ_by_seed(embedded, pilots):
    train = np.arange(60)
    few, many, others = (
        set(Sampled(embedded, *pilots, "random", share, seed).choose(train))
        for share, seed in ((0.1, 0), (0.5, 0), (0.1, 1))
    )
    assert few < many
    assert few != others


def test_all_sources_are_the_columns_of_the_training_part(embedded, pilots):
    everything = Sampled(embedded, *pilots, "random", 1.0, 0)
    columns_of = np.repeat(embedded.sources, 2)
    plain = nested_accuracies(
        embedded.grid.reshape(60, -1), CLASSES, repeats=1, columns_of=columns_of
    )
    assert (nested_accuracies(everything, CLASSES, repeats=1) == plain).all()


def test_one_source_at_least(embedded, pilots):
    assert len(Sampled(embedded, *pilots, "facility", 0.001, 0).choose(np.arange(60))) == 1
    with pytest.raises(ParameterError, match="no source is in the training part"):
        Sampled(embedded, *pilots, "random", 0.5, 0).choose(np.arange(5))


def test_accuracy_grows_with_the_share(embedded):
    setting = Setting(shares=(0.03, 1.0), seeds=(0, 1))
    seen = []
    found = sampling.measure_sampling(embedded, setting, progress=seen.append)
    assert sum(seen) == setting.n_folds == 2 * 10 * (len(CHOICES) + 1)
    assert found.accuracies.shape == (len(CHOICES), 2, 2, 10)
    assert (found.accuracies[:, 1] == found.accuracies[0, 1]).all()
    assert found.of_full("random", 0.03) < 0.95
    assert found.of_full("random", 1.0) == 1.0


def test_it_goes_on_where_it_was_stopped(embedded, tmp_path, monkeypatch):
    setting = Setting(shares=(0.5, 1.0), seeds=(0, 1))
    plain = sampling.measure_sampling(embedded, setting)

    def stop(done):
        stop.left -= done
        if stop.left == 0:
            raise KeyboardInterrupt

    stop.left = 60
    with pytest.raises(KeyboardInterrupt):
        sampling.measure_sampling(embedded, setting, folder=tmp_path, progress=stop)
    left = []
    again = sampling.measure_sampling(embedded, setting, folder=tmp_path, progress=left.append)
    assert sum(left) == 50, "one of two seeds was finished"
    assert (again.accuracies == plain.accuracies).all()
    monkeypatch.setattr(sampling, "nested_accuracies", None)
    again = sampling.measure_sampling(embedded, setting, folder=tmp_path)
    assert (again.accuracies == plain.accuracies).all()
    (tmp_path / "accuracies" / "seed-1.json").write_text("[[5.0]]")
    with pytest.raises(RunError, match="seed 1"):
        sampling.measure_sampling(embedded, setting, folder=tmp_path)
    with pytest.raises(RunError, match="another configuration"):
        sampling.measure_sampling(embedded, Setting(seeds=(0,)), folder=tmp_path)


def test_what_is_ahead_of_random():
    accuracies = np.full((2, 2, 3, 10), 0.8)
    accuracies[1, 0] += np.linspace(0.0, 0.1, 30).reshape(3, 10)
    found = Sampling(("random", "farthest"), (0.5, 1.0), accuracies)
    ahead = found.ahead_of_random("farthest", 0.5)
    assert ahead.mean == pytest.approx(0.05)
    assert 0 < ahead.low < ahead.mean < ahead.high
    assert found.of_full("farthest", 0.5) == pytest.approx(0.85 / 0.8)


@pytest.mark.parametrize("shares", [(), (0.0, 1.0), (0.5,), (0.5, 0.2, 1.0), (0.5, 0.5, 1.0)])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(ParameterError, match="shares must"):
        Setting(shares=shares)


def test_graphs_without_classes_are_refused():
    with pytest.raises(DatasetError, match="toy has no classes"):
        sampling.embed_all(Dataset([Graph(2, [(0, 1)])], None, "toy"), Setting())
