"""Text files with an edge per line."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass

from ddgk.errors import DatasetError

# A file whose first line is one of these has a header; no other first line is skipped.
HEADERS = (("source", "target"), ("from", "to"), ("u", "v"))


@dataclass(frozen=True)
class EdgeList:
    """Edges (u, v, weight), nodes that stand alone, and whether weights were given."""

    edges: list[tuple[Hashable, Hashable, float]]
    nodes: list[Hashable]
    weighted: bool


def parse_edge_list(text: str, where: str) -> EdgeList:
    r"""Read `u v` or `u v weight` per line, separated by white space or by commas.

    A line with one name is a node, so that nodes without edges can be listed; what follows a `#`
    is a comment. Names become integers when all of them are written as such.

    >>> parse_edge_list("# two nodes, and one alone\na b\nc\n", "toy.edges")
    EdgeList(edges=[('a', 'b', 1.0)], nodes=['c'], weighted=False)
    >>> parse_edge_list("1,2,.5\n2,3\n", "toy.csv")
    Traceback (most recent call last):
    ...
    ddgk.errors.DatasetError: toy.csv, line 2: '2,3' has no weight, but line 1 has one
    """
    rows: list[tuple[str, str, float]] = []
    alone: list[str] = []
    first, width = 0, 0
    for number, line in enumerate(text.splitlines(), start=1):
        fields = _fields(line)
        if not fields or (not rows and not alone and _is_header(fields)):
            continue
        at = f"{where}, line {number}"
        if len(fields) > 3 or "" in fields:
            raise DatasetError(f"{at}: {line[:60]!r} is not two names and perhaps a weight")
        if len(fields) == 1:
            alone += fields
            continue
        first, width = (first, width) if width else (number, len(fields))
        if len(fields) != width:
            has, other = ("no weight", "one") if width == 3 else ("a weight", "none")
            raise DatasetError(f"{at}: {line[:60]!r} has {has}, but line {first} has {other}")
        rows.append((fields[0], fields[1], _weight(fields[2], at) if width == 3 else 1.0))
    names = {name for row in rows for name in row[:2]} | set(alone)
    # Digits of other alphabets would make one number of names that differ.
    if not all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", name) for name in names):
        return EdgeList(list(rows), list(alone), width == 3)
    numbered = [(int(u), int(v), weight) for u, v, weight in rows]
    return EdgeList(list(numbered), [int(name) for name in alone], width == 3)


def _fields(line: str) -> list[str]:
    line = line.partition("#")[0].strip()
    if "," in line:
        return [field.strip() for field in line.split(",")]
    return line.split()


def _is_header(fields: list[str]) -> bool:
    folded = tuple(field.casefold() for field in fields)
    return folded[:2] in HEADERS and folded[2:] in ((), ("weight",))


def _weight(field: str, at: str) -> float:
    try:
        weight = float(field)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise DatasetError(f"{at}: the weight {field[:60]!r} is not a finite number")
    return weight
