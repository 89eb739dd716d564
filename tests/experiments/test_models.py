"""Everything that needs the library's estimator, on graphs whose answer is known."""

import numpy as np
import pytest

from experiments import (
    ablation,
    classifiers,
    families,
    fixed_size,
    invariance,
    models,
    neighbours,
    published,
    sampling,
    tuning,
)
from experiments.classification import classify
from experiments.methods import METHODS
from experiments.storage import Cache

FEW = {"n_sources": 3}


@pytest.fixture
def small(monkeypatch):
    """Make models with three sources."""
    real = models.make

    def make(seed, **given):
        return real(seed, **(FEW | given if "sources" not in given else given))

    monkeypatch.setattr(models, "make", make)


@pytest.mark.parametrize("title", models.CHANGES)
def test_every_change_is_a_valid_configuration(title):
    parameters, changes = models.CHANGES[title]
    model = models.make(0, changes=changes, **parameters)
    for name, value in parameters.items():
        assert model.get_params()[name] == value
    for name, value in changes.items():
        assert getattr(model.config, name) == value


@pytest.mark.parametrize("preset", models.GRIDS)
def test_every_point_of_a_grid_is_valid(preset):
    for name, values in models.GRIDS[preset].items():
        for value in values:
            assert models.make(0, preset=preset, changes={name: value}) is not None


def test_fingerprints_tell_methods_apart_and_not_threads():
    one = models.fingerprint(models.make(0, n_sources=2))
    assert models.fingerprint(models.make(0, n_sources=2, n_jobs=2)) == one
    assert models.fingerprint(models.make(1, n_sources=2)) != one
    assert models.fingerprint(models.make(0, n_sources=2, changes={"depth": 1})) != one


@pytest.mark.usefixtures("small")
def test_rings_and_stars_are_classified(rings_and_stars, tmp_path):
    cached = Cache(tmp_path)
    row = classify(rings_and_stars, METHODS["ddgk"], repeats=1, cache_in=cached)
    assert np.mean(row["accuracies"]) > 0.85
    again = classify(rings_and_stars, METHODS["ddgk"], repeats=1, cache_in=Cache(tmp_path))
    assert again == row


@pytest.mark.usefixtures("small")
def test_ablation_compares_with_the_default(rings_and_stars):
    only = ("node views alone", "1 sources", "1 steps")
    found = ablation.measure(rings_and_stars, only=only, repeats=1)
    assert list(found["rows"]) == ["default", "node views alone", "1 sources", "1 steps"]
    assert all(len(row["accuracies"]) == 10 for row in found["rows"].values())


@pytest.mark.usefixtures("small")
def test_other_classifiers_read_the_columns(rings_and_stars):
    found = classifiers.measure(rings_and_stars)
    assert len(found["rows"]) == 5
    assert np.mean(found["rows"]["SVC(C=10)"]["accuracies"]) > 0.8


@pytest.mark.usefixtures("small")
def test_neighbours_are_of_the_same_class(rings_and_stars):
    found = neighbours.measure(rings_and_stars, only=("DDGK",))
    assert found["rows"]["DDGK"]["agreement"] > 0.5, "more than by chance"


def test_sources_are_sampled_within_the_training_part(rings_and_stars):
    found = sampling.measure(rings_and_stars, seeds=(0,), shares=(0.2, 1.0), max_sources=8)
    assert np.shape(found["accuracies"]) == (2, 1, 10)
    assert np.mean(found["accuracies"][1]) > 0.85


@pytest.mark.usefixtures("small")
def test_renumbering_changes_nothing(rings_and_stars):
    found = invariance.measure(rings_and_stars, presets=("default",), n_sources=3, n_graphs=8)
    assert found["noise"] == {"default": 0}


def test_published_presets_run_under_all_protocols(rings_and_stars, monkeypatch):
    monkeypatch.setattr(published, "MAX_SOURCES", 3)
    found = published.measure(rings_and_stars)
    assert set(found["rows"]) == {"paper", "authors"}
    for row in found["rows"].values():
        assert {name: len(values) for name, values in row.items()} == {
            "nested": 100,
            "paper": 10,
            "authors": 10,
        }
    assert "rings and stars, preset authors" in published.table([found])


def test_networks_of_fixed_size_are_compared_with_the_full_matrix(rings_and_stars, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(fixed_size, "REPEATS", 1)
    monkeypatch.setattr(fixed_size, "N_SOURCES", 1)
    monkeypatch.setattr(fixed_size, "LAYERS", ((), (2, 2)))
    found = fixed_size.measure(rings_and_stars, n_graphs=23)
    assert [row["layers"] for row in found["rows"]] == [[], [], [2, 2], [2, 2]]
    assert all(len(row["accuracies"]) == 10 for row in found["rows"])
    assert "| hidden layers (2, 2) | glorot |" in fixed_size.table([found])


def test_tuning_resumes(rings_and_stars, tmp_path):
    pytest.importorskip("optuna")
    first = tuning.measure(rings_and_stars, cache_in=Cache(tmp_path), trials=1, n_sources=2)
    assert len(first["trials"]) == 1
    more = tuning.measure(rings_and_stars, cache_in=Cache(tmp_path), trials=2, n_sources=2)
    assert len(more["trials"]) == 2
    assert first["trials"][0] in more["trials"]


def test_networks_are_compared_by_kind(monkeypatch):
    monkeypatch.setattr(families, "SIZES", (60, 90))
    monkeypatch.setattr(families, "NETWORK", "karate")
    found = families.measure(n_nodes=120, n_per_kind=2)
    assert set(found) == {"big", "sizes"}
    assert len(found["big"]["DDGK"]["by_kind"]) == 5
    assert len(found["sizes"]["DDGK"]["by_kind"]) == 7
    shares = [row["share"] for part in found.values() for row in part.values()]
    assert all(0 <= share <= 1 for share in shares)
    assert max(shares) > 0.5
