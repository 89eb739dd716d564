"""Read adjacency matrices: Matrix Market (.mtx), numpy (.npy) and numpy or scipy (.npz)."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph, from_matrix
from ddgk.io.reading import MAX_PARSED_BYTES, Options, check_n_nodes, read_archive

# Sparse matrices as scipy.sparse.save_npz writes them.
SPARSE_ARRAYS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}
MIXED = {"format", "data", "_is_array"}  # of the arrays in such a file, those that are not whole
# Words of the first line of a Matrix Market file that can be an adjacency matrix, by place.
MATRIX_MARKET = (
    ("coordinate", "array"),
    ("real", "double", "integer", "unsigned-integer", "pattern"),
    ("general", "symmetric"),
)


def read_mtx(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    r"""Matrix Market: one square matrix.

    >>> text = b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    >>> read_mtx(text, "toy.mtx", "toy", Options())
    [Graph(n_nodes=3, n_edges=2, name='toy')]
    """
    return [_graph(_parse_mtx(data, where), where, name, options)]


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
    """Return a sparse matrix whose indices are checked: scipy's code trusts them.

    scipy.sparse.load_npz is not used: damaged files can crash it, and the process with it.
    """
    from scipy import sparse

    kind = arrays["format"].tobytes().replace(b"\0", b"").decode("ascii", "replace")
    shape = arrays["shape"].reshape(-1)[:3]
    whole = all(arrays[key].dtype.kind in "iu" for key in arrays.keys() - MIXED)
    known = set(SPARSE_ARRAYS.get(kind, ["none"])) <= set(arrays)
    if not (whole and known and arrays["data"].dtype.kind in "biuf"):
        raise DatasetError(
            f"{where}: a sparse matrix of kind {shown(kind)!r} is not read; save matrix.tocsr()"
        )
    for length in shape.tolist():
        check_n_nodes(length, where)
    values, *places = (arrays[key] for key in SPARSE_ARRAYS[kind])
    try:
        if kind == "coo":
            matrix = sparse.coo_array((values, tuple(places)), shape=tuple(shape.tolist()))
        else:
            made = sparse.csr_array if kind == "csr" else sparse.csc_array
            matrix = made((values, *places), shape=tuple(shape.tolist()))
            matrix.check_format(full_check=True)
        matrix = matrix.tocsr()
        matrix.sum_duplicates()
        return matrix
    except Exception as error:
        raise DatasetError(
            f"{where}: not a sparse matrix that scipy can read ({shown(str(error), 100)})"
        ) from error


def _parse_mtx(data: bytes, where: str) -> Any:
    """Return the matrix of a Matrix Market file; sizes are checked before memory is taken.

    scipy.io.mmread is not used: damaged files can crash it, and the process with it.
    """
    from scipy import sparse

    banner, _, rest = data.partition(b"\n")
    words = banner.decode("ascii", "replace").lower().split()
    if words[:2] != ["%%matrixmarket", "matrix"] or len(words) != 5:
        raise DatasetError(f"{where}: not a Matrix Market file, its first line is another")
    for word, known in zip(words[2:], MATRIX_MARKET, strict=True):
        if word not in known:
            raise DatasetError(
                f"{where}: a Matrix Market file of kind {shown(word)!r}; write one of "
                f"{', '.join(known)}"
            )
    layout, field, symmetry = words[2:]
    dense, symmetric = layout == "array", symmetry == "symmetric"
    if dense and field == "pattern":
        raise DatasetError(f"{where}: a Matrix Market array without values; write coordinates")
    sizes, body = _mtx_sizes(rest)
    if len(sizes) != (2 if dense else 3):
        raise DatasetError(f"{where}: the line of sizes of a Matrix Market file is missing")
    n, n_columns = sizes[:2]
    check_n_nodes(max(n, n_columns), where)
    if n != n_columns:
        raise DatasetError(f"{where}: a matrix of {n} x {n_columns}; an adjacency matrix is square")
    if dense:
        n_entries, width = n * (n + 1) // 2 if symmetric else n * n, 1
    else:
        n_entries, width = sizes[2], 2 if field == "pattern" else 3
    if n_entries * 2 * width > len(data):  # a number takes two bytes at least
        raise DatasetError(f"{where}: it states more entries than it can hold")
    numbers = _mtx_numbers(body, (n_entries, width), where)
    if dense:  # columns one after the other; of a symmetric one, the lower triangle
        if not symmetric:
            return numbers.reshape(n, n).T
        matrix = np.zeros((n, n))
        matrix[np.triu_indices(n)] = matrix.T[np.triu_indices(n)] = numbers[:, 0]
        return matrix
    places = numbers[:, :2]
    if not ((places >= 1) & (places <= n)).all() or (places % 1).any():
        raise DatasetError(f"{where}: an entry outside of a matrix of {n} x {n}")
    values = numbers[:, 2] if width == 3 else np.ones(n_entries)
    matrix = sparse.coo_array((values, tuple(places.T.astype(np.int64) - 1)), shape=(n, n))
    return matrix + sparse.triu(matrix.T, 1) + sparse.tril(matrix.T, -1) if symmetric else matrix


def _mtx_sizes(rest: bytes) -> tuple[list[int], bytes]:
    """Return the numbers of the first line that is no comment, and what follows."""
    while rest:
        line, _, rest = rest.partition(b"\n")
        parts = line.split()
        if parts and not parts[0].startswith(b"%"):
            whole = all(part.isdigit() and len(part) < 16 for part in parts)
            return [int(part) for part in parts] if whole else [], rest
    return [], rest


def _mtx_numbers(body: bytes, shape: tuple[int, int], where: str) -> NDArray[np.float64]:
    try:
        numbers = np.zeros((0, shape[1]))
        if body.strip():
            numbers = np.loadtxt(io.StringIO(body.decode("ascii")), comments="%", ndmin=2)
        if numbers.shape != shape:
            raise ValueError(f"{numbers.shape} numbers, not {shape}")
        return numbers
    except ValueError as error:
        raise DatasetError(
            f"{where}: not a Matrix Market file ({shown(str(error), 100)}); correct it, or write "
            "it anew with scipy.io.mmwrite"
        ) from error
