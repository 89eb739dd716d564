from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from ddgk.errors import GraphError
from ddgk.graphs import Policies, from_edges, from_matrix

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]
PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


def refusal(matrix, **options):
    with pytest.raises(GraphError) as caught:
        from_matrix(matrix, **options)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("layout", FORMATS)
def test_sparse_matrices_of_every_format_are_read(layout, kind):
    matrix = getattr(sparse, f"{layout}_{kind}")(PATH)
    assert from_matrix(matrix) == from_edges([(0, 1), (1, 2)], nodes=range(4))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32, np.float64])
def test_dense_matrices_of_every_number_are_read(dtype):
    assert from_matrix(PATH.astype(dtype)).edges.tolist() == [[0, 1], [1, 2]]
    assert from_matrix(sparse.csr_array(PATH.astype(dtype))).edges.tolist() == [[0, 1], [1, 2]]


def test_labels_attributes_and_names_are_passed_on():
    graph = from_matrix(
        PATH, node_labels="abcd", node_attributes=np.eye(4), node_names="wxyz", name="path"
    )
    assert graph.node_labels == ("a", "b", "c", "d")
    assert graph.node_names == ("w", "x", "y", "z")
    assert graph.node_attributes.tolist() == np.eye(4).tolist()
    assert graph.name == "path"


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_an_asymmetric_matrix_is_directed(form):
    matrix = form(np.triu(PATH))
    assert from_matrix(matrix).directed
    assert from_matrix(matrix).edges.tolist() == [[0, 1], [1, 2]]
    assert "so it is directed" in refusal(matrix, policies=Policies(directed="error"))
    assert from_matrix(matrix, policies=Policies(directed="undirected")) == from_matrix(PATH)


@pytest.mark.parametrize("form", [np.asarray, sparse.coo_array])
def test_the_diagonal_holds_self_loops(form):
    matrix = form(PATH + np.diag([0, 0, 1, 0]))
    assert from_matrix(matrix).edges.tolist() == [[0, 1], [1, 2], [2, 2]]
    assert from_matrix(matrix, policies=Policies(self_loops="drop")) == from_matrix(PATH)


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
def test_other_values_are_weights(form):
    matrix = form(PATH * 0.5)
    assert from_matrix(matrix, policies=Policies(weights="ignore")) == from_matrix(PATH)
    kept = from_matrix(matrix, policies=Policies())
    assert kept.edge_weights.tolist() == [0.5, 0.5]


def test_values_that_differ_between_directions_are_directed():
    matrix = np.array([[0.0, 1.0], [3.0, 0.0]])
    kept = from_matrix(matrix)
    assert (kept.directed, kept.edge_weights.tolist()) == (True, [1, 3])
    assert from_matrix(matrix, policies=Policies(weights="ignore")).n_edges == 1
    both = Policies(directed="undirected")
    assert from_matrix(matrix, policies=both).edge_weights.tolist() == [4]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_nan_is_refused_even_if_weights_are_ignored(form):
    matrix = PATH.astype(float)
    matrix[1, 2] = np.nan
    assert refusal(form(matrix), policies=Policies(weights="ignore")) == (
        "graph: the matrix is NaN at (1, 2); write 0 where there is no edge"
    )


def test_stored_zeros_are_no_edges_and_repeated_entries_add_up():
    rows, columns = [0, 1, 2, 3, 0, 1], [1, 0, 3, 2, 1, 0]
    matrix = sparse.coo_array(([0.5, 0.5, 0, 0, 0.5, 0.5], (rows, columns)), shape=(4, 4))
    before = matrix.data.copy()
    assert from_matrix(matrix) == from_edges([(0, 1)], nodes=range(4))
    assert matrix.data.tolist() == before.tolist()


def test_a_matrix_in_rows_is_left_as_it_was():
    matrix = sparse.csr_array((np.ones(4), [1, 0, 1, 0], [0, 2, 4]), shape=(2, 2))
    indices = matrix.indices.copy()
    assert "is a self-loop" in refusal(matrix, policies=Policies(self_loops="error"))
    assert matrix.indices.tolist() == indices.tolist()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "an adjacency matrix is square, not of shape (2, 3)"),
        (
            np.array([[0, 1], [1, 2], [2, 0]]),
            "an adjacency matrix is square, not of shape (3, 2); from_edges reads lists of pairs",
        ),
        (np.ones(4), "an adjacency matrix is square, not of shape (4,)"),
        (np.array([[0, 1j], [1j, 0]]), "an adjacency matrix holds real numbers, not complex128"),
        (np.array([["", "x"]] * 2), "an adjacency matrix holds real numbers, not <U1"),
        (np.empty((0, 0)), 'it has no nodes; use Policies(empty="skip") or Policies(empty="keep")'),
        (sparse.coo_array(np.ones(3)), "an adjacency matrix is square, not of shape (3,)"),
        (
            np.ma.masked_array(PATH, mask=PATH == 1),
            "from_matrix reads a numpy array or a scipy sparse matrix, not a numpy.MaskedArray",
        ),
        (
            [[0, 1], [1, 0]],
            "from_matrix reads a numpy array or a scipy sparse matrix, not a list",
        ),
    ],
)
def test_what_is_no_adjacency_matrix_is_refused(matrix, message):
    assert refusal(matrix) == f"graph: {message}"


def test_a_large_sparse_matrix_is_never_made_dense():
    n_nodes = 200_000
    ring = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n_nodes, n_nodes))
    tracemalloc.start()
    try:
        graph = from_matrix(ring)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (graph.n_nodes, graph.n_edges) == (n_nodes, n_nodes - 1)
    assert peak < 600 * n_nodes, f"{peak / n_nodes:.0f} bytes per node"


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_diagonal_of_a_correlation_matrix_is_not_read(form):
    matrix = np.array([[1, 0.8, -0.3], [0.8, 1, 0], [-0.3, 0, 1]])
    graph = from_matrix(form(matrix), policies=Policies(negative_weights="absolute"))
    assert graph.edges.tolist() == [[0, 1], [0, 2]]
    assert graph.edge_weights.tolist() == [0.8, 0.3]


@pytest.mark.parametrize(
    "change",
    [lambda m: m * 2, lambda m: m - np.diag([0.5, 0, 0]), lambda m: m + np.eye(3)[[1, 0, 2]]],
)
def test_other_diagonals_are_read(change):
    matrix = change(np.array([[1, 0.8, 0.3], [0.8, 1, 0], [0.3, 0, 1]]))
    assert [1, 1] in from_matrix(matrix).edges.tolist()


def test_rounding_is_no_direction():
    rng = np.random.default_rng(0)
    found = np.corrcoef(rng.normal(size=(8, 50)))
    found[2, 5] = np.nextafter(found[5, 2], 1)
    policies = Policies(negative_weights="absolute")
    for dtype in (np.float64, np.float32):
        for matrix in (found.astype(dtype), sparse.csr_array(found.astype(dtype))):
            graph = from_matrix(matrix, policies=policies)
            assert (graph.directed, graph.n_edges) == (False, 28)
    found[2, 5] += 1e-3
    assert from_matrix(found, policies=policies).directed
    assert from_matrix(np.empty((0, 0)), policies=Policies(empty="keep")).n_nodes == 0


def test_infinite_weights_are_refused():
    for half in (np.inf, -np.inf, 1.0):
        with pytest.raises(GraphError, match="weights are finite numbers"):
            from_matrix(np.array([[0.0, np.inf], [half, 0.0]]))
