from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddgk import Graph
from ddgk.errors import LabelError
from ddgk.store import graphs_from_tensors, graphs_to_tensors
from ddgk.store.graphs import text_as_array
from ddgk.store.sealed import DAMAGE
from hostility import little_memory
from specimens import random_graph


@given(
    seeds=st.lists(st.integers(0, 300), max_size=9),
    labels=st.booleans(),
    attributes=st.booleans(),
)
def test_graphs_come_back_as_they_were(seeds, labels, attributes):
    graphs = [random_graph(seed, labels=labels, attributes=attributes) for seed in seeds]
    found = graphs_from_tensors(graphs_to_tensors(graphs, prefix="x."), prefix="x.")
    assert found == graphs
    assert [graph.name for graph in found] == [graph.name for graph in graphs]


def test_labels_of_many_kinds_and_missing_ones():
    graphs = [
        Graph(3, [(0, 1), (1, 2)], node_labels=[1, True, "1"], edge_labels=[("a", 2), None]),
        Graph(1, [], node_labels=[1.0], name="\ud800 \x1b"),
        Graph(2, [(0, 1)], node_labels=[b"x", frozenset({1})], edge_weights=[0.5]),
        Graph(2, [], node_labels=[10**400, -(2**60)], node_names=["a", ("b", 1.5)]),
        Graph(2, [(0, 1)], node_attributes=[[1, 2], [3, 4]], node_labels=[1e300, 0.1]),
    ]
    found = graphs_from_tensors(graphs_to_tensors(graphs))
    assert found == graphs
    assert [type(label) for label in found[0].node_labels] == [int, bool, str]
    assert found[3].node_names == ("a", ("b", 1.5))
    assert found[1].name == graphs[1].name
    bare = graphs_from_tensors(graphs_to_tensors(graphs, node_names=False))
    assert bare == graphs
    assert bare[3].node_names == (0, 1)


def test_labels_that_no_file_can_hold():
    with pytest.raises(LabelError, match="no file can hold"):
        graphs_to_tensors([Graph(1, [], node_labels=[object()])])


def forgeries(tensors):
    edges = tensors["edges"]
    described = json.loads(tensors["described"].tobytes())
    n = len(edges)
    weights = {"edge_weights": np.ones(n)}

    def changed(**values):
        return {"described": text_as_array([own | values for own in described])}

    def weighted(shapes):
        both = [own | {"edge_weights": s} for own, s in zip(described, shapes, strict=True)]
        return {"described": text_as_array(both)}

    yield from (
        *(changed(n_edges=n) for n in (10**15, 2**63 - 1, -1, 0, 2.0, True, None, "3")),
        *(changed(n_nodes=n) for n in (10**15, 2**63 - 1, -1, 2, 2.0, True, None, (1 << 25) + 1)),
        *(changed(name=name) for name in (1, ["a"])),
        changed(directed=2),
        changed(missing="mask"),
        *(
            changed(node_labels=labels)
            for labels in (3, [1], [{"tuple": 5}], [{"set": [[]]}] * 9, [{"bytes": "zz"}] * 9)
        ),
        *({"described": text_as_array(values)} for values in ([described[0]], ["a", "b"], [{}])),
        {"described": np.zeros(3)},
        {"described": np.frombuffer(b"[" * 5000, np.uint8)},
        {"edges": np.zeros_like(edges)[:, :1]},
        {"edges": edges - 5},
        {"edges": edges[:, 0].copy()},
        {"edges": edges.astype(float)},
        {"edges": edges[:-1]},
        weights,
        weighted([[len(edges)], [0]]) | weights,
        weighted([[own["n_edges"]] for own in described]) | {"edge_weights": np.full(n, np.inf)},
        weighted([[own["n_edges"]] for own in described]) | {"edge_weights": np.ones(n, "f4")},
        changed(edge_weights=3) | weights,
        changed(edge_weights=[2**62]) | weights,
        changed(edge_weights=[2**40, 0]) | weights,
        changed(node_attributes=[2**19, 2]) | {"node_attributes": np.ones(4)},
        changed(node_attributes=[-1, -4]) | {"node_attributes": np.ones(4)},
    )


def test_tensors_that_do_not_fit_are_refused():
    graphs = [random_graph(1, labels=True), random_graph(2, labels=True)]
    tensors = graphs_to_tensors(graphs)
    for changes in forgeries(tensors):
        with little_memory(), pytest.raises(DAMAGE):
            graphs_from_tensors(tensors | changes)
    for name in ("edges", "described"):
        with pytest.raises(DAMAGE):
            graphs_from_tensors({key: array for key, array in tensors.items() if key != name})
