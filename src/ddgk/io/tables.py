"""Parse text files of numbers, one record per line; errors name the line."""

from __future__ import annotations

import re
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import DatasetError

# Possessive throughout: a line matches in one way or not at all, so hostile text cannot make the
# match backtrack. 18 digits always fit an int64.
INTEGER = rb"[-+]?+\d{1,18}+"
REAL = rb"(?:[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d{1,3}+)?+|[nN][aA][nN])"


def read_integers(data: bytes, where: str, n_columns: int | None = None) -> NDArray[np.int64]:
    r"""Read comma-separated whole numbers.

    data: the file's bytes; blank lines are allowed at its end only. where: what messages call the
    file. n_columns: None takes as many as the first line has. Returns (n_lines, n_columns).

    >>> read_integers(b"2, 1\n1, 2\n", "toy_A.txt", 2).tolist()
    [[2, 1], [1, 2]]
    >>> read_integers(b"2, 1\n1; 2\n", "toy_A.txt", 2)
    Traceback (most recent call last):
    ...
    ddgk.errors.DatasetError: toy_A.txt, line 2: '1; 2' is not 2 whole numbers separated by commas
    """
    text, n_columns = _checked(data, where, n_columns, INTEGER, "whole number")
    return np.fromstring(text, dtype=np.int64, sep=" ").reshape(-1, n_columns)


def read_reals(data: bytes, where: str) -> NDArray[np.float64]:
    r"""Read comma-separated numbers, as many columns as the first line has; NaN is one.

    >>> read_reals(b" 0.5,-1e3\n", "toy_node_attributes.txt").tolist()
    [[0.5, -1000.0]]
    """
    text, n_columns = _checked(data, where, None, REAL, "number")
    values = np.fromstring(text, dtype=np.float64, sep=" ").reshape(-1, n_columns)
    infinite = np.isinf(values).any(axis=1)
    if infinite.any():
        raise DatasetError(f"{where}, line {np.argmax(infinite) + 1}: a number is too large")
    return values


def _checked(
    data: bytes, where: str, n_columns: int | None, number: bytes, what: str
) -> tuple[bytes, int]:
    """Hold every line against the grammar, then give numpy text it cannot misread."""
    data = data.rstrip() + b"\n" if data.strip() else b""
    if n_columns is None:
        n_columns = data.partition(b"\n")[0].count(b",") + 1
    field = rb"[ \t]*+" + number + rb"[ \t]*+"
    line = field + rb"(?:," + field + rb"){%d}\r?+\n" % (n_columns - 1)
    match = re.match(rb"(?:" + line + rb")*+", data)
    good = 0 if match is None else match.end()
    if good != len(data):
        _refuse_line(data, good, where, n_columns, what)
    return data.replace(b",", b" "), n_columns


def _refuse_line(data: bytes, start: int, where: str, n_columns: int, what: str) -> NoReturn:
    number = data.count(b"\n", 0, start) + 1
    line = data[start : data.index(b"\n", start)][:60].decode("ascii", "replace").strip()
    needed = f"a {what}" if n_columns == 1 else f"{n_columns} {what}s separated by commas"
    raise DatasetError(f"{where}, line {number}: {line!r} is not {needed}")
