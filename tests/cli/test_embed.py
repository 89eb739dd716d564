import json

import numpy as np
import pytest

from ddgk import DDGK, Config
from ddgk.io import read
from ddgk.store import open_run

# Enough to run through everything; what is learned does not matter here.
QUICK = ("--set", "encoder_epochs=3")


def test_numbers_are_those_of_the_library(run, rings):
    said = run("embed", rings, "-o", "x.npz", "--sources", 2, "--seed", 5, *QUICK).stdout
    model = DDGK(n_sources=2, random_state=5, config=Config(encoder_epochs=3))
    with np.load("x.npz") as found:
        np.testing.assert_array_equal(found["embedding"], model.fit_transform(read(rings).graphs))
        assert found["embedding"].dtype == np.float32
        assert found["columns"].tolist() == model.get_feature_names_out().tolist()
        assert found["names"].tolist() == ["ring-4", "ring-5", "ring-6", "ring-10"]
        assert "classes" not in found
    assert said.startswith("x.npz: 4 graphs x 4 columns, in ")
    assert said.count("\n") == 1


def test_results_do_not_depend_on_jobs(run, rings, folder):
    for jobs in (1, 3, -1):
        name = f"x{jobs}"
        run("embed", rings, "-o", f"{name}.npz", "--save-model", name, "-j", jobs, *QUICK, "-q")
    assert len({(folder / f"x{jobs}.npz").read_bytes() for jobs in (1, 3, -1)}) == 1
    assert len({(folder / f"x{jobs}").read_bytes() for jobs in (1, 3, -1)}) == 1


def test_classes_are_kept_where_they_are_known(run, data_folder):
    words = ("-o", "x.npz", "--sources", 1, "--features", 5, *QUICK, "--quiet")
    result = run("embed", data_folder / "tu" / "MUTAG.zip", *words)
    assert result.output == ""
    with np.load("x.npz") as found:
        assert found["embedding"].shape == (188, 5)
        assert found["classes"].shape == (188,)
        assert len(set(found["names"].tolist())) == 188


def test_the_preset_and_its_changes_arrive(run, molecules):
    given = ("baseline=none", "checkpoints=1,2", "initialisation=equivariant")
    changes = [word for one in given for word in ("--set", one)]
    words = ("--preset", "paper", *changes, *QUICK, "--engine", "fused", "--features", 0)
    run("embed", molecules, "-o", "x.npy", "--save-model", "x.ddgk", *words)
    model = DDGK.load("x.ddgk")
    expected = Config.preset("paper").replace(
        baseline="none", checkpoints=(1, 2), initialisation="equivariant", encoder_epochs=3
    )
    assert model.config_ == expected
    assert (model.engine, model.n_features, model.n_jobs) == ("fused", None, None)
    assert np.load("x.npy").dtype == np.float64


def test_a_field_that_needs_torch_says_so(run, rings):
    pytest.importorskip("torch", reason="the torch engine needs torch")
    words = ("embed", rings, "-o", "x.npy", *QUICK, "--set", "encoder_weight_decay=0.1")
    assert "torch engine only" in run(*words).stderr


def test_a_saved_model_embeds_the_same_and_other_graphs(run, rings):
    run("embed", rings, "-o", "x.npy", "--save-model", "x.ddgk", *QUICK)
    run("embed", rings, "-o", "y.npy", "--model", "x.ddgk")
    run("embed", "rings/ring-10.edges", "-o", "z.npy", "--model", "x.ddgk")
    np.testing.assert_array_equal(np.load("x.npy"), np.load("y.npy"))
    np.testing.assert_array_equal(np.load("z.npy"), np.load("x.npy")[3:])


def test_a_saved_model_takes_no_options_that_shape_a_new_one(fails, rings):
    words = ("--model", "x.ddgk", "--sources", 2, "--seed", 0, *QUICK)
    said = fails("embed", rings, "-o", "x.npy", *words, code=2)
    assert "--sources, --set, --seed would fit a new model" in said


def test_unseen_labels_follow_their_policy(run, fails, molecules, folder):
    graphs = json.loads((folder / molecules).read_text())
    (folder / "one.json").write_text(json.dumps(graphs[:1]))
    run("embed", "one.json", "-o", "x.npy", "--save-model", "x.ddgk", *QUICK)
    words = ("embed", molecules, "-o", "y.npy", "--model", "x.ddgk", "--unseen-labels")
    assert "'N'" in fails(*words, "error")
    run(*words, "ignore")


def test_policies_of_the_input_arrive(run, fails, folder):
    (folder / "twice.edges").write_text("0 1\n0 1\n1 2\n")
    assert "--parallel-edges merge" in fails("embed", "twice.edges", "-o", "x.npy", *QUICK)
    run("embed", "twice.edges", "-o", "x.npy", "--parallel-edges", "merge", *QUICK)
    (folder / "graphs").mkdir()
    (folder / "graphs" / "a.edges").write_text("0 1 0.5\n1 2 1\n")
    (folder / "graphs" / "b.edges").write_text("0 1 1\n1 2 1\n")
    run("embed", "graphs", "-o", "kept.npy", "--save-model", "m", *QUICK)
    run("embed", "graphs", "-o", "ignored.npy", "--weights", "ignore", *QUICK)
    run("embed", "graphs", "-o", "again.npy", "--model", "m")
    kept, ignored = np.load("kept.npy"), np.load("ignored.npy")
    assert not np.array_equal(kept[0], kept[1])
    np.testing.assert_array_equal(ignored[0], ignored[1])
    np.testing.assert_array_equal(kept, np.load("again.npy"))


def test_smiles_of_a_table(run, folder):
    pytest.importorskip("rdkit", reason="reads molecules")
    (folder / "m.csv").write_text("name,structure\nethanol,CCO\nmethane,C\nether,COC\n")
    run("embed", "m.csv", "--smiles", "structure", "-o", "x.csv", *QUICK)
    rows = (folder / "x.csv").read_text().splitlines()
    assert [row.partition(",")[0] for row in rows] == [
        '"name"',
        '"ethanol"',
        '"methane"',
        '"ether"',
    ]


def test_networks_keep_their_own_policies(run):
    run("embed", "karate", "-o", "x.npy", *QUICK)


def test_keys_of_labels_can_be_named(run, folder):
    text = 'graph [ node [ id 0 kind "a" ] node [ id 1 kind "b" ] edge [ source 0 target 1 ] ]'
    (folder / "x.gml").write_text(text)
    run("embed", "x.gml", "-o", "x.npz", "--node-labels", "kind", "--save-model", "m", *QUICK)
    assert any("node_labels" in name for name in DDGK.load("m").term_names_)


def test_a_run_is_continued_and_takes_more_graphs(run, fails, rings, folder):
    words = ("embed", rings, "--run", "kept", *QUICK)
    run(*words)
    run(*words, "-o", "x.npy")
    rows = open_run("kept").rows()
    np.testing.assert_array_equal(np.load("x.npy"), rows)
    (folder / "star.edges").write_text("0 1\n0 2\n0 3\n")
    assert "--add" in fails("embed", "star.edges", "--run", "kept", "--model", "kept")
    run("embed", "star.edges", "--run", "kept", "--add", "-o", "star.npy")
    assert np.load("star.npy").shape == (1, rows.shape[1])
    assert "another configuration" in fails(*words, "--set", "depth=1")


def test_a_bogus_cluster_is_one_line_at_once(fails, rings):
    pytest.importorskip("distributed", reason="clusters need distributed (extra cluster)")
    said = fails("embed", rings, "--run", "kept", "--cluster", "bogus://x", *QUICK)
    assert "is no address of a scheduler" in said


def test_formulas_in_names_are_defused(run, folder):
    (folder / "graphs").mkdir()
    for name in ("=1+1", "plain"):
        (folder / "graphs" / f"{name}.edges").write_text("0 1\n1 2\n")
    run("embed", "graphs", "-o", "x.csv", *QUICK)
    assert '"\'=1+1",' in (folder / "x.csv").read_text()


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
        (("rings", "-o", "x.npy", "--max-memory", "much"), "--max-memory must be an amount"),
        (("rings", "-o", "x.npy", "--engine", "fused", "--device", "cuda"), "--engine torch"),
        (("bad\x1b[31m.gml", "-o", "x.npy"), "bad\\x1b[31m.gml"),
    ],
)
@pytest.mark.usefixtures("rings")
def test_bad_input_is_one_line_and_writes_nothing(words, message, fails, folder):
    (folder / "bad.json").write_text('{"nodes": [')
    (folder / "bad\x1b[31m.gml").write_text("\x1b]0;pwned\x07")
    (folder / "taken.npy").write_text("mine")
    (folder / "empty").mkdir()
    before = sorted(folder.rglob("*"))
    said = fails("embed", *words)
    assert message in said
    assert "\n" not in said
    assert "\x1b" not in said
    assert sorted(folder.rglob("*")) == before
    assert (folder / "taken.npy").read_text() == "mine"


def test_the_wrong_ending_is_a_mistake_in_usage(fails, rings, folder):
    said = fails("embed", rings, "-o", "x.xlsx", code=2)
    assert "'x.xlsx' must end in one of .npy, .npz, .csv, .parquet" in said
    assert "give a file with -o, or a folder with --run" in fails("embed", rings, code=2)
    assert not (folder / "x.xlsx").exists()


def test_force_replaces(run, rings, folder):
    (folder / "x.csv").write_text("old")
    run("embed", rings, "-o", "x.csv", "--force", *QUICK)
    assert (folder / "x.csv").read_text().startswith('"name",')
