import json

import numpy as np
import pytest

from ddgk.errors import ParameterError, RunError
from ddgk.evaluation import families
from ddgk.evaluation.families import Found, Setting, compare, make_universe, nearest

SMALL = Setting(n_nodes=200, n_graphs=2, n_sources=5, seed=1, n_pieces=4, piece_nodes=20)
WAYS = [way for way in families.WAYS if way != "whole"]


@pytest.fixture(autouse=True)
def _no_networks(monkeypatch, tmp_path):
    """Only the karate club is here, whatever this machine has."""
    monkeypatch.delenv("DDGK_DATA", raising=False)
    monkeypatch.setenv("DDGK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def quick(monkeypatch):
    """Encoders that are hardly trained, and targets for a few steps."""
    few = {**families.METHOD, "encoder_epochs": 50, "curve": (1, 3), "regions": 4}
    monkeypatch.setattr(families, "METHOD", few)


def test_sizes_say_nothing():
    universe = make_universe(Setting(n_nodes=400, n_graphs=4))
    assert len(universe.graphs) == 4 * families.N_FAMILIES == 20
    assert all(360 <= graph.n_nodes <= 440 for graph in universe.graphs)
    degrees = [2 * graph.n_edges / graph.n_nodes for graph in universe.graphs]
    assert 8.4 < min(degrees) <= max(degrees) < 9.5
    exact = [d for d, f in zip(degrees, universe.families, strict=True) if "strogatz" in f]
    assert len({round(degree, 3) for degree in exact}) == 4


def test_sources_are_small_and_of_all_kinds():
    universe = make_universe(SMALL)
    assert [graph.name.split("-")[0] for graph in universe.sources] == list(
        dict.fromkeys(universe.families)
    )
    assert all(100 <= graph.n_nodes <= 200 for graph in universe.sources)
    digests = {graph.digest for graph in universe.graphs}
    assert not digests & {graph.digest for graph in universe.sources}


def test_more_graphs_change_none():
    few, more = make_universe(SMALL), make_universe(Setting(200, 3, 7, 1))
    assert [g.name for g in more.graphs][:2] == [g.name for g in few.graphs][:2]
    assert more.sources[:5] == few.sources
    assert make_universe(SMALL).graphs == few.graphs
    assert make_universe(Setting(200, 2, 5, 2)).graphs[0] != few.graphs[0]


def test_degrees_of_a_real_network(data_folder, monkeypatch):
    assert families.real_degrees()[0] == "karate"
    monkeypatch.setenv("DDGK_DATA", str(data_folder))
    name, degrees = families.real_degrees()
    assert (name, len(degrees), int(degrees.sum())) == (families.NETWORK, 297, 2 * 2148)


def test_neighbours_are_others_by_standardised_columns():
    columns = [[0.0, 0.0], [60.0, 0.0], [0.0, 1.0], [100.0, 1.0]]
    assert nearest(columns).tolist() == [1, 0, 0, 1]
    assert nearest([[0.0], [0.1], [5.0], [9.0]]).tolist() == [1, 0, 3, 2]


def test_what_counts_foretell_is_taken_out():
    graphs = make_universe(SMALL).graphs
    n, m = np.log([[graph.n_nodes, graph.n_edges] for graph in graphs]).T
    own = np.random.default_rng(0).normal(size=len(graphs))
    columns = np.column_stack([3 * n - m, n + 5, np.ones(len(n)), own + 100 * n])
    left = families.without_counts(columns, graphs)
    assert not left[:, :3].any()
    assert left[:, 3].std() > 0.01
    assert np.abs([left[:, 3] @ (n - n.mean()), left[:, 3] @ (m - m.mean())]).max() < 1e-6


def test_shares_and_confusions():
    found = Found(np.zeros((4, 1)), np.array([1, 2, 3, 0]), 1.0)
    kinds = ["a", "a", "b", "b"]
    assert found.right(kinds) == 0.5
    assert found.right(kinds, "a") == 0.5
    assert found.confusions(kinds) == {("a", "b"): 1, ("b", "a"): 1}


def test_structure_tells_kinds_which_counting_does_not():
    setting = Setting(n_nodes=300, n_graphs=4, n_sources=5, n_pieces=8, piece_nodes=60, whole=True)
    universe = make_universe(setting)
    found = compare(universe, setting)
    assert list(found) == list(families.WAYS)
    assert found["ddgk"].right(universe.families) >= 0.8
    assert found["whole"].right(universe.families) >= 0.8
    assert found["netlsd"].right(universe.families) >= 0.8
    assert found["counts"].right(universe.families) <= 0.5


@pytest.mark.usefixtures("quick")
def test_columns_do_not_grow_with_a_graph():
    small, large = (make_universe(Setting(n, 2, 5)) for n in (150, 600))
    sizes = [
        np.median(np.abs(families.describe_whole(universe, 0)), axis=0)
        for universe in (small, families.Universe(large.graphs, [], small.sources, ""))
    ]
    steps = np.concatenate([np.arange(first, first + 2) for first in range(0, sizes[0].size, 6)])
    assert np.all(sizes[1][steps] < 3 * sizes[0][steps])
    assert np.all(sizes[1][steps] > sizes[0][steps] / 3)


@pytest.mark.usefixtures("quick")
def test_a_folder_goes_on_and_refuses_others(tmp_path, monkeypatch):
    universe = make_universe(SMALL)
    first = compare(universe, SMALL, folder=tmp_path / "run")
    monkeypatch.setattr(families, "DDGK", None)
    monkeypatch.setattr(families, "heat_traces", None)
    again = compare(universe, SMALL, folder=tmp_path / "run")
    assert list(again) == WAYS
    for way in WAYS:
        assert again[way].columns.tolist() == first[way].columns.tolist()
        assert again[way].seconds == first[way].seconds
    with pytest.raises(RunError, match="n_sources"):
        compare(universe, Setting(200, 2, 6, 1), folder=tmp_path / "run")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "damage", [None, {}, {"columns": [[1.0]], "seconds": 1}, {"columns": "x", "seconds": 1}]
)
def test_damaged_parts_are_refused(tmp_path, damage):
    universe = make_universe(SMALL)
    compare(universe, SMALL, folder=tmp_path)
    (tmp_path / "netlsd.json").write_text(json.dumps(damage))
    with pytest.raises(RunError, match="damaged"):
        compare(universe, SMALL, folder=tmp_path)


@pytest.mark.parametrize(
    "setting",
    [{"n_nodes": 55}, {"n_graphs": 1}, {"n_sources": 0}, {"n_pieces": 0}, {"piece_nodes": 1}],
)
def test_refusals(setting):
    with pytest.raises(ParameterError):
        Setting(**setting)


def test_tables_say_who_is_taken_for_whom():
    universe = make_universe(SMALL)
    places = np.arange(10)
    right = Found(np.zeros((10, 2)), places ^ 1, 2.0)
    wrong = Found(np.zeros((10, 2)), (places + 2) % 10, 0.5)
    results = families.summarise(
        {"ddgk": right, "counts": wrong}, universe, SMALL, "ddgk experiment families", 1.0
    )
    shares, mistakes, graphs = results.tables
    assert shares.rows[0] == (families.WAYS["ddgk"], *["100%"] * 6)
    assert shares.rows[1] == ("(n, m)", *["0%"] * 6)
    assert mistakes.rows[0] == (families.WAYS["ddgk"], "0", "")
    assert mistakes.rows[1][1] == "10"
    assert "barabasi_albert for watts_strogatz 2" in mistakes.rows[1][2]
    assert mistakes.rows[1][2].endswith("others 4")
    assert ["watts_strogatz", "blocks", 2] in results.measured["confusions"]["counts"]
    assert "11% by chance" in shares.title
    assert "karate" in graphs.title
    assert results.configuration["degrees_of"] == "karate"
    assert results.times[0].rows == (("1.0", "2.0", "0.5"),)
