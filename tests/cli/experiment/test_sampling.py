import json

import pytest

from ddgk.datasets import FAMILIES, Dataset


@pytest.fixture(autouse=True)
def _rings_and_stars(monkeypatch):
    """Twelve rings and twelve stars, which anything tells apart."""
    import numpy as np

    graphs = [FAMILIES[kind](5 + i) for kind in ("ring", "star") for i in range(12)]
    found = Dataset(graphs, np.repeat([0, 1], 12), "toy")
    monkeypatch.setattr("ddgk.cli.inputs.read_graphs", lambda _: found)


WORDS = ("experiment", "sampling", "toy", "--sources", "8", "--shares", "25,100", "--seeds", "0,1")


def test_results_page_and_figure(run, folder):
    pytest.importorskip("matplotlib", reason="figures need matplotlib (extra plots)")
    shown = run(*WORDS, "-o", "s.json", "-o", "s.md", "-o", "s.png").output
    assert "facility" in shown
    kept = json.loads((folder / "s.json").read_text())
    assert kept["configuration"]["shares"] == [0.25, 1.0]
    assert kept["configuration"]["n_sources"] == 8
    assert kept["configuration"]["method.reverse"] == "tied"
    (table,) = kept["tables"]
    assert [row[:2] for row in table["rows"]] == [
        ["25%", "random"],
        ["25%", "sizes"],
        ["25%", "farthest"],
        ["25%", "facility"],
        ["100%", "all"],
    ]
    assert float(table["rows"][-1][2]) > 90
    assert (folder / "s.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_is_read_the_second_time(run, folder, monkeypatch):
    run(*WORDS, "--run", "kept", "-o", "a.json")
    monkeypatch.setattr("ddgk.evaluation.sampling.nested_accuracies", None)
    run(*WORDS, "--run", "kept", "-o", "b.json")
    first, again = (json.loads((folder / name).read_text()) for name in ("a.json", "b.json"))
    assert first["tables"] == again["tables"]


@pytest.mark.parametrize("shares", ["20", "100,20", "0,100", "x,100"])
def test_shares_that_are_none(run, shares):
    words = ("experiment", "sampling", "toy", "--shares", shares)
    assert "--shares" in run(*words, code=2).stderr
