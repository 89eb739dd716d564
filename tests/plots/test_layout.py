import numpy as np
import pytest

from ddgk.graphs import Graph
from ddgk.graphs.display import lay_out
from ddgk.plots.scene import keep_apart
from experiments.graphs.synthetic import FAMILIES


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_nodes_stand_apart_in_the_square(name):
    graph = FAMILIES[name](20)
    places = lay_out(graph)
    assert places.shape == (graph.n_nodes, 2)
    assert np.abs(places).max() == pytest.approx(1)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=-1) + np.eye(graph.n_nodes)
    assert gaps.min() > 0.01
    np.testing.assert_array_equal(places, lay_out(graph))


def test_the_longer_side_lies_across():
    x, y = lay_out(FAMILIES["path"](12)).T
    assert np.ptp(x) > 10 * np.ptp(y)


def test_components_stand_side_by_side():
    graph = Graph(7, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)])
    x = lay_out(graph)[:, 0]
    assert x[:3].max() < x[3:6].min()
    assert x[3:6].max() < x[6]


def test_discs_are_pushed_apart_and_others_stay():
    places = np.array([[0.0, 0.0], [0.0, 0.0], [0.05, 0.0], [1.0, 1.0]])
    moved = keep_apart(places, (0.1, 0.2))
    gaps = np.linalg.norm((moved[:, None] - moved[None]) / [0.1, 0.2], axis=-1) + 9 * np.eye(4)
    assert gaps.min() > 0.99
    np.testing.assert_array_equal(moved[3], places[3])
    held = keep_apart(places, (0.1, 0.2), movable=np.array([False, True, False, False]))
    np.testing.assert_array_equal(held[[0, 2, 3]], places[[0, 2, 3]])
    assert np.linalg.norm((held[1] - held[0]) / [0.1, 0.2]) > 0.9
