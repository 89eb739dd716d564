from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx
import pytest

from ddgk.errors import DatasetError, DatasetNotFoundError, DownloadError, GraphError, message
from ddgk.graphs import Policies
from ddgk.io import read

Writer = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "graphs"
    place.mkdir()
    for size in (10, 9, 2):
        networkx.write_gml(networkx.path_graph(size), place / f"path-{size}.gml")
    networkx.write_graphml(networkx.star_graph(3), place / "star.graphml")
    (place / "pair.csv").write_text("0,1\n")
    (place / "notes.md").write_text("not a graph")
    return place


def test_a_folder_in_natural_order(folder: Path):
    data = read(folder)
    assert [graph.name for graph in data.graphs] == ["pair", "path-2", "path-9", "path-10", "star"]
    assert data.classes is None
    assert data.name == "graphs"


def test_a_pattern(folder: Path):
    data = read(f"{folder}/path-*.gml")
    assert [graph.n_nodes for graph in data.graphs] == [2, 9, 10]
    assert len(read(f"{folder.parent}/**/*.gml").graphs) == 3
    with pytest.raises(DatasetError, match="no file matches"):
        read(f"{folder}/*.nothing")
    with pytest.raises(DatasetError, match=r"notes.md: cannot tell its format"):
        read(f"{folder}/*")


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path):
    (tmp_path / "a[1].edges").write_text("0 1\n")
    assert read(str(tmp_path / "a[1].edges")).graphs[0].name == "a[1]"


def test_one_file(folder: Path):
    data = read(folder / "path-2.gml")
    assert (data.name, len(data.graphs)) == ("path-2", 1)
    (folder / "UPPER.CSV").write_text("0,1\n")
    assert read(str(folder / "UPPER.CSV")).graphs[0].name == "UPPER"


def test_sets_in_tu_format(toy: dict[str, str], write_tu: Writer, write_zip: Writer):
    for path in (write_tu(toy), str(write_zip(toy))):
        data = read(path)
        assert data.classes.tolist() == [1, -1]
    assert read(path).graphs[0].node_attributes is not None


def test_names(
    toy: dict[str, str], write_zip: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert read("karate").graphs[0].n_nodes == 34
    assert read("karate", node_labels="club").graphs[0].node_labels is not None
    monkeypatch.setenv("DDGK_DATA", str(tmp_path / "own"))
    write_zip(toy, folder=tmp_path / "own" / "tu")
    assert len(read("toy").graphs) == 2
    (tmp_path / "own" / "networks").mkdir()
    networkx.write_gml(networkx.path_graph(3), tmp_path / "own" / "networks" / "line.gml")
    assert read("line").name == "line"
    with pytest.raises(DownloadError):
        read("MUTAG")
    with pytest.raises(DatasetNotFoundError, match="did you mean 'karate'"):
        read("karat")


def test_policies_and_keys_reach_the_converters(tmp_path: Path):
    (tmp_path / "x.edges").write_text("a b\nb a\nb b\n")
    with pytest.raises(GraphError, match=r"x.edges: graph 'x'"):
        read(tmp_path / "x.edges")
    policies = Policies(self_loops="drop", parallel_edges="merge")
    assert read(tmp_path / "x.edges", policies=policies).graphs[0].n_edges == 1
    made = networkx.Graph([(0, 1)])
    networkx.set_node_attributes(made, {0: "p", 1: "q"}, "kind")
    networkx.write_gml(made, tmp_path / "x.gml")
    assert read(tmp_path / "x.gml").graphs[0].node_labels is None
    assert read(tmp_path / "x.gml", node_labels="kind").graphs[0].node_labels == ("p", "q")


def test_the_limit_counts_all_files_together(folder: Path):
    with pytest.raises(DatasetError, match=r"too large.*max_bytes=600"):
        read(folder, max_bytes=600)


@pytest.mark.parametrize("source", ["nothing.gml", "no/folder", "nothing.zip", Path("nothing")])
def test_paths_that_lead_nowhere(source: str | Path):
    with pytest.raises(DatasetError, match="no such file"):
        read(source)


@pytest.mark.parametrize("source", ["a\0b", "x" * 5000, ""])
def test_what_is_neither_path_nor_name(source: str):
    with pytest.raises(DatasetNotFoundError, match="neither an existing path nor the name"):
        read(source)


def test_files_that_cannot_be_read(tmp_path: Path):
    (tmp_path / "x.xyz").write_text("?")
    with pytest.raises(
        DatasetError, match=r"x.xyz: cannot tell its format; known endings are .gml"
    ):
        read(tmp_path / "x.xyz")
    with pytest.raises(DatasetError, match="neither a set in TU format"):
        read(tmp_path)


def test_skipped_files_are_reported(folder: Path):
    report = read(folder).report
    assert report.skipped == ("notes.md: not a format that is read",)
    assert str(report) == "skipped notes.md: not a format that is read"


def test_a_readme_and_hidden_files_of_a_folder_are_not_graphs(tmp_path):
    (tmp_path / "path.txt").write_text("a b\nb c\n")
    (tmp_path / "README.txt").write_text("My graphs, collected in May\n")
    (tmp_path / "._path.txt").write_bytes(b"\0\5\x16\7")
    found = read(tmp_path)
    assert [graph.name for graph in found.graphs] == ["path"]
    skipped = {line.partition(":")[0] for line in found.report.skipped}
    assert skipped == {"README.txt", "._path.txt"}


def test_all_bad_files_are_named_at_once(folder: Path):
    (folder / "bad.gml").write_text("graph [")
    (folder / "worse.json").write_text("{")
    with pytest.raises(DatasetError) as caught:
        read(folder)
    said = str(caught.value).splitlines()
    assert said[0] == "2 of 7 files cannot be read:"
    assert "bad.gml: not GML" in said[1]
    assert "worse.json: not JSON" in said[2]


def test_the_fix_that_all_bad_files_share_is_named_once(folder: Path):
    for name in ("x", "y"):
        (folder / f"{name}.edges").write_text("a b\na b\n")
    with pytest.raises(DatasetError) as caught:
        read(folder)
    assert caught.value.policy == "parallel_edges"
    assert str(caught.value).count("Policies(") == 1
    assert len(read(folder, policies=Policies(parallel_edges="merge")).graphs) == 7


def test_different_fixes_are_told_in_the_command_lines_words_too(folder: Path):
    (folder / "x.edges").write_text("a b\na b\n")
    (folder / "y.edges").write_text("a b -1\n")
    with pytest.raises(DatasetError) as caught:
        read(folder)
    said = message(caught.value, command_line=True)
    assert "Policies" not in said
    assert "--parallel-edges merge" in said
    assert "--negative-weights absolute" in said


def test_names_of_files_and_their_contents_cannot_reach_the_terminal(tmp_path: Path):
    path = tmp_path / "x\x1b[31m.gml"
    path.write_text(
        'graph [ node [ id 0 label "\x1b]0;pwned\x07" ] edge [ source 0 target \x1b ] ]'
    )
    with pytest.raises(DatasetError) as caught:
        read(path)
    assert "\x1b" not in str(caught.value)
    assert "\\x1b[31m.gml" in str(caught.value)
