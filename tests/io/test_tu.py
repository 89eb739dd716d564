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

from ddgk.errors import DatasetError, DDGKError, ParameterError
from ddgk.graphs import Policies
from ddgk.io import read_tu
from ddgk.io.tu import Text, parse, read_integers, read_reals

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
        assert graphs[0].node_attributes.tolist() == [[0.5, -1], [1, 0], [2, 3], [0, 0]]
        assert not graphs[0].directed


def test_optional_files_may_be_missing(toy: dict[str, str], write_tu: Writer):
    graphs, classes = read_tu(write_tu({kind: toy[kind] for kind in ("A", "graph_indicator")}))
    assert classes is None
    assert graphs[0].node_labels is None
    assert graphs[0].edge_labels is None
    assert len(graphs) == 2


def test_repeats_make_the_same_edges_and_one_direction_directed_ones(
    toy: dict[str, str], write_tu: Writer
):
    full = read_tu(write_tu(toy))
    twice = {"A": toy["A"] * 2, "edge_labels": toy["edge_labels"] * 2}
    assert read_tu(write_tu(toy | twice, "twice")).fingerprint == full.fingerprint
    lines, labels = toy["A"].splitlines(), toy["edge_labels"].splitlines()
    once = {"A": "\n".join(lines[::2]), "edge_labels": "\n".join(labels[::2])}
    folder = write_tu(toy | once, "once")
    assert all(graph.directed for graph in read_tu(folder).graphs)
    joined = read_tu(folder, policies=Policies(directed="undirected"))
    assert joined.fingerprint == full.fingerprint
    with pytest.raises(DatasetError, match=r"edge \(1, 2\) is listed in one direction only"):
        read_tu(folder, policies=Policies(directed="error"))


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
    graphs, _ = parse(
        {key: Text(text.encode(), key) for key, text in texts.items()}, "t", Policies()
    )
    assert graphs[0].edges.tolist() == [[0, 1], [1, 2]]
    assert graphs[0].edge_labels == (0, 1)
    assert graphs[1].edge_labels == (2,)


def test_the_nodes_of_a_graph_may_stand_anywhere(write_tu: Writer):
    texts = {
        "A": "1, 3\n2, 4\n4, 5\n5, 4\n4, 2\n3, 1\n",
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": "1, 2\n2, 9\n"}, r"toy_A.txt, line 2: \(2, 9\) names a node that does not exist"),
        ({"A": "1, 2\n0, 1\n"}, r"toy_A.txt, line 2: \(0, 1\) names a node that does not exist"),
        ({"A": "1, 2\n4, 5\n"}, r"line 2: \(4, 5\) joins node 4 of graph 1 to node 5 of graph 2"),
        ({"A": "1, 2\n4; 5\n"}, "toy_A.txt, line 2: '4; 5' is not 2 whole numbers"),
        ({"edge_labels": "0\n" * 9}, r"edge_labels.txt: 9 lines, but .*toy_A.txt has 10"),
        ({"edge_labels": "0\n" * 9 + "x\n"}, "edge_labels.txt, line 10: 'x' is not a whole"),
        ({"node_labels": "0\n" * 8}, r"node_labels.txt: 8 lines, but .*indicator.txt has 7"),
        ({"node_labels": "0\n1.5\n" * 4}, "node_labels.txt, line 2: '1.5' is not a whole number"),
        ({"graph_labels": "1\n"}, r"indicator.txt, line 5: graph 2 does not exist; there are 1"),
        ({"graph_labels": "1\n2\n3\n"}, r"1 of 3 graphs have no nodes; the first is graph 3"),
        ({"node_attributes": "1\n" * 6}, r"node_attributes.txt: 6 lines, but .* has 7"),
        ({"node_attributes": "x\n" * 7}, "node_attributes.txt, line 1: 'x' is not a number"),
        ({"edge_attributes": "1\n"}, r"edge_attributes.txt: 1 lines, but .*toy_A.txt has 10"),
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


@pytest.mark.parametrize("kind", ["A", "graph_indicator"])
def test_missing_files(kind: str, toy: dict[str, str], write_tu: Writer, write_zip: Writer):
    del toy[kind]
    for path in (write_tu(toy), write_zip(toy)):
        with pytest.raises(DatasetError, match=r"DS_A.txt, found none|_indicator.txt is missing"):
            read_tu(path)


def test_two_sets_in_one_place(toy: dict[str, str], write_tu: Writer):
    folder = write_tu(toy)
    (folder / "other_A.txt").write_text("1, 2\n")
    with pytest.raises(DatasetError, match=r"exactly one .* found other, toy"):
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
    policies=st.sampled_from([Policies(), Policies(empty="skip", missing="mask")]),
)
def test_any_bytes_give_graphs_or_one_of_our_errors(
    kinds: dict[str, bytes], adjacency: bytes, indicator: bytes, policies: Policies
):
    files = kinds | {"A": adjacency, "graph_indicator": indicator}
    with contextlib.suppress(DDGKError):
        parse({key: Text(data, key) for key, data in files.items()}, "toy", policies)


# The layouts of sets of the collection, as small as they can be: two graphs of two nodes.
PAIRS = {"A": "1, 2\n2, 1\n3, 4\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n"}
LAYOUTS = {
    "Letter-high": {"node_attributes": "0.5, -1\n1, 2\n3, 4\n5, 6\n"},
    "COIL-DEL": {"node_attributes": "1, 2\n3, 4\n5, 6\n7, 8\n", "edge_labels": "1\n1\n2\n2\n"},
    "MSRC_9": {"node_labels": "3\n4\n3\n5\n"},
    "KKI": {"node_labels": "1\n2\n3\n190\n"},
    "FIRSTMM_DB": {
        "A": "1, 2\n2, 1\n2, 2\n3, 4\n4, 3\n",
        "node_labels": "0\n1\n0\n1\n",
        "node_attributes": "0.1\n0.2\n0.3\n0.4\n",
        "edge_attributes": "0.5, 1\n0.5, 1\n0, 0\n0.25, 2\n0.25, 2\n",
    },
    "Fingerprint": {
        "graph_labels": "0\n1\n2\n",
        "node_attributes": "1, 2\n3, 4\n5, 6\n7, 8\n",
        "edge_attributes": "1, 2\n1, 2\n3, 4\n3, 4\n",
    },
    "Synthie": {"node_attributes": ("-1.5" + ", 0" * 14 + "\n") * 4},
    "Cuneiform": {
        "node_labels": "0, 1\n2, 0\n1, 1\n3, 2\n",
        "edge_labels": "1, 0\n1, 0\n0, 1\n0, 1\n",
        "node_attributes": "1, 2, 3\n" * 4,
        "edge_attributes": "0.1, 0.2\n" * 4,
    },
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_of_the_collection_is_read_with_what_it_carries(name: str, write_tu: Writer):
    texts = PAIRS | {"graph_labels": "0\n1\n"} | LAYOUTS[name]
    folder = write_tu(texts, name)
    policies = None
    if name == "Fingerprint":
        with pytest.raises(DatasetError) as caught:
            read_tu(folder)
        policy, value = caught.value.policy, caught.value.choices[0]
        assert f'Policies({policy}="{value}")' in str(caught.value)
        policies = Policies(**{policy: value})
    graphs, classes = read_tu(folder, policies=policies)
    assert (len(graphs), len(classes)) == (2, 2)
    for kind in ("node_labels", "edge_labels", "node_attributes", "edge_attributes"):
        assert (getattr(graphs[0], kind) is None) == (kind not in texts)
    assert all(graph.replace() == graph for graph in graphs)


def test_values_of_edges_follow_their_lines(write_tu: Writer):
    folder = write_tu(PAIRS | LAYOUTS["FIRSTMM_DB"])
    graph = read_tu(folder).graphs[0]
    assert graph.edges.tolist() == [[0, 1], [1, 1]]
    assert graph.edge_attributes.tolist() == [[0.5, 1], [0, 0]]
    dropped = read_tu(folder, policies=Policies(self_loops="drop")).graphs[0]
    assert dropped.edge_attributes.tolist() == [[0.5, 1]]
    with pytest.raises(DatasetError, match=r"edge \(2, 2\) is a self-loop"):
        read_tu(folder, policies=Policies(self_loops="error"))


def test_directions_with_other_values_are_directed(write_tu: Writer):
    labels = PAIRS | {"edge_labels": "1\n2\n3\n3\n"}
    graph = read_tu(write_tu(labels, "labels")).graphs[0]
    assert (graph.directed, graph.edge_labels) == (True, (1, 2))
    with pytest.raises(DatasetError, match="has different labels in its two directions"):
        read_tu(write_tu(labels, "labels"), policies=Policies(directed="undirected"))
    values = PAIRS | {"edge_attributes": "1\n2\n3\n3\n"}
    joined = read_tu(write_tu(values, "values"), policies=Policies(directed="undirected"))
    assert joined.graphs[0].edge_attributes.tolist() == [[1.5]]


def test_graphs_without_nodes_are_skipped_or_kept(write_tu: Writer):
    texts = PAIRS | {"graph_labels": "0\n1\n2\n", "graph_indicator": "1\n1\n3\n3\n"}
    skipped = read_tu(write_tu(texts), policies=Policies(empty="skip"))
    assert [graph.name for graph in skipped.graphs] == ["toy-0", "toy-2"]
    assert skipped.classes.tolist() == [0, 2]
    assert skipped.report.skipped == ("toy-1: it has no nodes",)
    kept = read_tu(write_tu(texts), policies=Policies(empty="keep"))
    assert [graph.n_nodes for graph in kept.graphs] == [2, 0, 2]
    assert kept.graphs[1].replace() == kept.graphs[1]


def test_missing_attributes_follow_the_policy(write_tu: Writer):
    folder = write_tu(PAIRS | {"node_attributes": "1, nan\n2, 3\n4, 5\nNaN, 1\n"})
    with pytest.raises(DatasetError, match=r'line 1: .*column 2 is missing.*missing="mask"'):
        read_tu(folder)
    graphs, _ = read_tu(folder, policies=Policies(missing="mask"))
    assert [graph.has_missing for graph in graphs] == [True, True]


@pytest.mark.parametrize(
    "text", ["1, 2\n3, 4", "1,2\n3,4\n", " 1 ,\t2\r\n3, 4\r\n\r\n", "+1, 2\n3, 4\n  \n"]
)
def test_integers_in_any_spacing(text: str):
    assert read_integers(text.encode(), "t", 2).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1, 2\n3\n", 2),
        ("1, 2\n3, 4, 5\n", 2),
        ("1 2\n", 1),
        ("1, 2\n\n3, 4\n", 2),
        ("1, x\n", 1),
        ("1, 2.0\n", 1),
        ("1, 1_0\n", 1),
        ("1, 2\n1, 9999999999999999999\n", 2),
        ("1, 2\r3, 4\r", 1),
        ("1, \u0662\n", 1),
        ("1, 2\n1, \x00\n", 2),
        ("1, -\n", 1),
        ("1,, 2\n", 1),
    ],
)
def test_what_is_not_integers_is_refused_by_line(text: str, line: int):
    with pytest.raises(DatasetError, match=f"toy_A.txt, line {line}: "):
        read_integers(text.encode(), "toy_A.txt", 2)


def test_an_empty_file_has_no_lines():
    assert read_integers(b"\n \n", "t", 2).shape == (0, 2)
    assert read_reals(b"", "t").shape == (0, 1)


@pytest.mark.parametrize("text", ["nana", "inf", "1e", "0x10", ".", "1e400", "1e9999", "1.2.3"])
def test_what_is_not_a_finite_number_is_refused(text: str):
    with pytest.raises(DatasetError, match="t, line 2: "):
        read_reals(f"1\n{text}\n".encode(), "t")


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=3, max_size=3)))
def test_integers_come_back(rows: list[list[int]]):
    text = "\n".join(", ".join(map(str, row)) for row in rows)
    assert read_integers(text.encode(), "t", 3).tolist() == rows


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1))
def test_numbers_come_back_to_the_bit(values: list[float]):
    text = "\n".join(repr(value) for value in values)
    assert np.array_equal(read_reals(text.encode(), "t")[:, 0], values)


def test_a_long_hostile_line_is_cut_in_the_message():
    with pytest.raises(DatasetError) as caught:
        read_integers(b"x" * 10_000_000, "t", 1)
    assert len(str(caught.value)) < 200
