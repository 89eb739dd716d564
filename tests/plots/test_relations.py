import numpy as np
import pytest

from ddgk import plots
from ddgk.datasets import barbell
from ddgk.errors import ParameterError
from ddgk.graphs import Graph
from ddgk.relations import RELATIONS, relate


def test_every_relation_is_drawn_as_its_matrix(tmp_path):
    figure = plots.relations(barbell(), path=tmp_path / "relations.svg")
    assert [axes.get_title() for axes in figure.axes] == list(RELATIONS)
    for axes, name in zip(figure.axes, RELATIONS, strict=True):
        (image,) = axes.get_images()
        np.testing.assert_array_equal(image.get_array(), relate(barbell(), name).dense())
    assert b"<svg" in (tmp_path / "relations.svg").read_bytes()


@pytest.mark.parametrize("graph", [Graph(1, []), Graph(3, [])], ids=["one node", "no edges"])
def test_graphs_without_edges_can_be_drawn(graph):
    assert len(plots.relations(graph).axes) == len(RELATIONS)


def test_what_cannot_be_drawn_says_so(monkeypatch):
    with pytest.raises(ParameterError, match="name some of node_to_edges"):
        plots.relations(barbell(), [])
    with pytest.raises(ParameterError, match="'distance'"):
        plots.relations(barbell(), ["distance"])
    with pytest.raises(ParameterError, match="it has 520 units in a relation, but a picture"):
        plots.relations(Graph(130, []))
    # No relation of a large graph is built: closeness would be a matrix between all nodes.
    monkeypatch.setitem(RELATIONS, "closeness", None)
    with pytest.raises(ParameterError, match="it has 100000 nodes, but a picture shows at most"):
        plots.relations(Graph(100_000, []))
