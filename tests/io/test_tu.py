from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.io import read_tu
from ddgk.io.tu_text import Text, parse
from ddgk.errors import DatasetError, DDGKError, ParameterError

Writer = Callable[..., Path]


def test_a_folder_and_its_zip_hold_the_same(
    toy: dict[str, str], write_tu: Writer, write_zip: Writer
):
    for path in (write_tu(toy), str(write_zip(toy))):
        data = read_tu(path)
        graphs, classes = data
        assert data.name == "toy"
        assert classes.tolist() == [1, -1]
        assert [graph.name for graph in graphs] == ["toy-0", "toy-1"]
        assert graphs[0].edges.tolist() == [[0, 1], [0, 2], [1, 2], [2, 3]]
        assert graphs[0].node_labels == (0, 0, 1, 3)
        assert graphs[0].edge_labels == (0, 0, 1, 2)
        assert graphs[1].n_nodes == 3
        assert graphs[1].edges.tolist() == [[0, 1]]
        assert graphs[0].node_attributes is None


def test_optional_files_may_be_missing(toy: dict[str, str], write_tu: Writer):
    graphs, classes = read_tu(write_tu({kind: toy[kind] for kind in ("A", "graph_indicator")}))
    assert classes is None
    assert graphs[0].node_labels is None
    assert graphs[0].edge_labels is None
    assert len(graphs) == 2


def test_one_direction_and_repeats_make_the_same_edges(toy: dict[str, str], write_tu: Writer):
    full = read_tu(write_tu(toy)).fingerprint
    lines, labels = toy["A"].splitlines(), toy["edge_labels"].splitlines()
    once = {"A": "\n".join(lines[::2]), "edge_labels": "\n".join(labels[::2])}
    assert read_tu(write_tu(toy | once, "once")).fingerprint == full
    twice = {"A": toy["A"] * 2, "edge_labels": toy["edge_labels"] * 2}
    assert read_tu(write_tu(toy | twice, "twice")).fingerprint == full


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_edge_lines_does_not_matter(chance: random.Random):
    lines = ["1, 2", "2, 1", "2, 3", "3, 2", "4, 5", "5, 4"]
    labels = ["0", "0", "1", "1", "2", "2"]
    order = list(range(6))
    chance.shuffle(order)
    texts = {
        "A": "\n".join(lines[i] for i in order),
        "edge_labels": "\n".join(labels[i] for i in order),
        "graph_indicator": "1\n1\n1\n2\n2",
    }
    graphs, _ = parse({key: Text(text.encode(), key) for key, text in texts.items()}, "t", "ignore")
    assert graphs[0].edges.tolist() == [[0, 1], [1, 2]]
    assert graphs[0].edge_labels == (0, 1)
    assert graphs[1].edge_labels == (2,)


def test_the_nodes_of_a_graph_may_stand_anywhere(write_tu: Writer):
    texts = {
        "A": "1, 3\n2, 4\n4, 5\n",
        "graph_indicator": "2\n1\n2\n1\n1\n",
        "node_labels": "10\n20\n30\n40\n50\n",
    }
    graphs, _ = read_tu(write_tu(texts))
    assert graphs[0].node_labels == (20, 40, 50)
    assert graphs[0].edges.tolist() == [[0, 1], [1, 2]]
    assert graphs[1].node_labels == (10, 30)
    assert graphs[1].edges.tolist() == [[0, 1]]


def test_several_columns_of_labels_become_tuples(toy: dict[str, str], write_tu: Writer):
    pairs = "".join(f"{i}, {i % 2}\n" for i in range(7))
    graphs, _ = read_tu(write_tu(toy | {"node_labels": pairs}))
    assert graphs[1].node_labels == ((4, 0), (5, 1), (6, 0))


def test_a_set_without_any_edge(write_tu: Writer):
    graphs, _ = read_tu(write_tu({"A": "", "graph_indicator": "1\n2\n", "edge_labels": ""}))
    assert [graph.n_edges for graph in graphs] == [0, 0]


def test_attributes_are_read_on_request_only(toy: dict[str, str], write_tu: Writer):
    folder = write_tu(toy | {"node_attributes": "this is not even a number"})
    assert read_tu(folder).graphs[0].node_attributes is None
    with pytest.raises(DatasetError, match=r"toy_node_attributes.txt, line 1"):
        read_tu(folder, attributes="keep")


def test_negative_attributes_are_refused_or_shifted(toy: dict[str, str], write_tu: Writer):
    folder = write_tu(toy)
    with pytest.raises(DatasetError, match=r'line 1: .*column 2 is negative.*attributes="shift"'):
        read_tu(folder, attributes="keep")
    graphs, _ = read_tu(folder, attributes="shift")
    values = np.concatenate([graph.node_attributes for graph in graphs])
    assert values[:, 0].tolist() == [0.5, 1, 2, 0, 10, 0, 7]
    assert values[:, 1].tolist() == [1.5, 2.5, 5.5, 2.5, 0, 2.5, 3.5]


def test_attributes_that_are_not_there(toy: dict[str, str], write_tu: Writer):
    del toy["node_attributes"]
    with pytest.raises(DatasetError, match="has no node attributes"):
        read_tu(write_tu(toy), attributes="keep")
    with pytest.raises(ParameterError, match="'ignore', 'keep', 'shift', not 'yes'"):
        read_tu(write_tu(toy), attributes="yes")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": "1, 2\n2, 9\n"}, r"toy_A.txt, line 2: \(2, 9\) names a node that does not exist"),
        ({"A": "1, 2\n0, 1\n"}, r"toy_A.txt, line 2: \(0, 1\) names a node that does not exist"),
        ({"A": "1, 2\n3, 3\n"}, "toy_A.txt, line 2: node 3 is joined to itself"),
        ({"A": "1, 2\n4, 5\n"}, r"line 2: \(4, 5\) joins node 4 of graph 1 to node 5 of graph 2"),
        ({"A": "1, 2\n4; 5\n"}, "toy_A.txt, line 2: '4; 5' is not 2 whole numbers"),
        ({"edge_labels": "0\n" * 9}, r"edge_labels.txt: 9 lines, but .*toy_A.txt has 10"),
        ({"edge_labels": "0\n" * 9 + "1\n"}, r"lines 9 and 10: edge \(5, 6\) has two labels"),
        ({"edge_labels": "0\n" * 9 + "x\n"}, "edge_labels.txt, line 10: 'x' is not a whole"),
        ({"node_labels": "0\n" * 8}, r"node_labels.txt: 8 lines, but .*indicator.txt has 7"),
        ({"node_labels": "0\n1.5\n" * 4}, "node_labels.txt, line 2: '1.5' is not a whole number"),
        ({"graph_labels": "1\n"}, r"indicator.txt, line 5: graph 2 does not exist; there are 1"),
        ({"graph_labels": "1\n2\n3\n"}, "no line names graph 3"),
        ({"graph_labels": "1\n" * 8}, "8 graphs cannot share 7 nodes"),
        ({"graph_labels": "a\n2\n"}, "graph_labels.txt, line 1: 'a'"),
        ({"graph_indicator": "0\n" * 7}, "indicator.txt, line 1: graph 0 does not exist"),
        ({"graph_indicator": ""}, "indicator.txt: it is empty"),
        ({"graph_indicator": "1\n\n1\n"}, "indicator.txt, line 2: '' is not a whole number"),
    ],
)
def test_damage_is_named_by_file_and_line(
    changes: dict[str, str], message: str, toy: dict[str, str], write_tu: Writer
):
    with pytest.raises(DatasetError, match=message):
        read_tu(write_tu(toy | changes))


def test_a_huge_graph_id_costs_no_memory(toy: dict[str, str], write_tu: Writer):
    del toy["graph_labels"]
    with pytest.raises(DatasetError, match="cannot share 7 nodes"):
        read_tu(write_tu(toy | {"graph_indicator": "1\n" * 6 + "9" * 18}))


def test_attribute_lines_are_counted(toy: dict[str, str], write_tu: Writer):
    with pytest.raises(DatasetError, match=r"node_attributes.txt: 6 lines, but the set has 7"):
        read_tu(write_tu(toy | {"node_attributes": "1\n" * 6}), attributes="keep")


@pytest.mark.parametrize("kind", ["A", "graph_indicator"])
def test_missing_files(kind: str, toy: dict[str, str], write_tu: Writer, write_zip: Writer):
    del toy[kind]
    for path in (write_tu(toy), write_zip(toy)):
        with pytest.raises(DatasetError, match=r"DS_A.txt, found none|_indicator.txt is missing"):
            read_tu(path)


def test_two_sets_in_one_place(toy: dict[str, str], write_tu: Writer):
    folder = write_tu(toy)
    (folder / "other_A.txt").write_text("1, 2\n")
    with pytest.raises(DatasetError, match=r"exactly one .* found other_A.txt, toy_A.txt"):
        read_tu(folder)


def test_paths_that_lead_nowhere(tmp_path: Path):
    for path in (tmp_path / "nothing", "x" * 5000):
        with pytest.raises(DatasetError, match="no such folder or zip"):
            read_tu(path)


def test_the_limit_holds_for_folders(toy: dict[str, str], write_tu: Writer):
    with pytest.raises(DatasetError, match=r"too large.*max_bytes=100"):
        read_tu(write_tu(toy), max_bytes=100)
    with pytest.raises(ParameterError, match="at least 1"):
        read_tu(write_tu(toy), max_bytes=0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_place_of_a_file_does_not_hang(toy: dict[str, str], write_tu: Writer):
    folder = write_tu(toy)
    (folder / "toy_node_labels.txt").unlink()
    os.mkfifo(folder / "toy_node_labels.txt")
    with pytest.raises(DatasetError, match="not an ordinary one"):
        read_tu(folder)


texts = st.text(alphabet="0123456789-+,. \n\r\tex\x00", max_size=40).map(str.encode)


@settings(max_examples=200, deadline=None)
@given(
    kinds=st.dictionaries(
        st.sampled_from(["graph_labels", "node_labels", "edge_labels", "node_attributes"]),
        texts | st.binary(max_size=40),
    ),
    adjacency=texts | st.binary(max_size=40),
    indicator=texts | st.sampled_from([b"1\n1\n2\n", b"1\n" * 9]),
    attributes=st.sampled_from(["ignore", "keep", "shift"]),
)
def test_any_bytes_give_graphs_or_one_of_our_errors(
    kinds: dict[str, bytes], adjacency: bytes, indicator: bytes, attributes: str
):
    files = kinds | {"A": adjacency, "graph_indicator": indicator}
    with contextlib.suppress(DDGKError):
        parse({key: Text(data, key) for key, data in files.items()}, "toy", attributes)
