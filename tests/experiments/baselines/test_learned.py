"""Methods that learn: on graphs whose answer is known."""

from itertools import pairwise

import numpy as np
import pytest

from ddgk import Graph
from experiments.baselines import dgcnn, gin, node2vec, pscn, sequences
from experiments.baselines.networks import import_geometric
from experiments.classification import classify
from experiments.methods import METHODS, Method


def rings_and_stars(sizes=range(5, 17)):
    rings = [Graph(n, [(i, (i + 1) % n) for i in range(n)]) for n in sizes]
    stars = [Graph(n, [(0, i) for i in range(1, n)]) for n in sizes]
    return rings + stars, np.repeat([0, 1], len(rings))


NETWORKS = {
    "gin": lambda: gin.GIN(epochs=30),
    "dgcnn": lambda: dgcnn.DGCNN(epochs=40, batch=8, learning_rate=0.003),
    "pscn": lambda: pscn.PSCN(epochs=30, batch=8, learning_rate=0.003),
}


def needs_networks():
    pytest.importorskip("torch")
    try:
        import_geometric()
    except ImportError:
        pytest.skip("needs PyTorch Geometric")


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_learn_what_generalises(name):
    needs_networks()
    graphs, classes = rings_and_stars()
    train, test = np.arange(0, 24, 2), np.arange(1, 24, 2)
    network = NETWORKS[name]().fit([graphs[i] for i in train], classes[train])
    found = network.predict([graphs[i] for i in test])
    assert (found == classes[test]).mean() > 0.9
    again = NETWORKS[name]().fit([graphs[i] for i in train], classes[train])
    assert (again.predict(graphs) == network.predict(graphs)).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_accept_labels_they_did_not_see(name):
    needs_networks()
    graphs, classes = rings_and_stars(range(5, 9))
    labelled = [graph.replace(node_labels="a" * graph.n_nodes) for graph in graphs]
    network = NETWORKS[name]().set_params(epochs=2).fit(labelled, classes + 5)
    other = graphs[0].replace(node_labels="b" * graphs[0].n_nodes)
    assert network.predict([other])[0] in (5, 6)


@pytest.mark.parametrize("name", ["dgk", "graph2vec", "s2s"])
def test_described_rings_and_stars_are_told_apart(name, monkeypatch):
    pytest.importorskip("torch" if name == "s2s" else "gensim")
    monkeypatch.setattr("experiments.baselines.deep_graph_kernels.WINDOWS", (5,))
    monkeypatch.setattr("experiments.baselines.deep_graph_kernels.DIMENSIONS", (5, 10))
    from experiments.data import GraphSet

    graphs, classes = rings_and_stars()
    row = classify(GraphSet("rings and stars", graphs, classes), METHODS[name], repeats=1)
    assert np.mean(row["accuracies"]) > 0.85


@pytest.mark.parametrize("name", ["graph2vec", "node2vec"])
def test_vectors_do_not_tell_the_place_in_the_set(name):
    """Copies of one graph, sorted by class: there is nothing to learn but the place."""
    pytest.importorskip("gensim")
    from experiments.data import GraphSet

    copies, classes = [rings_and_stars((6,))[0][0]] * 60, np.repeat([0, 1], 30)
    row = classify(GraphSet("copies", copies, classes), METHODS[name], repeats=3)
    assert np.mean(row["accuracies"]) < 0.65


def test_node2vec_keeps_neighbours_together():
    """Two cliques without an edge between them: nodes of one clique have the closer vectors."""
    pytest.importorskip("gensim")
    pairs = [(i, j) for i in range(5) for j in range(i)]
    cliques = Graph(10, [*pairs, *((i + 5, j + 5) for i, j in pairs)])
    vectors = node2vec.node_vectors([cliques], 0)[0]
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    similar = vectors @ vectors.T
    assert similar[:5, :5].min() > similar[:5, 5:].max()


def test_dgk_diagonal_is_weighted_wl(monkeypatch):
    """With M = diag(|v|^2) the kernel is the WL kernel of counts scaled by |v|."""
    pytest.importorskip("gensim")
    from experiments.baselines import deep_graph_kernels as module

    monkeypatch.setattr(module, "WINDOWS", (2,))
    monkeypatch.setattr(module, "DIMENSIONS", (2,))
    ones = np.ones
    monkeypatch.setattr(module, "colour_vectors", lambda _s, n, d, _w, _seed: ones((n, d)))
    graphs, _ = rings_and_stars(range(4, 7))
    dense, diagonal = module.kernels(graphs, 0)
    everyone = np.arange(len(graphs))
    from experiments.baselines.weisfeiler_lehman import subtree_grams

    assert diagonal(everyone, everyone) == pytest.approx(subtree_grams(graphs)[2], rel=1e-5)
    assert dense(everyone, everyone) == pytest.approx(np.ones((6, 6))), "counts of equal colours"


def test_canonical_ranks_do_not_depend_on_node_order():
    graph = Graph(6, [(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)], node_labels="CCOCNC")
    order = np.random.default_rng(0).permutation(6)
    ranks, moved = pscn.canonical_ranks(graph), pscn.canonical_ranks(graph.permuted(order))
    assert sorted(ranks) == sorted(moved)
    labels, new = graph.node_labels, graph.permuted(order).node_labels
    assert sorted(zip(ranks, labels, strict=True)) == sorted(zip(moved, new, strict=True))
    assert ranks[1] == 0, "the node of the highest degree comes first"


def test_fields_are_neighbourhoods_breadth_first():
    path = Graph(4, [(0, 1), (1, 2), (2, 3)])
    fields = pscn.fields_of(path, 5)
    assert fields.shape == (5, pscn.FIELD)
    assert sorted(fields[0, :4].tolist()) == [0, 1, 2, 3]
    assert fields[0, 0] in (1, 2), "inner nodes have the higher degree"
    assert (fields[0, 4:] == -1).all()
    assert (fields[4] == -1).all(), "there are four nodes"


def test_sort_pooling_keeps_the_quantile_of_sizes():
    graphs, _ = rings_and_stars(range(5, 25))
    model = dgcnn.DGCNN()
    model.prepare(graphs)
    assert model.k_ == sorted(graph.n_nodes for graph in graphs)[23]


def test_sort_pooling_orders_by_the_last_state():
    torch = pytest.importorskip("torch")
    states = torch.tensor([[1.0, 0.1], [2.0, 0.9], [3.0, 0.5], [4.0, 0.2]])
    pooled = dgcnn.sort_pool(states, torch.tensor([0, 0, 0, 1]), 2)
    assert pooled[0].tolist() == states[[1, 2]].tolist()
    assert pooled[1].tolist() == [states[3].tolist(), [0, 0]]


def test_fields_are_convolved_as_one_hot_rows():
    torch = pytest.importorskip("torch")
    graphs, _ = rings_and_stars(range(5, 9))
    labelled = [g.replace(node_labels=("ab" * 9)[: g.n_nodes]) for g in graphs]
    model = pscn.PSCN()
    model.prepare(labelled)
    network = model.build(2)
    encoded = model.encode(labelled)
    weights = network.fields.weight[:-1].reshape(pscn.FIELD, model.inputs_.width, 16)
    found = network.fields(torch.as_tensor(encoded[0]))
    for place, nodes in enumerate(pscn.fields_of(labelled[0], model.width_)):
        rows = model.inputs_.of(labelled[0])[nodes] * (nodes >= 0)[:, None]
        expected = torch.einsum("ki,kio->o", torch.as_tensor(rows).float(), weights)
        assert torch.allclose(found[place], expected, atol=1e-6)


def test_batches_of_sequences_need_no_padding():
    given = np.array([[1, 2, 0], [3, 0, 0], [4, 5, 6], [7, 8, 0]])
    found = list(sequences.batches(given, np.random.default_rng(0)))
    assert sorted(np.concatenate([places for places, _ in found])) == [0, 1, 2, 3]
    for places, batch in found:
        assert (batch > 0).all()
        assert (given[places, : batch.shape[1]] == batch).all()
        assert (given[places, batch.shape[1] :] == 0).all()


def test_sequences_walk_along_edges():
    graph = Graph(5, [(0, 1), (1, 2), (2, 3)])
    edges = {(u, v) for u, v in graph.edges.tolist()} | {(v, u) for u, v in graph.edges.tolist()}
    walks, _, paths = sequences.node_sequences(graph, [0, 0]).reshape(3, 5, -1)
    for walk in walks[:4].tolist():
        assert all(step in edges for step in pairwise(walk))
    assert set(walks[4].tolist()) == {4}, "an isolated node stays"
    for root, path in enumerate(paths.tolist()):
        nodes = [node for node in path if node >= 0]
        assert nodes[0] == root
        assert all(step in edges for step in pairwise(nodes))


def test_supervised_rows_are_marked():
    assert {name for name, m in METHODS.items() if m.supervised} == {"gin", "dgcnn", "pscn"}
    assert isinstance(METHODS["gin"], Method)
