"""Read Pajek networks, and graph6 and sparse6 lines."""

from __future__ import annotations

import re
import shlex
from typing import Any

from ddgk.errors import DatasetError, shown
from ddgk.graphs import Graph
from ddgk.graphs.edges import EdgeTable, build_graph
from ddgk.io.limits import check_n_nodes
from ddgk.io.options import Options, decode

MAX_LINE = 10_000


def read_pajek(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    r"""Pajek: one graph of *Vertices with *Arcs, *Edges, *Arcslist, *Edgeslist or *Matrix.

    >>> text = b'*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Edges\n1 2 0.5\n2 3 2\n'
    >>> graph, = read_pajek(text, "toy.net", "toy", Options())
    >>> graph.node_names, graph.edge_weights.tolist()
    (('a', 'b', 'c'), [0.5, 2.0])
    """
    names: list[str] = []
    given: set[int] = set()
    arcs: list[tuple[int, int, float]] = []
    edges: list[tuple[int, int, float]] = []
    section, n_nodes, row = "", -1, 0
    for number, line in enumerate(decode(data, where).splitlines(), start=1):
        at = f"{where}, line {number}"
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if line.startswith("*"):
            section = line.split()[0].casefold()
            if section == "*vertices":
                if n_nodes >= 0:
                    raise DatasetError(f"{at}: a second *Vertices; Pajek is read one per file")
                n_nodes = _stated_count(line, at)
                names = [str(i) for i in range(1, n_nodes + 1)]
            elif n_nodes < 0 and section != "*network":
                raise DatasetError(f"{at}: *Vertices must come before {shown(line, 60)!r}")
            continue
        if section == "*vertices":
            place, called = _vertex(line, n_nodes, at)
            if place in given:
                raise DatasetError(f"{at}: vertex {place + 1} is listed twice")
            given.add(place)
            names[place] = called
        elif section in ("*arcs", "*edges"):
            u, v, *rest = _numbers(line, 2, at)
            ends = _node(u, n_nodes, at), _node(v, n_nodes, at)
            (arcs if section == "*arcs" else edges).append((*ends, rest[0] if rest else 1.0))
        elif section in ("*arcslist", "*edgeslist"):
            first, *others = (_node(x, n_nodes, at) for x in _numbers(line, 1, at, all_of=True))
            target = arcs if section == "*arcslist" else edges
            target += [(first, other, 1.0) for other in others]
        elif section == "*matrix":
            values = _numbers(line, n_nodes, at, all_of=True)
            if len(values) != n_nodes or row >= n_nodes:
                raise DatasetError(f"{at}: a matrix of {n_nodes} vertices has as many numbers")
            arcs += [(row, column, x) for column, x in enumerate(values) if x]
            row += 1
        else:
            raise DatasetError(f"{at}: {shown(line, 60)!r} stands in no section that is read")
    if n_nodes < 0:
        raise DatasetError(f"{where}: not a Pajek network, it has no *Vertices")
    return [_pajek_graph(names, arcs, edges, section == "*matrix", name, options)]


def read_graph6(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    r"""graph6 or sparse6: one graph per line.

    >>> [graph.n_edges for graph in read_graph6(b"Bw\nA_\n", "toy.g6", "toy", Options())]
    [3, 1]
    """
    import networkx

    lines = [line for line in data.splitlines() if line.strip()]
    if not lines:
        raise DatasetError(f"{where}: it is empty")
    graphs = []
    for position, line in enumerate(lines):
        at = f"{where}, line {position + 1}"
        for header in (b">>graph6<<", b">>sparse6<<"):
            line = line.removeprefix(header)
        line = line.strip()
        sparse = line.startswith(b":")
        content = line.removeprefix(b":")
        if not content or any(not 63 <= byte <= 126 for byte in content):
            raise DatasetError(f"{at}: not a line of graph6 or sparse6")
        check_n_nodes(_graph6_size(content, at), at)
        try:
            parse = networkx.from_sparse6_bytes if sparse else networkx.from_graph6_bytes
            parsed = parse(line)
        # On hostile bytes networkx fails in any way Python can.
        except Exception as error:
            reason = shown(str(error) or type(error).__name__, 100)
            raise DatasetError(f"{at}: not a line of graph6 or sparse6 ({reason})") from error
        graphs.append(options.convert(parsed, name if len(lines) == 1 else f"{name}-{position}"))
    return graphs


def _pajek_graph(
    names: list[str],
    arcs: list[tuple[int, int, float]],
    edges: list[tuple[int, int, float]],
    matrix: bool,
    name: str,
    options: Options,
) -> Graph:
    rows = edges
    if arcs:  # an undirected edge of a directed graph runs both ways
        rows = arcs + edges + [(v, u, w) for u, v, w in edges if u != v]
    weights: Any = [weight for *_, weight in rows]
    if all(weight == 1 for weight in weights) or options.edge_weights is None:
        weights = None
    distinct = names if len(set(names)) == len(names) else None
    labels = None if distinct is not None else names
    return build_graph(
        len(names),
        EdgeTable(
            [(u, v) for u, v, _ in rows],
            weights=weights,
            listing=("both" if matrix else "directed") if arcs else "once",
        ),
        policies=options.policies,
        name=name,
        node_names=distinct,
        node_labels=labels,
    )


def _stated_count(line: str, at: str) -> int:
    found = re.fullmatch(r"\*\w+\s+([0-9]{1,15})(\s.*)?", line)
    if found is None:
        raise DatasetError(f"{at}: *Vertices needs the number of vertices")
    if found[2] and found[2].strip():
        raise DatasetError(f"{at}: two-mode networks are not read; list one kind of vertices")
    check_n_nodes(int(found[1]), at)
    return int(found[1])


def _vertex(line: str, n_nodes: int, at: str) -> tuple[int, str]:
    """Return the place and name of a vertex; coordinates and shapes after the name are not read."""
    if len(line) > MAX_LINE:
        raise DatasetError(f"{at}: a line of {len(line)} characters")
    try:
        parts = shlex.split(line, posix=True)
    except ValueError as error:
        raise DatasetError(f"{at}: {shown(line, 60)!r} is not a vertex ({error})") from error
    place = _node(_number(parts[0], at), n_nodes, at)
    return place, parts[1] if len(parts) > 1 else parts[0]


def _numbers(line: str, least: int, at: str, *, all_of: bool = False) -> list[float]:
    """Return the numbers of a line: two ends and a weight, or all; what follows is formatting."""
    parts = line.split()
    if len(parts) < least:
        raise DatasetError(f"{at}: {shown(line, 60)!r} has too few numbers")
    return [_number(part, at) for part in (parts if all_of else parts[:3])]


def _number(text: str, at: str) -> float:
    if not re.fullmatch(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]{1,3})?|[-+]?[0-9]+\.", text[:400]):
        raise DatasetError(f"{at}: {shown(text, 60)!r} is not a number")
    return float(text[:400])


def _node(number: float, n_nodes: int, at: str) -> int:
    if not number.is_integer() or not 1 <= number <= n_nodes:
        raise DatasetError(f"{at}: there is no vertex {number:g}; there are {n_nodes}")
    return int(number) - 1


def _graph6_size(content: bytes, at: str) -> int:
    """Return the number of nodes that a line states."""
    values = [byte - 63 for byte in content[:8]]
    if values[0] < 63:
        return values[0]
    long = len(values) > 1 and values[1] == 63
    digits = values[2:8] if long else values[1:4]
    if len(digits) != (6 if long else 3):
        raise DatasetError(f"{at}: not a line of graph6 or sparse6")
    size = 0
    for digit in digits:
        size = size * 64 + digit
    return size
