"""The compact embedding: its kernel is its equation, and no other graph matters."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from ddgk import DDGK, Graph, features, kernels
from ddgk import shares as under_test
from ddgk.errors import UnseenLabelWarning
from specimens import graph_of, random_graph, shuffled

GRAPHS = [random_graph(seed, labels=True) for seed in range(24)]


@pytest.fixture(scope="module")
def model():
    return DDGK(n_sources=4, n_features=None, random_state=0).fit(GRAPHS)


def plain_kernel(model, graphs):
    """The equation of the module, written with ordinary arrays."""
    fitted = model._model
    described = fitted.describe(graphs)
    views = np.split(described.views[described.ids], described.starts[1:-1])
    thresholds, widths = fitted.map.views.thresholds, fitted.map.views.widths
    columns = np.array(
        [((own[:, :, None] <= thresholds).mean(axis=0) * widths).ravel() for own in views]
    )
    sizes = np.array([[np.log(g.n_nodes), np.log1p(2 * g.n_edges)] for g in graphs])
    shares = np.hstack(
        [
            apart_by_nearest(columns_of([histogram(fitted, graph)[radius] for graph in graphs]))
            for radius in range(fitted.config.checkpoints[-1] + 1)
        ]
    )
    config, pairs = fitted.config, np.triu_indices(len(graphs), 1)
    near = config.neighbourhood_weight
    around = labels_around(fitted, graphs, pairs)
    views, common, size = (differences(values) for values in (columns, shares, sizes))
    views, common, size = (
        apart / np.median(apart[pairs]) for apart in (views, common + around, size)
    )
    alike = (1 - near) * views + near * common
    nearest = (alike + np.diag([np.inf] * len(graphs))).argmin(axis=1)
    ratio = size[np.arange(len(graphs)), nearest].mean() / size[pairs].mean()
    agreement = min(1, max(0.1, 2 - 2 * ratio))
    return np.exp(-alike - config.size_weight * agreement * size)


def differences(columns):
    return np.abs(columns[:, None] - columns[None]).sum(-1)


def labels_around(fitted, graphs, pairs):
    """Distances L: shares of labels at the ends of random walks, as the equation says."""
    total = np.zeros((len(graphs), len(graphs)))
    names = sorted({label for graph in graphs for label in graph.node_labels})
    ends = [np.eye(len(names))[[names.index(x) for x in graph.node_labels]] for graph in graphs]
    for radius in range(1, fitted.config.checkpoints[-1] + 1):
        step = []
        for graph, shares in zip(graphs, ends, strict=True):
            adjacency = np.zeros((graph.n_nodes, graph.n_nodes))
            adjacency[tuple(graph.edges.T)] = adjacency[tuple(graph.edges.T[::-1])] = 1
            step.append(adjacency @ shares / np.maximum(adjacency.sum(axis=1, keepdims=True), 1))
        ends = step
        shares = columns_of([histogram(fitted, graph)[radius] for graph in graphs])
        common = np.minimum(shares[:, None], shares[None]).sum(-1)
        np.fill_diagonal(common, -1)
        weight = 1 - 3 * common.max(axis=1).mean()
        if weight <= 0:
            continue
        nodes = np.sort(np.concatenate(ends), axis=0)
        levels = (np.arange(16) + 0.5) / 16 * len(nodes)
        thresholds = nodes[np.ceil(levels).astype(int) - 1]  # (n_thresholds, n_labels)
        widths = np.gradient(thresholds, axis=0) / (thresholds[-1] - thresholds[0])
        columns = [((own[:, None] <= thresholds).mean(axis=0) * widths).ravel() for own in ends]
        soft, exact = differences(np.array(columns)), differences(shares)
        total += weight * soft * np.median(exact[pairs]) / np.median(soft[pairs])
    return total


def columns_of(histograms):
    keys = sorted(set().union(*histograms))
    return np.array([[own.get(key, 0) for key in keys] for own in histograms])


def apart_by_nearest(shares):
    """Multiply the shares at one radius by what the nearest other graph has in common."""
    common = np.minimum(shares[:, None], shares[None]).sum(-1)
    np.fill_diagonal(common, -1)
    return shares * common.max(axis=1).mean()


def histogram(fitted, graph):
    """Share of nodes by neighbourhood and radius, refined in plain Python."""
    around = {i: [] for i in range(graph.n_nodes)}
    for u, v in graph.edges.tolist():
        around[u].append(v)
        around[v].append(u)
    colours = [str(label) for label in graph.node_labels]
    found = []
    for _ in range(fitted.config.checkpoints[-1] + 1):
        found.append({})
        for colour in colours:
            found[-1][colour] = found[-1].get(colour, 0) + 1 / graph.n_nodes
        colours = [
            f"({colours[i]} {sorted(colours[j] for j in around[i])})" for i in range(graph.n_nodes)
        ]
    return found


def test_inner_products_are_the_kernel(model):
    embedded = model.transform(GRAPHS)
    np.testing.assert_allclose(embedded @ embedded.T, plain_kernel(model, GRAPHS), atol=2e-3)


def test_size_counts_where_graphs_that_look_alike_agree_in_it():
    size = np.array([1.0, 1.5, 3.0, 4.0])
    sizes = np.abs(size[:, None] - size)  # mean of all pairs: 10.5 / 6
    pairs = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0.0]])
    crossed = np.array([[0, 9, 1, 9], [9, 0, 9, 1], [1, 9, 0, 9], [9, 1, 9, 0.0]])
    between = np.array([[0, 1, 9, 9], [9, 0, 1, 9], [9, 9, 0, 1], [9, 9, 1, 0.0]])
    assert features._size_agreement(pairs, sizes) == 1  # .75 on average
    assert features._size_agreement(crossed, sizes) == 0.1  # 2.25
    assert features._size_agreement(between, sizes) == pytest.approx(2 - 2 * 1.0 / 1.75)
    assert features._size_agreement(np.zeros((4, 4)), sizes) == 1  # the nearest in size, .75
    assert features._size_agreement(pairs, np.zeros((4, 4))) == 1


def test_size_hardly_counts_where_every_kind_comes_in_two_sizes():
    makers = (nx.cycle_graph, lambda n: nx.star_graph(n - 1))
    graphs = [graph_of(make(n)) for make in makers for n in (16, 32)]
    model = DDGK(n_sources=4, random_state=0).fit(graphs)
    gap = model._model.map.scales[features.PARTS.index("size")] * 2 * np.log(2)  # of the median
    assert gap == pytest.approx(0.1 * model.config_.size_weight, rel=0.1)
    apart = kernels.distances(model.transform(graphs))
    assert apart[0].argsort()[:2].tolist() == [0, 1]  # rings of 16 and 32
    assert apart[0, 1] > 0.01


def test_the_kernel_is_positive_definite(model):
    assert np.linalg.eigvalsh(plain_kernel(model, GRAPHS)).min() > -1e-6


def test_rows_do_not_depend_on_other_graphs_or_node_order(model):
    together = model.transform(GRAPHS)
    alone = np.vstack([model.transform([shuffled(g, 1)]) for g in GRAPHS])
    np.testing.assert_array_equal(together, alone)


def anchors_of(model):
    """Positions of the anchors among GRAPHS, and the kernel of all GRAPHS with them."""
    kernel = model._model.map.kernel(model._model.describe(GRAPHS)).astype(float)
    return kernel.argmax(axis=0), kernel


def test_fewer_columns_are_the_best_approximation_of_the_kernel():
    model = DDGK(n_sources=4, n_features=5, random_state=0).fit(GRAPHS)
    few = model.transform(GRAPHS)
    assert few.shape == (len(GRAPHS), 5)
    assert few.dtype == np.float32
    places, kernel = anchors_of(model)
    assert len(places) == len(GRAPHS) // 2
    values, vectors = np.linalg.eigh(kernel[places])
    leading = kernel @ vectors[:, -5:] / np.sqrt(values[-5:])
    leading /= np.maximum(np.linalg.norm(leading, axis=1, keepdims=True), 0.5)
    np.testing.assert_allclose(few @ few.T, leading @ leading.T, atol=1e-3)


def test_rows_have_length_one_where_anchors_are_a_sample():
    """A new graph is not nearer to all others because the anchors span it badly."""
    model = DDGK(n_sources=4, n_features=16, random_state=0).fit(GRAPHS)
    places, _ = anchors_of(model)
    assert len(places) == len(GRAPHS) // 2
    lengths = np.linalg.norm(model.transform(GRAPHS), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)
    edges = list(combinations(range(60), 2))
    complete = Graph(60, edges, node_labels=[7] * 60, edge_labels=[7] * len(edges))
    with pytest.warns(UnseenLabelWarning):
        far = model.transform([complete])  # like no anchor
    assert np.linalg.norm(far) < 0.9


def test_inner_products_with_all_fitted_graphs_are_the_kernel():
    model = DDGK(n_sources=4, random_state=0).fit(GRAPHS[:16])
    kernel = model._model.map.kernel(model._model.describe(GRAPHS))
    found = model.transform(GRAPHS)
    np.testing.assert_allclose(found @ found[:16].T, kernel, atol=1e-3)


def test_a_column_belongs_to_an_anchor(model):
    """With a column per anchor, features of anchors are the symmetric root of the kernel."""
    found = model.transform(GRAPHS).astype(float)
    np.testing.assert_allclose(found, found.T, atol=2e-3)


def test_a_sample_of_neighbourhoods_stands_for_all(monkeypatch):
    """Distances by a sample of the neighbourhoods are close to those by all."""
    graphs = [graph_of(nx.gnm_random_graph(300, 450, seed=s)) for s in range(3)]
    graphs += [graph_of(nx.random_regular_graph(3, 300, seed=s)) for s in range(3)]
    whole = DDGK(n_sources=3, random_state=0).fit_transform(graphs)
    monkeypatch.setattr(under_test, "MAX_ANCHOR_ENTRIES", 200)
    model = DDGK(n_sources=3, random_state=0).fit(graphs)
    assert max(shares.bits for shares in model._model.map.neighbourhoods) > 0
    part = model.transform(graphs)
    a, b = (np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (whole, part))
    assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.95
    alone = np.vstack([model.transform([shuffled(g, 1)]) for g in graphs])
    np.testing.assert_array_equal(part, alone)


def test_equal_graphs_and_constant_columns_are_no_trouble():
    graphs = [graph_of(nx.cycle_graph(6))] * 3
    found = DDGK(n_sources=2, random_state=0).fit_transform(graphs)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[0], found[1])
    single = DDGK(random_state=0).fit_transform(graphs[:1])
    assert single.shape[0] == 1


def test_graphs_without_edges_and_single_nodes_have_rows():
    graphs = [graph_of(nx.empty_graph(n)) for n in (1, 3)] + [graph_of(nx.path_graph(4))]
    found = DDGK(random_state=0).fit_transform(graphs)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found[0] - found[2]) > 0.1
