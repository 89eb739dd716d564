from __future__ import annotations

import json

import numpy as np
import pytest

from ddgk import Graph, align
from ddgk.datasets import barbell
from ddgk.errors import LabelError, ParameterError
from specimens import SYMMETRIC, graph_of, random_graph, shuffled

RINGS = np.arange(10) // 5


def test_barbell_without_labels_keeps_its_edges():
    """Any of the 8 automorphisms will do; argmax and matching are checked edge by edge."""
    found = align(barbell(), barbell())
    assert found.is_isomorphism
    assert found.edge_correctness == 1.0


def test_barbell_with_node_labels_keeps_its_rings():
    graph = barbell(node_labels=True)
    found = align(graph, graph)
    inside = found.attention[RINGS[:, None] == RINGS[None, :]].reshape(10, 5).sum(1)
    assert (inside >= 0.99).all()
    assert found.is_isomorphism


def test_barbell_with_edge_labels_is_the_identity():
    """Every edge has a label of its own, so only the identity keeps them (see `barbell`)."""
    graph = barbell(node_labels=True, edge_labels=True)
    found = align(graph, graph)
    assert found.attention.argmax(1).tolist() == list(range(10))
    assert found.matching == {node: node for node in graph.node_names}


def test_a_renumbered_copy_is_found_in_the_callers_names():
    graph = barbell(node_labels=True, edge_labels=True)
    order = np.random.default_rng(3).permutation(10)
    names = [f"node {i}" for i in range(10)]
    copy = graph.permuted(order).replace(node_names=names)
    found = align(graph, copy)
    assert found.matching == {int(order[i]): names[i] for i in range(10)}
    assert set(found.confidence) == set(range(10))
    assert all(0 <= value <= 1 for value in found.confidence.values())


def test_graphs_of_different_size_are_matched_one_to_one():
    small, large = random_graph(3), random_graph(8)
    assert small.n_nodes != large.n_nodes
    for target, source in ((small, large), (large, small)):
        found = align(target, source, restarts=2, steps=20)
        matched = found.matching
        assert len(matched) == min(small.n_nodes, large.n_nodes)
        assert len(set(matched.values())) == len(matched)
        assert not found.is_isomorphism
        np.testing.assert_allclose(found.attention.sum(1), 1, atol=1e-5)


def test_labels_that_differ_are_no_isomorphism():
    one = Graph(2, [(0, 1)], node_labels="ab")
    other = Graph(2, [(0, 1)], node_labels="ac")
    assert not align(one, other, restarts=1, steps=5).is_isomorphism
    assert align(one, other, restarts=1, steps=5, labels="none").is_isomorphism
    weighted = Graph(3, [(0, 1), (1, 2)], edge_labels="xy")
    assert not align(weighted, weighted.replace(edge_labels="xx"), restarts=1).is_isomorphism
    with pytest.raises(LabelError, match="has no node labels"):
        align(one, Graph(2, [(0, 1)]))


def test_wl_twins_are_never_called_isomorphic():
    hexagon = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    triangles = graph_of(SYMMETRIC["two triangles"])
    for seed in range(3):
        found = align(hexagon, triangles, restarts=4, steps=50, random_state=seed)
        assert not found.is_isomorphism
        assert found.edge_correctness < 1


def test_the_same_seed_repeats_and_keeps_the_best_start():
    one, other = random_graph(8), shuffled(random_graph(8), 1)
    first, again = (align(one, other, restarts=3, steps=30, exhaustive=True) for _ in range(2))
    np.testing.assert_array_equal(first.attention, again.attention)
    assert first.loss == first.losses.min()
    assert len(first.losses) == 3


def test_relations_and_free_input():
    import networkx as nx

    for relation in ("closeness", "node_to_edges"):
        found = align(nx.path_graph(4), nx.path_graph(4), relation=relation, restarts=2, steps=20)
        assert found.attention.shape == (4, 4)


def test_json_holds_everything():
    found = align(Graph(2, [(0, 1)], name="t"), Graph(3, [(0, 1)], node_names=[(0, 0), 1, "c"]))
    written = json.loads(json.dumps(found.as_json()))
    assert written["target"] == "t"
    assert len(written["matching"]) == 2
    assert {"target", "source", "confidence"} == set(written["matching"][0])


@pytest.mark.parametrize("restarts", [0, -1, 1.5])
def test_bad_restarts(restarts):
    with pytest.raises(ParameterError, match="restarts must be"):
        align(Graph(1, []), Graph(1, []), restarts=restarts)


def test_no_edges():
    found = align(Graph(2, []), Graph(2, []), restarts=1, steps=2)
    assert found.edge_correctness == 1.0
    assert found.is_isomorphism
