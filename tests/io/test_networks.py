from __future__ import annotations

from pathlib import Path

import networkx
import pytest

from ddgk.errors import DatasetError, DatasetNotFoundError, GraphError
from ddgk.graphs import Graph, Policies
from ddgk.io import NETWORKS, karate_club, read

DIRECTED = """graph [
  directed 1
  multigraph 1
  node [ id 1 label "a" value 0 ]
  node [ id 2 label "b" value 1 ]
  edge [ source 1 target 2 key 0 value 3 ]
  edge [ source 1 target 2 key 1 value 2 ]
  edge [ source 2 target 1 key 0 value 1 ]
]
"""


def load_network(name: str, **how) -> Graph:
    (graph,) = read(name, **how).graphs
    return graph


def test_the_karate_club_needs_no_data():
    graph = karate_club()
    assert (graph.name, graph.n_nodes, graph.n_edges) == ("karate", 34, 78)
    assert graph.node_labels is None
    assert graph.edge_weights is None


def test_the_karate_club_with_more_than_structure():
    graph = load_network("karate", node_labels="club", policies=Policies())
    assert set(graph.node_labels) == {"Mr. Hi", "Officer"}
    assert graph.edge_weights.sum() == 231


def test_a_network_is_found_by_name_in_the_own_folder_and_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DDGK_DATA", str(tmp_path / "own"))
    for folder, size in ((cache, 4), (tmp_path / "own", 3)):
        (folder / "networks").mkdir(parents=True)
        networkx.write_gml(networkx.path_graph(size), folder / "networks" / "line.gml")
    assert load_network("line").n_nodes == 3


def test_a_known_network_has_its_own_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DDGK_DATA", str(tmp_path))
    path = tmp_path / "networks" / "celegansneural.gml"
    path.parent.mkdir()
    path.write_text(DIRECTED)
    graph = load_network("celegansneural")
    assert graph.n_edges == 1
    assert graph.edge_weights is None
    keep = Policies(directed="undirected", parallel_edges="merge")
    assert load_network("celegansneural", policies=keep).edge_weights.tolist() == [6.0]
    with pytest.raises(
        GraphError, match=r"celegansneural.gml: graph 'celegansneural': .*more than once"
    ):
        load_network("celegansneural", policies=Policies())
    with pytest.raises(GraphError):
        read(path)


def test_node_labels_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DDGK_DATA", str(tmp_path))
    (tmp_path / "networks").mkdir()
    (tmp_path / "networks" / "x.gml").write_text(DIRECTED)
    policies = Policies(directed="undirected", parallel_edges="merge")
    graph = load_network("x", node_labels="value", policies=policies)
    assert graph.node_labels == (0, 1)
    assert graph.node_names == ("a", "b")
    with pytest.raises(GraphError, match="kind"):
        load_network("x", node_labels="kind", policies=policies)


def test_missing_networks(cache: Path):
    with pytest.raises(DatasetNotFoundError) as caught:
        load_network("celegansneural")
    assert str(cache / "networks") in str(caught.value)
    assert "DDGK_DATA" in str(caught.value)
    with pytest.raises(DatasetNotFoundError, match="did you mean 'karate'"):
        load_network("karte")


def test_the_size_of_a_file_is_limited(tmp_path: Path):
    (tmp_path / "x.gml").write_text(DIRECTED)
    with pytest.raises(DatasetError, match="max_bytes=50"):
        read(tmp_path / "x.gml", max_bytes=50)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_row_says_where_it_comes_from(name: str):
    assert NETWORKS[name].name == name
    assert NETWORKS[name].citation
