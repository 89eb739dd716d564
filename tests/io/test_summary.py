from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ddgk.errors import DatasetError
from ddgk.graphs import Graph
from ddgk.io import DATASETS, NETWORKS, Dataset, list_datasets, read_tu

Writer = Callable[..., Path]


def test_a_set_is_counted(toy: dict[str, str], write_tu: Writer):
    found = read_tu(write_tu(toy)).summary()
    assert found.n_graphs == 2
    assert (found.mean_nodes, found.mean_edges) == (3.5, 2.5)
    assert (found.min_nodes, found.max_nodes) == (3, 4)
    assert found.class_sizes == {-1: 1, 1: 1}
    assert found.node_labels == [0, 1, 3]
    assert found.edge_labels == [0, 1, 2]
    assert (found.node_attributes, found.edge_attributes) == (2, 0)
    assert (found.directed_graphs, found.self_loops, found.weights) == (0, 0, None)
    assert (found.isolated_nodes, found.disconnected_graphs) == (1, 1)
    assert found.matches_published is None
    rows = dict(found.rows())
    assert rows["classes"] == "-1: 1, 1: 1"
    assert rows["node labels"] == "3: 0, 1, 3"
    assert (rows["node attributes"], rows["edge attributes"]) == ("2 columns", "-")


def test_a_set_without_anything_extra():
    found = Dataset([Graph(1, [])], None, "one").summary()
    assert found.class_sizes is None
    assert found.disconnected_graphs == 0
    assert dict(found.rows())["classes"] == "-"
    assert all(isinstance(text, str) for row in found.rows() for text in row)
    with pytest.raises(DatasetError, match="'none' has no graphs"):
        Dataset([], None, "none").summary()


def test_labels_of_several_kinds_have_an_order():
    found = Dataset([Graph(3, [], node_labels=["b", 1, ("a",)])], None, "mixed").summary()
    assert len(found.node_labels) == 3
    huge = Dataset([Graph(3, [], node_labels=[10**400, 0.5, -1])], None, "huge").summary()
    assert huge.node_labels == [-1, 0.5, 10**400]
    many = Dataset([Graph(40, [], node_labels=range(40))], None, "many").summary()
    assert dict(many.rows())["node labels"].endswith("10, 11, ...")


def test_content_that_is_not_the_published_one(toy: dict[str, str], write_tu: Writer):
    found = read_tu(write_tu(toy, "MUTAG")).summary()
    assert found.matches_published is False
    assert dict(found.rows())["as published"] == "no"


def test_the_list_has_what_is_known_and_what_is_stored(
    toy: dict[str, str], write_zip: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert [row.name for row in list_datasets()] == [*DATASETS, *NETWORKS]
    assert all(row.path is None for row in list_datasets())
    monkeypatch.setenv("DDGK_DATA", str(tmp_path))
    own = write_zip(toy, "own", folder=tmp_path / "tu")
    mutag = write_zip(toy, "MUTAG", folder=tmp_path / "tu")
    rows = {row.name: row for row in list_datasets()}
    assert rows["MUTAG"].path == mutag
    assert rows["own"].path == own
    assert rows["karate"].built_in


def test_direction_loops_weights_and_missing_values_are_counted():
    arrow = Graph(2, [(0, 1), (1, 1)], directed=True, edge_weights=[0.5, 3])
    hole = Graph(1, [], node_attributes=[[float("nan"), 1]], missing="mask")
    found = Dataset([arrow, hole], None, "x").summary()
    assert (found.directed_graphs, found.self_loops, found.missing_values) == (1, 1, 1)
    rows = dict(found.rows())
    assert rows["directed"] == "1 of 2 graphs"
    assert rows["edge weights"] == "0.5 to 3"
    assert rows["isolated nodes"] == "1"


def test_labels_are_shown_without_control_characters():
    found = Dataset([Graph(1, [], node_labels=["\x1b[31m"])], None, "x").summary()
    assert "\x1b" not in dict(found.rows())["node labels"]
