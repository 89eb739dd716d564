from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx
import pytest

from ddgk.io import read
from ddgk.errors import DatasetError, DatasetNotFoundError, DownloadError, GraphError
from ddgk.graphs import Policies

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
    assert read(path, attributes="shift").graphs[0].node_attributes is not None


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
