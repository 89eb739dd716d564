"""A run has the same bits as an embedding in memory, and computes nothing twice."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import pytest

from ddgk.embedding import RunStopped, embed_graphs, embed_into, runs, stored_settings, train_into
from ddgk.embedding.workers import attempt_elsewhere
from ddgk.errors import (
    GraphError,
    LabelError,
    NonFiniteLossError,
    ParameterError,
    RunError,
    TileError,
)
from ddgk.graphs import Graph
from ddgk.store import load_model, open_run
from ddgk.store.files import WHOLE_RUN, Locks
from ddgk.store.run import begun_again
from degrees import DegreeEmbedder
from specimens import contents


def names(graphs):
    return [graph.name for graph in graphs]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_run_has_the_bits_of_an_embedding_in_memory(example, embedder, tmp_path, n_jobs):
    run = embed_into(tmp_path / "run", embedder, example.graphs, n_jobs=n_jobs)
    np.testing.assert_array_equal(run.rows(), example.expected)
    run = open_run(tmp_path / "run")
    assert (run.n_graphs, run.n_tiles, run.finished, run.progress) == (42, 5, set(range(5)), 1.0)
    assert run.index.counts.tolist() == [8] * 5  # two graphs were given twice
    assert run.rows().dtype == np.float32
    np.testing.assert_array_equal(run.rows(), example.expected)
    np.testing.assert_array_equal(run.rows(40), example.expected[[3, 5]])
    assert run.names == names(example.graphs)
    assert run.columns == embedder.columns
    assert len(run.log()) == 5
    assert repr(run) == (
        f"Run({str(tmp_path / 'run')!r}: 42 graphs x 4 columns, 5 of 5 tiles finished)"
    )
    assert run.verify() == []


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("max_memory", [None, "20KB", 1])
def test_rows_in_memory_depend_on_nothing_else(example, embedder, n_jobs, max_memory):
    options = {"n_jobs": n_jobs, "max_memory": max_memory}
    found = embed_graphs(embedder, iter(example.graphs[::-1]), **options)
    np.testing.assert_array_equal(found[::-1], example.expected)
    assert embed_graphs(embedder, []).shape == (0, 4)


def test_a_graph_without_nodes_has_a_row_of_nan(example, embedder, tmp_path):
    graphs = [*example.graphs[:10], Graph(0, [], name="empty"), *example.graphs[10:]]
    found = embed_graphs(embedder, graphs)
    assert np.isnan(found[10]).all()
    np.testing.assert_array_equal(np.delete(found, 10, axis=0), example.expected)
    assert "empty" not in embedder.computed
    run = embed_into(tmp_path / "run", embedder, graphs)
    np.testing.assert_array_equal(run.rows(), found)
    assert run.verify() == []
    assert np.isnan(embed_graphs(embedder, [Graph(0, [])])).all()


@pytest.mark.parametrize("address", ["memory://runs", "local://"])
def test_a_bucket_works_by_the_same_code(example, embedder, tmp_path, address):
    pytest.importorskip("fsspec")
    where = f"{address}{tmp_path}/run"
    found = embed_into(where, embedder, example.graphs).rows()
    np.testing.assert_array_equal(found, example.expected)
    assert len(embedder.computed) == 40
    np.testing.assert_array_equal(open_run(where).rows(), example.expected)
    added = embed_into(where, embedder, example.new, add=True).rows()
    np.testing.assert_array_equal(added, example.expected_new)
    assert len(embedder.computed) == 52
    assert len(open_run(where).log()) == 7
    assert open_run(where).verify() == []
    assert load_model(where, DegreeEmbedder.from_parts).n_powers == 3


def test_a_finished_run_computes_and_changes_nothing(example, embedder, finished):
    before = contents(finished)
    found = embed_into(finished, embedder, example.graphs[::-1])
    np.testing.assert_array_equal(found.rows(), example.expected[::-1])
    assert found.names == names(example.graphs[::-1])
    assert embedder.computed == []
    assert contents(finished) == before


def test_only_missing_tiles_are_computed(example, embedder, finished):
    kept = contents(finished / "rows")
    (finished / "rows" / "000001.safetensors").unlink()
    (finished / "rows" / "000003.safetensors").write_bytes(b"")  # as a power cut may leave it
    (finished / "rows" / ".writing-000003.safetensors.abcd").write_bytes(b"half")
    (finished / "run.log").write_bytes(b"")
    assert 0.3 < open_run(finished).progress < 0.8
    found = embed_into(finished, embedder, example.graphs).rows()
    np.testing.assert_array_equal(found, example.expected)
    assert len(embedder.computed) == 16
    now = contents(finished / "rows")
    assert all(now[name] == content for name, content in kept.items())


def test_planning_that_was_cut_off_begins_again(example, embedder, finished):
    (finished / "manifest.json").unlink()
    for path in (finished / "rows").iterdir():
        path.unlink()
    (finished / "targets" / "000000.safetensors").write_bytes(b"half")
    found = embed_into(finished, embedder, example.graphs).rows()
    np.testing.assert_array_equal(found, example.expected)


def test_added_graphs_cost_their_own_rows_only(example, embedder, finished):
    before = contents(finished)
    both = [*example.new, *example.graphs[:3], example.new[0]]
    with pytest.raises(RunError, match=r"graph 0 \('random-100'\) is not among its 42.*add=True"):
        embed_into(finished, embedder, both)
    assert contents(finished) == before
    found = embed_into(finished, embedder, iter(both), add=True).rows()
    np.testing.assert_array_equal(found[:12], example.expected_new)
    np.testing.assert_array_equal(found[12:15], example.expected[:3])
    np.testing.assert_array_equal(found[15], example.expected_new[0])
    assert sorted(embedder.computed) == sorted(names(example.new))
    run = open_run(finished)
    assert run.n_graphs == 42 + 13
    np.testing.assert_array_equal(run.rows(0, 42), example.expected)
    np.testing.assert_array_equal(run.rows(42, 54), example.expected_new)
    embedder.computed.clear()  # both calls can be repeated, and compute nothing
    embed_into(finished, embedder, both, add=True)
    embed_into(finished, embedder, example.graphs)
    assert embedder.computed == []
    assert open_run(finished).n_graphs == 55


def test_adding_that_was_cut_off_before_the_manifest_begins_again(example, embedder, finished):
    manifest = (finished / "manifest.json").read_bytes()
    embed_into(finished, embedder, example.new, add=True)
    (finished / "manifest.json").write_bytes(manifest)
    np.testing.assert_array_equal(open_run(finished).rows(), example.expected)
    again = embed_into(finished, embedder, example.new, add=True).rows()
    np.testing.assert_array_equal(again, example.expected_new)


def test_graphs_may_come_from_a_generator(example, embedder, tmp_path, monkeypatch):
    monkeypatch.setattr("ddgk.embedding.targets.GRAPHS_AT_ONCE", 10)
    run = embed_into(tmp_path, embedder, (graph for graph in example.graphs))
    assert (run.n_graphs, len(run.manifest.indices)) == (42, 5)
    monkeypatch.setattr("ddgk.store.run.BYTES_AT_ONCE", 1)
    blocks = list(run.blocks())
    assert len(blocks) == 42
    np.testing.assert_array_equal(np.concatenate(blocks), example.expected)
    assert run.names == names(example.graphs)


def test_what_cannot_be_kept_is_said_before_anything_is_computed(embedder, tmp_path):
    with pytest.raises(GraphError, match="this one is empty"):
        embed_into(tmp_path / "a", embedder, iter([]))
    with pytest.raises(LabelError, match="no file can hold"):
        embed_into(tmp_path / "b", embedder, [Graph(1, [], node_labels=[object()])])
    assert not list(tmp_path.rglob("manifest.json"))


@pytest.mark.parametrize("in_a_run", [False, True])
def test_a_failure_names_the_graph(example, in_a_run, tmp_path):
    embedder = DegreeEmbedder()
    embedder.failing["random-9"] = 99
    embed = partial(embed_into, tmp_path) if in_a_run else embed_graphs
    with pytest.raises(TileError) as caught:
        embed(embedder, example.graphs)
    said = str(caught.value)
    assert "graph 9 ('random-9'): MemoryError: no memory today" in said
    if in_a_run:
        assert "failed: graph 9" in said
        assert "4 of 5 tiles are kept in" in said
        embedder.failing["random-9"] = 0
        found = embed_into(tmp_path, embedder, example.graphs).rows()
        np.testing.assert_array_equal(found, example.expected)


def test_a_tile_that_failed_is_tried_again(example, embedder, tmp_path):
    # Its tile fails together with the others, alone, and then no more.
    embedder.failing.update({"random-9": 2, "random-30": 3})
    found = embed_into(tmp_path, embedder, example.graphs).rows()
    np.testing.assert_array_equal(found, example.expected)
    assert set(begun_again(open_run(tmp_path)).values()) == {2}


def test_many_failures_end_the_run_early(example, embedder, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "MOST_FAILURES", 2)
    embedder.failing.update(dict.fromkeys(names(example.graphs), 99))
    with pytest.raises(TileError, match=r"and 1 other tiles.*0 of 5 tiles are kept"):
        embed_into(tmp_path, embedder, example.graphs)


def test_an_error_that_would_come_again_is_not_tried_again(example, tmp_path):
    with pytest.raises(TileError, match=r"graph \d+ .*13 nodes are unlucky"):
        embed_into(tmp_path, DegreeEmbedder(n_powers=13), example.graphs)
    assert begun_again(open_run(tmp_path)) == {}
    unlucky = [Graph(13, [(0, 1)], name="g")]
    with pytest.raises(GraphError, match=r"graph 0 .*13 nodes are unlucky"):
        embed_graphs(DegreeEmbedder(n_powers=13), unlucky)


def test_rows_that_are_not_finite_are_refused(example):
    class Diverging(DegreeEmbedder):
        def rows(self, graphs, positions):
            return super().rows(graphs, positions) * np.nan

    with pytest.raises(NonFiniteLossError, match=r"graph 2 .*row is not finite"):
        embed_graphs(Diverging(), [*example.graphs[:2], Graph(14, [], name="largest")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"if_busy": "hurry"}, "if_busy must be one of 'wait', 'share', 'fail'"),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
        ({"n_jobs": True}, "n_jobs must be"),
        ({"n_jobs": "x"}, "n_jobs must be"),
        ({"max_memory": "xx"}, "an amount such as '500MB', not 'xx'"),
        ({"max_memory": 0}, "an amount such as"),
        ({"max_memory": True}, "an amount such as"),
    ],
)
def test_options_are_validated(example, embedder, tmp_path, options, message):
    with pytest.raises(ParameterError, match=message):
        embed_into(tmp_path / "run", embedder, example.graphs, **options)
    assert not (tmp_path / "run").exists()
    if "if_busy" not in options:
        with pytest.raises(ParameterError, match=message):
            embed_graphs(embedder, example.graphs, **options)


def test_a_stop_is_told_with_what_is_kept(example, embedder, tmp_path, monkeypatch):
    """Ctrl-C comes while a tile is computed: that one is still kept."""
    computing = threading.Event()

    class Slow(DegreeEmbedder):
        def rows(self, graphs, positions):
            found = super().rows(graphs, positions)
            computing.set()
            return found

    def interrupted(*_, **__):
        computing.wait(60)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("ddgk.embedding.tiles.as_completed", interrupted)
        with pytest.raises(RunStopped, match="1 of 5 tiles are kept in"):
            embed_into(tmp_path, Slow(), example.graphs)
    found = embed_into(tmp_path, embedder, example.graphs).rows()
    np.testing.assert_array_equal(found, example.expected)


def test_progress_counts_graphs(example, embedder, tmp_path, capsys, monkeypatch):
    embed_into(tmp_path / "a", embedder, example.graphs, verbose=True)
    assert "Embedding: 40 of 40 graphs in " in capsys.readouterr().err
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    embed_into(tmp_path / "b", embedder, example.graphs, verbose=True)
    assert "40 of 40 graphs" in capsys.readouterr().err


def test_a_worker_elsewhere_opens_the_run_by_itself(example, embedder, finished, tmp_path):
    before = open_run(finished)
    embed_into(finished, embedder, example.new, add=True)
    (finished / "rows" / "000000.safetensors").unlink()
    how = {"address": str(finished), "max_memory": 10**9, "kind": DegreeEmbedder}
    how |= {"key": before.manifest.key, "n_tiles": before.n_tiles}
    # Graphs that were added since do not matter.
    assert attempt_elsewhere(0, **how).state == "computed"
    assert attempt_elsewhere(0, **how).state == "stored"
    for other in ({"key": "0123"}, {"n_tiles": 99}):
        assert "finds another run at" in attempt_elsewhere(0, **how | other).error
    how["address"] = str(tmp_path / "x")
    assert "finds no run at" in attempt_elsewhere(0, **how).error
    np.testing.assert_array_equal(open_run(finished).rows(0, 42), example.expected)


def test_no_files_stay_open(example, embedder, tmp_path):
    from ddgk.embedding import workers
    from ddgk.store import files

    workers._open.cache_clear()
    embed_into(tmp_path, embedder, example.graphs)
    assert dict(files._lock_files) == {}
    with Locks(open_run(tmp_path).folder) as held:
        assert held.take(WHOLE_RUN)


def test_a_model_is_trained_once(example, tmp_path):
    trained = []

    def train():
        trained.append(DegreeEmbedder(n_powers=2))
        return trained[-1]

    settings = {"seed": 7, "rates": (0.1, 0.2)}
    first = train_into(tmp_path, settings, train, DegreeEmbedder)
    again = train_into(tmp_path, settings, train, DegreeEmbedder)
    assert (len(trained), again.identity) == (1, first.identity)
    assert stored_settings(tmp_path) == {"seed": 7, "rates": [0.1, 0.2]}
    assert stored_settings(tmp_path / "none") is None
    with pytest.raises(RunError, match="another configuration: seed is 7 there and 8 here"):
        train_into(tmp_path, settings | {"seed": 8}, train, DegreeEmbedder)
    embed_into(tmp_path, again, example.graphs)
    (tmp_path / "model.safetensors").unlink()  # it is trained again, and tiles are kept
    third = train_into(tmp_path, settings, train, DegreeEmbedder)
    assert len(trained) == 2
    embed_into(tmp_path, third, example.graphs)
    assert third.computed == []
    assert open_run(tmp_path).verify() == []
