import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddgk.errors import GraphError
from ddgk.graphs import Graph
from ddgk.plain import FORMULAS, NUMBER, csv_bytes, graph_from_plain, graph_to_plain, visible


@given(st.text())
def test_visible_text_is_one_printable_line(text):
    shown = visible(text)
    assert shown.isprintable()
    assert len(shown) <= 300 * 10


def test_short_texts_stay():
    assert visible("abc", 3) == "abc"
    assert len(visible("x" * 99, 10)) == 10


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_every_row_stays_one_record_and_no_cell_is_a_formula(cells):
    (record,) = csv.reader(io.StringIO(csv_bytes([["x", *cells]]).decode(), newline=""))
    assert len(record) == len(cells) + 1
    texts = [cell for cell in record if not NUMBER.fullmatch(cell)]
    assert not any(cell.startswith(FORMULAS) for cell in texts)


def test_numbers_read_back():
    (record,) = csv.reader(io.StringIO(csv_bytes([[0.1 + 0.2, -1, None]]).decode()))
    assert float(record[0]) == 0.1 + 0.2
    assert record[1:] == ["-1", ""]


def test_a_graph_survives_json():
    graph = Graph(
        3,
        [(0, 1), (1, 2)],
        node_labels=["a", ("b", 1), frozenset({1, 2})],
        edge_labels=[1.5, None],
        edge_weights=[0.5, 2.0],
        node_attributes=[[1.0], [0.0], [2.0]],
        node_names=["x", "y", 7],
        name="all of it",
    )
    back = graph_from_plain(json.loads(json.dumps(graph_to_plain(graph))))
    assert back == graph
    assert (back.node_names, back.name) == (graph.node_names, graph.name)


@pytest.mark.parametrize(
    "plain",
    [
        [],
        {"n_nodes": 2},
        {"n_nodes": 2, "edges": [[0]]},
        {"n_nodes": 2, "edges": [[0, 5]]},
        {"n_nodes": "2", "edges": []},
        {"n_nodes": 2, "edges": [], "nodes": 3},
        {"n_nodes": 2, "edges": [], "name": 3},
        {"n_nodes": 1, "edges": [], "node_labels": [[1]]},
        {"n_nodes": 1, "edges": [], "node_labels": [{"module": ["os"]}]},
        {"n_nodes": 1, "edges": [[float("nan"), 0]]},
    ],
)
def test_malformed_graphs_are_refused(plain):
    with pytest.raises(GraphError):
        graph_from_plain(plain)


def test_other_labels_cannot_be_written():
    with pytest.raises(GraphError, match="is a object, which no file can hold"):
        graph_to_plain(Graph(1, [], node_labels=[object()]))
