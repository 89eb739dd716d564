"""Every baseline: the contract all of them hold, then each against a slower, plainer form."""

from collections import Counter

import networkx
import numpy as np
import pytest

from ddgk.datasets import FAMILIES
from ddgk.errors import ParameterError
from ddgk.evaluation.baselines import BASELINES, chosen
from ddgk.evaluation.baselines.heat_traces import TIMES, heat_traces
from ddgk.evaluation.baselines.quoted import quoted
from ddgk.evaluation.baselines.random_walks import spectrum, walk_gram
from ddgk.evaluation.baselines.trivial import LabelHistogram
from ddgk.evaluation.baselines.weisfeiler_lehman import colourings, subtree, wasserstein
from ddgk.graphs import Graph

LEARNED = ("graph2vec", "node2vec")
DESCRIBING = [name for name, baseline in BASELINES.items() if not baseline.supervised]


def few_graphs(n=12, seed=0):
    generator = np.random.default_rng(seed)
    made = []
    for number in range(n):
        size = int(generator.integers(4, 9))
        drawn = networkx.gnp_random_graph(size, 0.45, seed=number)
        labels = generator.choice(list("CNO"), size).tolist()
        made.append(Graph(size, list(drawn.edges), node_labels=labels))
    return made


def describe(name, graphs):
    if name in LEARNED:
        pytest.importorskip("gensim", reason="graph2vec and node2vec need gensim (extra baselines)")
    return BASELINES[name].describe(graphs, 0)


@pytest.mark.parametrize("name", DESCRIBING)
def test_every_baseline_describes_every_graph(name):
    graphs = [*few_graphs(), Graph(1, [], node_labels="C"), Graph(2, [], node_labels="CN")]
    found = describe(name, graphs)
    train = np.arange(10)
    everyone = np.arange(len(graphs))
    assert found.n_graphs == len(graphs)
    assert np.isfinite(found.columns(train)).all()
    assert found.squared_distances(train)[np.ix_(train, train)].mean() == pytest.approx(2, rel=0.3)
    for kernel in found.kernels(train):
        gram = kernel(everyone, everyone)
        assert np.isfinite(gram).all()
        assert gram == pytest.approx(gram.T)
        assert np.linalg.eigvalsh(gram).min() > -1e-8
        assert np.ptp(gram) > 0.01, "a kernel which tells nothing apart"


@pytest.mark.parametrize("name", [name for name in DESCRIBING if name not in LEARNED])
def test_the_order_of_nodes_does_not_matter(name):
    graphs = few_graphs()
    generator = np.random.default_rng(5)
    shuffled = [graph.permuted(generator.permutation(graph.n_nodes)) for graph in graphs]
    train = np.arange(12)
    for one, other in zip(
        describe(name, graphs).kernels(train), describe(name, shuffled).kernels(train), strict=True
    ):
        assert one(train, train) == pytest.approx(other(train, train))


@pytest.mark.parametrize("name", LEARNED)
def test_learned_ones_repeat(name):
    graphs = few_graphs()
    once, again = describe(name, graphs), describe(name, graphs)
    assert (once.values == again.values).all()


def test_subtree_is_a_product_of_colour_counts():
    graphs = few_graphs(4)
    rounds = colourings(graphs, 5)
    for n_rounds, gram in enumerate(subtree(graphs, 0).matrices):
        counts = [Counter(c for r in rounds[: n_rounds + 1] for c in r[g]) for g in range(4)]
        plain = np.array([[sum(a[c] * b[c] for c in a) for b in counts] for a in counts], float)
        own = np.sqrt(plain.diagonal())
        assert gram == pytest.approx(plain / own[:, None] / own[None, :])


def test_colours_are_those_of_networkx():
    """Two nodes share a colour after two rounds exactly when networkx's hashes agree."""
    graphs = few_graphs(3)
    ours = [colour for graph in colourings(graphs, 2)[2] for colour in graph]
    theirs = []
    for graph in graphs:
        drawn = networkx.Graph()
        drawn.add_nodes_from((i, {"l": x}) for i, x in enumerate(graph.node_labels))
        drawn.add_edges_from(graph.edges.tolist())
        hashes = networkx.weisfeiler_lehman_subgraph_hashes(drawn, iterations=2, node_attr="l")
        theirs += [hashes[node][-1] for node in range(graph.n_nodes)]
    ours, theirs = np.array(ours), np.array(theirs)
    assert ((ours[:, None] == ours) == (theirs[:, None] == theirs)).all()


def test_wasserstein_is_the_optimal_transport():
    transport = pytest.importorskip("ot", reason="optimal transport is compared with POT's")
    graphs = few_graphs(5)
    rounds = [colourings(graphs, 2)[r] for r in range(3)]
    gram = wasserstein(graphs, 0).matrices[2 * 2]  # two rounds, the first width, which is 1
    for a in range(5):
        for b in range(5):
            left, right = (np.array([r[g] for r in rounds]).T for g in (a, b))
            cost = (left[:, None, :] != right[None, :, :]).mean(-1)
            shares = [np.full(len(side), 1 / len(side)) for side in (left, right)]
            assert gram[a, b] == pytest.approx(np.exp(-transport.emd2(*shares, cost)))


def test_random_walks_are_equation_1():
    """Against the inverse of the direct product itself."""
    graphs = few_graphs(3)
    adjacencies = []
    for graph in graphs:
        adjacency = np.zeros((graph.n_nodes, graph.n_nodes))
        adjacency[tuple(graph.edges.T)] = 1
        adjacencies.append(adjacency + adjacency.T)
    found = walk_gram([spectrum(graph) for graph in graphs], 0.01)
    for i, left in enumerate(adjacencies):
        for j, right in enumerate(adjacencies):
            product = np.kron(left, right)
            inverse = np.linalg.inv(np.eye(len(product)) - 0.01 * product)
            assert found[i, j] == pytest.approx(inverse.sum())


def test_shortest_paths_by_hand():
    """C-C-O has CC at 1 twice, CO, OC at 1 and at 2; C-O has CO, OC at 1: 2 / sqrt(8 * 2)."""
    chain = Graph(3, [(0, 1), (1, 2)], node_labels="CCO")
    pair = Graph(2, [(0, 1)], node_labels="CO")
    (gram,) = BASELINES["sp"].describe([chain, pair], 0).matrices
    assert gram[0, 1] == pytest.approx(0.5)


def test_heat_of_a_complete_graph():
    """Its normalised Laplacian has 0 once and n / (n - 1) otherwise."""
    (found,) = heat_traces([FAMILIES["complete"](5)], 0).values
    assert found == pytest.approx((1 + 4 * np.exp(-TIMES * 5 / 4)) / 5)


def test_histogram_ignores_labels_that_fit_did_not_see():
    seen = Graph(2, [(0, 1)], node_labels="CO")
    other = Graph(2, [], node_labels="CX")
    assert LabelHistogram().fit([seen]).transform([other]).tolist() == [[2, 0, 1, 0]]


def test_choosing():
    assert chosen([]) == ["sizes", "histogram"]
    assert chosen(["all"]) == list(BASELINES)
    with pytest.raises(ParameterError, match=r"wwl.* or all, not 'svm'"):
        chosen(["wl", "svm"])


def test_quoted_figures_are_of_the_set():
    assert {row.dataset for row in quoted("NCI1")} == {"NCI1"}
    assert quoted("my own graphs") == []
