import numpy as np
import pytest

from ddgk.datasets import FAMILIES, barbell
from ddgk.graphs import Graph
from ddgk.plots.layout import lay_out, lay_out_pair


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


def test_a_bad_matching_places_nothing(matched):
    found = matched(barbell())
    ruined = found.attention[:, np.random.default_rng(3).permutation(10)]
    worse = type(found)(found.target, found.source, ruined, 0.0, np.zeros(1))
    assert worse.edge_correctness < 0.5
    target, _ = lay_out_pair(worse, matched=True)
    np.testing.assert_array_equal(target, lay_out(found.target))
