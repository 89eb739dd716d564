"""Graphs that are too large for anything square: `by="neighbours"`, and what it falls back from."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from ddgk import Graph, align
from ddgk.alignment import aligning
from ddgk.errors import ParameterError
from ddgk.plots import alignment as draw
from specimens import SYMMETRIC, graph_of, random_graph, shuffled


def tree_with_twins(n_nodes: int) -> Graph:
    """A tree by preferential attachment: full of leaves of one node, and of equal branches."""
    return graph_of(nx.barabasi_albert_graph(n_nodes, 1, seed=3))


def rewired(graph: Graph, share: float) -> Graph:
    rng = np.random.default_rng(5)
    edges = {tuple(edge) for edge in graph.edges.tolist()}
    for place in rng.choice(graph.n_edges, int(share * graph.n_edges), replace=False):
        edges.discard(tuple(graph.edges[place].tolist()))
        while True:
            ends = tuple(sorted(rng.integers(0, graph.n_nodes, 2).tolist()))
            if ends[0] != ends[1] and ends not in edges:
                break
        edges.add(ends)
    return Graph(graph.n_nodes, sorted(edges))


LARGE = {
    "attachment": graph_of(nx.barabasi_albert_graph(4000, 3, seed=1)),
    "small world": graph_of(nx.watts_strogatz_graph(4000, 6, 0.1, seed=1)),
    "tree": tree_with_twins(4000),
    "sparse": graph_of(nx.gnm_random_graph(4000, 3000, seed=1)),
    "grid": graph_of(nx.convert_node_labels_to_integers(nx.grid_2d_graph(60, 70))),
    "torus": graph_of(nx.convert_node_labels_to_integers(nx.grid_2d_graph(60, 60, periodic=True))),
    "star": graph_of(nx.star_graph(4000)),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_renumbered_copy_is_an_isomorphism(name):
    graph = LARGE[name]
    found = align(graph, shuffled(graph, 2))
    assert found.is_isomorphism
    assert found.restarts[0].is_isomorphism
    assert found.loss == 0
    assert sparse.issparse(found.attention)
    np.testing.assert_allclose(found.attention.sum(axis=1), 1, atol=1e-4)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_small_symmetric_graphs_come_out_exact_too(name):
    graph = graph_of(SYMMETRIC[name])
    assert align(graph, shuffled(graph, 1), by="neighbours").is_isomorphism


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_come_out_exact_too(seed):
    graph = random_graph(seed)
    assert align(graph, shuffled(graph, seed), by="neighbours").is_isomorphism


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_a_damaged_copy_is_found_nearly_whole(share):
    graph = LARGE["attachment"]
    order = np.random.default_rng(0).permutation(graph.n_nodes)
    found = align(graph, rewired(graph, share).permuted(order))
    correct = order[found.pairs[:, 1]] == found.pairs[:, 0]
    assert correct.sum() > 0.95 * graph.n_nodes
    assert found.edge_correctness > 0.98 * (1 - share)
    assert not found.is_isomorphism
    assert len(set(found.pairs[:, 1].tolist())) == len(found.pairs)


def test_labels_and_weights_steer_the_match():
    rng = np.random.default_rng(0)
    ring = LARGE["torus"]
    graph = ring.replace(
        node_labels=rng.integers(0, 3, ring.n_nodes).tolist(),
        edge_labels=rng.integers(0, 2, ring.n_edges).tolist(),
    )
    order = rng.permutation(graph.n_nodes)
    found = align(graph, graph.permuted(order))
    assert found.is_isomorphism
    assert found.families == ("node_labels", "edge_labels")
    np.testing.assert_array_equal(order[found.pairs[:, 1]], found.pairs[:, 0])
    other = graph.replace(node_labels=[*graph.node_labels[1:], "another"])
    assert not align(graph, other).is_isomorphism
    assert align(graph, other, labels="none").is_isomorphism


def test_the_same_bits_and_no_dependence_on_the_numbering():
    graph, copy = LARGE["attachment"], rewired(LARGE["attachment"], 0.02)
    first, again = align(graph, copy), align(graph, copy)
    np.testing.assert_array_equal(first.pairs, again.pairs)
    np.testing.assert_array_equal(first.attention.data, again.attention.data)
    order = np.random.default_rng(1).permutation(graph.n_nodes)
    turned = align(graph.permuted(order), copy)
    assert turned.edge_correctness == first.edge_correctness
    place = np.argsort(order)
    there = dict(zip(turned.pairs[:, 0].tolist(), turned.pairs[:, 1].tolist(), strict=True))
    same = [there.get(int(place[t])) == s for t, s in first.pairs.tolist()]
    assert np.mean(same) == 1.0


def test_confidence_counts_twins():
    star = graph_of(nx.star_graph(5))
    found = align(star, shuffled(star, 0), by="neighbours")
    assert found.confidence[0] == pytest.approx(1.0, abs=1e-3)
    assert found.confidence[3] == pytest.approx(0.2, abs=1e-3)
    clique = graph_of(nx.complete_graph(4))
    assert set(align(clique, clique, by="neighbours").confidence.values()) == {0.25}
    alone = Graph(4, [(0, 1)])
    assert align(alone, alone, by="neighbours").confidence[3] == 0.5


def test_graphs_of_other_sizes_and_without_edges():
    graph = LARGE["attachment"]
    part = Graph(3500, graph.edges[(graph.edges < 3500).all(axis=1)])
    found = align(part, graph)
    assert len(found.pairs) <= 3500
    assert found.edge_correctness > 0.8
    assert found.unmatched[1]
    small = align(graph_of(nx.path_graph(3)), graph)
    assert len(small.pairs) <= 3
    empty = align(Graph(3001, []), Graph(3001, []))
    assert empty.is_isomorphism
    assert not align(Graph(3001, []), graph).matching.keys() - set(range(3001))


def test_what_is_read_off_an_alignment_works_on_sparse_attention(tmp_path):
    graph = LARGE["small world"]
    found = align(graph, shuffled(graph, 4))
    written = json.loads(json.dumps(found.as_json()))
    assert set(written["attention"]) == {"target", "source", "value"}
    assert len(written["matching"]) == graph.n_nodes
    assert found.unmatched == ((), ())
    parts = np.arange(graph.n_nodes) // 1000
    theirs = np.empty_like(parts)
    theirs[found.pairs[:, 1]] = parts[found.pairs[:, 0]]
    groups = found.coarsen(parts, theirs)
    assert groups.matching == {part: part for part in range(4)}
    assert groups.share_within > 0.95
    draw(groups, path=tmp_path / "parts.svg")
    with pytest.raises(ParameterError, match="detail='groups'"):
        draw(found, detail="nodes")
    order = np.random.default_rng(0).permutation(graph.n_nodes)
    assert found.reordered(order).is_isomorphism


def test_groups_by_the_thousand_are_refused():
    graph = Graph(5000, [(0, 1)])
    with pytest.raises(ParameterError, match="give fewer groups"):
        align(graph, graph).coarsen()


def test_what_needs_all_pairs_of_nodes_is_refused():
    graph = LARGE["star"]
    with pytest.raises(ParameterError, match="align without, and coarsen"):
        align(graph, graph, groups="communities")
    with pytest.raises(ParameterError, match="leave noise as it is"):
        align(graph, graph, noise=0)
    with pytest.raises(ParameterError, match="pass by='neighbours'"):
        align(graph, graph, by="profiles", model=Degrees())


class Degrees:
    """Profiles as a model has them, here of degrees."""

    def node_profiles(self, graph: Graph) -> np.ndarray:
        degrees = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
        return np.stack([degrees, np.sqrt(degrees)], axis=1).astype(np.float64)


def test_profiles_are_where_neighbours_start():
    graph = LARGE["attachment"]
    found = align(graph, rewired(graph, 0.01), model=Degrees())
    assert (found.pairs[:, 0] == found.pairs[:, 1]).mean() > 0.9


def test_up_to_a_size_nothing_changes(monkeypatch):
    monkeypatch.setattr(aligning, "align_large", None)
    assert not sparse.issparse(align(random_graph(3), random_graph(4), restarts=1).attention)
    assert aligning.MOST_DENSE == 3000
