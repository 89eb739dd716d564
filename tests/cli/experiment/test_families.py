import json

import pytest

from ddgk.evaluation import families

WORDS = ("experiment", "families", "--nodes", 150, "--graphs", 2, "--sources", 2)
WORDS += ("--pieces", 3, "--piece-nodes", 20)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    few = {**families.METHOD, "encoder_epochs": 50, "curve": (1, 3), "regions": 4}
    monkeypatch.setattr(families, "METHOD", few)


def test_results_page_and_figure(run, folder):
    pytest.importorskip("matplotlib", reason="figures need matplotlib (extra plots)")
    outs = ("-o", "f.json", "-o", "f.md", "-o", "f.png")
    shown = run(*WORDS, "--run", "kept", *outs)
    assert "NetLSD" in shown.stdout
    assert "celegansneural is not on this machine" in shown.stderr
    kept = json.loads((folder / "f.json").read_text())
    assert kept["configuration"]["n_nodes"] == 150
    assert kept["configuration"]["degrees_of"] == "karate"
    assert kept["configuration"]["n_pieces"] == 3
    assert [row[0] for row in kept["tables"][0]["rows"]] == [
        title for way, title in families.WAYS.items() if way != "whole"
    ]
    assert len(kept["measured"]["nearest"]["ddgk"]) == 10
    assert (folder / "f.png").read_bytes().startswith(b"\x89PNG")

    page = (folder / "f.md").read_text()
    again = run(*WORDS, "--run", "kept", "-o", "g.json", "-q")
    assert again.output == ""
    second = json.loads((folder / "g.json").read_text())
    assert second["tables"] == kept["tables"]
    assert second["measured"] == kept["measured"]
    run("experiment", "report", "f.json", "-o", "page.md")
    assert "| NetLSD |" in (folder / "page.md").read_text()
    assert "## families: 10 graphs" in page


@pytest.mark.parametrize("wrong", [("--nodes", 55), ("--graphs", 1), ("--sources", 0)])
def test_what_is_too_small(run, wrong):
    assert wrong[0] in run("experiment", "families", *wrong, code=2).stderr
