"""The method on real molecules; skipped with a reason where they are not at hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ddgk import DDGK, io
from specimens import shuffled


@pytest.fixture
def mutag(data_folder, monkeypatch):
    monkeypatch.setenv("DDGK_DATA", str(data_folder))
    return io.load("MUTAG")


def test_renumbered_molecules_have_the_same_row(mutag):
    graphs = mutag.graphs[::4]
    model = DDGK(n_sources=4, random_state=0).fit(mutag.graphs)
    copies = [shuffled(graph, seed) for seed, graph in enumerate(graphs)]
    np.testing.assert_array_equal(model.transform(graphs), model.transform(copies))


@pytest.mark.filterwarnings("ignore:.*label")
def test_the_plain_pipeline_classifies_molecules(mutag):
    """With every default; a fold may meet an atom that its training part lacks."""
    pipeline = make_pipeline(DDGK(), StandardScaler(), SVC())
    scores = cross_val_score(pipeline, mutag.graphs, mutag.classes, cv=5)
    assert np.isfinite(scores).all()
    assert scores.mean() > 0.8


@pytest.mark.slow
def test_molecules_are_told_apart(mutag):
    """Far above the two thirds that guessing the larger class gives."""
    graphs, classes = mutag
    found = DDGK(n_sources=12, random_state=0, n_jobs=2).fit_transform(graphs)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    scores = cross_val_score(SVC(C=10), found, classes, cv=folds)
    assert scores.mean() > 0.8
