"""scikit-learn finds in our transformer what it asks its own for, and is not loaded to score."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ddgk import DDGK
from ddgk.errors import ParameterError
from ddgk.transformer import draw_seed
from specimens import random_graph

GRAPHS = [random_graph(seed) for seed in range(5)]
QUICK = {"n_sources": 2, "random_state": 0}


def test_scoring_does_not_load_scikit_learn():
    code = (
        "import sys, ddgk\n"
        "graphs = [ddgk.Graph(3, [(0, 1), (1, 2)]), ddgk.Graph(3, [(0, 1), (1, 2), (0, 2)])]\n"
        "ddgk.DDGK(random_state=0).fit_transform(graphs)\n"
        "print([m for m in ('sklearn', 'scipy.stats', 'pandas', 'torch') if m in sys.modules])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


@pytest.mark.parametrize("seed", [0, 7, np.int64(3)])
def test_seeds_are_those_of_scikit_learn(seed):
    assert draw_seed(seed) == check_random_state(seed).randint(2**31 - 1)
    state = np.random.RandomState(seed)
    assert draw_seed(state) != draw_seed(state)
    assert draw_seed(np.random.default_rng(seed)) == draw_seed(np.random.default_rng(seed))


def test_without_a_seed_numpys_own_state_decides():
    assert draw_seed(None) != draw_seed(None)


@pytest.mark.parametrize("bad", [-1, 2**32, 1.5, "0"])
def test_what_is_no_seed_is_refused(bad):
    with pytest.raises(ParameterError, match="random_state must be a whole number"):
        DDGK(random_state=bad).fit(GRAPHS)


def test_unknown_parameters_are_named_and_change_nothing():
    model = DDGK(n_sources=3)
    with pytest.raises(ParameterError, match="DDGK has no parameter 'n_source', but n_sources"):
        model.set_params(config="paper", n_source=4)
    assert model.config == "default"


def test_repr_shows_what_was_changed():
    assert repr(DDGK()) == "DDGK()"
    assert repr(DDGK(4, sources=np.array([1, 2]))) == "DDGK(n_sources=4, sources=array([1, 2]))"


def test_frames_by_own_wish_by_a_pipelines_and_by_the_global_one():
    pandas = pytest.importorskip("pandas")
    plain = DDGK(**QUICK).fit_transform(GRAPHS)
    model = clone(DDGK(**QUICK).set_output(transform="pandas"))
    frame = model.fit_transform(GRAPHS)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame.to_numpy(), plain)
    assert isinstance(model.set_output(transform="default").transform(GRAPHS), np.ndarray)
    pipeline = make_pipeline(DDGK(**QUICK), StandardScaler()).set_output(transform="pandas")
    assert list(pipeline.fit_transform(GRAPHS).columns) == list(frame.columns)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(DDGK(**QUICK).fit_transform(GRAPHS), pandas.DataFrame)
        assert isinstance(model.transform(GRAPHS), np.ndarray)
    with pytest.raises(ParameterError, match="transform must be one of 'default', 'pandas'"):
        model.set_output(transform="excel")


def test_a_union_puts_columns_side_by_side():
    def sizes(graphs):
        return np.array([[graph.n_nodes, graph.n_edges] for graph in graphs])

    union = FeatureUnion([("ddgk", DDGK(**QUICK)), ("sizes", FunctionTransformer(sizes))])
    found = union.fit_transform(GRAPHS)
    np.testing.assert_array_equal(found[:, :-2], DDGK(**QUICK).fit_transform(GRAPHS))
    np.testing.assert_array_equal(found[:, -2:], sizes(GRAPHS))


def test_scikit_learn_sees_whether_it_is_fitted():
    model = DDGK(**QUICK)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError, match="call fit with graphs first"):
        model.transform(GRAPHS)
    check_is_fitted(model.fit(GRAPHS))
