from __future__ import annotations

import io

import networkx
import pytest

from ddgk.errors import DatasetError
from ddgk.graphs import Graph, to_networkx
from ddgk.io.files import convert
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
    (found,) = convert(stream.getvalue(), ".gexf", "toy.gexf", "toy", Options())
    assert (found, found.node_names) == (graph, graph.node_names)


def test_labels_of_gexf_are_labels_unless_they_are_the_names():
    graph = Graph(2, [(0, 1)], node_labels=["C", "C"], node_names=["x", "y"])
    text = "\n".join(networkx.generate_gexf(to_networkx(graph)))
    assert convert(text.encode(), ".gexf", "toy.gexf", "toy", Options()) == [graph]


def test_graphml_keeps_direction_and_weights():
    graph = Graph(2, [(1, 0)], directed=True, edge_weights=[-0.5], node_names=["a", "b"])
    text = "\n".join(networkx.generate_graphml(to_networkx(graph)))
    with pytest.raises(Exception, match="negative_weights"):
        convert(text.encode(), ".graphml", "toy.graphml", "toy", Options())


@pytest.mark.parametrize(("ending", "frame"), [(".graphml", GRAPHML), (".gexf", GEXF)])
def test_deep_nesting_and_entities_are_refused(ending, frame: str):
    deep = frame.format("<x>" * 200_000 + "</x>" * 200_000)
    with pytest.raises(DatasetError, match="over 100 elements inside each other"):
        convert(deep.encode(), ending, "toy.xml", "toy", Options())
    entity = '<!DOCTYPE x [<!ENTITY a "b">]>' + frame.format("")
    with pytest.raises(DatasetError, match="it has a DOCTYPE"):
        convert(entity.encode(), ending, "toy.xml", "toy", Options())
