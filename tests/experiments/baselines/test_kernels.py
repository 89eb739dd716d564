"""Kernels and columns: a contract for all, then each against a slower, plainer form."""

from collections import Counter

import networkx
import numpy as np
import pytest

from ddgk import Graph
from experiments.baselines.random_walks import largest_eigenvalue, walk_counts, walk_gram
from experiments.baselines.weisfeiler_lehman import (
    assignment_grams,
    colourings,
    subtree_grams,
    wasserstein_distances,
)
from experiments.methods import METHODS
from experiments.svm import gaussian_kernels, standardised

ONCE = [name for name, method in METHODS.items() if not method.per_fold]
LEARNED = {"graph2vec": "gensim", "node2vec": "gensim", "dgk": "gensim", "s2s": "torch"}


def few_graphs(n=12, seed=0):
    generator = np.random.default_rng(seed)
    made = []
    for number in range(n):
        size = int(generator.integers(4, 9))
        drawn = networkx.gnp_random_graph(size, 0.45, seed=number)
        labels = generator.choice(list("CNO"), size).tolist()
        made.append(Graph(size, list(drawn.edges), node_labels=labels))
    return made


def kernels_of(name, graphs, train):
    if name in LEARNED:
        pytest.importorskip(LEARNED[name])
    found = METHODS[name].function()(graphs, 0)
    if METHODS[name].kind == "kernels":
        return found
    return gaussian_kernels(standardised(found, train), train)


@pytest.mark.parametrize("name", ONCE)
def test_every_method_describes_every_graph(name):
    graphs = [*few_graphs(), Graph(1, [], node_labels="C"), Graph(2, [], node_labels="CN")]
    everyone = np.arange(len(graphs))
    for kernel in kernels_of(name, graphs, np.arange(10))[:6]:
        gram = kernel(everyone, everyone)
        assert np.isfinite(gram).all()
        assert gram == pytest.approx(gram.T, abs=1e-6)
        assert np.linalg.eigvalsh(gram).min() > -1e-5
        assert np.ptp(gram) > 0.01, "a kernel which tells nothing apart"


@pytest.mark.parametrize("name", [name for name in ONCE if name not in LEARNED])
def test_the_order_of_nodes_does_not_matter(name):
    graphs = few_graphs()
    generator = np.random.default_rng(5)
    shuffled = [graph.permuted(generator.permutation(graph.n_nodes)) for graph in graphs]
    train = np.arange(12)
    pairs = zip(kernels_of(name, graphs, train), kernels_of(name, shuffled, train), strict=True)
    for one, other in pairs:
        assert one(train, train) == pytest.approx(other(train, train), abs=1e-6)


@pytest.mark.parametrize("name", LEARNED)
def test_learned_methods_repeat(name):
    train = np.arange(12)
    once, again = (kernels_of(name, few_graphs(), train) for _ in range(2))
    assert (once[0](train, train) == again[0](train, train)).all()


def test_subtree_is_a_product_of_colour_counts():
    graphs = few_graphs(4)
    rounds = [[of.tolist() for of in colours] for colours in colourings(graphs, 5)]
    for n_rounds, gram in enumerate(subtree_grams(graphs)):
        counts = [Counter(c for r in rounds[: n_rounds + 1] for c in r[g]) for g in range(4)]
        plain = np.array([[sum(a[c] * b[c] for c in a) for b in counts] for a in counts], float)
        own = np.sqrt(plain.diagonal())
        assert gram == pytest.approx(plain / own[:, None] / own[None, :], rel=1e-5)


def test_assignment_is_an_intersection_of_colour_counts():
    graphs = few_graphs(4)
    rounds = [[of.tolist() for of in colours] for colours in colourings(graphs, 5)]
    counts = [Counter(c for r in rounds for c in r[g]) for g in range(4)]
    plain = np.array([[(a & b).total() for b in counts] for a in counts], float)
    own = np.sqrt(plain.diagonal())
    assert assignment_grams(graphs)[5] == pytest.approx(
        plain / own[:, None] / own[None, :], rel=1e-5
    )


def test_colours_are_those_of_networkx():
    """Two nodes share a colour after two rounds exactly when networkx's hashes agree."""
    graphs = few_graphs(3)
    ours = np.concatenate(list(colourings(graphs, 2))[2])
    theirs = []
    for graph in graphs:
        drawn = networkx.Graph()
        drawn.add_nodes_from((i, {"l": x}) for i, x in enumerate(graph.node_labels))
        drawn.add_edges_from(graph.edges.tolist())
        hashes = networkx.weisfeiler_lehman_subgraph_hashes(drawn, iterations=2, node_attr="l")
        theirs += [hashes[node][-1] for node in range(graph.n_nodes)]
    theirs = np.array(theirs)
    assert ((ours[:, None] == ours) == (theirs[:, None] == theirs)).all()


def test_wasserstein_is_the_optimal_transport():
    transport = pytest.importorskip("ot", reason="optimal transport is compared with POT's")
    graphs = few_graphs(5)
    rounds = list(colourings(graphs, 2))
    found = wasserstein_distances(graphs)[2]
    for a in range(5):
        for b in range(5):
            left, right = (np.array([r[g] for r in rounds]).T for g in (a, b))
            cost = (left[:, None, :] != right[None, :, :]).mean(-1)
            shares = [np.full(len(side), 1 / len(side)) for side in (left, right)]
            assert found[a, b] == pytest.approx(transport.emd2(*shares, cost), abs=1e-9)


def test_random_walks_are_equation_1():
    """Against the inverse of the direct product itself."""
    graphs = few_graphs(3)
    adjacencies = []
    for graph in graphs:
        adjacency = np.zeros((graph.n_nodes, graph.n_nodes))
        adjacency[tuple(graph.edges.T)] = 1
        adjacencies.append(adjacency + adjacency.T)
    radius = largest_eigenvalue(graphs)
    assert radius == pytest.approx(max(np.linalg.eigvalsh(a)[-1] for a in adjacencies))
    found = walk_gram(walk_counts(graphs, radius), 0.9)
    for i, left in enumerate(adjacencies):
        for j, right in enumerate(adjacencies):
            product = np.kron(left, right)
            inverse = np.linalg.inv(np.eye(len(product)) - 0.9 / radius**2 * product)
            assert found[i, j] == pytest.approx(inverse.sum())


@pytest.mark.parametrize("block", [1, 512])
def test_shortest_paths_by_hand(monkeypatch, block):
    """C-C-O has CC at 1 twice, CO, OC at 1 and at 2; C-O has CO, OC at 1: 2 / sqrt(8 * 2)."""
    monkeypatch.setattr("experiments.baselines.shortest_paths.BLOCK", block)
    chain = Graph(3, [(0, 1), (1, 2)], node_labels="CCO")
    pair = Graph(2, [(0, 1)], node_labels="CO")
    (kernel,) = METHODS["sp"].function()([chain, pair], 0)
    assert kernel(np.array([0]), np.array([1]))[0, 0] == pytest.approx(0.5)
