import numpy as np
import pytest

from ddgk.datasets import Dataset
from ddgk.errors import DatasetError, ParameterError
from ddgk.evaluation import tuning
from ddgk.evaluation.tuning import GRID, Budget, Objective, as_method, summarise, tune
from ddgk.method import PRESETS

optuna = pytest.importorskip("optuna", reason="tuning needs Optuna (extra tune)")


def shortened(values):
    return {name: tuple(values.get(name, options)) for name, options in GRID.items()}


@pytest.fixture(autouse=True)
def small_grid(monkeypatch):
    small = shortened({"dimension": (2, 4), "depth": (1, 2), "epochs": (20, 40)})
    monkeypatch.setattr(tuning, "GRID", small)


def test_trials_are_kept_and_continued(rings_and_stars, tmp_path):
    first = tune(rings_and_stars, tmp_path, Budget(2), n_sources=4)
    assert len(first) == 2
    more = tune(rings_and_stars, tmp_path, Budget(4), n_sources=4)
    assert len(more) == 4
    assert all(trial in more for trial in first)
    assert tune(rings_and_stars, tmp_path, Budget(3), n_sources=4) == more, "nothing is left to do"
    assert len({str(trial.parameters) for trial in more}) > 2, "the sampler did not begin again"
    values = [trial.dev for trial in more if trial.dev is not None]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0.8
    table = summarise(more, rings_and_stars, "c", {}).tables[0]
    assert table.columns == (*GRID, "dev accuracy", "test accuracy")
    assert len(table.rows) == len(values)


def test_seconds_end_it(rings_and_stars, tmp_path):
    assert tune(rings_and_stars, tmp_path, Budget(50, seconds=0), n_sources=2) == []


def test_the_test_part_has_no_say(rings_and_stars):
    """Changing the classes of the test part changes no dev accuracy."""
    objective = Objective(rings_and_stars, "default", 4, 0, 1)
    held = set(objective.test)
    assert not held & set(objective.sources)
    for train, dev in objective.splits:
        assert not held & {*train, *dev}
    point = {name: options[0] for name, options in tuning.GRID.items()}
    before = objective(optuna.trial.FixedTrial(point))
    objective.classes = objective.classes.copy()
    objective.classes[objective.test] = 1 - objective.classes[objective.test]
    assert objective(optuna.trial.FixedTrial(point)) == before


def test_a_trial_that_falls_behind_ends_early(rings_and_stars, monkeypatch):
    objective = Objective(rings_and_stars, "default", 8, 0, 1)
    embedded = []
    real = Objective._embed

    def spy(self, parameters, sources):
        embedded.append(len(sources))
        return real(self, parameters, sources)

    monkeypatch.setattr(Objective, "_embed", spy)

    class Behind(optuna.trial.FixedTrial):
        def should_prune(self):
            return True

    point = {name: options[0] for name, options in tuning.GRID.items()}
    with pytest.raises(optuna.TrialPruned):
        objective(Behind(point))
    assert embedded == [2], "a quarter of the sources, and no more"
    embedded.clear()
    objective(optuna.trial.FixedTrial(point))
    assert embedded == [2, 2, 4]


def test_points_of_the_grid_are_methods():
    point = {name: options[0] for name, options in GRID.items()}
    for preset, method in PRESETS.items():
        changed = method.changed(**as_method(point, preset))
        assert changed.encoder_epochs == 100
        assert (changed.curve == (100,)) == (len(method.curve) == 1)


def test_refusals(rings_and_stars, tmp_path):
    with pytest.raises(DatasetError, match="no classes"):
        tune(Dataset(rings_and_stars.graphs, None, "x"), tmp_path, Budget(1))
    with pytest.raises(ParameterError):
        tune(rings_and_stars, tmp_path, Budget(0))
    with pytest.raises(ParameterError, match="preset"):
        tune(rings_and_stars, tmp_path, Budget(1), preset="mine")


def test_the_paper_s_grid():
    assert min(GRID["dimension"]) == 2
    assert max(GRID["dimension"]) == 32
    assert GRID["depth"] == (1, 2, 3, 4)
    assert np.ptp(np.log10(GRID["rate"])) == pytest.approx(4)
    assert GRID["epochs"] == (100, 300, 600)
    assert (min(GRID["coefficients"]), max(GRID["coefficients"])) == (0, 2)
