import json

import numpy as np
import pytest

from ddgk.alignment import Alignment


@pytest.fixture(autouse=True)
def _sure(monkeypatch):
    """Match nodes by their names, modulo the number of nodes, without any training."""

    def align(target, source, **_):
        n = target.n_nodes
        wanted = [name % n for name in source.node_names]
        found = np.array([[float(node == name) for name in wanted] for node in range(n)])
        return Alignment(target, source, found, 0.0, np.zeros(1))

    monkeypatch.setattr("ddgk.alignment.align", align)


def test_results_page_and_figure(run, folder):
    pytest.importorskip("matplotlib", reason="figures need matplotlib (extra plots)")
    shown = run("experiment", "attention", "-o", "a.json", "-o", "a.md", "-o", "a.png").output
    assert "Graphs matched with shuffled copies" in shown
    kept = json.loads((folder / "a.json").read_text())
    told = {"dataset": "barbells, karate", "restarts": 8, "seed": 0, "rewired": [0.0, 0.1]}
    assert kept["configuration"] == told
    assert len(kept["measured"]["pairs"]) == 5
    assert np.array(kept["measured"]["pairs"][0]["attention"]).shape == (10, 10)
    page = (folder / "a.md").read_text()
    assert "| barbell, labels: nodes, edges | 1 | 11 of 11 | yes | 10 of 10 |" in page
    assert "| karate, 10% rewired |  | 70 of 78 | no | 34 of 34 |" in page
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")


def test_files_are_not_overwritten(fails, folder):
    (folder / "a.json").write_text("mine")
    assert "a.json exists" in fails("experiment", "attention", "-o", "a.json")
    assert (folder / "a.json").read_text() == "mine"


def test_quiet_says_nothing(run):
    assert run("experiment", "attention", "-q").output == ""
