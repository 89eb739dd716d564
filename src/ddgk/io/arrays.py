"""Read adjacency matrices: Matrix Market (.mtx), numpy (.npy) and numpy or scipy (.npz).

scipy.io.mmread and scipy.sparse.load_npz are not used: damaged files can crash them, and the
process with them.
"""

from __future__ import annotations

import io
import math
import re
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph, from_matrix
from ddgk.io.reading import MAX_PARSED_BYTES, Options, check_n_nodes, read_archive

# The first line of a Matrix Market file that can be an adjacency matrix.
BANNER = re.compile(
    rb"%%matrixmarket[ \t]+matrix[ \t]+coordinate[ \t]+"
    rb"(?:(pattern)|real|double|(?:unsigned-)?integer)[ \t]+(?:(symmetric)|general)[ \t\r]*\n",
    re.IGNORECASE,
)
# Lines of comments and empty ones, then three numbers.
SIZES = re.compile(rb"(?:%.*+\n|\s++)*+(\d{1,15}+)[ \t]++(\d{1,15}+)[ \t]++(\d{1,15}+)\s*?(?:\n|$)")


def read_mtx(data: bytes, name: str, options: Options) -> list[Graph]:
    r"""Matrix Market: one square matrix in coordinates.

    >>> text = b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    >>> read_mtx(text, "toy", Options())
    [Graph(n_nodes=3, n_edges=2, name='toy')]
    """
    from scipy import sparse

    banner = BANNER.match(data)
    if banner is None:
        raise DatasetError(
            "not a matrix that is read; write a real one in coordinates with "
            "scipy.io.mmwrite(file, scipy.sparse.coo_array(matrix))"
        )
    pattern, symmetric = banner.groups()
    sizes = SIZES.match(data, banner.end())
    if sizes is None:
        raise DatasetError("the line of sizes of a Matrix Market file is missing")
    (n, n_columns, n_entries), width = map(int, sizes.groups()), 2 if pattern else 3
    body = data[sizes.end() :]
    _check_shape((n, n_columns))
    if n_entries * 2 * width > len(data):  # a number takes two bytes at least
        raise DatasetError("it states more entries than it can hold")
    try:
        numbers = np.zeros((0, width))
        if body.strip():
            numbers = np.loadtxt(io.StringIO(body.decode("ascii")), comments="%", ndmin=2)
        if numbers.shape != (n_entries, width):
            raise ValueError(f"{numbers.shape} numbers, not {(n_entries, width)}")
    except ValueError as error:
        raise DatasetError(
            f"not a Matrix Market file ({shown(str(error), 100)}); correct it, or write "
            "it anew with scipy.io.mmwrite"
        ) from error
    places = numbers[:, :2]
    if not ((places >= 1) & (places <= n)).all() or (places % 1).any():
        raise DatasetError(f"an entry outside of a matrix of {n} x {n}")
    values = numbers[:, 2] if width == 3 else np.ones(n_entries)
    matrix = sparse.coo_array((values, tuple(places.T.astype(np.int64) - 1)), shape=(n, n))
    if symmetric:
        matrix = matrix + sparse.triu(matrix.T, 1) + sparse.tril(matrix.T, -1)
    return [from_matrix(matrix, name=name, policies=options.policies)]


def read_npy(data: bytes, name: str, options: Options) -> list[Graph]:
    """numpy: one square array."""
    array = _parse_npy(data)
    _check_shape(array.shape)
    return [from_matrix(array, name=name, policies=options.policies)]


def read_npz(data: bytes, name: str, options: Options) -> list[Graph]:
    """npz: a sparse matrix written by scipy, or one square array."""
    wanted = methodcaller("endswith", ".npy")
    members = read_archive(data, "the archive", wanted, MAX_PARSED_BYTES)
    arrays = {
        member.removesuffix(".npy"): _parse_npy(content, f"{shown(member)}: ")
        for member, content in members.items()
    }
    if {"format", "shape", "data"} <= set(arrays):
        matrix = _sparse(arrays)
    elif len(arrays) == 1:
        (matrix,) = arrays.values()
    else:
        raise DatasetError(f"{len(arrays)} arrays; an adjacency matrix is one per file")
    _check_shape(matrix.shape)
    return [from_matrix(matrix, name=name, policies=options.policies)]


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise DatasetError(f"an array of shape {shape}; an adjacency matrix is square")
    check_n_nodes(shape[0])


def _parse_npy(data: bytes, member: str = "") -> NDArray[Any]:
    """Return the array of an .npy file; nothing is unpickled, and sizes are compared first."""
    stream = io.BytesIO(data)
    try:
        old = np.lib.format.read_magic(stream) == (1, 0)
        header = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(stream)
        if dtype.hasobject or dtype.kind not in "biufSU":
            raise ValueError(f"it holds {dtype}, not numbers")
        if math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
            raise ValueError("its size is not what its header states")
        stream.seek(0)
        return np.asarray(np.load(stream, allow_pickle=False))
    except Exception as error:
        raise DatasetError(f"{member}not a numpy array ({shown(str(error), 100)})") from error


def _sparse(arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a sparse matrix whose indices are checked, since scipy's code trusts them."""
    from scipy import sparse

    kind = arrays["format"].tobytes().replace(b"\0", b"").decode("ascii", "replace")
    places = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
    names = places.get(kind, ("none",))
    whole = all(name in arrays and arrays[name].dtype.kind in "iu" for name in ("shape", *names))
    if not whole or arrays["data"].dtype.kind not in "biuf":
        raise DatasetError(
            f"a sparse matrix of kind {shown(kind)!r} is not read; save matrix.tocsr()"
        )
    shape = tuple(arrays["shape"].reshape(-1)[:3].tolist())
    _check_shape(shape)
    values, first, second = (arrays[name] for name in ("data", *names))
    try:
        if kind == "coo":
            return sparse.coo_array((values, (first, second)), shape=shape)
        made = sparse.csr_array if kind == "csr" else sparse.csc_array
        matrix = made((values, first, second), shape=shape)
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()  # which looks at the indices once more
        return matrix
    except Exception as error:
        raise DatasetError(
            f"not a sparse matrix that scipy can read ({shown(str(error), 100)})"
        ) from error
