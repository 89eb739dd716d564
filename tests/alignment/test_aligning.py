from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from ddgk import DDGK, Graph, align
from ddgk.alignment.views import heat
from ddgk.io import barbell, karate_club
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


def shrikhande() -> nx.Graph:
    """The Cayley graph of Z4 x Z4 by (1, 0), (0, 1), (1, 1) and their inverses."""
    places = [(i, j) for i in range(4) for j in range(4)]
    steps = [(1, 0), (0, 1), (1, 1)]
    return nx.Graph([((i, j), ((i + a) % 4, (j + b) % 4)) for i, j in places for a, b in steps])


def rook() -> nx.Graph:
    """Squares of a 4 x 4 board, joined where a rook moves."""
    return nx.cartesian_product(nx.complete_graph(4), nx.complete_graph(4))


# Refinement (1-WL) cannot tell the two of a pair apart, and they are not isomorphic.
TWINS = {
    "hexagon": (nx.cycle_graph(6), SYMMETRIC["two triangles"]),
    "cubic": (nx.petersen_graph(), nx.circular_ladder_graph(5)),
    "srg(16, 6, 2, 2)": (shrikhande(), rook()),
}


def never_isomorphic(name, seeds):
    one, other = map(graph_of, TWINS[name])
    assert (one.n_nodes, one.n_edges) == (other.n_nodes, other.n_edges)
    for seed in seeds:
        found = align(one, other, restarts=1, random_state=seed)
        assert not found.is_isomorphism
        assert found.edge_correctness < 1
        assert len(found.orbits) == 1  # all nodes look alike, which is said
        assert align(one, shuffled(one, seed), random_state=seed).is_isomorphism


@pytest.mark.parametrize("name", TWINS)
def test_wl_twins_are_never_called_isomorphic(name):
    never_isomorphic(name, range(3))


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_wl_twins_are_never_called_isomorphic_over_many_seeds(name):
    never_isomorphic(name, range(100))


@pytest.mark.parametrize("seed", range(3))
def test_karate_onto_a_copy_is_exact(seed):
    club = karate_club().replace(node_labels=None)
    assert align(club, shuffled(club, seed), random_state=seed).is_isomorphism


def test_karate_onto_a_damaged_copy_keeps_most():
    """Eight of 78 edges were moved, so the true matching keeps 70."""
    club = karate_club().replace(node_labels=None)
    rng = np.random.default_rng(0)
    kept = [tuple(edge) for edge in rng.permutation(club.edges)[8:].tolist()]
    known = {tuple(edge) for edge in club.edges.tolist()}
    absent = [(i, j) for j in range(34) for i in range(j) if (i, j) not in known]
    moved = [absent[i] for i in rng.choice(len(absent), 8, replace=False)]
    order = rng.permutation(34)
    found = align(club.replace(edges=kept + moved).permuted(order), club)
    assert not found.is_isomorphism
    assert found.edge_correctness >= 0.85
    assert np.mean(found.pairs[:, 1] == order) >= 0.5  # twins aside, which are many
    assert found.divergence > 0


def test_part_of_a_graph_is_found_in_it():
    """An induced part keeps all its edges; what is left over has no partner."""
    club = karate_club().replace(node_labels=None)
    nodes = np.sort(np.random.default_rng(2).permutation(34)[:30])
    place = {node: i for i, node in enumerate(nodes.tolist())}
    edges = [(place[u], place[v]) for u, v in club.edges.tolist() if u in place and v in place]
    part = Graph(30, edges)
    found = align(part, club)
    assert found.edge_correctness >= 0.9
    assert len(found.unmatched[1]) == 4
    back = align(club, part)
    assert len(back.unmatched[0]) == 4
    assert set(back.confidence) == set(back.matching)


def test_attributes_steer_the_match():
    """A ring has twelve symmetries; attributes that differ everywhere leave one."""
    values = np.random.default_rng(0).random((6, 3))
    ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)], node_attributes=values)
    order = np.array([3, 0, 4, 1, 5, 2])
    found = align(ring, ring.permuted(order))
    assert found.families == ("attributes",)
    assert found.is_isomorphism
    assert found.pairs[order, 1].tolist() == list(range(6))


def test_many_edge_labels_share_relations():
    rng = np.random.default_rng(0)
    graph = graph_of(nx.gnm_random_graph(12, 24, seed=0))
    labelled = graph.replace(edge_labels=[f"bond {i}" for i in rng.permutation(24)])
    assert align(labelled, shuffled(labelled, 2)).is_isomorphism


def test_ties_are_said():
    """Leaves of a star are exchanged one by one; the ends of a path only together."""
    star = graph_of(SYMMETRIC["star"])
    found = align(star, shuffled(star, 1))
    (leaves,) = found.orbits
    assert leaves.nodes == (1, 2, 3, 4, 5, 6)
    assert leaves.exchanged
    assert set(leaves.partners) <= set(found.matching.values())
    assert all(sure < 0.2 for node, sure in found.confidence.items() if node != 0)
    assert found.confidence[0] > 0.9
    path = graph_of(nx.path_graph(4))
    ends = {orbit.nodes for orbit in align(path, path).orbits}
    assert ends == {(0, 3), (1, 2)}
    exhausted = align(path, path, restarts=16, exhaustive=True)
    assert len(exhausted.restarts) == 16
    assert all(orbit.exchanged for orbit in exhausted.orbits)


def test_without_noise_ties_are_spread_evenly():
    ring = graph_of(SYMMETRIC["cycle"])
    found = align(ring, ring, noise=0)
    assert len(found.restarts) == 1
    np.testing.assert_array_equal(found.attention, found.attention[:1].repeat(12, axis=0))


def test_threads_change_no_bit():
    one, other = random_graph(8), random_graph(11)
    alone, together = (align(one, other, restarts=6, n_jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(alone.attention, together.attention)
    np.testing.assert_array_equal(alone.losses, together.losses)


def test_reordering_the_source_changes_names_only():
    graph = graph_of(nx.gnm_random_graph(8, 14, seed=1))
    found = align(graph, shuffled(graph, 3).replace(node_names="stuvwxyz"))
    order = np.random.default_rng(0).permutation(8)
    moved = found.reordered(order)
    assert moved.matching == found.matching
    assert moved.is_isomorphism
    np.testing.assert_array_equal(moved.attention, found.attention[:, order])


def test_by_profiles_of_a_fitted_model():
    graph = graph_of(nx.gnm_random_graph(9, 14, seed=2))
    model = DDGK(n_sources=2, encoder_epochs=50, random_state=0).fit(
        [graph_of(nx.path_graph(5)), graph_of(nx.star_graph(5)), graph]
    )
    copy = shuffled(graph, 1)
    found = align(graph, copy, by="profiles", model=model)
    assert found.is_isomorphism
    assert np.isnan(found.divergence)
    assert found.as_json()["divergence"] is None
    assert all(0 < sure <= 1 for sure in found.confidence.values())
    assert align(graph, copy, model=model, restarts=1).is_isomorphism
    smaller = align(graph, graph_of(nx.path_graph(5)), by="profiles", model=model)
    assert len(smaller.pairs) == 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": "luck"}, "by must be one of 'attention', 'neighbours', 'profiles', not 'luck'"),
        ({"by": "profiles"}, "give model="),
        ({"relation": "friendship"}, "relation must be some of 'node_to_edges', 'heat'"),
        ({"relation": ()}, "relation must be some of"),
        ({"noise": -1}, "noise must be a number of at least 0, not -1"),
        ({"steps": 0}, "steps must be a whole number"),
        ({"labels": ("colours",)}, "families must be"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        align(Graph(2, [(0, 1)]), Graph(2, [(0, 1)]), **given)


def test_the_same_seed_repeats_and_keeps_the_best_start():
    one, other = random_graph(8), shuffled(random_graph(8), 1)
    first, again = (align(one, other, restarts=3, steps=30, exhaustive=True) for _ in range(2))
    np.testing.assert_array_equal(first.attention, again.attention)
    assert first.loss == first.losses.min()
    assert len(first.losses) == 3


def test_relations_and_free_input():
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


def test_no_heat_passes_between_components():
    """Rounding would leave 1e-17 there, and its root 3e-9."""
    adjacency = np.zeros((8, 8))
    for i, j in [(6, 7), (5, 7), (0, 4), (2, 6), (3, 4)]:
        adjacency[i, j] = adjacency[j, i] = 1
    found = heat(adjacency)
    here, there = [2, 5, 6, 7], [0, 3, 4]
    assert not found[np.ix_(here, there)].any()
    assert not found[1, [0, 2, 3, 4, 5, 6, 7]].any()
    assert (found[np.ix_(here, here)] > 0).all()
