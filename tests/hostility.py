"""What hostile inputs are made of, and what must come of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from ddgk.errors import DDGKError

LONGEST_MESSAGE = 1500

# Bounds of number types, what almost is a number, halves of characters, marks of other encodings.
ODD_TEXT = (
    *("0", "-1", "1", "2", "00", "1_0", "1e3", "1e999", ".5", "5.", "NaN", "NAN", "INF", "-inf"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "9" * 400, "9" * 5000),
    *("١٢", "é", "\0", "\ufeff", "\u2028", "\x0c", "\r", "\\ud800", "&#xD800;", "&#0;", "&b;"),
    *(
        "",
        " ",
        "\t",
        "\n",
        ",",
        ";",
        "#",
        '"',
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "()",
        "[]",
        "x" * 5000,
    ),
    *("../../escaped", "/etc/passwd", "label", "weight", "id", "key", "source", "target"),
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**4), 10**4)
    | st.sampled_from([2**63, -(2**63) - 1, 10**12, 10**400, 1e308, -1e308, float("inf")])
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["\ud800", "\0", "x" * 5000, "a", "float64"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def spliced(text: str, *odd: str) -> st.SearchStrategy[str]:
    """Return texts that differ from a valid one by a few cuts and odd pieces put in."""
    cut = st.tuples(
        st.integers(0, len(text)), st.integers(0, 12), st.sampled_from((*ODD_TEXT, *odd))
    )

    def apply(cuts: list[tuple[int, int, str]]) -> str:
        changed = text
        for at, length, piece in cuts:
            changed = changed[:at] + piece + changed[at + length :]
        return changed

    return st.lists(cut, min_size=1, max_size=4).map(apply)


def judged(read: Callable[[Path], Any], path: Path) -> Any:
    """Return what a reader makes of an input, or None if it refuses it as it should."""
    before = sorted(path.parent.rglob("*"))
    found, refusal = None, None
    try:
        found = read(path)
    except DDGKError as error:
        refusal = str(error)
    assert refusal is None or str(path) in refusal, "a refusal names the file"
    assert refusal is None or len(refusal) < LONGEST_MESSAGE, "and does not repeat all of it"
    assert sorted(path.parent.rglob("*")) == before, "reading writes nothing"
    return found


@contextmanager
def little_memory(limit: int = 20 << 20) -> Iterator[None]:
    """Fail when the block needs more than `limit` bytes at any moment."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < limit, f"{peak} bytes"
