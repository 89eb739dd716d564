"""`DDGK` as its users meet it."""

from __future__ import annotations

import copy
import pickle
import warnings

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ddgk import DDGK, Config, Graph, Policies
from ddgk.errors import GraphError, LabelError, ParameterError, UnseenLabelWarning
from specimens import random_graph, shuffled

GRAPHS = [random_graph(seed, labels=True) for seed in range(16)]
RINGS = [nx.cycle_graph(n) for n in range(4, 14)] + [nx.star_graph(n) for n in range(4, 14)]
KINDS = np.repeat([0, 1], 10)
QUICK = {"n_sources": 3, "random_state": 0}
PAPER = Config.preset("paper").replace(encoder_epochs=20, checkpoints=(5,))


def test_shape_and_names():
    model = DDGK(**QUICK)
    found = model.fit_transform(GRAPHS)
    assert found.shape == (16, len(model.get_feature_names_out()))
    assert found.dtype == np.float32
    assert len(model.sources_) == 3
    terms = [
        f"{a}.{part}" for a in ("node_labels", "edge_labels") for part in ("attention", "reverse")
    ]
    assert model.term_names_[3:] == terms
    assert model.checkpoints_ == (0, 1, 2, 3, 4)
    np.testing.assert_array_equal(found, model.transform(GRAPHS))
    # A row of a graph with itself is its kernel: at most 1.
    assert (np.linalg.norm(found, axis=1) < 1.001).all()


def test_the_paper_preset_returns_divergences():
    model = DDGK(2, config=PAPER, random_state=0)
    found = model.fit_transform(GRAPHS)
    assert found.shape == (16, 2)
    assert model.get_feature_names_out().tolist() == ["source0/edges/5", "source1/edges/5"]
    np.testing.assert_array_equal(found, model.divergences(GRAPHS).reshape(16, -1))


@pytest.mark.parametrize("config", ["default", PAPER])
def test_node_order_batches_threads_and_files_change_no_bit(config, tmp_path):
    model = DDGK(2, config=config, random_state=0).fit(GRAPHS)
    found = model.transform(GRAPHS)
    np.testing.assert_array_equal(found[3:4], model.transform(GRAPHS[3:4]))
    np.testing.assert_array_equal(found, model.set_params(n_jobs=2).transform(GRAPHS))
    model.save(tmp_path / "model.ddgk")
    loaded = DDGK.load(tmp_path / "model.ddgk")
    np.testing.assert_array_equal(found, loaded.transform(GRAPHS))
    assert loaded.config == as_config(config)
    if config == "default":
        copies = [shuffled(graph, place) for place, graph in enumerate(GRAPHS)]
        np.testing.assert_array_equal(found, model.transform(copies))
        again = DDGK(2, config=config, random_state=0).fit(copies)
        np.testing.assert_array_equal(found, again.transform(GRAPHS))


def as_config(config):
    return Config.preset(config) if isinstance(config, str) else config


def test_runs_give_the_same_bits(tmp_path):
    model = DDGK(**QUICK)
    plain = model.fit_transform(GRAPHS)
    kept = DDGK(**QUICK).fit_transform(GRAPHS, run=tmp_path / "run")
    np.testing.assert_array_equal(plain, kept)
    loaded = DDGK.load(tmp_path / "run")
    np.testing.assert_array_equal(plain, loaded.transform(GRAPHS))
    added = loaded.transform(
        [*GRAPHS, random_graph(99, labels=True)], run=tmp_path / "run", add=True
    )
    np.testing.assert_array_equal(plain, added[:16])


def test_parameters_are_kept_as_given_and_cloned():
    given = DDGK(4, 64, config=PAPER, unseen_labels="ignore", policies=Policies(self_loops="drop"))
    again = clone(given)
    assert again.get_params(deep=False) == given.get_params(deep=False)
    assert given.get_params()["config__learning_rate"] == PAPER.learning_rate
    assert DDGK().set_params(config__learning_rate=0.2).config.learning_rate == 0.2
    assert repr(DDGK(4)) == "DDGK(n_sources=4)"


def test_fitting_twice_is_fitting_once():
    model = DDGK(**QUICK).fit(GRAPHS[:8])
    model.fit(GRAPHS)
    np.testing.assert_array_equal(
        model.transform(GRAPHS), DDGK(**QUICK).fit(GRAPHS).transform(GRAPHS)
    )


def test_pickle_and_deepcopy():
    model = DDGK(**QUICK).fit(GRAPHS)
    found = model.transform(GRAPHS)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(found, other.transform(GRAPHS))


def test_generators_are_read_once():
    np.testing.assert_array_equal(
        DDGK(**QUICK).fit_transform(iter(GRAPHS)), DDGK(**QUICK).fit_transform(GRAPHS)
    )


def test_rings_and_stars_in_a_pipeline():
    pipeline = make_pipeline(DDGK(**QUICK), StandardScaler(), SVC())
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    assert cross_val_score(pipeline, RINGS, KINDS, cv=folds).mean() > 0.9
    grid = {
        "ddgk__n_sources": [2, 3],
        "ddgk__config__learning_rate": [0.05, 0.1],
        "svc__C": [1, 10],
    }
    search = GridSearchCV(pipeline, grid, cv=StratifiedKFold(2)).fit(RINGS, KINDS)
    assert search.best_score_ > 0.9


def test_molecules_in_a_pipeline_warn_of_unseen_labels_alone(data_folder, monkeypatch):
    monkeypatch.setenv("DDGK_DATA", str(data_folder))
    from ddgk import io

    graphs, classes = io.load("MUTAG")
    pipeline = make_pipeline(DDGK(4, random_state=0), StandardScaler(), SVC())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnseenLabelWarning)
        scores = cross_val_score(pipeline, list(graphs), classes, cv=3)
    assert np.isfinite(scores).all()
    assert scores.mean() > 0.75


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_sources": 0}, "n_sources must be a whole number"),
        ({"n_sources": True}, "n_sources must be a whole number"),
        ({"n_features": 0}, "n_features must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
        ({"max_memory": "xx"}, "max_memory must be an amount"),
        ({"config": "fast"}, "preset must be one of"),
        ({"config": 3}, "config must be a preset"),
        ({"engine": "jax"}, "engine must be one of"),
        ({"unseen_labels": "drop"}, "unseen_labels must be one of"),
        ({"policies": "drop"}, "policies must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_parameters(given, message):
    with pytest.raises(ParameterError, match=message):
        DDGK(**given).fit(GRAPHS)


def test_bad_graphs_are_named():
    with pytest.raises(GraphError, match="graph 1"):
        DDGK().fit([nx.path_graph(3), nx.MultiGraph([(0, 1), (0, 1)])])
    model = DDGK(**QUICK).fit(GRAPHS)
    with pytest.raises(LabelError, match="has no node labels"):
        model.transform([nx.path_graph(3)])


def test_unseen_labels_follow_their_policy():
    model = DDGK(**QUICK).fit(GRAPHS)
    strange = GRAPHS[3].replace(node_labels=["new"] * GRAPHS[3].n_nodes)
    with pytest.warns(UnseenLabelWarning, match="'new'"):
        found = model.transform([strange])
    assert np.isfinite(found).all()
    model.set_params(unseen_labels="ignore").transform([strange])
    with pytest.raises(LabelError, match="'new'"):
        model.set_params(unseen_labels="error").transform([strange])


def test_warnings_name_the_line_of_the_caller():
    graphs = [Graph(3, [(0, 1), (1, 2)], node_labels="CCO"), Graph(2, [(0, 1)], node_labels="CO")]
    model = DDGK(random_state=0).fit(graphs)
    with pytest.warns(UnseenLabelWarning) as caught:
        model.transform([graphs[0].replace(node_labels="CCN")])
    assert caught[0].filename == __file__


def test_fit_shows_its_progress(capsys, monkeypatch):
    monkeypatch.setattr("ddgk.estimator.PATIENCE", 0.0)
    graphs = [nx.path_graph(n) for n in (3, 4)]
    DDGK(random_state=0, verbose=True).fit(graphs)
    assert "Fitting: 2 of 2 graphs in" in capsys.readouterr().err
    DDGK(
        random_state=0,
        config=Config.preset("paper").replace(checkpoints=(2,), encoder_epochs=2),
        verbose=True,
    ).fit(graphs)
    assert "Fitting: 2 of 2 graphs in" in capsys.readouterr().err


def test_weights_beyond_fit_are_clipped_with_a_warning():
    graphs = [Graph(3, [(0, 1), (1, 2)], edge_weights=[w, 1.0]) for w in (1.0, 2.0, 4.0)]
    model = DDGK(**QUICK).fit(graphs)
    with pytest.warns(UserWarning, match="larger than any that fit saw"):
        found = model.transform([graphs[0].replace(edge_weights=[9.0, 1.0])])
    np.testing.assert_array_equal(found, model.transform([graphs[2]]))


def test_explain_adds_up_and_needs_a_source_that_exists():
    model = DDGK(**QUICK).fit(GRAPHS)
    why = model.explain(GRAPHS[5], source=1)
    np.testing.assert_allclose(
        why.divergence, model.divergences([GRAPHS[5]])[0, 1], rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(why.attention.sum(1), 1, rtol=1e-5)
    for bad in (3, -1, True, "0"):
        with pytest.raises(ParameterError, match="source must be a whole number from 0 to 2"):
            model.explain(GRAPHS[0], source=bad)


@pytest.mark.parametrize("config", ["default", PAPER])
def test_graphs_without_nodes_have_rows_of_nan(config):
    graphs = [Graph(0, []), *(random_graph(seed) for seed in range(5))]
    model = DDGK(2, config=config, random_state=0, policies=Policies(empty="keep"))
    found = model.fit_transform(graphs)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1:]).all()
    assert np.isnan(model.divergences(graphs)[0]).all()
    assert np.isnan(model.divergences(graphs[:1])).all()
    with pytest.raises(ParameterError, match="a graph with nodes"):
        model.explain(graphs[0], source=0)
    with pytest.raises(ParameterError, match="at least one graph with nodes"):
        model.fit(graphs[:1])


def test_torch_gives_nearly_the_same():
    pytest.importorskip("torch", reason="the torch engine needs torch")
    fused, slow = (DDGK(**QUICK, engine=name).fit_transform(GRAPHS) for name in ("fused", "torch"))
    apart = [np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (fused, slow)]
    np.testing.assert_allclose(*apart, atol=0.05)


def test_a_damaged_model_is_refused(tmp_path):
    from ddgk.errors import ModelFileError

    DDGK(**QUICK).fit(GRAPHS).save(tmp_path / "m.ddgk")
    content = bytearray((tmp_path / "m.ddgk").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "m.ddgk").write_bytes(content)
    with pytest.raises(ModelFileError):
        DDGK.load(tmp_path / "m.ddgk")


def cycles_and_turned_paths(directed):
    """Directed cycles, and the same cycles as two directed paths from one node to another."""
    cycles = [[(i, (i + 1) % n) for i in range(n)] for n in range(4, 12)]
    turned = [[(v, u) if u >= len(c) // 2 else (u, v) for u, v in c] for c in cycles]
    return [Graph(len(edges), edges, directed=directed) for edges in (*cycles, *turned)]


def chains_of_triangles(directed):
    """Triangles that share nodes: feed-forward motifs, then feed-back loops."""
    forward, back = [(0, 1), (1, 2), (0, 2)], [(0, 1), (1, 2), (2, 0)]
    return [
        Graph(
            2 * n + 1,
            [(2 * i + u, 2 * i + v) for i in range(n) for u, v in motif],
            directed=directed,
        )
        for motif in (forward, back)
        for n in range(1, 9)
    ]


def rings_of_weights(weighted):
    """Rings whose edges weigh the same, and rings of heavy and light edges in turn."""
    sizes = range(4, 20, 2)
    rings = [[(i, (i + 1) % n) for i in range(n)] for n in sizes]
    weights = [[1.0] * n for n in sizes] + [[1.8, 0.2] * (n // 2) for n in sizes]
    return [
        Graph(len(ring), ring, edge_weights=values if weighted else None)
        for ring, values in zip(rings * 2, weights, strict=True)
    ]


@pytest.mark.parametrize("family", [cycles_and_turned_paths, chains_of_triangles, rings_of_weights])
def test_direction_or_weights_alone_tell_families_apart(family):
    """Graphs i and i + 8 differ by direction or weights alone: read without, they are equal."""
    blind = DDGK(random_state=0).fit_transform(family(False))
    np.testing.assert_array_equal(blind[:8], blind[8:])
    told = DDGK(random_state=0).fit_transform(family(True))
    assert np.linalg.norm(told[:8] - told[8:], axis=1).min() > 0.5
    # Averaged over splits: chains of one or two triangles are mistaken in some of them.
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=5, random_state=0)
    scores = cross_val_score(SVC(C=100), told, np.repeat([0, 1], 8), cv=folds)
    assert scores.mean() > 0.8
