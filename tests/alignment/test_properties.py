"""What holds for every pair of graphs."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk import Graph, align
from ddgk.alignment import AlignmentOptions

QUICK = {"options": AlignmentOptions(max_restarts=2, iterations=12, search_steps=50)}


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


@settings(max_examples=25, deadline=None)
@given(numbered_twice(labelled=False), graphs(labelled=False))
def test_numbering_changes_no_bit_where_nodes_can_be_told_apart(given_target, source):
    target, order = given_target
    target, source = (g.replace(node_labels=range(g.n_nodes)) for g in (target, source))
    here = align(target, source, **QUICK)
    there = align(target.permuted(order), source, **QUICK)
    np.testing.assert_array_equal(there.attention, here.attention[order])


@settings(max_examples=40, deadline=None)
@given(
    st.booleans().flatmap(lambda kind: st.tuples(*[graphs(labelled=kind)] * 2)),
    st.sampled_from(["soft", "strict", "ignore"]),
)
def test_matchings_are_one_to_one_and_confidences_are_shares(pair, labels):
    target, source = pair
    found = align(target, source, labels=labels, **QUICK)
    for side, graph in enumerate(pair):
        nodes = found.pairs[:, side].tolist()
        assert len(set(nodes)) == len(nodes)
        assert set(nodes) <= set(range(graph.n_nodes))
    assert len(found.unmatched_target) == target.n_nodes - len(found.pairs)
    assert len(found.unmatched_source) == source.n_nodes - len(found.pairs)
    assert set(found.confidence) == set(found.matching)
    assert all(0 < sure <= 1 for sure in found.confidence.values())
    np.testing.assert_allclose(found.attention.sum(axis=1)[found.pairs[:, 0]], 1)
    assert (found.attention >= 0).all()
    assert 0 <= found.edge_correctness <= 1
    assert 0 <= found.symmetric_edge_score <= 1
    assert found.objective >= 0
    assert len(repr(found)) < 200
    json.dumps(found.as_json())
    if found.is_isomorphism:
        assert found.proven or labels == "soft"
        assert found.edge_correctness == found.symmetric_edge_score == 1
    if labels == "strict" and target.node_labels:
        assert all(target.node_labels[t] == source.node_labels[s] for t, s in found.pairs)


@settings(max_examples=30, deadline=None)
@given(graphs(labelled=True), graphs(labelled=True), st.randoms(use_true_random=False))
def test_nothing_depends_on_node_names(target, source, random):
    def renamed(graph):
        names = random.sample(range(1000), graph.n_nodes)
        return graph.replace(node_names=[f"node {name}" for name in names], name="other")

    here = align(target, source, **QUICK)
    there = align(renamed(target), renamed(source), **QUICK)
    np.testing.assert_array_equal(here.attention, there.attention)
    np.testing.assert_array_equal(here.pairs, there.pairs)


@settings(max_examples=40, deadline=None)
@given(numbered_twice(smallest=2))
def test_a_renumbered_copy_is_found(given_graph):
    graph, order = given_graph
    found = align(graph, graph.permuted(order))
    assert found.is_isomorphism
    assert found.objective == 0


@settings(max_examples=30, deadline=None)
@given(graphs(smallest=2), graphs(smallest=2), st.integers(0, 5))
def test_the_verdict_is_checked_edge_by_edge(target, source, seed):
    plain = [graph.replace(node_labels=None) for graph in (target, source)]
    found = align(*plain, random_state=seed, **QUICK)
    partner = dict(found.pairs.tolist())
    image = {frozenset(partner.get(node) for node in edge) for edge in target.edges.tolist()}
    edges = {frozenset(edge) for edge in source.edges.tolist()}
    same = target.n_nodes == source.n_nodes == len(partner)
    assert found.is_isomorphism == (same and image == edges)


@settings(max_examples=30, deadline=None)
@given(graphs(smallest=2, labelled=False), graphs(smallest=2, labelled=False))
def test_what_the_search_says_it_keeps_is_kept(target, source):
    found = align(target, source, **QUICK)
    most = min(target.n_edges, source.n_edges)
    assert found.n_kept_edges <= most
    if found.proven:
        assert found.n_kept_edges == most
