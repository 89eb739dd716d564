"""The published sets are what the catalogue says, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import networkx
import pytest

from ddgk.io import (
    DATASETS,
    NETWORKS,
    get,
    karate_club,
    load,
    read,
)
from ddgk.io.catalogue import suggest

# graphs, mean nodes, mean edges, class sizes, node labels, edge labels, smallest, largest,
# isolated nodes, disconnected graphs
COUNTS = {
    "MUTAG": (188, 17.93, 19.79, {-1: 63, 1: 125}, 7, 4, 10, 28, 0, 0),
    "PTC_MR": (344, 14.29, 14.69, {-1: 192, 1: 152}, 18, 4, 2, 64, 0, 0),
    "NCI1": (4110, 29.87, 32.30, {0: 2053, 1: 2057}, 37, 0, 3, 111, 428, 580),
    "DD": (1178, 284.32, 715.66, {1: 691, 2: 487}, 82, 0, 30, 5748, 0, 21),
    "ENZYMES": (600, 32.63, 62.14, dict.fromkeys(range(1, 7), 100), 3, 0, 2, 126, 106, 31),
    "PROTEINS": (1113, 39.06, 72.82, {1: 663, 2: 450}, 3, 0, 4, 620, 5, 46),
    "IMDB-BINARY": (1000, 19.77, 96.53, {0: 500, 1: 500}, 0, 0, 12, 136, 0, 0),
}
ATTRIBUTES = {"ENZYMES": 18, "PROTEINS": 1, "BZR": 3, "Letter-med": 2}
SIZES = {"karate": (34, 78), "celegansneural": (297, 2148), "adjnoun": (112, 425)}


@pytest.fixture
def published(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DDGK_DATA", str(data_folder))
    return data_folder


@pytest.mark.parametrize("name", COUNTS)
def test_a_published_set_has_the_published_counts(name: str, published: Path):
    assert get(name) == published / "tu" / f"{name}.zip"
    data = load(name)
    found = data.summary()
    row = DATASETS[name]
    counted = (
        found.n_graphs,
        round(found.mean_nodes, 2),
        round(found.mean_edges, 2),
        found.class_sizes,
        len(found.node_labels),
        len(found.edge_labels),
        found.min_nodes,
        found.max_nodes,
        found.isolated_nodes,
        found.disconnected_graphs,
    )
    assert counted == COUNTS[name]
    assert found.matches_published
    assert data.fingerprint == row.fingerprint
    assert data.graphs[0].name == f"{name}-0"
    assert row.n_graphs == found.n_graphs


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.usefixtures("published")
def test_published_attributes_are_read(name: str):
    found = load(name).summary()
    assert found.node_attributes == ATTRIBUTES.get(name, 0)
    assert dict(found.rows())["edge attributes"] == "-"


def test_every_archive_of_the_data_folder_loads(published: Path):
    archives = sorted((published / "tu").glob("*.zip"))
    assert archives
    for path in archives:
        graphs, classes = read(path)
        assert len(graphs) == len(classes) > 0


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.usefixtures("published")
def test_a_published_network_has_the_published_counts(name: str):
    graph = read(name).graphs[0]
    assert (graph.name, graph.n_nodes, graph.n_edges) == (name, *SIZES[name])
    assert graph.node_labels is None
    assert graph.edge_weights is None
    found = read(name).summary()
    assert (found.isolated_nodes, found.disconnected_graphs) == (0, 0)


@pytest.mark.usefixtures("published")
def test_the_words_are_adjectives_and_nouns():
    labels = read("adjnoun", node_labels="value").graphs[0].node_labels
    assert (labels.count(0), labels.count(1)) == (58, 54)


def test_the_published_karate_club_is_the_built_in_one(published: Path):
    stored = read(published / "networks" / "karate.gml", edge_weights=None, edge_labels=None)
    assert stored.graphs == [karate_club()]


def test_the_simple_graph_of_the_worm_is_the_one_networkx_makes(published: Path):
    path = published / "networks" / "celegansneural.gml"
    simple = networkx.Graph(networkx.read_gml(path).to_undirected())
    assert {frozenset(edge) for edge in simple.edges} == {
        frozenset(edge) for edge in read("celegansneural").graphs[0].to_networkx().edges
    }


def test_every_row_has_its_name_and_source():
    for table in (DATASETS, NETWORKS):
        for name, row in table.items():
            assert row.name == name
            assert row.what
            assert row.citation


def test_suggestions():
    assert suggest("nci", DATASETS) == "did you mean 'NCI1' or 'NCI109'?"
    assert suggest("imdb_binary", DATASETS) == "did you mean 'IMDB-BINARY'?"
    assert suggest("?" * 10_000, ["a", "b"]) == "known here: a, b."
