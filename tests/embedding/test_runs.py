"""A run gives the bits of a plain transform, and computes nothing twice."""

from __future__ import annotations

import threading

import joblib
import numpy as np
import pytest

import ddgk
from ddgk.embedding import runs, tiles
from ddgk.errors import (
    GraphError,
    LabelError,
    NonFiniteLossError,
    ParameterError,
    RunError,
    TileError,
)
from ddgk.store.locks import WHOLE_RUN, Locks
from specimens import contents

pytestmark = pytest.mark.usefixtures("small_tiles")


@pytest.fixture
def counted(monkeypatch):
    """Count the tiles that are computed."""
    computed = []
    values = tiles._values

    def counting(place, tile, max_memory):
        computed.append(tile.number)
        return values(place, tile, max_memory)

    monkeypatch.setattr(tiles, "_values", counting)
    return computed


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_run_has_the_bits_of_a_plain_transform(example, make, tmp_path, n_jobs):
    found = make(n_jobs=n_jobs).fit_transform(example.graphs, run=tmp_path / "run")
    np.testing.assert_array_equal(found, example.expected)
    run = ddgk.open_run(tmp_path / "run")
    assert run.manifest.shape.targets == 8
    assert (run.n_graphs, run.n_tiles, len(run.finished), run.share) == (42, 5, 5, 1.0)
    assert sum(run.manifest.plan.batches) == 40  # two graphs were given twice
    np.testing.assert_array_equal(run.rows(), example.expected)
    np.testing.assert_array_equal(run.rows(40), example.expected[[3, 5]])
    assert run.names == [graph.name for graph in example.graphs]
    assert run.columns == example.model.get_feature_names_out().tolist()
    assert len(run.log()) == 5


@pytest.mark.parametrize("address", ["memory://runs", "local://"])
def test_a_bucket_works_by_the_same_code(example, make, tmp_path, counted, address):
    pytest.importorskip("fsspec")
    where = f"{address}{tmp_path}/run"
    found = make().fit_transform(example.graphs, run=where)
    np.testing.assert_array_equal(found, example.expected)
    assert len(counted) == 5
    again = make().fit_transform(example.graphs, run=where)
    np.testing.assert_array_equal(again, example.expected)
    added = example.model.transform(example.new, run=where, add=True)
    np.testing.assert_array_equal(added, example.expected_new)
    assert len(counted) == 7
    assert len(ddgk.open_run(where).log()) == 7
    assert ddgk.DDGK.load(where).method_ == example.model.method_


@pytest.mark.parametrize(
    "settings",
    [
        {"symmetric": True},
        {"baseline": "target"},
        {"relation": "closeness"},
        {"start": "glorot"},
        {"relation": ["node_to_edges", "edge_to_nodes", "neighborhood"], "attention_size": 2},
        {"sampled_above": 3, "samples": 8},
    ],
    ids=str,
)
def test_every_method_can_be_a_run(make, example, tmp_path, settings, monkeypatch):
    monkeypatch.setattr("ddgk.tiling.LONGEST_SECONDS", 1e-9)  # one source a tile, where that can be
    graphs = example.graphs[:12]
    plain = make(**settings).fit_transform(graphs)
    for _ in range(2):  # the second time from what the first has kept
        found = make(**settings).fit_transform(graphs, run=tmp_path)
        np.testing.assert_array_equal(found, plain)
    loaded = ddgk.DDGK.load(tmp_path)
    np.testing.assert_array_equal(loaded.transform(graphs[:2]), plain[:2])
    whole = settings.get("symmetric") or settings.get("baseline") == "target"
    assert ddgk.open_run(tmp_path).n_tiles == (2 if whole else 6)


def test_memory_for_a_few_rows_changes_no_bit(make, example, tmp_path):
    found = make(max_memory="1KB").fit_transform(example.graphs, run=tmp_path)
    np.testing.assert_array_equal(found, example.expected)
    with pytest.raises(ParameterError, match="an amount such as '500MB', not 'much'"):
        make(max_memory="much").fit_transform(example.graphs, run=tmp_path)


def test_a_finished_run_trains_nothing(make, example, tmp_path, counted, monkeypatch):
    make().fit_transform(example.graphs, run=tmp_path)
    before = contents(tmp_path)

    def fails(*_, **__):
        raise AssertionError("it trains")

    monkeypatch.setattr("ddgk.divergence.train_encoders", fails)
    monkeypatch.setattr(tiles, "_values", fails)
    model = make()
    np.testing.assert_array_equal(
        model.fit_transform(example.graphs, run=tmp_path), example.expected
    )
    assert model.source_indices_.tolist() == example.model.source_indices_.tolist()
    assert contents(tmp_path) == before
    assert len(counted) == 5


def test_only_missing_tiles_are_computed(make, example, tmp_path, counted):
    make().fit_transform(example.graphs, run=tmp_path)
    kept = contents(tmp_path)
    (tmp_path / "divergences" / "c.1.0.0").unlink()
    (tmp_path / "divergences" / "c.3.0.0").write_bytes(b"")  # as a power cut may leave it
    (tmp_path / "divergences" / ".writing-c.3.0.0.abcd").write_bytes(b"half")
    (tmp_path / "run.log").write_bytes(b"")
    counted.clear()
    np.testing.assert_array_equal(
        make().fit_transform(example.graphs, run=tmp_path), example.expected
    )
    assert sorted(counted) == [1, 3]
    now = contents(tmp_path)
    assert all(now[name] == kept[name] for name in kept if name.parent.name == "divergences")


def test_planning_that_was_cut_off_begins_again(make, example, tmp_path):
    make().fit_transform(example.graphs, run=tmp_path)
    (tmp_path / "manifest.json").unlink()
    for chunk in (tmp_path / "divergences").glob("c.*"):
        chunk.unlink()
    (tmp_path / "graphs" / "000000.safetensors").write_bytes(b"half")
    np.testing.assert_array_equal(
        make().fit_transform(example.graphs, run=tmp_path), example.expected
    )


def test_new_targets_cost_new_rows_only(make, example, tmp_path, counted):
    make().fit_transform(example.graphs, run=tmp_path)
    before = contents(tmp_path)
    counted.clear()
    both = [*example.new, *example.graphs[:3], example.new[0]]
    with pytest.raises(RunError, match=r"graph 0 \('random-100'\) is not among its 42.*add=True"):
        example.model.transform(both, run=tmp_path)
    assert contents(tmp_path) == before
    found = example.model.transform(both, run=tmp_path, add=True)
    np.testing.assert_array_equal(found[:12], example.expected_new)
    np.testing.assert_array_equal(found[12:15], example.expected[:3])
    np.testing.assert_array_equal(found[15], example.expected_new[0])
    assert sorted(counted) == [5, 6]
    counted.clear()
    run = ddgk.open_run(tmp_path)
    assert run.n_graphs == 42 + 13
    np.testing.assert_array_equal(run.rows(0, 42), example.expected)
    np.testing.assert_array_equal(run.rows(42, 54), example.expected_new)
    # Both commands can be given again, and compute nothing.
    example.model.transform(both, run=tmp_path, add=True)
    make().fit_transform(example.graphs, run=tmp_path)
    assert counted == []
    assert ddgk.open_run(tmp_path).n_graphs == 55


def test_adding_that_was_cut_off_before_the_manifest_begins_again(make, example, tmp_path):
    make().fit_transform(example.graphs, run=tmp_path)
    manifest = (tmp_path / "manifest.json").read_bytes()
    example.model.transform(example.new, run=tmp_path, add=True)
    (tmp_path / "manifest.json").write_bytes(manifest)
    np.testing.assert_array_equal(ddgk.open_run(tmp_path).rows(), example.expected)
    again = example.model.transform(example.new, run=tmp_path, add=True)
    np.testing.assert_array_equal(again, example.expected_new)


def test_without_a_seed_a_run_goes_on_with_its_own(make, example, tmp_path):
    first = make(random_state=None).fit_transform(example.graphs, run=tmp_path)
    again = make(random_state=None).fit_transform(example.graphs, run=tmp_path)
    np.testing.assert_array_equal(again, first)


def test_graphs_may_come_one_by_one(example, tmp_path, monkeypatch):
    monkeypatch.setattr("ddgk.store.targets.GRAPHS_AT_ONCE", 10)
    run = example.model.embed_into(tmp_path, iter(example.graphs))
    assert (run.n_graphs, run.n_batches) == (42, 5)
    np.testing.assert_array_equal(run.rows(), example.expected)
    monkeypatch.setattr("ddgk.store.run.BYTES_AT_ONCE", 1)
    blocks = list(run.blocks())
    assert len(blocks) == 42
    np.testing.assert_array_equal(np.concatenate(blocks), example.expected)
    assert run.names == [graph.name for graph in example.graphs]


def test_bad_graphs_are_named_before_anything_is_computed(example, tmp_path, counted):
    with pytest.raises(LabelError, match="graph 2: it has no node labels"):
        example.model.transform([*example.graphs[:2], ddgk.Graph(2, [(0, 1)])], run=tmp_path / "a")
    strange = example.graphs[0].replace(node_labels=["?"] * example.graphs[0].n_nodes)
    with pytest.raises(LabelError, match=r"graph 1 .*'\?'"):
        example.model.transform([example.graphs[0], strange], run=tmp_path / "b")
    with pytest.raises(GraphError, match="this one is empty"):
        example.model.transform([], run=tmp_path / "c")
    assert counted == []
    assert not list(tmp_path.rglob("manifest.json"))


def test_joblib_backends_compute_tiles(make, example, tmp_path):
    with joblib.parallel_config("loky", n_jobs=1):
        found = make(n_jobs=None).fit_transform(example.graphs, run=tmp_path)
    np.testing.assert_array_equal(found, example.expected)


def failing(monkeypatch, broken):
    """Let some tiles fail as often as is said."""
    left = dict(broken)
    values = tiles._values

    def fails(place, tile, max_memory):
        if left.get(tile.number, 0) > 0:
            left[tile.number] -= 1
            raise MemoryError("no memory today")
        return values(place, tile, max_memory)

    monkeypatch.setattr(tiles, "_values", fails)


def test_a_failed_tile_is_tried_again(make, example, tmp_path, monkeypatch):
    failing(monkeypatch, {0: 1, 2: 2})
    np.testing.assert_array_equal(
        make().fit_transform(example.graphs, run=tmp_path), example.expected
    )
    from ddgk.store.inspection import begun_again

    assert begun_again(ddgk.open_run(tmp_path)) == {0: 2, 2: 3}


def test_a_tile_that_keeps_failing_is_named_and_the_rest_is_kept(
    make, example, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        failing(patch, {2: 99})
        with pytest.raises(TileError) as caught:
            make().fit_transform(example.graphs, run=tmp_path)
    said = str(caught.value)
    assert "tile 2 (8 targets of " in said
    assert "MemoryError: no memory today. 4 of 5 tiles are kept in" in said
    assert "random-" in said
    np.testing.assert_array_equal(
        make().fit_transform(example.graphs, run=tmp_path), example.expected
    )


def test_many_failures_end_the_run_early(make, example, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "MOST_FAILURES", 2)
    failing(monkeypatch, dict.fromkeys(range(5), 99))
    with pytest.raises(TileError, match=r"and 1 other tiles.*0 of 5 tiles are kept"):
        make().fit_transform(example.graphs, run=tmp_path)


def test_an_error_that_would_come_again_is_not_tried_again(make, example, tmp_path, monkeypatch):
    def diverges(*_):
        raise NonFiniteLossError("graph 7 diverged; lower rate")

    monkeypatch.setattr(tiles, "_values", diverges)
    with pytest.raises(TileError, match="graph 7 diverged; lower rate"):
        make().fit_transform(example.graphs, run=tmp_path)
    from ddgk.store.inspection import begun_again

    assert begun_again(ddgk.open_run(tmp_path)) == {}


def test_if_busy(make, example, tmp_path):
    with pytest.raises(ParameterError, match="if_busy must be one of 'wait', 'share', 'fail'"):
        make().fit_transform(example.graphs, run=tmp_path / "x", if_busy="hurry")


def test_a_stop_is_told_with_what_is_kept(make, example, tmp_path, monkeypatch):
    """Ctrl-C comes while a tile is computed: that one is still kept."""
    values = tiles._values
    computing = threading.Event()

    def slow(place, tile, max_memory):
        found = values(place, tile, max_memory)
        computing.set()
        return found

    def interrupted(*_, **__):
        computing.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(tiles, "_values", slow)
    monkeypatch.setattr("ddgk.embedding.workers.wait", interrupted)
    with pytest.raises(runs.RunStopped, match="1 of 5 tiles are kept in"):
        make().fit_transform(example.graphs, run=tmp_path)
    monkeypatch.undo()
    np.testing.assert_array_equal(
        make().fit_transform(example.graphs, run=tmp_path), example.expected
    )


def test_progress_counts_tiles(make, example, tmp_path, capsys, monkeypatch):
    make(verbose=True).fit_transform(example.graphs, run=tmp_path / "a")
    assert "Scoring: 5 of 5 tiles, 120 pairs in " in capsys.readouterr().err
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    make(verbose=True).fit_transform(example.graphs, run=tmp_path / "b")
    shown = capsys.readouterr().err
    assert "5/5 tiles" in shown
    assert "pairs/s" in shown


def test_who_began_before_targets_were_added_can_go_on(make, example, tmp_path):
    make().fit_transform(example.graphs, run=tmp_path)
    before = ddgk.open_run(tmp_path).manifest.token
    example.model.transform(example.new, run=tmp_path, add=True)
    (tmp_path / "divergences" / "c.0.0.0").unlink()
    how = {"address": str(tmp_path), "max_memory": 10**9}
    assert tiles.attempt_tile(0, token=before, **how).state == "computed"
    assert tiles.attempt_tile(0, token=before, **how).state == "stored"
    for strange in ("0123:1", f"{before}9"):
        report = tiles.attempt_tile(0, token=strange, **how)
        assert report.state == "failed"
        assert "finds another run at" in report.error
    report = tiles.attempt_tile(0, token=before, address=str(tmp_path / "x"), max_memory=1)
    assert "finds no run at" in report.error
    tiles.forget_opened()


def test_no_files_stay_open(make, example, tmp_path):
    from ddgk.store import locks

    make().fit_transform(example.graphs, run=tmp_path)
    assert locks._handles == {}
    with Locks(ddgk.open_run(tmp_path).folder) as held:
        assert held.take(WHOLE_RUN)
