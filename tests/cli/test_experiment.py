import json

import networkx
import pytest

from ddgk.cli import app  # noqa: F401  (the commands must be importable without extras)


@pytest.fixture
def tu_set(folder):
    """Rings and stars in TU format, twelve of each."""
    edges, owners, classes = [], [], []
    first = 1
    for kind in (0, 1):
        for number in range(12):
            n = 4 + number % 4
            graph = networkx.star_graph(n - 1) if kind else networkx.cycle_graph(n)
            edges += [f"{u + first}, {v + first}\n{v + first}, {u + first}" for u, v in graph.edges]
            owners += [str(len(classes) + 1)] * n
            classes.append(str(kind))
            first += n
    place = folder / "TOY"
    place.mkdir()
    for name, lines in (("A", edges), ("graph_indicator", owners), ("graph_labels", classes)):
        (place / f"TOY_{name}.txt").write_text("\n".join(lines) + "\n")
    return "TOY"


QUICK = ("--sources", 3, "--repeats", 1)


def test_tables_files_and_a_page(run, tu_set, folder):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    words = ("experiment", "classification", tu_set, *QUICK, "--run", "kept", "--beside", "sizes")
    outs = ("-o", "r.json", "-o", "r.md", "-o", "r.svg")
    shown = run(*words, *outs).stdout
    assert "DDGK, preset default beside (n, m)" in shown
    assert "protocol nested, 10 folds" in shown
    content = json.loads((folder / "r.json").read_text())
    assert content["configuration"]["n_sources"] == 3
    assert [row["name"] for row in content["measured"]["rows"]][-1] == "ddgk+sizes"
    assert (folder / "r.svg").read_text().startswith("<?xml")
    before = (folder / "r.md").read_text()

    again = run(*words, *outs).stdout
    assert again == shown, "times come from the folder"
    assert (folder / "r.md").read_text() == before

    run("experiment", "report", "r.json", "r.json", "-o", "RESULTS.md")
    page = (folder / "RESULTS.md").read_text()
    assert page.count("## classification: TOY") == 2
    assert "| DDGK, preset default |" in page


def test_the_same_table_without_a_folder(run, tu_set, folder):
    for name in ("a.json", "b.json"):
        run("experiment", "classification", tu_set, *QUICK, "-q", "-o", name)
    first, second = (json.loads((folder / n).read_text()) for n in ("a.json", "b.json"))
    assert first["tables"] == second["tables"]


def test_mistakes(run, fails, tu_set, rings, folder):
    assert "no classes" in fails("experiment", "classification", rings)
    assert "knows no classifier" in fails(
        "experiment", "classification", tu_set, "--protocol", "paper", "--classifier", "linear"
    )
    assert (
        "some of" in run("experiment", "classification", tu_set, "--baselines", "x", code=2).stderr
    )
    assert "no parameter 'x'" in fails("experiment", "classification", tu_set, "--change", "x=1")
    for wrong in ("x", "=1", 'depth={"a": 1}'):
        assert run("experiment", "classification", tu_set, "--change", wrong, code=2).stderr
    (folder / "bad.json").write_text("{}")
    assert "bad.json" in fails("experiment", "report", "bad.json", "-o", "R.md")
    assert "none.json" in fails("experiment", "report", "none.json", "-o", "R.md")
    assert not (folder / "R.md").exists()
    (folder / "there.json").write_text("mine")
    assert "--force" in fails("experiment", "classification", tu_set, "-o", "there.json")


def test_tune(run, tu_set, folder):
    pytest.importorskip("optuna", reason="tuning needs Optuna (extra tune)")
    words = ("tune", tu_set, "--run", "kept", "--trials", 1, "--sources", 2)
    shown = run(*words, "-o", "t.json").stdout
    assert "Best of 1 trials on TOY" in shown
    assert len(json.loads((folder / "t.json").read_text())["measured"]["trials"]) == 1
    assert run(*words).stdout + "wrote t.json\n" == shown


def test_tune_without_optuna_says_what_to_install(fails, tu_set, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    assert "ddgk[tune]" in fails("tune", tu_set, "--run", "kept", "--trials", 1)


def test_ablation_and_invariance(run, tu_set, folder):
    shown = run("experiment", "ablation", tu_set, *QUICK, "-o", "a.json", "-o", "a.md").stdout
    assert "images in place of that: the default" in shown
    tables = json.loads((folder / "a.json").read_text())["tables"]
    assert [len(table["rows"]) for table in tables] == [10, 17]
    run("experiment", "invariance", tu_set, tu_set, "--graphs", 4, "--sources", 2, "-o", "i.json")
    (table,) = json.loads((folder / "i.json").read_text())["tables"]
    assert [row[:3] for row in table["rows"]] == [["TOY", "4", "0"]] * 2
    said = run("experiment", "invariance", tu_set, "-o", "i.svg", code=2).stderr
    assert "must end in one of .json, .md" in said
