"""The sliced Wasserstein distance: its value, and what it does not depend on."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk import DDGK, Config, Graph, Policies
from ddgk.sliced import SlicedDistance
from specimens import shuffled


def cloud(seed: int, centre: float, n_nodes: int = 12) -> Graph:
    """Return a ring whose nodes carry two numbers around `centre`."""
    rng = np.random.default_rng(seed)
    edges = [(i, (i + 1) % n_nodes) for i in range(n_nodes)]
    values = rng.normal(size=(n_nodes, 2)) + centre
    return Graph(n_nodes, edges, node_attributes=values, name=f"cloud{seed}")


GRAPHS = [cloud(seed, centre=3.0 * (seed % 2), n_nodes=8 + seed % 5) for seed in range(20)]


def columns_of(values: list[float], starts: list[int]) -> np.ndarray:
    """Fit thresholds on all values, and return the columns of the graphs."""
    points = np.array(values, np.float32)[:, None]
    sliced = SlicedDistance.fit(points, np.ones(len(points), np.int64))
    return sliced.columns(points, np.arange(len(points)), np.array(starts))


def test_a_shift_along_the_line_costs_its_length():
    """Points on a line that move by s: the distance is s in units of the range."""
    line = list(np.linspace(0.0, 10.0, 400))
    moved = [value + 1.0 for value in line]
    first, second = columns_of(line + moved, [0, 400, 800])
    middle = 11.0 * 15 / 16  # from the first threshold to the last
    assert np.abs(first - second).sum() * middle == pytest.approx(1.0, rel=0.15)


def test_equal_clouds_are_at_distance_zero_whatever_their_size():
    once, thrice = columns_of([0.0, 1.0, 5.0] * 3 + [2.0], [0, 3, 9])
    np.testing.assert_array_equal(once, thrice)


def test_points_may_stand_for_several_nodes():
    points = np.array([[0.0], [1.0], [5.0]], np.float32)
    sliced = SlicedDistance.fit(points, np.array([3, 1, 2]))
    expanded = SlicedDistance.fit(points[[0, 0, 0, 1, 2, 2]], np.ones(6, np.int64))
    np.testing.assert_array_equal(sliced.thresholds, expanded.thresholds)
    found = sliced.columns(points, np.array([0, 2, 0, 1]), np.array([0, 2, 4]))
    below = (points[[0, 2, 0, 1], 0] <= sliced.thresholds[0][:, None]).T.reshape(2, 2, -1)
    np.testing.assert_allclose(found, below.mean(axis=1) * sliced.widths[0], rtol=1e-6)


def test_graphs_that_differ_by_attributes_alone_are_told_apart():
    kinds = np.arange(len(GRAPHS)) % 2
    X = DDGK(n_sources=3, random_state=0).fit_transform(GRAPHS)
    apart = np.linalg.norm(X[:, None] - X[None], axis=-1) + 9 * np.eye(len(X))
    assert (kinds[apart.argmin(1)] == kinds).all()
    blind = DDGK(n_sources=3, random_state=0, config=Config(attributes="none"))
    Y = blind.fit_transform(GRAPHS)
    apart = np.linalg.norm(Y[:, None] - Y[None], axis=-1)
    assert apart[0, 5] == pytest.approx(0.0, abs=1e-6)  # two rings of eight nodes


def test_node_order_batches_and_files_change_no_bit(tmp_path):
    model = DDGK(n_sources=3, random_state=0).fit(GRAPHS)
    together = model.transform(GRAPHS)
    alone = np.vstack([model.transform([shuffled(graph, 1)]) for graph in GRAPHS])
    np.testing.assert_array_equal(together, alone)
    model.save(tmp_path / "model.ddgk")
    np.testing.assert_array_equal(DDGK.load(tmp_path / "model.ddgk").transform(GRAPHS), together)


def test_missing_values_count_as_the_mean():
    ring = nx.cycle_graph(5)
    nx.set_node_attributes(ring, {i: [[1.0, 2.0, np.nan, 3.0, 2.0][i]] for i in range(5)}, "x")
    policies = Policies(missing="mask")
    graph = Graph.from_networkx(ring, node_attributes="x", policies=policies)
    model = DDGK(n_sources=1, random_state=0, policies=policies)
    X = model.fit_transform([graph, *[cloud1(s) for s in range(4)]])
    assert np.isfinite(X).all()


def cloud1(seed: int) -> Graph:
    values = np.random.default_rng(seed).normal(size=(5, 1))
    return Graph(5, [(i, (i + 1) % 5) for i in range(5)], node_attributes=values)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_weight_decides_what_counts(weight):
    """With weight 0 attributes do not count, with weight 1 nothing else does."""
    config = Config(attribute_weight=weight)
    ring, path = cloud(0, 0.0, 9), cloud(2, 0.0, 9)
    path = Graph(9, [(i, i + 1) for i in range(8)], node_attributes=path.node_attributes)
    same_values = Graph(9, ring.edges, node_attributes=path.node_attributes)
    X = DDGK(n_sources=2, random_state=0, config=config).fit_transform([ring, path, same_values])
    first = np.linalg.norm(X[0] - X[2])  # the same structure, other values
    assert first == pytest.approx(0.0, abs=1e-5) if weight == 0 else first > 0.1
