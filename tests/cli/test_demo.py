import subprocess
import sys

import pytest

from ddgk.cli import demo


@pytest.fixture
def _quick(monkeypatch):
    """Run the demo with a quickly trained model."""
    compare = demo.compare_kinds
    changes = {"n_sources": 2, "config__encoder_epochs": 2, "n_features": 8}
    monkeypatch.setattr(demo, "compare_kinds", lambda: compare(**changes))


def test_the_graphs():
    graphs = demo.make_kinds()
    assert len({graph.name for graph in graphs}) == len(demo.KINDS) * len(demo.SIZES)
    assert all(graph.node_labels is None for graph in graphs)


@pytest.mark.usefixtures("_quick")
def test_it_runs_through_and_keeps_the_files_of_others(run, folder):
    pytest.importorskip("matplotlib", reason="figures need matplotlib (extra plots)")
    (folder / "pictures").mkdir()
    (folder / "pictures" / "mine.png").write_text("mine")
    for _ in range(2):
        said = run("demo", "--out", "pictures").stdout
        assert "barabasi_albert" in said
        assert "karate club" in said
    names = sorted(path.name for path in (folder / "pictures").iterdir())
    ours = [f"ddgk-demo-{what}.png" for what in ("karate", "kinds", "rings")]
    assert names == [*ours, "mine.png"]
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


def test_kinds_are_clusters_and_labels_leave_no_ties():
    found = demo.compare_kinds()
    assert all(list(own.classes.values()) == [len(demo.SIZES)] for own in found.clusters)
    pairs = list(demo.align_copies().values())
    assert [pair.is_isomorphism for pair in pairs] == [True, True, True, False]
    assert not pairs[2].orbits
    assert all(node == partner for node, partner in pairs[2].matching.items())
    assert pairs[3].edge_correctness > 0.8


def test_in_a_process_of_its_own(folder):
    words = [sys.executable, "-m", "ddgk", "demo"]
    finished = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "Traceback" not in finished.stderr
    assert "in " in finished.stdout.splitlines()[-1]
    assert (folder / "ddgk-demo").is_dir()
