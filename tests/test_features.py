"""The compact embedding: its kernel is its equation, and no other graph matters."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk import DDGK
from ddgk import features as under_test
from ddgk.features import divergence_columns
from specimens import graph_of, random_graph, shuffled

GRAPHS = [random_graph(seed, labels=True) for seed in range(24)]


@pytest.fixture(scope="module")
def model():
    return DDGK(n_sources=4, n_features=None, random_state=0).fit(GRAPHS)


def plain_kernel(model, graphs):
    """The equation of the module, written with ordinary arrays."""
    fitted = model._model
    described, outcome = fitted.describe(graphs)
    starts = described.starts
    x = (divergence_columns(described) - fitted.map.mean) * fitted.map.scale
    first = np.abs(x[:, None] - x[None]).sum(-1)
    k = np.zeros((len(graphs), len(graphs)))
    sizes = np.diff(starts)
    for views in fitted.map.node_views(outcome):
        views = views.astype(float)
        apart = ((views[:, None] - views[None]) ** 2).sum(-1)
        each = np.exp(-apart / (2 * fitted.config.bandwidth**2))
        sums = np.add.reduceat(np.add.reduceat(each, starts[:-1], 0), starts[:-1], 1)
        k += sums / np.sqrt(sizes[:, None] * sizes)
    second = np.diag(k)[:, None] + np.diag(k) - 2 * k
    pairs = np.triu_indices(len(graphs), 1)
    first, second = first / np.median(first[pairs]), second / np.median(second[pairs])
    weight = fitted.config.divergence_weight
    return np.exp(-(weight * first + (1 - weight) * second))


def test_inner_products_are_the_kernel(model):
    embedded = model.transform(GRAPHS)
    np.testing.assert_allclose(embedded @ embedded.T, plain_kernel(model, GRAPHS), atol=2e-3)


def test_the_kernel_is_positive_definite(model):
    assert np.linalg.eigvalsh(plain_kernel(model, GRAPHS)).min() > -1e-6


def test_rows_do_not_depend_on_other_graphs_or_node_order(model):
    together = model.transform(GRAPHS)
    alone = np.vstack([model.transform([shuffled(g, 1)]) for g in GRAPHS])
    np.testing.assert_array_equal(together, alone)


def test_fewer_columns_are_the_best_approximation_of_the_kernel(model):
    few = DDGK(n_sources=4, n_features=5, random_state=0).fit(GRAPHS).transform(GRAPHS)
    assert few.shape == (len(GRAPHS), 5)
    assert few.dtype == np.float32
    kernel = plain_kernel(model, GRAPHS)
    left = np.linalg.eigvalsh(kernel)[::-1][5:]
    assert np.linalg.norm(kernel - few @ few.T) == pytest.approx(np.linalg.norm(left), rel=0.01)


def test_a_column_belongs_to_an_anchor(model):
    """With a column per anchor, features of anchors are the symmetric root of the kernel."""
    found = model.transform(GRAPHS).astype(float)
    np.testing.assert_allclose(found, found.T, atol=2e-3)


def test_a_sample_of_views_stands_for_a_large_graph(monkeypatch):
    """Distances by a sample are close to those by all nodes."""
    graphs = [graph_of(nx.gnm_random_graph(300, 450, seed=s)) for s in range(3)]
    graphs += [graph_of(nx.random_regular_graph(3, 300, seed=s)) for s in range(3)]
    whole = DDGK(n_sources=3, random_state=0).fit_transform(graphs)
    monkeypatch.setattr(under_test, "MAX_ANCHOR_VIEWS", 6 * 100)
    part = DDGK(n_sources=3, random_state=0).fit_transform(graphs)
    a, b = (np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (whole, part))
    assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.95


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
