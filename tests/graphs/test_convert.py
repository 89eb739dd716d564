from __future__ import annotations

import sys

import networkx
import numpy as np
import pytest
from scipy import sparse

from ddgk.errors import GraphError, ParameterError
from ddgk.graphs import Graph, Policies, as_graph, as_graphs
from ddgk.graphs.convert import CONVERTERS

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
ARROWS = [(0, 1), (1, 0), (1, 2), (2, 1)]
EXPECTED = Graph(3, [(0, 1), (1, 2)])


def things():
    return {
        "Graph": EXPECTED,
        "networkx": networkx.path_graph(3),
        "numpy": PATH,
        "numpy subclass": PATH.view(np.recarray),
        "scipy matrix": sparse.csr_matrix(PATH),
        "scipy array": sparse.dok_array(PATH),
        "GraKeL list": [set(ARROWS), {}, {}],
        "GraKeL tuple": (ARROWS, {}, {}),
        "GraKeL adjacency": [PATH, {}],
        "GraKeL alone": [dict.fromkeys(ARROWS, 1)],
        "list of edges": [(0, 1), (1, 2)],
        "set of edges": {(0, 1), (1, 2)},
        "frozenset of edges": frozenset({(0, 1), (1, 2)}),
    }


@pytest.mark.parametrize("kind", things())
def test_each_kind_is_recognised(kind):
    assert as_graph(things()[kind]) == EXPECTED


@pytest.mark.parametrize("kind", things())
def test_each_kind_is_read_in_a_list_and_refused_in_place_of_one(kind):
    thing = things()[kind]
    assert as_graphs([thing]) == [EXPECTED]
    assert as_graphs([thing, thing]) == [EXPECTED] * 2
    assert as_graphs((thing, EXPECTED, thing)) == [EXPECTED] * 3
    with pytest.raises(
        GraphError, match=r"^a list of graphs is needed, not one graph \(.*\); pass"
    ):
        as_graphs(thing)


def test_igraph_and_torch_geometric_are_recognised(pyg):
    igraph = pytest.importorskip("igraph", reason="converts its Graph")
    data = pyg.Data(edge_index=pyg.torch.tensor(ARROWS).T, num_nodes=3)
    path = igraph.Graph([(0, 1), (1, 2)])
    assert as_graphs([data, path]) == [EXPECTED] * 2
    for single in (data, path):
        with pytest.raises(GraphError, match="not one graph"):
            as_graphs(single)


def test_a_generator_and_a_stack_of_matrices_are_lists():
    assert as_graphs(networkx.path_graph(n) for n in (3, 3)) == [EXPECTED] * 2
    assert as_graphs(np.stack([PATH, PATH])) == [EXPECTED] * 2


def test_a_stream_is_read_once_and_no_more_than_needed():
    def stream():
        yield networkx.path_graph(3)
        yield [(0, 1), (1, 0)]
        pytest.fail("read on after an error")

    with pytest.raises(GraphError, match=r"^graph 1: edge \(0, 1\) is listed more than once"):
        as_graphs(stream())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "a list of graphs is needed, but this one is empty"),
        (iter(()), "a list of graphs is needed, but this one is empty"),
        ("MUTAG", "a list of graphs is needed, not a str"),
        ({"a": EXPECTED}, "a list of graphs is needed, not a dict"),
        (7, "a list of graphs is needed, not an int"),
        (None, "a list of graphs is needed, not a NoneType"),
        ([(0, 1)], "a list of graphs is needed, not one graph (a list); pass [graph]"),
        (
            [((0, 0), (0, 1)), ((0, 1), (1, 1))],
            "a list of graphs is needed, not one graph (a list); pass [graph]",
        ),
    ],
)
def test_what_is_no_list_of_graphs_is_refused(given, message):
    with pytest.raises(GraphError) as caught:
        as_graphs(given)
    assert str(caught.value) == message


@pytest.mark.parametrize("thing", [3, None, (0, 1), {0: [1]}, [], np.ones(3), object()])
def test_what_is_no_graph_is_refused(thing):
    with pytest.raises(GraphError, match=r"^graph 2: cannot read an? \S+ as a graph; give a ddgk"):
        as_graphs([EXPECTED, EXPECTED, thing])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            networkx.MultiGraph([(3, 4), (3, 4)], name="mol-0017"),
            "graph 1 ('mol-0017'): edge (3, 4) is listed",
        ),
        (networkx.Graph(), "graph 1: it has no nodes"),
        (np.ones((2, 3)), "graph 1: an adjacency matrix is square"),
        (sparse.csr_array([[0, -2], [-2, 0]]), "graph 1: edge (0, 1) has weight -2"),
        ([set(ARROWS), {0: "a"}], "graph 1: node 1 has no label"),
        ([(0, 1, 2)], "graph 1: edge (0, 1, 2) has 3 items"),
        (
            Graph(2, [(0, 1)], edge_weights=[-3], name="w", node_names="ab"),
            "graph 1 ('w'): edge ('a', 'b') has weight -3",
        ),
    ],
)
def test_every_message_says_which_graph(bad, message):
    with pytest.raises(GraphError) as caught:
        as_graphs([EXPECTED, bad])
    assert str(caught.value).startswith(message)


def test_a_position_can_be_given_and_is_forgotten_afterwards():
    with pytest.raises(GraphError, match=r"^graph 17: edge"):
        as_graph([(0, 1), (0, 1)], position=17)
    with pytest.raises(GraphError, match=r"^graph: edge"):
        as_graph([(0, 1), (0, 1)])


def test_policies_reach_the_readers():
    easy = Policies("undirected", "drop", "merge", "ignore")
    messy = networkx.MultiDiGraph([(0, 1), (0, 1), (1, 0), (1, 1), (2, 1)])
    weighted = sparse.csr_array(PATH * 3)
    assert as_graphs([messy, weighted], policies=easy) == [EXPECTED] * 2
    with pytest.raises(ParameterError, match="policies must be given as Policies"):
        as_graph(EXPECTED, policies="drop")


def test_the_weights_of_a_graph_follow_the_policy():
    weighted = EXPECTED.replace(edge_weights=[1, 0.5], name="g")
    assert as_graph(weighted) is weighted
    ignored = as_graph(weighted, policies=Policies(weights="ignore"))
    assert (ignored, ignored.name) == (EXPECTED, "g")


def test_all_policies_hold_for_a_graph():
    loop = Graph(2, [(0, 1), (1, 1)], node_names="ab", edge_labels="xy")
    assert as_graph(loop) is loop
    dropped = as_graph(loop, policies=Policies(self_loops="drop"))
    assert (dropped.edges.tolist(), dropped.edge_labels) == ([[0, 1]], ("x",))
    arrow = Graph(2, [(1, 0)], directed=True)
    assert as_graph(arrow) is arrow
    assert not as_graph(arrow, policies=Policies(directed="undirected")).directed
    hole = Graph(1, [], node_attributes=[[np.nan]], missing="mask")
    with pytest.raises(GraphError, match="is missing"):
        as_graph(hole)
    assert as_graph(hole, policies=Policies(missing="mask")) is hole


def test_graphs_without_nodes_are_refused_skipped_or_kept():
    nothing = Graph(0, [])
    with pytest.raises(GraphError, match="graph 1: it has no nodes"):
        as_graphs([EXPECTED, nothing])
    with pytest.warns(UserWarning, match="1 of 2 graphs were skipped by the policies: 1"):
        assert as_graphs([EXPECTED, nothing], policies=Policies(empty="skip")) == [EXPECTED]
    assert as_graphs([EXPECTED, nothing], policies=Policies(empty="keep"))[1] is nothing


def test_a_graph_without_weights_comes_back_as_it_is():
    assert as_graph(EXPECTED) is EXPECTED


def test_a_batch_is_refused_with_the_way_to_split_it(pyg):
    data = pyg.Data(edge_index=pyg.torch.tensor(ARROWS).T, num_nodes=3)
    batch = pyg.Batch.from_data_list([data, data])
    with pytest.raises(GraphError, match="a torch_geometric Batch is many graphs"):
        as_graph(batch)
    assert as_graphs(batch.to_data_list()) == [EXPECTED] * 2


def test_recognising_imports_nothing(monkeypatch):
    optional = [
        converter.library
        for converter in CONVERTERS
        if converter.library not in ("ddgk", "numpy", "builtins")
    ]
    for library in optional:
        monkeypatch.setitem(sys.modules, library, None)
    assert as_graph(PATH) == EXPECTED
    with pytest.raises(GraphError, match="cannot read"):
        as_graph(3)


def test_the_warning_on_skipped_graphs_points_at_the_caller():
    with pytest.warns(UserWarning, match="1 of 2 graphs were skipped") as caught:
        as_graphs([Graph(1, []), Graph(0, [])], policies=Policies(empty="skip"))
    assert caught[0].filename == __file__
