"""DDGK keeps the promises of a scikit-learn transformer, with graphs in place of rows."""

from __future__ import annotations

import copy
import inspect
import pickle

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags

from ddgk import DDGK, Graph
from ddgk.errors import GraphError, LabelError, ParameterError
from specimens import random_graph

QUICK = {"n_sources": 2, "encoder_epochs": 20, "curve": (1, 5), "regions": 3, "random_state": 0}
GRAPHS = [random_graph(seed, labels=True) for seed in range(8)]
RINGS = [nx.cycle_graph(n) for n in range(4, 12)]
STARS = [nx.star_graph(n) for n in range(4, 12)]


def test_shape_and_names():
    model = DDGK(**QUICK)
    found = model.fit_transform(GRAPHS)
    assert found.shape == (8, 2 * (12 * 2 + 2 * 2 * 128))
    names = model.get_feature_names_out()
    assert len(names) == len(set(names)) == 1072
    assert names[0] == "source0/edges/1"
    assert names[-1] == "source1/image5.sum/127"
    assert (model.channels_[0], model.steps_) == ("edges", (1, 5))
    assert model.readouts_ == ("1", "5")
    assert [GRAPHS[i] for i in model.source_indices_] == model.sources_


def test_without_images_the_end_is_split_by_region():
    model = DDGK(**QUICK, images=0)
    rows = model.fit_transform(GRAPHS)
    assert rows.shape == (8, 2 * 12 * (2 + 3))
    assert model.get_feature_names_out()[-1] == "source1/edge_labels.reverse.sum/region2"
    assert model.readouts_ == ("1", "5", "region0", "region1", "region2")
    grid = model.by_channel(rows)
    np.testing.assert_array_equal(grid.reshape(8, -1), rows)
    np.testing.assert_allclose(grid[..., 2:].sum(-1), grid[..., 1], atol=1e-4)


def test_rows_by_channel_are_those_that_transform_returns():
    model = DDGK(**QUICK).fit(GRAPHS)
    with pytest.raises(ParameterError, match=r"rows must be \(n_graphs, 1072\)"):
        model.by_channel(np.zeros((2, 95)))


def test_parameters_are_kept_as_given_and_cloned():
    given = {**QUICK, "coefficients": {"node_labels": 2.0}, "families": ["node_labels"]}
    model = DDGK(**given)
    before = copy.deepcopy(model.get_params())
    model.fit(GRAPHS)
    assert model.get_params() == before
    assert clone(model).get_params() == before
    assert not hasattr(clone(model), "sources_")
    assert set(inspect.signature(DDGK).parameters) == set(model.get_params())
    model.set_params(n_sources=1)
    assert model.fit_transform(GRAPHS).shape[1] == 1 * (8 * 2 + 2 * 2 * 128)


def test_fit_neither_changes_nor_keeps_the_input():
    graphs = list(GRAPHS)
    networks = [nx.cycle_graph(5), nx.path_graph(4)]
    before = [sorted(network.edges()) for network in networks]
    DDGK(**QUICK).fit(graphs)
    DDGK(**QUICK).fit(networks)
    assert graphs == GRAPHS
    assert [sorted(network.edges()) for network in networks] == before


def test_fitting_twice_is_fitting_once():
    model = DDGK(**QUICK)
    first = model.fit_transform(GRAPHS)
    np.testing.assert_array_equal(model.fit_transform(GRAPHS), first)
    np.testing.assert_array_equal(DDGK(**QUICK).fit(GRAPHS).transform(GRAPHS), first)
    model.fit(GRAPHS[:3])
    assert model.transform(GRAPHS).shape[0] == 8


def test_not_fitted():
    model = DDGK()
    for call in (
        lambda: model.transform(GRAPHS),
        lambda: model.explain(GRAPHS[0], 0),
        lambda: model.node_profiles(GRAPHS[0]),
        lambda: model.get_feature_names_out(),
        lambda: model.save("nowhere"),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_pickle_and_deepcopy():
    model = DDGK(**QUICK).fit(GRAPHS)
    expected = model.transform(GRAPHS)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.transform(GRAPHS), expected)
    assert pickle.loads(pickle.dumps(DDGK(n_sources=5))).n_sources == 5


def test_tags_and_repr():
    assert not get_tags(DDGK()).input_tags.two_d_array
    assert repr(DDGK(n_sources=5)) == "DDGK(n_sources=5)"


def test_pandas_output():
    pytest.importorskip("pandas", reason="frames need pandas")
    frame = DDGK(**QUICK).set_output(transform="pandas").fit_transform(GRAPHS)
    assert list(frame.columns)[:1] == ["source0/edges/1"]
    assert frame.shape == (8, 1072)


def test_pipeline_cross_validation_and_search():
    graphs, classes = RINGS + STARS, [0] * 8 + [1] * 8
    pipeline = make_pipeline(DDGK(**QUICK), StandardScaler(), SVC())
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    assert cross_val_score(pipeline, graphs, classes, cv=folds).mean() > 0.8
    grid = {"ddgk__n_sources": [1, 2], "ddgk__curve": [(1,), (3,)]}
    search = GridSearchCV(pipeline, grid, cv=folds)
    search.fit(graphs, classes)
    assert search.best_score_ > 0.8
    assert set(search.predict(graphs[:2])) <= {0, 1}


def test_sources_equal_overlapping_and_disjoint():
    everything = DDGK(**{**QUICK, "n_sources": 99}).fit(GRAPHS)
    assert everything.source_indices_.tolist() == list(range(8))
    chosen = DDGK(**QUICK, sources=[3, 1]).fit(GRAPHS)
    assert chosen.sources_ == [GRAPHS[3], GRAPHS[1]]
    elsewhere = [random_graph(seed, labels=True) for seed in (31, 32)]
    disjoint = DDGK(**QUICK, sources=elsewhere).fit(GRAPHS)
    assert disjoint.sources_ == elsewhere
    assert disjoint.source_indices_ is None
    assert np.isfinite(disjoint.transform(GRAPHS)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_sources": 0}, "n_sources must be a whole number of at least 1, not 0"),
        ({"n_sources": 2.5}, "n_sources must be a whole number"),
        (
            {"sources": "best"},
            "sources must be one of 'random', 'sizes', 'farthest', 'facility', not 'best'",
        ),
        ({"sources": [99]}, r"sources must be positions 0\.\.7, not \[99\]"),
        ({"sources": []}, "sources must be positions"),
        ({"preset": "fast"}, "preset must be one of 'default', 'paper', 'authors', not 'fast'"),
        ({"engine": "warp"}, "engine must be one of"),
        ({"unseen_labels": "guess"}, "unseen_labels must be one of 'error', 'ignore'"),
        ({"directed": "guess"}, "directed must be one of 'error', 'undirected'"),
        ({"rate": -1}, "rate must be a number above 0"),
    ],
)
def test_bad_parameters(settings, message):
    with pytest.raises(ParameterError, match=message):
        DDGK(**{**QUICK, **settings}).fit(GRAPHS)


def test_bad_graphs_are_named():
    ring = nx.cycle_graph(5)
    loop = nx.Graph([(0, 0), (0, 1)], name="loop")
    cases = [
        (nx.DiGraph([(0, 1)]), "directed"),
        (loop, "self-loop|self loop"),
        (nx.empty_graph(0), "no nodes"),
        (nx.Graph([(0, 1, {"weight": float("nan")})]), "weight"),
        (nx.Graph([(0, 1, {"weight": 0.5})]), "weight"),
        (nx.MultiGraph([(0, 1), (0, 1)]), "more than once|parallel"),
    ]
    for graph, message in cases:
        with pytest.raises(GraphError, match=rf"graph 1.*(?:{message})"):
            DDGK(**QUICK).fit([ring, graph])
    with pytest.raises(GraphError, match=r"graph 1 \('loop'\)"):
        DDGK(**QUICK).fit([ring, loop])


def test_policies_let_them_in():
    ring = nx.cycle_graph(5)
    model = DDGK(**QUICK, directed="undirected", self_loops="drop", weights="ignore")
    odd = [nx.DiGraph([(0, 1), (1, 0), (1, 2)]), nx.Graph([(0, 0), (0, 1)])]
    odd.append(nx.Graph([(0, 1, {"weight": 0.5})]))
    assert np.isfinite(model.fit_transform([ring, *odd])).all()
    soft = [nx.Graph([(0, 1, {"weight": w}), (1, 2, {"weight": 1.0})]) for w in (0.2, 0.9)]
    kept = DDGK(**QUICK, weights="keep").fit_transform(soft)
    assert not np.array_equal(kept[0], kept[1])
    ignored = DDGK(**QUICK, weights="ignore").fit_transform(soft)
    np.testing.assert_array_equal(ignored[0], ignored[1])


def test_unseen_labels_follow_their_policy():
    new = Graph(3, [(0, 1), (1, 2)], node_labels=[0, 99, 0], edge_labels=[0, 0], name="new")
    model = DDGK(**QUICK).fit(GRAPHS)
    message = r"graph 1 \('new'\).*node label 99.*unseen_labels=\"ignore\""
    with pytest.raises(LabelError, match=message):
        model.transform([GRAPHS[0], new])
    assert np.isfinite(model.set_params(unseen_labels="ignore").transform([new])).all()
    with pytest.raises(LabelError, match="no node labels"):
        model.transform([Graph(2, [(0, 1)])])


def test_graphs_of_any_library():
    ring = nx.cycle_graph(5)
    dense = nx.to_numpy_array(ring)
    rows = DDGK(**QUICK).fit([ring, nx.path_graph(4)])
    expected = rows.transform([ring])
    for graph in (dense, sparse.csr_array(dense), list(ring.edges()), Graph(5, list(ring.edges()))):
        np.testing.assert_array_equal(rows.transform([graph]), expected)


def test_lists_are_lists():
    with pytest.raises((GraphError, ParameterError), match="list"):
        DDGK(**QUICK).fit(nx.cycle_graph(5))
    with pytest.raises((GraphError, ParameterError)):
        DDGK(**QUICK).fit([])


def test_explain_needs_a_source_that_exists():
    model = DDGK(**QUICK).fit(GRAPHS)
    for source in (2, -1, "s"):
        with pytest.raises(ParameterError, match=r"source must be 0\.\.1"):
            model.explain(GRAPHS[0], source)


def test_n_jobs_and_verbose_change_no_bits(capsys):
    expected = DDGK(**QUICK).fit_transform(GRAPHS)
    loud = DDGK(**QUICK, n_jobs=2, verbose=True).fit_transform(GRAPHS)
    np.testing.assert_array_equal(loud, expected)
    assert "pairs" in capsys.readouterr().err
