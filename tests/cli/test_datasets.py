from ddgk.io import DATASETS, NETWORKS


def test_list_names_everything(run):
    said = run("datasets", "list").stdout
    assert all(name in said for name in (*DATASETS, *NETWORKS))
    assert "built in" in said
    assert " yes " not in said


def test_get_prints_where(run, data_folder, monkeypatch):
    monkeypatch.setenv("DDGK_DATA", str(data_folder))
    assert run("datasets", "get", "MUTAG").stdout.strip().endswith("MUTAG.zip")
    assert run("datasets", "get", "adjnoun").stdout.strip().endswith("adjnoun.gml")
    assert " yes " in run("datasets", "list").stdout


def test_get_of_what_is_built_in(run):
    assert run("datasets", "get", "karate").stdout == "karate is built in\n"


def test_get_says_what_to_do_offline(fails):
    said = fails("datasets", "get", "MUTAG")
    assert "is not on this computer" in said
    assert "DDGK_DATA" in said
    assert "DDGK_DATA" in fails("datasets", "get", "adjnoun")
    assert "did you mean 'NCI1'" in fails("datasets", "get", "NCI")
    assert "64 hexadecimal digits" in fails("datasets", "get", "MUTAG", "--sha256", "abc")


def test_show_counts(run, rings):
    said = run("datasets", "show", rings).stdout
    assert "smallest, largest" in said
    assert "4, 10 nodes" in said
    karate = run("datasets", "show", "karate").stdout
    assert "friendships in a karate club" in karate
    assert "Zachary" in karate


def test_show_of_nothing(fails):
    assert "no such file" in fails("datasets", "show", "nowhere.gml")


def test_show_prints_attributes(run, data_folder, monkeypatch):
    monkeypatch.setenv("DDGK_DATA", str(data_folder))
    said = run("datasets", "show", "Letter-med").stdout
    assert "node attributes" in said
    assert "2 columns" in said


def test_a_wrong_choice_is_a_mistake_in_usage(run, rings):
    result = run("datasets", "show", rings, "--weights", "some", code=2)
    assert "must be one of scale, log, rank, ignore" in result.stderr
