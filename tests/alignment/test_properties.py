"""What holds for every pair of graphs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk import Graph, align


@st.composite
def graphs(draw, smallest=1, largest=9, labelled=None):
    """Any graph of a few nodes, perhaps with node labels."""
    n_nodes = draw(st.integers(smallest, largest))
    possible = [(i, j) for i in range(n_nodes) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    with_labels = draw(st.booleans()) if labelled is None else labelled
    labels = st.lists(st.sampled_from("ab"), min_size=n_nodes, max_size=n_nodes)
    return Graph(n_nodes, edges, node_labels=draw(labels) if with_labels else None)


@st.composite
def numbered_twice(draw, **kinds):
    """A graph and an order for its nodes."""
    graph = draw(graphs(**kinds))
    return graph, np.array(draw(st.permutations(range(graph.n_nodes))), dtype=np.int64)


QUICK = {"restarts": 2, "steps": 10}


@settings(max_examples=25)
@given(numbered_twice(labelled=False), graphs(labelled=False))
def test_permuting_the_target_permutes_the_attention(given_target, source):
    target, order = given_target
    here = align(target, source, noise=0, steps=10).attention
    there = align(target.permuted(order), source, noise=0, steps=10).attention
    np.testing.assert_allclose(there, here[order], atol=1e-6)


@settings(max_examples=25)
@given(numbered_twice(labelled=False), graphs(labelled=False))
def test_numbering_changes_no_bit_where_nodes_can_be_told_apart(given_target, source):
    target, order = given_target
    target, source = (g.replace(node_labels=range(g.n_nodes)) for g in (target, source))
    here = align(target, source, **QUICK)
    there = align(target.permuted(order), source, **QUICK)
    np.testing.assert_array_equal(there.attention, here.attention[order])
    np.testing.assert_array_equal(there.losses, here.losses)


@settings(max_examples=40)
@given(st.booleans().flatmap(lambda kind: st.tuples(*[graphs(labelled=kind)] * 2)))
def test_matchings_are_one_to_one_and_confidences_are_shares(pair):
    target, source = pair
    found = align(target, source, **QUICK)
    assert len(found.pairs) == min(target.n_nodes, source.n_nodes)
    for side, graph in enumerate(pair):
        nodes = found.pairs[:, side].tolist()
        assert len(set(nodes)) == len(nodes)
        assert set(nodes) <= set(range(graph.n_nodes))
        assert len(found.unmatched[side]) == graph.n_nodes - len(nodes)
    assert set(found.confidence) == set(found.matching)
    assert all(0 <= sure <= 1 for sure in found.confidence.values())
    np.testing.assert_allclose(found.attention.sum(axis=1), 1)
    assert (found.attention >= 0).all()
    assert 0 <= found.edge_correctness <= 1
    assert 0 <= found.symmetric_edge_score <= 1
    assert found.losses.min() >= -1e-9
    if found.is_isomorphism:
        assert found.edge_correctness == found.symmetric_edge_score == 1


@settings(max_examples=30)
@given(graphs(labelled=True), graphs(labelled=True), st.randoms(use_true_random=False))
def test_nothing_depends_on_node_names(target, source, random):
    def renamed(graph):
        names = random.sample(range(1000), graph.n_nodes)
        return graph.replace(node_names=[f"node {name}" for name in names], name="other")

    here = align(target, source, **QUICK)
    there = align(renamed(target), renamed(source), **QUICK)
    np.testing.assert_array_equal(here.attention, there.attention)
    np.testing.assert_array_equal(here.pairs, there.pairs)
    np.testing.assert_array_equal(here.losses, there.losses)


@settings(max_examples=40)
@given(numbered_twice(smallest=2))
def test_a_renumbered_copy_is_found(given_graph):
    graph, order = given_graph
    found = align(graph, graph.permuted(order))
    assert found.is_isomorphism
    # An encoder learns nodes that could change places nearly alike, not quite.
    renumbered = bool((order[found.pairs[:, 1]] == found.pairs[:, 0]).all())
    assert found.divergence == pytest.approx(0, abs=1e-9 if renumbered else 1e-6)


@settings(max_examples=30)
@given(graphs(smallest=2), graphs(smallest=2), st.integers(0, 5))
def test_the_verdict_is_checked_edge_by_edge(target, source, seed):
    plain = [graph.replace(node_labels=None) for graph in (target, source)]
    found = align(*plain, restarts=1, steps=5, random_state=seed)
    partner = dict(found.pairs.tolist())
    image = {frozenset(partner.get(node) for node in edge) for edge in target.edges.tolist()}
    edges = {frozenset(edge) for edge in source.edges.tolist()}
    same_size = target.n_nodes == source.n_nodes
    assert found.is_isomorphism == (same_size and image == edges)
