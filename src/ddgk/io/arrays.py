"""Read adjacency matrices: Matrix Market (.mtx), numpy (.npy) and numpy or scipy (.npz)."""

from __future__ import annotations

import io
import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph, from_matrix
from ddgk.io.archives import read_archive
from ddgk.io.limits import MAX_PARSED_BYTES, check_n_nodes
from ddgk.io.options import Options

# Sparse matrices as scipy.sparse.save_npz writes them.
SPARSE_ARRAYS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}


def read_mtx(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    r"""Matrix Market: one square matrix.

    >>> text = b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    >>> read_mtx(text, "toy.mtx", "toy", Options())
    [Graph(n_nodes=3, n_edges=2, name='toy')]
    """
    from scipy.io import mmread

    _check_mtx(data, where)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            matrix = mmread(io.BytesIO(data))
    # On hostile bytes the parser fails in any way Python can.
    except Exception as error:
        raise DatasetError(
            f"{where}: not a Matrix Market file ({shown(str(error), 100)}); correct it, or write "
            "it anew with scipy.io.mmwrite"
        ) from error
    return [_graph(matrix, where, name, options)]


def read_npy(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """numpy: one square array, or a stack of them, of shape (n_graphs, n, n)."""
    array = _parse_npy(data, where)
    if array.ndim == 3:
        return [
            _graph(matrix, where, f"{name}-{position}", options)
            for position, matrix in enumerate(array)
        ]
    return [_graph(array, where, name, options)]


def read_npz(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """npz: a sparse matrix written by scipy, or one or several square arrays by name."""
    members = read_archive(
        io.BytesIO(data), where, lambda member: member.endswith(".npy"), MAX_PARSED_BYTES
    )
    arrays = {
        member.removesuffix(".npy"): _parse_npy(content, f"{where}: {shown(member)}")
        for member, content in members.items()
    }
    if not arrays:
        raise DatasetError(f"{where}: no array in it")
    if {"format", "shape", "data"} <= set(arrays):
        return [_graph(_sparse(arrays, where), where, name, options)]
    return [
        _graph(array, f"{where}: {shown(key)}", name if len(arrays) == 1 else key, options)
        for key, array in arrays.items()
    ]


def _graph(matrix: Any, where: str, name: str, options: Options) -> Graph:
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DatasetError(
            f"{where}: an array of shape {matrix.shape}; an adjacency matrix is square"
        )
    check_n_nodes(matrix.shape[0], where)
    return from_matrix(matrix, name=name, policies=options.policies)


def _parse_npy(data: bytes, where: str) -> NDArray[Any]:
    """Return the array of an .npy file; nothing is unpickled, and sizes are compared first."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if header is None:
            raise ValueError(f"version {version} of the format")
        shape, _, dtype = header(stream)
        if dtype.hasobject or dtype.kind not in "biufSU":
            raise ValueError(f"it holds {dtype}, not numbers")
        if math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
            raise ValueError("its size is not what its header states")
        stream.seek(0)
        return np.asarray(np.load(stream, allow_pickle=False))
    except Exception as error:
        raise DatasetError(f"{where}: not a numpy array ({shown(str(error), 100)})") from error


def _sparse(arrays: dict[str, NDArray[Any]], where: str) -> Any:
    from scipy import sparse

    kind = arrays["format"].tobytes().replace(b"\0", b"").decode("ascii", "replace")
    if kind not in SPARSE_ARRAYS or not set(SPARSE_ARRAYS[kind]) <= set(arrays):
        raise DatasetError(f"{where}: a sparse matrix in a format that is not read, {kind!r}")
    values, *places = (arrays[key] for key in SPARSE_ARRAYS[kind])
    shape = tuple(int(x) for x in arrays["shape"].reshape(-1)[:3])
    for length in shape:
        check_n_nodes(length, where)
    try:
        if kind == "coo":
            return sparse.coo_array((values, tuple(places)), shape=shape)
        made = sparse.csr_array if kind == "csr" else sparse.csc_array
        matrix = made((values, *places), shape=shape)
        matrix.check_format(full_check=True)
        return matrix
    except Exception as error:
        raise DatasetError(
            f"{where}: not a sparse matrix that scipy can read ({shown(str(error), 100)})"
        ) from error


def _check_mtx(data: bytes, where: str) -> None:
    """Compare what a file states with its size, before the parser allocates memory."""
    lines = (line for line in io.BytesIO(data) if line.strip())
    banner = next(lines, b"").split()
    if len(banner) < 5 or banner[0] != b"%%MatrixMarket":
        raise DatasetError(f"{where}: not a Matrix Market file, its first line is another")
    sizes = next((line for line in lines if not line.startswith(b"%")), b"").split()
    wanted = 3 if banner[2].lower() == b"coordinate" else 2
    if len(sizes) != wanted or not all(part.isdigit() and len(part) < 16 for part in sizes):
        raise DatasetError(f"{where}: the line of sizes of a Matrix Market file is missing")
    rows, columns, *entries = map(int, sizes)
    check_n_nodes(max(rows, columns), where)
    # An entry of an array takes at least two bytes; coordinates at least four.
    least = 4 * entries[0] if entries else rows * columns
    if least > len(data) + 4:
        raise DatasetError(f"{where}: it states more entries than it can hold")
