import json

import pytest

from ddgk.datasets import FAMILIES
from ddgk.evaluation import clustering


@pytest.fixture
def made(monkeypatch):
    """A universe of six small families instead of the paper's; counts how often it is asked for."""
    asked = []

    def make(seed):
        asked.append(seed)
        graphs, families = [], []
        for name, kind in zip(
            (*clustering.NETWORKS, *clustering.SETS),
            ("ring", "star", "complete", "wheel", "path", "erdos_renyi"),
            strict=True,
        ):
            graphs += [clustering.bare(FAMILIES[kind](8 + i), f"{name}-{i}") for i in range(2)]
            families += [name] * 2
        return graphs, families

    monkeypatch.setattr(clustering, "make_universe", make)
    monkeypatch.setitem(clustering.METHOD, "encoder_epochs", 5)
    return asked


def test_results_page_and_figure(run, folder, made):
    pytest.importorskip("matplotlib", reason="figures need matplotlib (extra plots)")
    words = ("experiment", "clustering", "--seeds", "3,5")
    shown = run(*words, "-o", "c.json", "-o", "c.md", "-o", "c.svg").output
    assert "Families found again of 6, 2 seeds" in shown
    assert made == [3, 5]
    kept = json.loads((folder / "c.json").read_text())
    assert kept["configuration"]["seeds"] == [3, 5]
    assert kept["configuration"]["labels"] == "dropped"
    assert {trial["way"] for trial in kept["measured"]["trials"]} == set(clustering.WAYS)
    page = (folder / "c.md").read_text()
    assert "| nodes and edges, logarithms |" in page
    assert "**Seed by seed, by DDGK**" in page
    assert "<svg" in (folder / "c.svg").read_text()


def tables(path):
    return json.loads(path.read_text())["tables"]


def test_a_run_goes_on_and_gives_the_same(run, folder, made):
    words = ("experiment", "clustering", "--run", "kept", "-o")
    run(*words, "a.json", "--seeds", "1")
    run(*words, "b.json", "--seeds", "1,2")
    assert made == [1, 2], "the first was there"
    run("experiment", "clustering", "--seeds", "1,2", "-o", "c.json")
    assert tables(folder / "b.json") == tables(folder / "c.json")


def test_a_folder_of_another_configuration_is_refused(run, fails, made, monkeypatch):
    run("experiment", "clustering", "--seeds", "1", "--run", "kept")
    monkeypatch.setitem(clustering.METHOD, "curve", (2,))
    words = ("experiment", "clustering", "--seeds", "1", "--run", "kept")
    assert "another configuration (method.curve)" in fails(*words)
    assert made == [1]


@pytest.mark.parametrize("seeds", ["1,1", "-1", "x", ""])
def test_seeds_that_are_none(run, seeds):
    assert "--seeds" in run("experiment", "clustering", "--seeds", seeds, code=2).stderr


def test_missing_data_is_said_in_a_line(fails):
    assert "celegansneural" in fails("experiment", "clustering", "--seeds", "0")
