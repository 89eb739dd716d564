import re

import pytest

from ddgk.cli.inputs import HELP, InputOptions
from ddgk.cli.options import CHOICES
from ddgk.errors import DatasetError
from ddgk.graphs import Policies, policies


def test_the_choices_are_those_of_the_policies():
    assert {name: CHOICES[name] for name in HELP} == policies.CHOICES
    assert all(getattr(Policies(), name) == CHOICES[name][0] for name in HELP)


def test_policies_are_made_only_when_asked_for():
    assert InputOptions().policies is None
    assert InputOptions(weights="ignore").policies == Policies(weights="ignore")


def read_graph(source):
    return InputOptions().read_one(source)


@pytest.mark.usefixtures("rings", "molecules")
def test_one_graph_by_file_by_number_and_by_name():
    assert read_graph("rings/ring-5.edges").n_nodes == 5
    assert read_graph("rings:2").n_nodes == 6
    assert read_graph("molecules.json:1").node_labels == ("C", "O", "N")
    assert read_graph("karate").n_nodes == 34
    assert read_graph("karate:0").n_nodes == 34


@pytest.mark.usefixtures("rings")
def test_a_folder_whose_name_looks_like_a_number_is_a_folder(folder):
    (folder / "rings").rename(folder / "rings:1")
    with pytest.raises(DatasetError, match="rings:1 holds 4 graphs"):
        read_graph("rings:1")


@pytest.mark.usefixtures("rings")
def test_which_graph_must_be_clear():
    with pytest.raises(
        DatasetError, match="rings holds 4 graphs; pick one, from rings:0 to rings:3"
    ):
        read_graph("rings")
    with pytest.raises(DatasetError, match="rings has no graph 4; it holds 4, counted from 0"):
        read_graph("rings:4")


@pytest.mark.parametrize("text", ["CCO", "c1ccccc1O", "CC(=O)O"])
def test_a_molecule_without_its_prefix_is_not_looked_for_as_a_data_set(text):
    with pytest.raises(DatasetError, match=re.escape(f"write a molecule as smiles:{text}")):
        read_graph(text)


@pytest.mark.usefixtures("rings")
def test_a_file_is_read_once(monkeypatch):
    from ddgk import io

    read, seen = io.read, []
    monkeypatch.setattr(
        io, "read", lambda source, **how: seen.append(source) or read(source, **how)
    )
    given = InputOptions()
    found = [given.read_one(name) for name in ("rings:0", "rings:2", "rings/ring-5.edges")]
    assert [graph.n_nodes for graph in found] == [4, 6, 5]
    assert seen == ["rings", "rings/ring-5.edges"]


def test_a_molecule_on_the_command_line(run, fails):
    pytest.importorskip("rdkit", reason="molecules need rdkit (extra chem)")
    assert read_graph("smiles:CCO").node_labels == ("C", "C", "O")
    assert "isomorphic" in run("align", "smiles:CCO", "smiles:OCC").stdout
    assert "not a valid SMILES" in fails("align", "smiles:C1C", "smiles:C")


def test_a_threshold_is_enough():
    assert InputOptions(threshold=0.5).policies == Policies(
        negative_weights="threshold", threshold=0.5
    )
    assert InputOptions().policies is None


INPUTS = {
    "repeated.edges": "a b\na b\n",
    "negative.edges": "a b -1\nb c 1\n",
    "table.csv": "name,kind\na,b\nc,d\ne,f\n",
    "kinds.gml": 'graph [ node [ id 0 label "C" kind "C" ] node [ id 1 label "C" kind "C" ] ]',
    "empty.json": '{"nodes": [], "links": []}',
    "molecules.csv": "name,my_smi\nethanol,CCO\nmethane,C\nwater,O\n",
    "bad.smi": "C\nC1CC\n",
}


@pytest.mark.parametrize("name", INPUTS)
def test_the_fix_that_an_error_prints_works_exactly_as_printed(name, folder, run, fails):
    if "smi" in INPUTS[name] or name.endswith(".smi"):
        pytest.importorskip("rdkit", reason="reads molecules")
    (folder / name).write_text(INPUTS[name])
    said = fails("datasets", "show", name)
    assert "Policies(" not in said
    assert "read(" not in said
    fixes = re.findall(r"--[a-z-]+ [^ ;]+", said)
    assert fixes
    for fix in fixes:
        if (name, fix) != ("empty.json", "--empty skip"):  # nothing would be left
            run("datasets", "show", name, *fix.split(" "))


@pytest.mark.usefixtures("rings")
def test_skipped_files_are_listed(folder, run):
    (folder / "rings" / "notes.md").write_text("no graph")
    result = run("datasets", "show", "rings")
    assert "skipped notes.md: not a format that is read" in result.stderr


@pytest.mark.usefixtures("rings")
def test_all_bad_files_of_a_folder_are_named(folder, fails):
    (folder / "rings" / "bad.gml").write_text("graph [")
    (folder / "rings" / "worse.edges").write_text("a b\na b\n")
    said = fails("datasets", "show", "rings")
    assert "2 of 6 files cannot be read" in said
    assert "bad.gml" in said
    assert "--parallel-edges merge" in said


def test_a_picked_graph_keeps_its_class(data_folder, monkeypatch):
    monkeypatch.setenv("DDGK_DATA", str(data_folder))
    found = InputOptions().read("MUTAG:3")
    assert [graph.name for graph in found.graphs] == ["MUTAG-3"]
    assert found.classes.shape == (1,)


@pytest.mark.parametrize("words", [("embed", "-o", "x.csv"), ("compare",), ("datasets", "show")])
def test_every_command_names_the_options_of_the_command_line(words, folder, fails):
    (folder / "x.edges").write_text("a b\na b\n")
    said = fails(*words, "x.edges")
    assert said.endswith("list it once, or use --parallel-edges merge")
