"""The nested protocol: what is fitted where, what is cached, what a results file holds."""

import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from experiments import classification, methods, storage, table
from experiments.baselines.counting import LabelHistogram
from experiments.classification import add_row, classify
from experiments.methods import METHODS, Method
from experiments.storage import Cache

FITTED = []


class Recorder(TransformerMixin, BaseEstimator):
    """Degrees' mean square, which tells stars from rings; records what it is fitted on."""

    def fit(self, X, y=None):  # noqa: ARG002, N803
        FITTED.append([id(graph) for graph in X])
        return self

    def transform(self, X):  # noqa: N803
        degrees = [np.bincount(g.edges.ravel(), minlength=g.n_nodes) for g in X]
        return np.array([[np.mean(d.astype(float) ** 2), np.var(d)] for d in degrees])


def make_recorder(_set_name, _seed, _n_jobs):
    return Recorder()


@pytest.fixture
def recorder(monkeypatch):
    FITTED.clear()
    monkeypatch.setattr(methods, "make_recorder", make_recorder, raising=False)
    return Method("recorder", "transformer", "methods:make_recorder")


def test_a_transformer_is_fitted_on_training_graphs_only(recorder, rings_and_stars):
    row = classify(rings_and_stars, recorder, repeats=1)
    assert np.mean(row["accuracies"]) > 0.9
    assert len(FITTED) == 10
    everyone = {id(graph) for graph in rings_and_stars.graphs}
    left_out = [everyone - set(fitted) for fitted in FITTED]
    assert set().union(*left_out) == everyone, "every graph is tested once"
    assert all(2 <= len(test) <= 4 for test in left_out)


def test_folds_are_cached_and_resumed(recorder, rings_and_stars, tmp_path):
    once = classify(rings_and_stars, recorder, repeats=1, cache_in=Cache(tmp_path))
    again = classify(rings_and_stars, recorder, repeats=1, cache_in=Cache(tmp_path))
    assert len(FITTED) == 10, "nothing is fitted twice"
    assert again == once
    more = classify(rings_and_stars, recorder, repeats=2, cache_in=Cache(tmp_path))
    assert len(FITTED) == 20
    assert more["accuracies"][:10] == once["accuracies"]


def test_no_repeat_is_begun_that_would_end_too_late(recorder, rings_and_stars):
    row = classify(rings_and_stars, recorder, repeats=4, limit=0.0)
    assert (row["repeats"], len(row["accuracies"])) == (1, 10)


def test_a_failure_does_not_replace_repeats_that_are_there(recorder, rings_and_stars, tmp_path):
    row = classify(rings_and_stars, recorder, repeats=1)
    add_row("SET", "wl", row, data=rings_and_stars, folder=tmp_path)
    for name in ("wl", "sp"):
        table.add_failure("SET", name, 60.0, "not finished", seed=0, folder=tmp_path)
    rows = storage.read_results(tmp_path / "SET.json")["rows"]
    assert len(rows["wl"]["accuracies"]) == 10
    assert rows["sp"]["problem"] == "not finished"


def test_damaged_cache_files_are_computed_again(recorder, rings_and_stars, tmp_path):
    once = classify(rings_and_stars, recorder, repeats=1, cache_in=Cache(tmp_path))
    for path in tmp_path.rglob("*.*"):
        path.write_bytes(path.read_bytes()[:20])
    again = classify(rings_and_stars, recorder, repeats=1, cache_in=Cache(tmp_path))
    assert again["accuracies"] == once["accuracies"]


def test_counting_cannot_tell_rings_from_stars_by_nodes(rings_and_stars):
    """Rings have one edge more, so (n, m) can; the label histogram contains (n, m)."""
    found = classify(rings_and_stars, METHODS["sizes"], repeats=1)
    assert np.mean(found["accuracies"]) > 0.9
    assert found["describing"] >= 0
    assert not found["supervised"]


def test_classes_dealt_at_random_are_not_learned(rings_and_stars):
    dealt = np.random.default_rng(0).permutation(rings_and_stars.classes)
    shuffled = type(rings_and_stars)("dealt", rings_and_stars.graphs, dealt)
    assert np.mean(classify(shuffled, METHODS["wl"], repeats=2)["accuracies"]) < 0.75


def test_rows_are_added_to_a_results_file(recorder, rings_and_stars, tmp_path):
    row = classify(rings_and_stars, recorder, repeats=1)
    add_row("SET", "wl", row, data=rings_and_stars, folder=tmp_path)
    add_row("SET", "sp", row, data=rings_and_stars, folder=tmp_path)
    content = json.loads((tmp_path / "SET.json").read_text())
    assert set(content["rows"]) == {"wl", "sp"}
    assert content["n_graphs"] == 24
    assert content["fingerprint"] == rings_and_stars.fingerprint
    kept = content["rows"]["wl"]
    assert kept["command"] == "python -m experiments classification SET --rows wl --repeats 1"
    assert {"numpy", "scikit-learn", "python"} <= set(kept["versions"])
    assert kept["seed"] == 0
    assert len(kept["accuracies"]) == 10


def test_the_table_runs_what_is_missing(recorder, rings_and_stars, tmp_path):
    row = classify(rings_and_stars, recorder, repeats=1)
    add_row("SET", "wl", {**row, "repeats": 10}, data=rings_and_stars, folder=tmp_path)
    add_row("SET", "sp", {**row, "repeats": 3}, data=rings_and_stars, folder=tmp_path)
    found = [table.is_missing("SET", n, seed=0, folder=tmp_path) for n in ("wl", "sp", "gin")]
    assert found == [False, True, True]
    assert table.is_missing("SET", "wl", seed=1, folder=tmp_path)
    add_row("SET", "wl", {**row, "repeats": 10, "seed": 1}, data=rings_and_stars, folder=tmp_path)
    assert not table.is_missing("SET", "wl", seed=1, folder=tmp_path)
    assert not table.is_missing("SET", "wl", seed=0, folder=tmp_path), "seed 0 is kept"


def test_a_row_that_does_not_finish_says_how_long_it_tried(tmp_path):
    table.run(
        sets=["MUTAG"],
        rows=["sizes"],
        others=False,
        limit=0.05,
        folder=tmp_path,
        say=lambda _: None,
    )
    row = storage.read_results(tmp_path / "MUTAG.json")["rows"]["sizes"]
    assert row["accuracies"] == []
    assert row["problem"] == "not finished within 0 s"


def test_other_files_are_refused(tmp_path):
    (tmp_path / "x.json").write_text('{"format": "ddgk results 1"}')
    with pytest.raises(ValueError, match="not a results file"):
        storage.read_results(tmp_path / "x.json")


def test_the_histogram_ignores_labels_that_fit_did_not_see(rings_and_stars):
    histogram = LabelHistogram().fit(rings_and_stars.graphs[:1])
    other = rings_and_stars.graphs[0].replace(node_labels="xxxx")
    assert histogram.transform([other]).tolist() == [[4, 4, 0, 0]]


def test_every_method_can_be_imported():
    for method in METHODS.values():
        assert callable(method.function()), method.title


def test_fingerprints_see_labels_and_classes(rings_and_stars):
    other = type(rings_and_stars)("other", rings_and_stars.graphs, 1 - rings_and_stars.classes)
    assert other.fingerprint != rings_and_stars.fingerprint
    assert classification.fingerprint_of(LabelHistogram()) == "LabelHistogram()"
