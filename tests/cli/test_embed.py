import json

import numpy as np
import pytest

from ddgk import DDGK
from ddgk.io import read

# Enough to run through everything; what is learned does not matter here.
QUICK = ("--encoder-epochs", "3", "--curve", "1,2")


def test_numbers_are_those_of_the_library(run, rings):
    said = run("embed", rings, "-o", "x.npz", "--sources", 2, "--seed", 5, *QUICK).stdout
    model = DDGK(n_sources=2, random_state=5, encoder_epochs=3, curve=(1, 2))
    with np.load("x.npz") as found:
        np.testing.assert_array_equal(found["embedding"], model.fit_transform(read(rings).graphs))
        assert found["columns"].tolist() == model.get_feature_names_out().tolist()
        assert found["names"].tolist() == ["ring-4", "ring-5", "ring-6", "ring-10"]
        assert "classes" not in found
    assert said.startswith("x.npz: 4 graphs x 1040 columns, in ")
    assert said.endswith(" pairs/s\n")
    assert said.count("\n") == 1


def test_classes_are_kept_where_they_are_known(run, data_folder):
    words = ("-o", "x.npz", "--sources", 1, "--families", "none", *QUICK, "--quiet")
    result = run("embed", data_folder / "tu" / "MUTAG.zip", *words)
    assert result.output == ""
    with np.load("x.npz") as found:
        assert found["classes"].shape == (188,)
        assert len(set(found["names"].tolist())) == 188


def test_every_option_of_the_method_arrives(run, molecules):
    words = [
        *("--preset", "paper", "--relation", "closeness", "--scores", "tanh", "--reverse", "tied"),
        *("--start", "equivariant", "--reduction", "both", "--output", "total"),
        *("--baseline", "none", "--symmetric", "--families", "node_labels,edge_labels"),
    ]
    run("embed", molecules, "-o", "x.npy", "--save-model", "x.ddgk", *words, *QUICK)
    method = DDGK.load("x.ddgk").method_
    assert (method.relation, method.scores, method.reverse) == ("closeness", "tanh", "tied")
    assert (method.start, method.reduction, method.output) == ("equivariant", "both", "total")
    assert (method.baseline, method.symmetric, method.curve) == ("none", True, (1, 2))
    assert method.families == ("node_labels", "edge_labels")
    assert method.surroundings == "two_hop"  # of the preset


def test_options_for_relations_encoders_and_large_graphs_arrive(run, rings):
    words = [
        *("--relation", "node_to_edges,edge_to_nodes", "--encoder-drop", "0.1"),
        *("--encoder-decay", "0.2", "--encoder-patience", "2", "--regions", "3"),
        *("--attention-size", "2", "--sampled-above", "5", "--samples", "4"),
    ]
    run("embed", rings, "-o", "x.npz", "--save-model", "x.ddgk", *words, *QUICK)
    method = DDGK.load("x.ddgk").method_
    assert method.relation == ("node_to_edges", "edge_to_nodes")
    assert (method.encoder_drop, method.encoder_decay, method.encoder_patience) == (0.1, 0.2, 2)
    assert (method.regions, method.attention_size) == (3, 2)
    assert (method.sampled_above, method.samples) == (5, 4)
    with np.load("x.npz") as found:
        assert "source0/edge_to_nodes.image2.sum/127" in found["columns"].tolist()


def test_a_saved_model_embeds_the_same_and_other_graphs(run, rings):
    run("embed", rings, "-o", "x.npy", "--save-model", "x.ddgk", *QUICK)
    run("embed", rings, "-o", "y.npy", "--model", "x.ddgk")
    run("embed", "rings/ring-10.edges", "-o", "z.npy", "--model", "x.ddgk")
    np.testing.assert_array_equal(np.load("x.npy"), np.load("y.npy"))
    np.testing.assert_array_equal(np.load("z.npy"), np.load("x.npy")[3:])


def test_a_saved_model_takes_no_options_of_the_method(run, rings):
    words = ("--model", "x.ddgk", "--sources", 2, "--seed", 1, "--encoder-epochs", 2)
    said = run("embed", rings, "-o", "x.npy", *words, code=2).stderr
    assert "--sources, --encoder-epochs, --seed would fit a new model" in said


def test_unseen_labels_follow_their_policy(run, fails, molecules, folder):
    graphs = json.loads((folder / molecules).read_text())
    (folder / "one.json").write_text(json.dumps(graphs[:1]))
    run("embed", "one.json", "-o", "x.npy", "--save-model", "x.ddgk", *QUICK)
    assert "'N'" in fails("embed", molecules, "-o", "y.npy", "--model", "x.ddgk")
    run("embed", molecules, "-o", "y.npy", "--model", "x.ddgk", "--unseen-labels", "ignore")


def test_policies_apply_when_reading_and_when_fitting(run, fails, folder):
    (folder / "loop.edges").write_text("0 1\n1 1\n1 2\n")
    (folder / "heavy.edges").write_text("0 1 0.5\n1 2 1\n")
    assert "self-loop" in fails("embed", "loop.edges", "-o", "x.npy", *QUICK)
    run("embed", "loop.edges", "-o", "x.npy", "--self-loops", "drop", *QUICK)
    assert "weight" in fails("embed", "heavy.edges", "-o", "y.npy", *QUICK)
    run("embed", "heavy.edges", "-o", "y.npy", "--weights", "keep", "--save-model", "m", *QUICK)
    run("embed", "heavy.edges", "-o", "z.npy", "--model", "m")
    np.testing.assert_array_equal(np.load("y.npy"), np.load("z.npy"))


def test_networks_keep_their_own_policies(run):
    run("embed", "karate", "-o", "x.npy", *QUICK)  # its file has weights


def test_keys_of_labels_can_be_named(run, folder):
    text = 'graph [ node [ id 0 kind "a" ] node [ id 1 kind "b" ] edge [ source 0 target 1 ] ]'
    (folder / "x.gml").write_text(text)
    run("embed", "x.gml", "-o", "x.npz", "--node-labels", "kind", *QUICK)
    with np.load("x.npz") as found:
        assert any("node_labels" in name for name in found["columns"].tolist())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.gml", "-o", "x.npy"), "nowhere.gml: there is no such file or folder"),
        (("MUTGA", "-o", "x.npy"), "did you mean 'MUTAG'?"),
        (("bad.json", "-o", "x.npy"), "bad.json: not JSON"),
        (("empty", "-o", "x.npy"), "empty: neither a set in TU format"),
        (("rings", "-o", "taken.npy"), "taken.npy exists; choose another name, or pass --force"),
        (("rings", "-o", "none/x.npy"), "there is no folder none"),
        (("rings", "-o", "x.npy", "--save-model", "taken.npy"), "taken.npy exists"),
        (("rings", "-o", "x.npy", "--model", "none.ddgk"), "no model file 'none.ddgk'"),
        (("rings", "-o", "x.npy", "--model", "taken.npy"), "is not a model file"),
        (("rings/*.gml", "-o", "x.npy"), "rings/*.gml: no file matches"),
    ],
)
@pytest.mark.usefixtures("rings")
def test_bad_input_is_one_line_and_writes_nothing(words, message, fails, folder):
    (folder / "bad.json").write_text('{"nodes": [')
    (folder / "taken.npy").write_text("mine")
    (folder / "empty").mkdir()
    before = sorted(folder.rglob("*"))
    assert message in fails("embed", *words)
    assert sorted(folder.rglob("*")) == before
    assert (folder / "taken.npy").read_text() == "mine"


def test_the_wrong_ending_is_a_mistake_in_usage(run, rings, folder):
    said = run("embed", rings, "-o", "x.xlsx", code=2).stderr
    assert "'x.xlsx' must end in one of .npy, .npz, .csv, .parquet" in said
    assert not (folder / "x.xlsx").exists()


def test_force_replaces(run, rings, folder):
    (folder / "x.csv").write_text("old")
    run("embed", rings, "-o", "x.csv", "--force", *QUICK)
    assert (folder / "x.csv").read_text().startswith("name,source0/edges/1,")
