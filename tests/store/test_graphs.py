from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddgk import Graph
from ddgk.errors import LabelError, RunError
from ddgk.store.graphs import pack_graphs, unpack_graphs
from specimens import random_graph

ALL = ("node_labels", "edge_labels", "attributes")


@given(
    seeds=st.lists(st.integers(0, 300), min_size=1, max_size=9),
    labels=st.booleans(),
    attributes=st.booleans(),
)
def test_graphs_come_back_as_they_were(seeds, labels, attributes):
    graphs = [random_graph(seed, labels=labels, attributes=attributes) for seed in seeds]
    found, places = unpack_graphs(pack_graphs(graphs, seeds, ALL), "x")
    assert found == graphs
    assert [graph.name for graph in found] == [graph.name for graph in graphs]
    assert places == seeds


def test_labels_of_many_kinds_and_missing_ones():
    graphs = [
        Graph(3, [(0, 1), (1, 2)], node_labels=[1, True, "1"], edge_labels=[("a", 2), None]),
        Graph(1, [], node_labels=[1.0]),
        Graph(2, [(0, 1)], node_labels=[b"x", frozenset({1})], edge_weights=[0.5]),
    ]
    found, _ = unpack_graphs(pack_graphs(graphs, [0, 1, 2], ALL), "x")
    assert found == graphs
    kinds = [[type(label) for label in graph.node_labels] for graph in found]
    assert kinds[0] == [int, bool, str]


def test_what_is_not_read_is_not_kept():
    graph = random_graph(3, labels=True, attributes=True)
    graph = graph.replace(node_names=[f"node {i}" for i in range(graph.n_nodes)])
    (kept,), _ = unpack_graphs(pack_graphs([graph], [0], ("node_labels",)), "x")
    assert kept.node_labels == graph.node_labels
    assert kept.edge_labels is None
    assert kept.node_attributes is None
    assert kept.node_names == tuple(range(graph.n_nodes))
    (kept,), _ = unpack_graphs(pack_graphs([graph], [0], ALL), "x")
    assert kept == graph


def test_labels_that_no_file_can_hold():
    with pytest.raises(LabelError, match="cannot hold"):
        pack_graphs([Graph(1, [], node_labels=[object()])], [0], ALL)


def test_damaged_files_are_refused():
    content = pack_graphs([random_graph(1, labels=True), random_graph(2, labels=True)], [0, 1], ALL)
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

    content = pack_graphs([random_graph(1), random_graph(2)], [0, 1], ALL)
    arrays = load(content)
    edges = arrays["edges"]
    forgeries = [
        {"n_edges": np.asarray([10**15, 3])},
        {"n_edges": np.asarray([2**63 - 1, 2**63 - 1])},
        {"nodes": np.asarray([10**15, 10**15])},
        {"nodes": np.asarray([0, 3])},
        {"nodes": np.asarray([2, 2])},
        {"nodes": arrays["nodes"].astype(float)},
        {"nodes": arrays["nodes"][:1]},
        {"edges": edges[:, ::-1].copy()},
        {"edges": edges[::-1].copy()},
        {"edges": np.zeros_like(edges)},
        {"edges": edges - 5},
        {"edges": edges[:, 0].copy()},
        {"edge_weights": -np.ones(len(edges)), "edge_weights.carried": np.ones(2, dtype=bool)},
        {"edge_weights": np.full(len(edges), np.nan), "edge_weights.carried": np.ones(2, bool)},
    ]
    for changes in forgeries:
        changed = arrays | changes
        forged = save(changed, {"ddgk": '{"names": [null, null]}'})
        with pytest.raises(RunError, match="damaged"):
            unpack_graphs(forged, "x")
