import subprocess
import sys

import numpy as np
import pytest

from ddgk.alignment import Alignment
from ddgk.cli import demo


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


def test_counting_tells_the_families_little():
    graphs, families = demo.make_families()
    assert len(graphs) == 30
    assert len(set(families)) == 6
    assert {graph.n_nodes for graph in graphs} == {34, 35}
    seeds = [graph for graph in graphs if graph.name.endswith("-0")]
    assert [seed.n_edges for seed in seeds] == [78] * 6


@pytest.mark.usefixtures("_quick")
def test_it_runs_through_and_keeps_the_files_of_others(run, folder):
    pytest.importorskip("matplotlib", reason="figures need matplotlib (extra plots)")
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


@pytest.mark.slow
def test_it_shows_the_point(folder):
    words = [sys.executable, "-m", "ddgk", "demo"]
    finished = subprocess.run(words, capture_output=True, text=True, check=True)
    assert len(list((folder / "ddgk-demo").iterdir())) == 2
    _, _, told = finished.stdout.partition("adjusted Rand index ")
    assert float(told[:4]) > 0.5
    assert "10 of 10" in finished.stdout
