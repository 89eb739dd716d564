from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import DatasetError
from ddgk.io.tables import read_integers, read_reals


@pytest.mark.parametrize(
    "text", ["1, 2\n3, 4", "1,2\n3,4\n", " 1 ,\t2\r\n3, 4\r\n\r\n", "+1, 2\n3, 4\n  \n"]
)
def test_integers_in_any_spacing(text: str):
    assert read_integers(text.encode(), "t", 2).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1, 2\n3\n", 2),
        ("1, 2\n3, 4, 5\n", 2),
        ("1 2\n", 1),
        ("1, 2\n\n3, 4\n", 2),
        ("1, x\n", 1),
        ("1, 2.0\n", 1),
        ("1, 1_0\n", 1),
        ("1, 2\n1, 9999999999999999999\n", 2),
        ("1, 2\r3, 4\r", 1),
        ("1, \u0662\n", 1),
        ("1, 2\n1, \x00\n", 2),
        ("1, -\n", 1),
        ("1,, 2\n", 1),
    ],
)
def test_what_is_not_integers_is_refused_by_line(text: str, line: int):
    with pytest.raises(DatasetError, match=f"toy_A.txt, line {line}: "):
        read_integers(text.encode(), "toy_A.txt", 2)


def test_an_empty_file_has_no_lines():
    assert read_integers(b"\n \n", "t", 2).shape == (0, 2)
    assert read_reals(b"", "t").shape == (0, 1)


@pytest.mark.parametrize("text", ["nana", "inf", "1e", "0x10", ".", "1e400", "1e9999", "1.2.3"])
def test_what_is_not_a_finite_number_is_refused(text: str):
    with pytest.raises(DatasetError, match="t, line 2: "):
        read_reals(f"1\n{text}\n".encode(), "t")


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=3, max_size=3)))
def test_integers_come_back(rows: list[list[int]]):
    text = "\n".join(", ".join(map(str, row)) for row in rows)
    assert read_integers(text.encode(), "t", 3).tolist() == rows


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1))
def test_numbers_come_back_to_the_bit(values: list[float]):
    text = "\n".join(repr(value) for value in values)
    assert np.array_equal(read_reals(text.encode(), "t")[:, 0], values)


def test_a_long_hostile_line_is_cut_in_the_message():
    with pytest.raises(DatasetError) as caught:
        read_integers(b"x" * 10_000_000, "t", 1)
    assert len(str(caught.value)) < 200
