from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from ddgk.errors import DatasetError
from ddgk.graphs import Graph, Policies, from_matrix
from ddgk.io.files import convert
from ddgk.io.reading import Options

PATH = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
EXPECTED = Graph(3, [(0, 1), (1, 2)], edge_weights=[1, 2])


def written(save, *arguments, **named) -> bytes:
    stream = io.BytesIO()
    save(stream, *arguments, **named)
    return stream.getvalue()


@pytest.mark.parametrize("form", [sparse.coo_array, lambda m: sparse.csr_array(m.astype(float))])
def test_matrix_market_comes_back(form):
    data = written(mmwrite, form(PATH))
    assert convert(data, ".mtx", "toy.mtx", "toy", Options()) == [EXPECTED]
    arrows = written(mmwrite, form(np.triu(PATH)))
    assert convert(arrows, ".mtx", "toy.mtx", "toy", Options())[0].directed


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_every_kind_of_matrix_market_comes_back(n: int, field: str, symmetry: str):
    numbers = np.tril(np.random.default_rng(n).integers(0, 3, (n, n)))
    matrix = numbers + np.tril(numbers, -1).T if symmetry == "symmetric" else numbers
    data = written(
        mmwrite, sparse.coo_array(matrix), comment="made", field=field, symmetry=symmetry
    )
    expected = matrix != 0 if field == "pattern" else matrix
    (found,) = convert(data, ".mtx", "toy.mtx", "toy", Options())
    assert found == from_matrix(expected.astype(float))


def test_matrix_market_without_entries():
    """Such files have crashed scipy.io.mmread, and the process with it."""
    data = b"%%MatrixMarket matrix coordinate real general\n0 0 0\n"
    (found,) = convert(data, ".mtx", "toy.mtx", "toy", Options(policies=Policies(empty="keep")))
    assert found == Graph(0, [])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 1 0\n",
        b"%%MatrixMarket matrix array real general\n1 1\n1\n",
        b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1\n",
        b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 1\n1 1 1\n",
        b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n0 1\n",
        b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n1.5 1\n",
        b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\nnan 1\n",
        b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\ninf 1\n",
        b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n1 \xff\n",
        b"%%MatrixMarket matrix coordinate real general\n",
        b"%%MatrixMarket matrix array real general\n99999 99999\n1\n",
        b"%%MatrixMarket matrix coordinate real general\n9 9 99999999\n1 1 1\n",
        b"%%MatrixMarket matrix coordinate real general\n999999999999 999999999999 1\n1 1 1\n",
        b"%%MatrixMarket matrix coordinate real general\n2 2 1\n5 5 1\n",
        b"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 1\n",
        b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1\n",
        b"%%MatrixMarket vector coordinate real general\n2 2 1\n1 2 1\n",
    ],
)
def test_damaged_matrix_market(data: bytes):
    with pytest.raises(DatasetError, match=r"toy.mtx"):
        convert(data, ".mtx", "toy.mtx", "toy", Options())


def test_numpy_files_come_back():
    assert convert(written(np.save, PATH), ".npy", "toy.npy", "toy", Options()) == [EXPECTED]
    assert convert(written(np.savez, PATH), ".npz", "toy.npz", "toy", Options()) == [EXPECTED]
    with pytest.raises(DatasetError, match="2 arrays; an adjacency matrix is one per file"):
        convert(written(np.savez, a=PATH, b=PATH), ".npz", "toy.npz", "toy", Options())


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_matrices_come_back(form: str, kind: str):
    matrix = getattr(sparse, f"{form}_{kind}")(PATH)
    data = written(sparse.save_npz, matrix)
    assert convert(data, ".npz", "toy.npz", "toy", Options()) == [EXPECTED]


class _Bomb:
    def __reduce__(self):
        return (pytest.fail, ("something was unpickled",))


def test_nothing_is_unpickled():
    array = np.array([_Bomb(), None], dtype=object)
    data = written(np.save, array, allow_pickle=True)
    for damaged in (data, pickle.dumps(_Bomb()), b"\x93NUMPY", b""):
        with pytest.raises(DatasetError, match=r"toy.npy: not a numpy array"):
            convert(damaged, ".npy", "toy.npy", "toy", Options())


def test_a_header_that_lies_takes_no_memory():
    data = written(np.save, PATH)
    lying = data.replace(b"(3, 3)", b"(3, 9" + b"9" * 12 + b")", 1)
    lying = lying.replace(b" " * 13 + b"\n", b"\n", 1)
    with pytest.raises(DatasetError, match=r"size is not what its header states|not a numpy"):
        convert(lying, ".npy", "toy.npy", "toy", Options())


@pytest.mark.parametrize("array", [np.ones(3), np.ones((2, 3)), np.array([["a"]])])
def test_arrays_that_are_no_adjacency_matrix(array):
    with pytest.raises((DatasetError, ValueError), match=r"square|real numbers"):
        convert(written(np.save, array), ".npy", "toy.npy", "toy", Options())


def test_sparse_matrices_that_lie():
    big = written(
        np.savez, format=b"csr", shape=(10**12, 10**12), data=[1.0], indices=[0], indptr=[0, 1]
    )
    with pytest.raises(DatasetError, match="at most 5000000"):
        convert(big, ".npz", "toy.npz", "toy", Options())
    outside = written(
        np.savez, format=b"csr", shape=(2, 2), data=[1.0], indices=[7], indptr=[0, 1, 1]
    )
    with pytest.raises(DatasetError, match="not a sparse matrix"):
        convert(outside, ".npz", "toy.npz", "toy", Options())
    with pytest.raises(DatasetError, match="not a zip"):
        convert(b"PK", ".npz", "toy.npz", "toy", Options())


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": np.array(["a", "b"])},
        {"shape": np.array([3.5, 3.5])},
        {"data": np.array(["x"] * 4)},
        {"indices": np.array([0.0, 1, 2, 1])},
        {"indices": np.array([0, 1, 2, 9])},
        {"indptr": np.array([0, 1, 3, -4])},
        {"format": np.array("bsr")},
        {"format": np.array(3)},
    ],
)
def test_damaged_sparse_matrices(changes):
    arrays = dict(np.load(io.BytesIO(written(sparse.save_npz, sparse.csr_array(PATH)))))
    with pytest.raises(DatasetError, match=r"^toy.npz: (a|not a) sparse matrix"):
        convert(written(np.savez, **(arrays | changes)), ".npz", "toy.npz", "toy", Options())
