from __future__ import annotations

import io

import networkx
import pytest

from ddgk.errors import DatasetError
from ddgk.graphs import Graph, to_networkx
from ddgk.io.markup import read_gexf, read_graphml
from ddgk.io.reading import Options

GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'
GEXF = '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">{}</gexf>'


@pytest.mark.parametrize("directed", [False, True])
def test_gexf_comes_back(directed: bool):
    graph = Graph(
        3,
        [(0, 1), (1, 2)],
        directed=directed,
        edge_weights=[0.5, 2],
        node_names=["x", "y", "z"],
    )
    stream = io.BytesIO()
    networkx.write_gexf(to_networkx(graph), stream)
    (found,) = read_gexf(stream.getvalue(), "toy.gexf", "toy", Options())
    assert (found, found.node_names) == (graph, graph.node_names)


def test_labels_of_gexf_are_labels_unless_they_are_the_names():
    graph = Graph(2, [(0, 1)], node_labels=["C", "C"], node_names=["x", "y"])
    text = "\n".join(networkx.generate_gexf(to_networkx(graph)))
    assert read_gexf(text.encode(), "toy.gexf", "toy", Options()) == [graph]


def test_graphml_keeps_direction_and_weights():
    graph = Graph(2, [(1, 0)], directed=True, edge_weights=[-0.5], node_names=["a", "b"])
    text = "\n".join(networkx.generate_graphml(to_networkx(graph)))
    with pytest.raises(Exception, match="negative_weights"):
        read_graphml(text.encode(), "toy.graphml", "toy", Options())


@pytest.mark.parametrize(("reader", "frame"), [(read_graphml, GRAPHML), (read_gexf, GEXF)])
def test_deep_nesting_and_entities_are_refused(reader, frame: str):
    deep = frame.format("<x>" * 200_000 + "</x>" * 200_000)
    with pytest.raises(DatasetError, match="over 100 elements inside each other"):
        reader(deep.encode(), "toy.xml", "toy", Options())
    entity = '<!DOCTYPE x [<!ENTITY a "b">]>' + frame.format("")
    with pytest.raises(DatasetError, match="it has a DOCTYPE"):
        reader(entity.encode(), "toy.xml", "toy", Options())
