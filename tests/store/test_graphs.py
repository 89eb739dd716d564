from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddgk import Graph
from ddgk.errors import LabelError, RunError
from ddgk.store.graphs import pack_graphs, strip, unpack_graphs
from specimens import random_graph

ALL = ("node_labels", "edge_labels", "attributes")


@given(
    seeds=st.lists(st.integers(0, 300), min_size=1, max_size=9),
    labels=st.booleans(),
    attributes=st.booleans(),
)
def test_graphs_come_back_as_they_were(seeds, labels, attributes):
    graphs = [random_graph(seed, labels=labels, attributes=attributes) for seed in seeds]
    found, places = unpack_graphs(pack_graphs(graphs, seeds), "x")
    assert found == graphs
    assert [graph.name for graph in found] == [graph.name for graph in graphs]
    assert places == seeds


def test_labels_of_many_kinds_and_missing_ones():
    graphs = [
        Graph(3, [(0, 1), (1, 2)], node_labels=[1, True, "1"], edge_labels=[("a", 2), None]),
        Graph(1, [], node_labels=[1.0]),
        Graph(2, [(0, 1)], node_labels=[b"x", frozenset({1})], edge_weights=[0.5]),
    ]
    found, _ = unpack_graphs(pack_graphs(graphs, [0, 1, 2]), "x")
    assert found == graphs
    kinds = [[type(label) for label in graph.node_labels] for graph in found]
    assert kinds[0] == [int, bool, str]


def test_what_is_not_read_is_not_kept():
    graph = random_graph(3, labels=True, attributes=True)
    graph = graph.replace(node_names=[f"node {i}" for i in range(graph.n_nodes)])
    kept = strip(graph, ("node_labels",))
    assert kept.node_labels == graph.node_labels
    assert kept.edge_labels is None
    assert kept.node_attributes is None
    assert kept.node_names == tuple(range(graph.n_nodes))
    assert strip(graph, ALL) == graph


def test_labels_that_no_file_can_hold():
    with pytest.raises(LabelError, match="cannot hold"):
        pack_graphs([Graph(1, [], node_labels=[object()])], [0])


def test_damaged_files_are_refused():
    content = pack_graphs([random_graph(1, labels=True), random_graph(2, labels=True)], [0, 1])
    for damaged in (
        b"",
        content[:9],
        content[:-5],
        b"\xff" * 50,
        content.replace(b"names", b"nomes"),
    ):
        with pytest.raises(RunError, match="x is damaged"):
            unpack_graphs(damaged, "x")


def test_lengths_that_do_not_add_up_are_refused():
    import numpy as np
    from safetensors.numpy import load, save

    content = pack_graphs([random_graph(1), random_graph(2)], [0, 1])
    arrays = load(content)
    for name, values in {"n_edges": [10**15, 3], "nodes": [10**15, 10**15]}.items():
        changed = arrays | {name: np.asarray(values)}
        forged = save(changed, {"ddgk": '{"names": [null, null]}'})
        with pytest.raises(RunError, match="damaged"):
            unpack_graphs(forged, "x")
