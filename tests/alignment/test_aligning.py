"""What `align` finds, proves, leaves out and says."""

from __future__ import annotations

import os
import signal
import threading
import time
from itertools import combinations, pairwise, permutations

import networkx
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from ddgk import Graph, align
from ddgk.alignment import AlignmentOptions, align_many
from ddgk.alignment.encoding import Network, code_graphs, make_network
from ddgk.alignment.propagation import (
    LEAST_ROUNDS,
    _match,
    affordable_rounds,
    assign,
    propagate,
)
from ddgk.errors import ParameterError

WITH_WEIGHTS = pytest.mark.skipif(
    "directed" not in Graph.__slots__, reason="graphs with direction and weights by default"
)
ETHANOL = Graph(3, [(0, 1), (1, 2)], node_labels="CCO", edge_labels="--")


def from_networkx(graph):
    return Graph(
        graph.number_of_nodes(), list(networkx.convert_node_labels_to_integers(graph).edges)
    )


def encode_alone(graph) -> Network:
    """Return a graph as arrays, nodes as they are numbered."""
    return make_network(code_graphs([graph], ())[0], np.arange(graph.n_nodes))


def go_on():
    return True


def damaged(graph, share, seed):
    """Return a renumbered copy without some edges, and the node that each of its nodes was."""
    rng = np.random.default_rng(seed)
    kept = rng.permutation(graph.n_edges)[round(share * graph.n_edges) :]
    order = rng.permutation(graph.n_nodes)
    return graph.replace(edges=graph.edges[kept]).permuted(order), order


@pytest.mark.parametrize(
    "graph",
    [
        networkx.karate_club_graph(),
        networkx.star_graph(30),
        networkx.path_graph(40),
        networkx.grid_2d_graph(6, 7),
        networkx.petersen_graph(),
        networkx.complete_bipartite_graph(4, 5),
        networkx.disjoint_union(networkx.cycle_graph(5), networkx.cycle_graph(7)),
        networkx.empty_graph(4),
        networkx.barabasi_albert_graph(400, 2, seed=0),
    ],
    ids=str,
)
def test_renumbered_copies_are_isomorphisms(graph):
    graph = from_networkx(graph)
    order = np.random.default_rng(1).permutation(graph.n_nodes)
    found = align(graph, graph.permuted(order))
    assert found.is_isomorphism
    assert found.proven
    assert found.objective == 0
    assert not found.stopped_early
    assert found.unmatched_target == found.unmatched_source == ()


@pytest.mark.parametrize("seed", range(100))
def test_equivalent_graphs_are_not_called_isomorphic(seed):
    # Refinement cannot tell these apart, and they are not isomorphic.
    whole = from_networkx(networkx.cycle_graph(6))
    halves = from_networkx(networkx.disjoint_union(*[networkx.cycle_graph(3)] * 2))
    options = AlignmentOptions(max_restarts=1, search_steps=50)
    found = align(whole, halves, random_state=seed, options=options)
    assert not found.is_isomorphism
    assert not found.proven
    assert found.n_kept_edges == 4


def test_a_matching_that_keeps_all_edges_ends_the_search():
    graph = from_networkx(networkx.barabasi_albert_graph(120, 3, seed=1))
    target, order = damaged(graph, 0.05, 0)
    found = align(target, graph)
    assert found.proven
    assert not found.is_isomorphism
    assert found.edge_correctness == 1
    assert found.n_restarts < AlignmentOptions().max_restarts
    assert (order[found.pairs[:, 0]] == found.pairs[:, 1]).mean() > 0.9
    swapped = align(graph, target)
    assert swapped.n_kept_edges == target.n_edges
    assert swapped.proven


def test_noisy_networks_are_mostly_found():
    graph = from_networkx(networkx.random_geometric_graph(300, 0.12, seed=3))
    target, order = damaged(graph, 0.1, 0)
    found = align(target, graph)
    assert found.edge_correctness == 1
    assert (order[found.pairs[:, 0]] == found.pairs[:, 1]).mean() > 0.85  # the rest are ties


def test_sparse_networks_are_found_where_many_edges_are_missing():
    graph = from_networkx(networkx.random_geometric_graph(300, 0.075, seed=3))
    target, order = damaged(graph, 0.2, 0)
    found = align(target, graph)
    assert found.edge_correctness > 0.9
    assert (order[found.pairs[:, 0]] == found.pairs[:, 1]).mean() > 0.4


def test_dense_networks_are_found():
    graph = from_networkx(networkx.powerlaw_cluster_graph(300, 40, 0.5, seed=1))
    target, order = damaged(graph, 0.2, 0)
    network = encode_alone(graph)
    assert affordable_rounds(network, network) < LEAST_ROUNDS  # neighbours by mean field
    found = align(target, graph)
    assert (order[found.pairs[:, 0]] == found.pairs[:, 1]).mean() > 0.9


def test_direction_counts_in_beliefs():
    # A directed cycle with a chord: without direction it has a reflection.
    edges = [(i, (i + 1) % 9) for i in range(9)] + [(0, 4)]
    graph = Graph(9, edges, directed=True)
    beliefs = propagate(*[encode_alone(graph)] * 2, np.zeros((9, 9), np.float32), 40, go_on, 0.5)
    assert (beliefs.argmax(axis=1) == np.arange(9)).all()


@pytest.mark.parametrize("n_columns", [20, 27])
def test_assignments_are_those_of_scipy(n_columns):
    rng = np.random.default_rng(n_columns)
    for levels in (2, 5, 1000):  # few levels, many ties
        values = (rng.integers(0, levels, (20, n_columns)) / 7).astype(np.float32)
        expected = linear_sum_assignment(values, maximize=True)[1]
        np.testing.assert_array_equal(assign(values), expected)


@pytest.mark.parametrize("degrees", [(1, 4), (2, 3), (3, 3), (3, 5), (4, 4)])
def test_sums_over_matchings_of_neighbours(degrees):
    # Two stars: the centres are as likely a pair as their leaves can be matched.
    stars = [networkx.star_graph(degree) for degree in degrees]
    mine, theirs = (encode_alone(from_networkx(star)) for star in stars)
    rng = np.random.default_rng(0)
    beliefs = rng.uniform(0.1, 0.5, (mine.n_nodes, theirs.n_nodes)).astype(np.float32)
    out = np.zeros_like(beliefs)
    odds = np.float32(0.4), np.float32(0.3), np.float32(0.2)
    told = np.ones((len(mine.heads), len(theirs.heads)), dtype=np.float32)
    turns = np.arange(len(mine.heads)), np.arange(len(theirs.heads))
    how = True, 0.5, odds, np.float32(0.0), beliefs, told, out, 0, 1
    _match(mine[:4], theirs[:4], turns, *how)
    weights = odds[0] * beliefs[np.ix_(mine.heads[: degrees[0]], theirs.heads[: degrees[1]])]

    def summed(weights):
        n, m = weights.shape
        total = 0.0
        for size in range(min(n, m) + 1):
            alone = odds[1] ** (n - size) * odds[2] ** (m - size)
            for rows in combinations(range(n), size):
                for columns in permutations(range(m), size):
                    total += float(np.prod(weights[rows, columns]) * alone)
        return total

    exact = min(degrees) <= 3
    whole, rest = summed(weights), summed(weights[1:, 1:])
    assert out[0, 0] == pytest.approx(np.log(whole), rel=1e-5 if exact else 0.05)
    assert told[0, 0] == pytest.approx(rest / whole, rel=1e-5 if exact else 0.05)


def test_graphs_of_different_size():
    graph = from_networkx(networkx.barabasi_albert_graph(60, 3, seed=1))
    nodes = np.sort(np.random.default_rng(0).permutation(60)[:50])
    place = np.full(60, -1)
    place[nodes] = np.arange(50)
    ends = place[graph.edges]
    part = Graph(50, ends[(ends >= 0).all(axis=1)])
    found = align(part, graph)
    right = (nodes[found.pairs[:, 0]] == found.pairs[:, 1]).sum()
    assert right > 40
    back = align(graph, part)
    assert len(back.unmatched_target) >= 10
    assert back.n_kept_edges > 0.9 * part.n_edges


def test_a_node_that_keeps_no_edge_and_contradicts_its_label_has_no_partner():
    # A methyl group at one end, a hydroxyl group at the other: a shared ring, nothing else.
    ring = [(i, (i + 1) % 6) for i in range(6)]
    target = Graph(7, [*ring, (0, 6)], node_labels="NCCCCCC")
    source = Graph(7, [*ring, (3, 6)], node_labels="NCCCCCO")
    found = align(target, source)
    assert found.n_kept_edges == 6
    assert found.unmatched_target == (6,)
    assert found.unmatched_source == (6,)
    everybody = align(target, source, options=AlignmentOptions(unmatched_cost=3.0))
    assert everybody.unmatched_target == ()


def test_a_node_without_edges_has_none_to_lose():
    # Both bonds to the ring are broken; one atom has another label, too.
    ring = [(i, (i + 1) % 6) for i in range(6)]
    target = Graph(8, ring, node_labels="NCCCCCOF")
    source = Graph(8, [*ring, (0, 6), (3, 7)], node_labels="NCCCCCOS")
    for pair in ((target, source), (source, target)):
        found = align(*pair)
        assert found.matching[6] == 6
        assert found.unmatched_target == found.unmatched_source == (7,)


@pytest.mark.parametrize(("ring", "rays"), [(5, 6), (8, 20)])
def test_nodes_that_will_have_no_partner_do_not_keep_others_from_theirs(ring, rays):
    # All nodes matched, the star's other edges weigh as much as the two that can be kept, or more.
    graphs = networkx.cycle_graph(ring), networkx.star_graph(rays)
    for pair in (graphs, graphs[::-1]):
        found = align(*pair)
        assert found.n_kept_edges == 2
        assert len(found.pairs) == 3


def test_confidence_falls_where_labels_disagree():
    ring = [(i, (i + 1) % 6) for i in range(6)]
    target = Graph(8, [*ring, (0, 6), (6, 7)], node_labels="NCCCCCCF")
    source = target.replace(node_labels="NCCCCCOF")
    found = align(target, source)
    assert found.matching[6] == 6
    assert found.confidence[6] <= 0.5
    assert found.confidence[0] > 0.9
    assert not found.is_isomorphism
    assert align(target, source, labels="ignore").is_isomorphism


def test_strict_labels_give_the_common_part():
    target = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], node_labels="CCNCCO")
    source = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], node_labels="CCSCCO")
    found = align(target, source, labels="strict")
    assert all(target.node_labels[t] == source.node_labels[s] for t, s in found.pairs.tolist())
    assert 2 not in found.matching
    assert len(found.pairs) == 5
    options = AlignmentOptions(connected=True)
    assert len(align(target, source, labels="strict", options=options).pairs) == 3


def test_strict_edge_labels_count():
    target = Graph(3, [(0, 1), (1, 2)], edge_labels="-=")
    source = Graph(3, [(0, 1), (1, 2)], edge_labels="-#")
    found = align(target, source, labels="strict")
    assert len(found.pairs) == 2
    assert align(target, source).n_kept_edges == 2


@WITH_WEIGHTS
def test_edge_labels_weights_and_attributes_steer():
    ring = [(i, (i + 1) % 7) for i in range(7)]
    order = np.random.default_rng(0).permutation(7)
    for carried in (
        {"edge_labels": "abcdefg"},
        {"edge_weights": np.arange(1.0, 8.0)},
        {"node_attributes": np.arange(14.0).reshape(7, 2)},
    ):
        graph = Graph(7, ring, **carried)
        found = align(graph, graph.permuted(order))
        assert found.is_isomorphism
        assert found.attributes == tuple(carried)
        np.testing.assert_array_equal(order[found.pairs[:, 1]], found.pairs[:, 0])
        less = graph.permuted(order).replace(
            **{
                name: None if name == "edge_labels" else getattr(graph.permuted(order), name)
                for name in carried
            }
        )
        assert len(align(graph, less).pairs) == 7


@WITH_WEIGHTS
def test_similar_weights_and_attributes_are_matched():
    rng = np.random.default_rng(2)
    graph = from_networkx(networkx.cycle_graph(20))
    weights, attributes = rng.uniform(1, 9, 20), rng.uniform(0, 9, (20, 2))
    order = rng.permutation(20)
    for name, values in (("edge_weights", weights), ("node_attributes", attributes)):
        target = graph.replace(**{name: values})
        source = graph.replace(**{name: values * 1.01}).permuted(order)
        found = align(target, source)
        assert not found.is_isomorphism
        assert (order[found.pairs[:, 1]] == found.pairs[:, 0]).mean() > 0.8


@WITH_WEIGHTS
def test_weights_of_one_graph_may_all_be_1():
    path = from_networkx(networkx.path_graph(4))
    graphs = path.replace(edge_weights=[1.0, 2.0, 3.0]), path.replace(edge_weights=[1.0] * 3)
    for pair in (graphs, graphs[::-1]):
        found = align(*pair)
        assert found.n_kept_edges == 3
        assert not found.is_isomorphism


@WITH_WEIGHTS
def test_direction_counts():
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)]
    graph = Graph(5, edges, directed=True)
    assert align(graph, graph.permuted([3, 1, 4, 0, 2])).is_isomorphism
    turned = Graph(5, [(v, u) for u, v in edges], directed=True)
    assert not align(graph, turned).is_isomorphism
    with pytest.raises(ParameterError, match="directed"):
        align(graph, Graph(5, edges))


def test_threads_change_no_bit():
    graph = from_networkx(networkx.barabasi_albert_graph(600, 2, seed=4))
    target, _ = damaged(graph, 0.1, 2)
    options = AlignmentOptions(iterations=15, search_steps=100)
    first = align(target, graph, options=options)
    for n_jobs in (2, 4):
        other = align(target, graph, options=options, n_jobs=n_jobs)
        np.testing.assert_array_equal(other.pairs, first.pairs)
        np.testing.assert_array_equal(other.sureness, first.sureness)


def test_candidates_of_large_graphs():
    graph = from_networkx(networkx.barabasi_albert_graph(3000, 4, seed=5))
    target, order = damaged(graph, 0.05, 3)
    options = AlignmentOptions(max_dense=1000, search_steps=100)
    found = align(target, graph, options=options)
    assert (order[found.pairs[:, 0]] == found.pairs[:, 1]).mean() > 0.95
    assert found.attention.nnz <= 16 * 3000
    np.testing.assert_allclose(found.attention.sum(axis=1)[found.pairs[:, 0]], 1, 1e-4)


def test_large_renumbered_copies_need_no_search():
    graph = from_networkx(networkx.barabasi_albert_graph(20_000, 3, seed=6))
    found = align(graph, graph.permuted(np.random.default_rng(0).permutation(20_000)))
    assert found.is_isomorphism
    assert found.n_restarts == 0


def test_the_ceiling_on_seconds_is_marked():
    graph = from_networkx(networkx.random_geometric_graph(900, 0.05, seed=1))
    target, _ = damaged(graph, 0.3, 2)
    align(Graph(2, []), Graph(2, [(0, 1)]))  # compiles
    began = time.perf_counter()
    found = align(target, graph, max_seconds=0.2)
    assert time.perf_counter() - began < 5
    assert found.stopped_early
    assert "stopped early" in repr(found)
    assert len(set(found.pairs[:, 1].tolist())) == len(found.pairs)


def test_ctrl_c_returns_the_best_so_far():
    # A shell starts background jobs with Ctrl-C ignored, and Python then leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    graph = from_networkx(networkx.random_geometric_graph(900, 0.05, seed=1))
    target, _ = damaged(graph, 0.3, 2)
    align(Graph(2, []), Graph(2, [(0, 1)]))  # compiles
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    found = align(target, graph, options=AlignmentOptions(search_steps=20_000))
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert found.stopped_early


def test_progress_is_a_line_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr("ddgk.alignment.solving.EVERY", 0.0)
    align(ETHANOL, ETHANOL.replace(node_labels="COC"), verbose=True)
    assert "ddgk: aligning, restart 1 of at most" in capsys.readouterr().err
    align(ETHANOL, ETHANOL.replace(node_labels="COC"))
    assert capsys.readouterr().err == ""


def test_many_pairs_are_aligned_as_one_by_one():
    graphs = [from_networkx(networkx.gnp_random_graph(9, 0.4, seed=seed)) for seed in range(6)]
    pairs = list(pairwise(graphs))
    alone = [align(*pair) for pair in pairs]
    for n_jobs in (None, 2):
        for found, expected in zip(align_many(pairs, n_jobs=n_jobs), alone, strict=True):
            np.testing.assert_array_equal(found.pairs, expected.pairs)


def test_orbits_name_ties():
    star = from_networkx(networkx.star_graph(4))
    found = align(star, star)
    assert [orbit.nodes for orbit in found.orbits] == [(1, 2, 3, 4)]
    assert found.orbits[0].exchanged
    assert found.confidence[1] == pytest.approx(0.25)
    ring = from_networkx(networkx.cycle_graph(5))
    assert not align(ring, ring).orbits[0].exchanged


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": "loose"}, "labels must be one of 'soft', 'strict', 'ignore'"),
        ({"max_seconds": 0}, "max_seconds must be a number above 0"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_arguments_are_checked(given, message):
    with pytest.raises(ParameterError, match=message):
        align(ETHANOL, ETHANOL, **given)


@pytest.mark.parametrize(
    "given", [{"max_restarts": 0}, {"label_cost": -1.0}, {"connected": 1}, {"iterations": True}]
)
def test_options_are_checked(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        AlignmentOptions(**given)
