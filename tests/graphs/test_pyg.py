from __future__ import annotations

import numpy as np
import pytest

from ddgk.errors import GraphError
from ddgk.graphs import Policies, from_edges, from_pyg

BOTH = [[0, 1, 1, 2], [1, 0, 2, 1]]


@pytest.fixture
def data(pyg):
    """Build the path 0 - 1 - 2 with any further attributes."""

    def build(**attributes):
        attributes.setdefault("edge_index", pyg.torch.tensor(BOTH))
        if "x" not in attributes:
            attributes.setdefault("num_nodes", 3)
        return pyg.Data(**attributes)

    return build


def refusal(thing, **options):
    with pytest.raises(GraphError) as caught:
        from_pyg(thing, **options)
    return str(caught.value)


def test_edges_listed_both_ways_are_undirected(data):
    assert from_pyg(data()) == from_edges([(0, 1), (1, 2)])


def test_an_edge_listed_one_way_is_directed(pyg, data):
    arrows = data(edge_index=pyg.torch.tensor([[0, 1, 1], [1, 0, 2]]), name="arrows")
    assert from_pyg(arrows).directed
    assert from_pyg(arrows, policies=Policies(directed="undirected")).n_edges == 2


def test_loops_and_repeats_follow_the_policy(pyg, data):
    loop = data(edge_index=pyg.torch.tensor([[0, 1, 2], [1, 0, 2]]))
    assert from_pyg(loop).edges.tolist() == [[0, 1], [2, 2]]
    assert from_pyg(loop, policies=Policies(self_loops="drop")).n_edges == 1
    twice = data(edge_index=pyg.torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]]))
    assert "edge (0, 1) is listed more than once" in refusal(twice)
    assert from_pyg(twice, policies=Policies(parallel_edges="merge")).n_edges == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_one_hot_rows_are_labels(pyg, data, dtype):
    rows = pyg.torch.tensor([[0, 0, 1], [1, 0, 0], [0, 0, 1]], dtype=getattr(pyg.torch, dtype))
    graph = from_pyg(data(x=rows))
    assert graph.node_labels == (2, 0, 2)
    assert graph.node_attributes is None
    assert {type(label) for label in graph.node_labels} == {int}


def test_whole_numbers_are_labels_and_rows_of_them_tuples(pyg, data):
    torch = pyg.torch
    assert from_pyg(data(x=torch.tensor([5, 6, 5]))).node_labels == (5, 6, 5)
    assert from_pyg(data(x=torch.tensor([[5], [6], [5]]))).node_labels == (5, 6, 5)
    rows = torch.tensor([[0, 1], [1, 0], [0, 1]])
    assert from_pyg(data(x=rows)).node_labels == ((0, 1), (1, 0), (0, 1))


def test_other_numbers_are_attributes(pyg, data):
    rows = pyg.torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]], requires_grad=True)
    graph = from_pyg(data(x=rows))
    assert graph.node_labels is None
    assert graph.node_attributes.tolist() == [[0.5, 0.5], [1, 0], [0, 0]]
    single = from_pyg(data(x=pyg.torch.ones(3, 1)))
    assert single.node_attributes.tolist() == [[1], [1], [1]]


def test_labels_and_attributes_can_come_from_two_places(pyg, data):
    one_hot = pyg.torch.eye(3)
    graph = from_pyg(data(x=one_hot, atoms=["C", "O", "C"]), node_labels="atoms")
    assert graph.node_labels == ("C", "O", "C")
    assert graph.node_attributes.tolist() == np.eye(3).tolist()
    assert from_pyg(data(x=one_hot), node_labels=None).node_labels is None
    assert from_pyg(data(x=one_hot), node_attributes=None).node_labels == (0, 1, 2)
    bare = from_pyg(data(x=one_hot), node_labels=None, node_attributes=None)
    assert repr(bare) == "Graph(n_nodes=3, n_edges=2)"


def test_edge_labels_are_read_from_both_directions(pyg, data):
    torch = pyg.torch
    one_hot = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    assert from_pyg(data(edge_attr=one_hot)).edge_labels == (0, 1)
    assert from_pyg(data(edge_attr=torch.tensor([7, 7, 9, 9]))).edge_labels == (7, 9)
    assert from_pyg(data(edge_attr=np.array([7, 7, 9, 9]))).edge_labels == (7, 9)
    assert from_pyg(data(bonds=list("aabb")), edge_labels="bonds").edge_labels == ("a", "b")
    assert from_pyg(data(edge_attr=torch.tensor([7, 8, 9, 9]))).directed


def test_other_edge_numbers_are_attributes_or_weights(pyg, data):
    soft = data(edge_attr=pyg.torch.tensor([[0.5], [0.5], [-1.0], [-1.0]]))
    found = from_pyg(soft)
    assert (found.edge_labels, found.edge_attributes.tolist()) == (None, [[0.5], [-1]])
    assert from_pyg(soft, edge_labels=None, edge_attributes=None).edge_attributes is None
    assert refusal(soft, edge_attributes=None) == (
        "graph: edge_attr holds neither whole numbers nor one-hot rows, so it cannot be labels; "
        "pass edge_labels=None to leave it out, or edge_attributes='edge_attr' to read vectors"
    )
    absolute = Policies(negative_weights="absolute")
    weighted = from_pyg(soft, edge_weights="edge_attr", policies=absolute)
    assert weighted.edge_weights.tolist() == [0.5, 1]
    assert weighted.edge_attributes is None


def test_real_numbers_asked_for_as_node_labels_are_refused(pyg, data):
    assert refusal(data(x=pyg.torch.rand(3, 2)), node_attributes=None) == (
        "graph: x holds neither whole numbers nor one-hot rows, so it cannot be labels; "
        "pass node_labels=None to leave it out, or node_attributes='x' to read vectors"
    )


def test_weights_follow_the_policy(pyg, data):
    weighted = data(edge_weight=pyg.torch.tensor([2.0, 2.0, 1.0, 1.0]))
    assert from_pyg(weighted, policies=Policies(weights="ignore")).edge_weights is None
    kept = from_pyg(weighted, policies=Policies())
    assert kept.edge_weights.tolist() == [2, 1]


def test_isolated_nodes_stay(pyg, data):
    assert from_pyg(data(num_nodes=5)).n_nodes == 5
    alone = pyg.Data(edge_index=pyg.torch.empty((2, 0), dtype=pyg.torch.long), num_nodes=1)
    assert (from_pyg(alone).n_nodes, from_pyg(alone).n_edges) == (1, 0)


def test_the_number_of_nodes_is_never_guessed(pyg):
    edges = pyg.torch.tensor(BOTH)
    assert refusal(pyg.Data(edge_index=edges)) == (
        "graph: nothing says how many nodes it has, and isolated ones could be lost; "
        "set data.num_nodes"
    )
    charges = pyg.Data(edge_index=edges, z=pyg.torch.tensor([6, 8, 6, 1]))
    assert from_pyg(charges, node_labels="z").node_labels == (6, 8, 6, 1)
    assert from_pyg(pyg.Data(edge_index=edges, pos=pyg.torch.zeros(4, 3))).n_nodes == 4


def test_an_attribute_asked_for_by_name_must_be_there(data):
    assert refusal(data(), node_labels="atoms") == (
        "graph: it has no 'atoms'; it has 'edge_index', 'num_nodes'"
    )


def test_the_name_is_taken_from_the_data(data):
    assert from_pyg(data(name="gdb_1")).name == "gdb_1"
    assert from_pyg(data(name="gdb_1"), name="own").name == "own"
    assert from_pyg(data()).name is None


def test_batches_and_other_things_are_refused(pyg, data):
    batch = pyg.Batch.from_data_list([data(), data()])
    assert refusal(batch) == (
        "graph: a torch_geometric Batch is many graphs; pass batch.to_data_list() to as_graphs"
    )
    assert "from_pyg reads a torch_geometric.Data, not a list" in refusal([])


@pytest.mark.parametrize("edges", [[[0, 1, 2]], [0, 1]])
def test_edge_index_must_have_two_rows(pyg, data, edges):
    assert "edge_index must have shape (2, n)" in refusal(data(edge_index=pyg.torch.tensor(edges)))


def test_missing_edges_are_refused(pyg):
    assert "it has no 'edge_index'; it has 'x'" in refusal(pyg.Data(x=pyg.torch.eye(2)))


def test_edges_outside_and_columns_of_the_wrong_length_are_refused(pyg, data):
    assert "names node 2, but it has 2 nodes" in refusal(data(num_nodes=2))
    assert "2 node labels for 3 nodes" in refusal(data(z=["a", "b"]), node_labels="z")
    short = data(edge_attr=pyg.torch.tensor([1, 2]))
    assert "2 edge labels for 4 edges" in refusal(short)
