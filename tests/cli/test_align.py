import csv
import json
from itertools import pairwise
from xml.etree import ElementTree

import pytest


@pytest.mark.usefixtures("molecules")
def test_the_table_and_the_verdict(run):
    said = run("align", "molecules.json:0", "molecules.json:0").stdout
    assert "target (3 nodes, 2 edges) onto source (3 nodes, 2 edges)" in said
    assert "read: node labels, edge labels" in said
    assert "edge correctness 1.00: 2 of 2 edges" in said
    assert "the graphs are isomorphic" in said
    rows = [line.split() for line in said.splitlines() if line.startswith("│")]
    assert [(row[1], row[3], row[7:9]) for row in rows] == [
        ("0", "0", ["C", "C"]),
        ("1", "1", ["C", "C"]),
        ("2", "2", ["O", "O"]),
    ]


@pytest.mark.usefixtures("rings")
def test_no_isomorphism_is_not_claimed_to_be_a_proof(run, folder):
    (folder / "triangles.edges").write_text("0 1\n1 2\n0 2\n3 4\n4 5\n3 5\n")
    said = run("align", "rings:2", "triangles.edges").stdout
    assert "read: structure alone" in said
    assert "no isomorphism found (which does not prove that there is none)" in said
    said = run("align", "rings:0", "rings:2").stdout
    assert "not isomorphic: the numbers of nodes or edges differ" in said


@pytest.mark.usefixtures("molecules")
def test_labels_can_be_left_out(run):
    said = run("align", "molecules.json:0", "molecules.json:1", "--labels", "ignore")
    assert "read: structure alone" in said.stdout


@pytest.mark.usefixtures("rings")
def test_files_by_their_ending(run, folder):
    pytest.importorskip("matplotlib", reason="figures need matplotlib (extra plots)")
    names = ("x.json", "x.csv", "x.svg", "x.png", "x.pdf")
    outs = [word for name in names for word in ("-o", name)]
    said = run("align", "rings:0", "rings:1", *outs).stdout
    assert all(f"wrote {name}" in said for name in names)
    found = json.loads((folder / "x.json").read_text())
    rows = list(csv.DictReader((folder / "x.csv").read_text().splitlines()))
    assert [(row["target"], row["source"]) for row in rows] == [
        (str(pair["target"]), str(pair["source"])) for pair in found["matching"]
    ]
    assert [float(row["confidence"]) for row in rows] == [
        pair["confidence"] for pair in found["matching"]
    ]
    starts = {"x.svg": b"<?xml", "x.png": b"\x89PNG", "x.pdf": b"%PDF"}
    assert all((folder / name).read_bytes().startswith(s) for name, s in starts.items())


@pytest.mark.usefixtures("rings")
def test_ties_and_what_is_left_over_are_said(run):
    said = run("align", "rings:1", "rings:1").stdout
    assert "tie: 0, 1, 2, 3, 4 look alike to refinement, and may change places" in said
    said = run("align", "rings:1", "rings:0").stdout
    assert "without a partner: 1 of the target, 0 of the source" in said
    assert [line for line in said.splitlines() if line.startswith("│")][-1].count(" - ") == 2


@pytest.mark.usefixtures("rings")
def test_a_list_of_pairs(run, fails, folder):
    (folder / "pairs.csv").write_text("target,source\nrings:0,rings:1\nrings:2,rings:2\n")
    said = run("align", "--pairs", "pairs.csv", "-o", "all.csv", "-o", "all.json").stdout
    assert said.count("rings:2") == 2
    rows = list(csv.DictReader((folder / "all.csv").read_text().splitlines()))
    assert [row["is_isomorphism"] for row in rows] == ["False", "True"]
    assert [row["n_kept_edges"] for row in rows] == ["3", "6"]
    whole = json.loads((folder / "all.json").read_text())
    assert [len(found["matching"]) for found in whole] == [4, 6]
    assert "not both" in fails("align", "rings:0", "rings:1", "--pairs", "pairs.csv", code=2)
    assert "give two graphs" in fails("align", "rings:0", code=2)
    assert "one pair" in fails("align", "--pairs", "pairs.csv", "-o", "x.svg", code=2)
    (folder / "pairs.csv").write_text("rings:0\n")
    assert "pair 1: 1 cells" in fails("align", "--pairs", "pairs.csv")


@pytest.mark.usefixtures("molecules")
def test_labels_can_be_strict(run, fails):
    pair = ("molecules.json:0", "molecules.json:1")
    said = run("align", *pair, "--labels", "strict", "--connected").stdout
    assert "without a partner" in said
    assert "must be one of soft, strict, ignore" in fails(
        "align", *pair, "--labels", "loose", code=2
    )
    assert "--max-seconds must be" in fails("align", *pair, "--max-seconds", -1)


@pytest.mark.usefixtures("rings")
def test_quiet_and_repeatable(run, folder):
    for name in ("x.json", "y.json"):
        words = ("--seed", 3, "--quiet", "-o", name)
        assert run("align", "rings:1", "rings:2", *words).output == ""
    assert (folder / "x.json").read_bytes() == (folder / "y.json").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rings", "rings:0"), "rings holds 4 graphs; pick one, from rings:0 to rings:3"),
        (("rings:9", "rings:0"), "rings has no graph 9"),
        (("rings:0", "nowhere.gml"), "nowhere.gml: there is no such file"),
        (("rings:0", "rings:1", "-o", "taken.csv"), "taken.csv exists"),
        (("MUTAG:3", "rings:1"), "data set 'MUTAG' is not on this computer"),
    ],
)
@pytest.mark.usefixtures("rings")
def test_bad_input_is_one_line_and_writes_nothing(words, message, fails, folder):
    (folder / "taken.csv").write_text("mine")
    assert message in fails("align", *words)
    assert (folder / "taken.csv").read_text() == "mine"


@pytest.mark.usefixtures("rings")
def test_the_wrong_ending_is_a_mistake_in_usage(run):
    said = run("align", "rings:0", "rings:1", "-o", "x.npy", code=2).stderr
    assert "must end in one of .json, .csv, .svg, .png, .pdf" in said


@pytest.mark.usefixtures("rings")
def test_a_missing_library_is_said_before_the_work(fails, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = fails("align", "rings:0", "rings:1", "-o", "x.svg")
    assert "pip install 'ddgk[plots]'" in said


def test_hostile_names_and_labels_are_shown_escaped(run, folder):
    pytest.importorskip("matplotlib", reason="figures need matplotlib (extra plots)")
    hostile = ["\x1b]0;pwned\x07", "$\\frac{$", "\u202e[red]x[/red]", "x" * 10_000]
    nodes = [{"id": name, "label": name} for name in hostile]
    links = [{"source": a, "target": b} for a, b in pairwise(hostile)]
    (folder / "bad.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    outs = [word for end in ("csv", "json", "svg", "png") for word in ("-o", f"x.{end}")]
    result = run("align", "bad.json", "bad.json", *outs)
    assert "\\x1b]0;pwned\\x07" in result.stdout
    assert not set("\x1b\x07\u202e") & set(result.output)
    assert "x" * 200 not in result.stdout
    ElementTree.parse(folder / "x.svg")
    with (folder / "x.csv").open(newline="") as lines:
        assert len(list(csv.reader(lines))) == 5
