from __future__ import annotations

import networkx
import pytest

from ddgk.errors import DatasetError
from ddgk.graphs import from_networkx
from ddgk.io.files import convert
from ddgk.io.reading import Options


def pajek(text: str):
    (graph,) = convert(text.encode(), ".net", "toy.net", "toy", Options())
    return graph


def test_pajek_that_networkx_writes():
    made = networkx.MultiDiGraph()
    made.add_edge("a b", "c", weight=0.5)
    made.add_edge("c", "a b", weight=2.0)
    graph = pajek("\n".join(networkx.generate_pajek(made)))
    assert graph.directed
    assert graph.node_names == ("a b", "c")
    assert graph.edge_weights.tolist() == [0.5, 2.0]


def test_sections_of_pajek():
    nodes = '*Vertices 3\n1 "a" 0.1 0.2\n2 "b"\n'
    mixed = pajek(nodes + "*Arcs\n1 2 1\n*Edges\n2 3 1\n")
    assert mixed.directed
    assert mixed.edges.tolist() == [[0, 1], [1, 2], [2, 1]]
    assert mixed.node_names == ("a", "b", "3")
    same = pajek('*Vertices 2\n1 "x"\n2 "x"\n*Edges\n1 2\n')
    assert same.node_labels == ("x", "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no .Vertices"),
        ("*Edges\n1 2\n", "line 2: there is no vertex 1; there are 0"),
        ("*Vertices many\n", "line 1: one .Vertices is read per file, with their number"),
        ("*Vertices 99999999999\n", "at most 5000000 are read"),
        ("*Vertices 4 2\n", "line 1: one .Vertices is read"),
        ('*Vertices 2\n1 "a\n', "line 2: .* is not a vertex"),
        ("*Vertices 2\n1 a\n1 b\n", "line 3: vertex 1 is listed twice"),
        ("*Vertices 2\n*Vertices 2\n", "line 2: one .Vertices is read"),
        ("*Vertices 2\n*Edges\n1 3\n", "line 3: there is no vertex 3; there are 2"),
        ("*Vertices 2\n*Edges\n1\n", "line 3: .* is not an edge"),
        ("*Vertices 2\n*Edges\n1 2 x\n", "line 3: 'x' is not a number"),
        ("*Vertices 2\n*Partition\n1\n", "line 3: '1' stands in no section"),
        ("*Vertices 2\n*Matrix\n0 1 1\n", "line 3: .* stands in no section"),
    ],
)
def test_damaged_pajek(text: str, message: str):
    with pytest.raises(DatasetError, match=rf"toy.net.*{message}"):
        pajek(text)


def test_graph6_comes_back():
    made = [networkx.petersen_graph(), networkx.path_graph(70), networkx.empty_graph(1)]
    for header in (False, True):
        data = b"".join(networkx.to_graph6_bytes(graph, header=header) for graph in made)
        found = convert(data, ".g6", "toy.g6", "toy", Options())
        assert found == [from_networkx(graph) for graph in made]
    assert [graph.name for graph in found] == ["toy-0", "toy-1", "toy-2"]


@pytest.mark.parametrize("data", [b"", b"\n", b"\x01", b"~~", b"D??x??x", b":", b"hello world"])
def test_damaged_graph6(data: bytes):
    with pytest.raises(DatasetError, match=r"toy.g6"):
        convert(data, ".g6", "toy.g6", "toy", Options())


@pytest.mark.parametrize("data", [b":~~~~~~~~", b"~~~~~~~~"])
def test_a_number_of_nodes_that_lies_takes_no_memory(data: bytes):
    with pytest.raises(DatasetError, match=r"not (a line of )?graph6"):
        convert(data, ".g6", "toy.g6", "toy", Options())
