import subprocess
import sys

import numpy as np
import pytest

from ddgk.alignment import Alignment
from ddgk.cli import demo
from ddgk.datasets import barbell


def sure_alignment(target, source, **_):
    """Match nodes by their names, modulo 10, without any training."""
    wanted = [name % 10 for name in source.node_names]
    attention = np.array([[float(node == name) for name in wanted] for node in range(10)])
    return Alignment(target, source, attention, 0.0, np.zeros(1))


@pytest.fixture
def _quick(monkeypatch):
    """Let the demo run through with hardly any training."""
    cluster = demo.cluster_families
    monkeypatch.setattr("ddgk.alignment.align", sure_alignment)
    monkeypatch.setattr(
        demo, "cluster_families", lambda: cluster(n_sources=2, encoder_epochs=2, curve=2)
    )


def test_symmetries_of_the_barbell():
    kinds = [{}, {"node_labels": True}, {"node_labels": True, "edge_labels": True}]
    assert [demo.count_symmetries(barbell(**labels)) for labels in kinds] == [8, 4, 1]


def test_counting_tells_the_families_little():
    graphs, families = demo.make_families()
    assert len(graphs) == 30
    assert len(set(families)) == 6
    assert {graph.n_nodes for graph in graphs} == {34, 35}
    seeds = [graph for graph in graphs if graph.name.endswith("-0")]
    assert [seed.n_edges for seed in seeds] == [78] * 6


@pytest.mark.usefixtures("_quick")
def test_the_copy_is_shuffled_for_the_work_and_put_back_in_order(monkeypatch):
    seen = []

    def watched(target, source, **how):
        seen.append(source.node_names)
        return sure_alignment(target, source, **how)

    monkeypatch.setattr("ddgk.alignment.align", watched)
    for found in demo.align_barbells().values():
        np.testing.assert_array_equal(found.attention, np.eye(10))
        assert found.matching == {node: node + 10 for node in range(10)}
        assert found.is_isomorphism
    assert all(names != tuple(range(10, 20)) for names in seen)


@pytest.mark.usefixtures("_quick")
def test_it_runs_through_and_keeps_the_files_of_others(run, folder):
    (folder / "pictures").mkdir()
    (folder / "pictures" / "mine.png").write_text("mine")
    for _ in range(2):
        said = run("demo", "--out", "pictures").stdout
        assert "adjusted Rand index" in said
        assert "barabasi_albert" in said
    names = sorted(path.name for path in (folder / "pictures").iterdir())
    assert names == ["ddgk-demo-barbells.png", "ddgk-demo-families.png", "mine.png"]
    assert (folder / "pictures" / "mine.png").read_text() == "mine"


@pytest.mark.usefixtures("_quick")
def test_without_matplotlib_it_says_so_and_goes_on(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = run("demo").stdout
    assert "figures were skipped" in said
    assert "pip install 'ddgk[plots]'" in said
    assert list((folder / "ddgk-demo").iterdir()) == []


def test_a_file_in_the_way(fails, folder):
    (folder / "ddgk-demo").write_text("mine")
    assert "ddgk-demo" in fails("demo")


def test_which_families_are_recovered():
    found = demo.Clustering(
        names=list("abcd"),
        families=["x", "x", "y", "y"],
        distances=np.zeros((4, 4)),
        clusters=np.array([1, 1, 1, 2]),
        agreement=0.0,
        agreement_by_counting=0.0,
    )
    assert found.recovered("x") == (2, 1)
    assert found.recovered("y")[0] == 1


@pytest.mark.slow
def test_it_shows_the_point(folder):
    words = [sys.executable, "-m", "ddgk", "demo"]
    finished = subprocess.run(words, capture_output=True, text=True, check=True)
    assert len(list((folder / "ddgk-demo").iterdir())) == 2
    _, _, told = finished.stdout.partition("adjusted Rand index ")
    assert float(told[:4]) > 0.5
    assert "10 of 10" in finished.stdout
