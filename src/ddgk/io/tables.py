"""Read tables of text: edge lists, adjacency matrices, SMILES; and structure files (.sdf).

What a table is follows from its header and its shape; one that could be anything is refused.
Molecules need the extra ``chem``.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import DatasetError, GraphError, MissingExtraError, shown
from ddgk.graphs import Graph, from_matrix, from_rdkit, from_smiles
from ddgk.graphs.edges import build_graph, number_ends
from ddgk.graphs.rdkit import load_chem
from ddgk.io.reading import REAL, Options, decode

# Names of the two columns of an edge list, in any place of a header.
ENDS = (
    ("source", "target"),
    ("from", "to"),
    ("u", "v"),
    ("src", "dst"),
    ("node1", "node2"),
    ("tail", "head"),
)
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # digits of other alphabets would join different names
COMMENT = re.compile(r"(?:^|\s)#")  # a triple bond of SMILES has no blank before it
BEHIND = re.compile(r"(.*?)\{(|'.*)\}")
# The shape of SMILES; possessive, so that hostile text cannot make the match backtrack.
ATOM = r"(?:\[[^\[\]\s]++\]|Cl|Br|[BCNOPSFIbcnops])"
SMILES = re.compile(rf"{ATOM}(?:{ATOM}|[-=#$:/\\.()]|%[0-9]{{2}}|[0-9])*+")
BRACKETS = re.compile(r"\[[^\[\]]*+\]")
RINGS = re.compile(r"%[0-9]{2}|[0-9]")
MAX_ROWS = 20_000_000
MAX_LOOKED_AT = 1_000  # rows in which SMILES are looked for
INDEX = "__index_level_0__"  # what pandas calls the names of rows in a Parquet file

Line = tuple[int, list[str]]  # the number of a line in the file, and its fields
Molecule = tuple[str, Callable[[], Graph]]  # its place in the file, and what makes it


def read_edges(data: bytes, name: str, options: Options) -> list[Graph]:
    r"""Edge list: `u v` or `u v weight` per line; a line with one name is a node.

    Fields are separated by white space or commas, and what follows a `#` behind a blank is a
    comment; of the dictionaries that networkx writes behind edges the weight is read. Names become
    integers when all of them are written as such.

    >>> read_edges(b"# a comment\na b .5\nb c 2\nd\n", "toy", Options())
    [Graph(n_nodes=4, n_edges=2, name='toy', weighted)]
    """
    lines = _split_lines(decode(data), options)
    lines, ends = _known_ends(lines, options)
    return [_edge_list(lines, ends, name, options)]


def read_txt(data: bytes, name: str, options: Options) -> list[Graph]:
    """Text: an edge list as in .edges files, or a table as in .csv files, by white space."""
    return _read_table(_split_lines(decode(data), options), name, options)


def read_csv(data: bytes, name: str, options: Options) -> list[Graph]:
    r"""CSV or TSV: an edge list, an adjacency matrix, or a table with a column of SMILES.

    The first line decides between tabulators, commas and semicolons, in this order. Lines that
    begin with # are comments (SMILES have # inside).

    >>> read_csv(b"from,to\na,b\nb,c\n", "toy", Options())
    [Graph(n_nodes=3, n_edges=2, name='toy')]
    >>> read_csv(b",x,y\nx,0,1\ny,1,0\n", "toy", Options())[0].node_names
    ('x', 'y')
    """
    text = decode(data)
    first = text.partition("\n")[0]
    mark = next((mark for mark in "\t,;" if mark in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    try:
        lines = [
            (reader.line_num, [field.strip() for field in fields])
            for fields in reader
            if any(fields) and not fields[0].startswith("#")
        ]
    except csv.Error as error:
        raise DatasetError(f"line {reader.line_num}: not CSV ({error})") from error
    return _read_table(lines, name, options)


def read_parquet(data: bytes, name: str, options: Options) -> list[Graph]:
    """Parquet: a table as in .csv files."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(".parquet needs pyarrow; pip install 'ddgk[parquet]'") from error
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
        if not 0 <= n_rows * n_columns <= MAX_ROWS:
            raise ValueError(f"{n_rows} rows of {n_columns} columns are too many")
        table = file.read()
        columns = [
            [name, *("" if x is None else str(x) for x in table[name].to_pylist())]
            for name in sorted(table.column_names, key=INDEX.__ne__)
        ]
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
        raise DatasetError(f"not a Parquet file ({shown(str(error), 100)})") from error
    lines = [(i, list(row)) for i, row in enumerate(zip(*columns, strict=True), start=1)]
    return _read_table(lines, name, options)


def read_smiles(data: bytes, name: str, options: Options) -> list[Graph]:  # noqa: ARG001
    """SMILES: a molecule per line, and its name behind a blank, a tabulator or a comma.

    Lines that begin with # are skipped, and so is a header, whose first word contains "smiles".
    """
    rows: list[Molecule] = []
    for number, line in enumerate(decode(data).splitlines(), start=1):
        content = line.strip()
        mark = next((mark for mark in "\t,;" if mark in content.partition(" ")[0]), " ")
        smiles, _, label = content.partition(mark)
        if smiles and not smiles.startswith("#") and (rows or "smiles" not in smiles.casefold()):
            rows.append(_molecule(number, smiles, label.strip(), options))
    return _valid(rows, options)


def read_sdf(data: bytes, name: str, options: Options) -> list[Graph]:
    """SDF: molecules with their own names; read by RDKit."""
    chem = load_chem()
    from rdkit import rdBase

    def make(position: int, record: str) -> Graph:
        molecule = chem.MolFromMolBlock(record)
        if molecule is None:
            raise GraphError(
                f"{name}: not a molecule that RDKit can read",
                advice="correct it",
                policy="invalid_smiles",
                choices=("skip",),
            )
        label = shown(molecule.GetProp("_Name").strip()) or f"{name}-{position}"
        return from_rdkit(molecule, name=label, policies=options.policies)

    # One record at a time: a damaged one must not take the next with it.
    records = decode(data).replace("\r\n", "\n").split("$$$$\n")
    rows = [
        (f"record {i + 1}", partial(make, i, text))
        for i, text in enumerate(records)
        if text.strip()
    ]
    with rdBase.BlockLogs():
        return _valid(rows, options)


def _molecule(line: int, smiles: str, label: str, options: Options) -> Molecule:
    """Return how to make the molecule of a line; without a label, the SMILES is its name."""
    named = shown(label or smiles)
    return f"line {line}", partial(from_smiles, smiles, name=named, policies=options.policies)


def _valid(rows: Iterable[Molecule], options: Options) -> list[Graph]:
    """Make molecules; invalid ones follow the policy."""
    graphs = []
    for place, make in rows:
        try:
            graphs.append(make())
        except GraphError as error:
            problem = f"{place}: " + error.problem.partition(": ")[2]
            if error.policy != "invalid_smiles" or options.policies.invalid_smiles != "skip":
                raise error.of_file(problem) from error
            options.skipped.append(problem)
    if not graphs:
        raise DatasetError("no molecule in it")
    return graphs


def _read_table(lines: list[Line], name: str, options: Options) -> list[Graph]:
    """Decide what a table is, and read it."""
    if not lines:
        raise DatasetError("it is empty")
    if options.smiles is not None:
        return _read_smiles_column(_numbered(lines, [options.smiles]), options)
    rows = [fields for _, fields in lines]
    if not (options.edges or options.arcs) and _find(rows[0], "smiles") is not None:
        return _read_smiles_column(lines, options)
    lines, ends = _known_ends(lines, options)
    if ends is None:
        found = _as_matrix(rows)
        if found is not None:
            names, matrix = found
            return [from_matrix(matrix, node_names=names, name=name, policies=options.policies)]
        if not _looks_like_edges(rows):
            raise _refusal(rows)
    return [_edge_list(lines, ends, name, options)]


def _split_lines(text: str, options: Options) -> list[Line]:
    """Split at commas or white space; networkx writes a dictionary behind each edge."""
    lines, partly = [], False
    key = re.escape(str(options.edge_weights))
    for number, line in enumerate(text.splitlines(), start=1):
        content, behind = COMMENT.split(line, maxsplit=1)[0].strip(), ""
        if content.endswith("}") and (found := BEHIND.fullmatch(content)):
            content, behind = found[1].rstrip(", \t"), found[2]
        if not content:
            continue
        fields = content.split(",") if "," in content else content.split()
        weight = re.search(rf"'{key}': ([^,}}]*)", behind)
        partly = partly or behind.count(":") > (weight is not None)
        fields += [weight[1]] if weight else []
        lines.append((number, [field.strip() for field in fields]))
    if partly:
        options.notes.append("of what stands in braces only the weight is read")
    return lines


def _known_ends(lines: list[Line], options: Options) -> tuple[list[Line], tuple[int, int] | None]:
    """Return the places of the two columns of an edge list, if the header or the user names them.

    Numbers name the columns of a table without header, which gets one here.
    """
    named = options.edges if options.arcs is None else options.arcs
    if named is None or not lines:
        header = lines[0][1] if lines else []
        found = ((_find(header, u), _find(header, v)) for u, v in ENDS)
        return lines, next(((u, v) for u, v in found if u is not None and v is not None), None)
    ends = [part.strip() for part in named.split(",")]
    if len(ends) != 2:
        raise DatasetError(f"edges must name two columns, such as FROM,TO, not {named!r}")
    lines = _numbered(lines, ends)
    return lines, (_column(lines, ends[0]), _column(lines, ends[1]))


def _numbered(lines: list[Line], named: list[str]) -> list[Line]:
    """Put a header of numbers, in line 0, above a table whose columns are named by numbers."""
    if not all(map(WHOLE.fullmatch, named)):
        return lines
    width = max(len(fields) for _, fields in lines)
    return [(0, [str(i + 1) for i in range(width)]), *lines]


def _find(header: list[str], wanted: str | None) -> int | None:
    """Return the place of a column, in any case of its letters."""
    folded = [field.casefold() for field in header]
    if wanted is None or wanted.casefold() not in folded:
        return None
    return header.index(wanted) if wanted in header else folded.index(wanted.casefold())


def _column(lines: list[Line], wanted: str) -> int:
    header = lines[0][1]
    if wanted not in header:
        listed = ", ".join(repr(field) for field in header[:20])
        raise DatasetError(f"there is no column {wanted!r}; the first line is {shown(listed)}")
    return header.index(wanted)


def _read_smiles_column(lines: list[Line], options: Options) -> list[Graph]:
    (numbered, header), *below = lines
    called = next((field for field in header if field.casefold() == "smiles"), "smiles")
    column = _column(lines, options.smiles or called)
    named = _find(header, "name")
    if numbered == 0 and len(header) == 2:  # of two columns the other has names, unless numbers
        numbers = any(REAL.fullmatch(row[1 - column]) for _, row in below if len(row) == 2)
        named = None if numbers else 1 - column
    rows = []
    for number, fields in below:
        if len(fields) <= column:
            raise DatasetError(f"line {number}: {len(fields)} fields, and no SMILES")
        label = fields[named] if named is not None and named < len(fields) else ""
        rows.append(_molecule(number, fields[column], label, options))
    _note_rest(header, {column, named}, options)
    return _valid(rows, options)


def _edge_list(
    lines: list[Line], ends: tuple[int, int] | None, name: str, options: Options
) -> Graph:
    """Read an edge list by the names of its columns; without: two names, and perhaps a weight."""
    headed = ends is not None
    if ends is None:
        ends = (0, 1)
        width = next((len(fields) for _, fields in lines if len(fields) > 1), 2)
        lines = [(0, ["1", "2", "3"][:width]), *lines]
    (numbered, header), *below = lines
    weight, label = _find(header, options.edge_weights), _find(header, options.edge_labels)
    if numbered == 0 and len(header) == 3 and options.edge_weights is not None:
        weight = 2
    alone: list[str] = []
    names: list[str] = []
    rows: list[Line] = []
    for number, fields in below:
        filled = [text for text in fields if text]
        if len(fields) == 1 or (headed and filled == fields[ends[0] : ends[0] + 1]):
            alone += filled
        elif len(fields) == len(header) and fields[ends[0]] and fields[ends[1]]:
            names += (fields[ends[0]], fields[ends[1]])
            rows.append((number, fields))
        else:
            fit = "two names" + (" and a weight" if len(header) == 3 else "") + " as in other lines"
            fit = f"does not fit the header {_joined(header)}" if headed else f"is not {fit}"
            raise DatasetError(f"line {number}: {_joined(fields)} {fit}")
    if rows and headed:
        _note_rest(header, {*ends, weight, label}, options)
    weights, labels = None, None
    if weight is not None:
        weights = [_weight(fields[weight], f"line {number}") for number, fields in rows]
    if label is not None and any(fields[label] for _, fields in rows):
        labels = _as_integers([fields[label] for _, fields in rows])
    every = _as_integers([*alone, *names])
    node_names, pairs = number_ends(every[len(alone) :], every[: len(alone)])
    called = (header[ends[0]].casefold(), header[ends[1]].casefold())
    directed = options.arcs is not None or (options.edges is None and called == ("tail", "head"))
    try:
        return build_graph(
            len(node_names),
            pairs,
            edge_labels=labels,
            edge_weights=weights,
            listing="directed" if directed else "once",
            policies=options.policies,
            name=name,
            node_names=node_names,
        )
    except GraphError as error:
        if error.policy == "parallel_edges" and len(np.unique(pairs, axis=0)) == len(pairs):
            error.advice += ", or call the columns of a directed list tail and head"
        raise


def _looks_like_edges(rows: list[list[str]]) -> bool:
    """Tell whether lines without a known header can be an edge list.

    They have two names, and perhaps a number each. Names are whole numbers, or texts of which some
    occur in both columns; what has numbers below a first line of texts has an unknown header.
    """
    listed = [row for row in rows if len(row) > 1]
    shaped = all(len(row) <= 3 and "" not in row for row in rows)
    if not shaped or not all(REAL.fullmatch(row[2]) for row in listed if len(row) == 3):
        return False
    columns = [row[0] for row in listed], [row[1] for row in listed]
    whole = [[WHOLE.fullmatch(name) is not None for name in column] for column in columns]
    if all(map(all, whole)):
        return bool(listed)
    return not any(all(below) for _, *below in whole) and not set(columns[0]).isdisjoint(columns[1])


def looks_like_smiles(text: str) -> bool:
    """Tell whether text has the shape of a SMILES; chemistry is not checked.

    >>> [looks_like_smiles(text) for text in ("c1ccccc1O", "CCO", "C1CC", "n1", "ethanol", "12")]
    [True, True, False, False, False, False]
    """
    if not SMILES.fullmatch(text) or text.count("(") != text.count(")"):
        return False
    rings = Counter(RINGS.findall(BRACKETS.sub("", text)))
    return all(n % 2 == 0 for n in rings.values())


def _as_matrix(rows: list[list[str]]) -> tuple[list[str] | None, NDArray[np.float64]] | None:
    """Return the names and values of a square numeric table, or None if it is another.

    Names stand in the first line and the first column, or in the first line only. Tables of two or
    three numbers per line are edge lists, unless they are symmetric with zeros or, of three, ones
    on the diagonal, or have names on both sides.
    """
    header, names, body = rows[0], None, rows
    framed = header[1:] == [row[0] for row in rows[1:]] and not REAL.fullmatch(header[0])
    if framed:
        names, body = header[1:], [row[1:] for row in rows[1:]]
    elif len(rows) == len(header) + 1 and not all(map(REAL.fullmatch, header)):
        names, body = header, rows[1:]
    n = len(body)
    if n < 2 or any(len(row) != n or not all(map(REAL.fullmatch, row)) for row in body):
        return None
    if names is not None and len(set(names)) < n:
        return None
    matrix = np.array([[float(field) for field in row] for row in body])
    if n <= 3 and not framed:
        diagonal = matrix.diagonal()
        known = not diagonal.any() or (n == 3 and np.allclose(diagonal, 1, rtol=0))
        if not known or not np.allclose(matrix, matrix.T, rtol=0):
            return None
    return names, matrix


def _as_integers(names: list[Any]) -> list[Any]:
    """Return names as integers when all of them are written as such."""
    return [int(name) for name in names] if all(map(WHOLE.fullmatch, names)) else names


def _weight(field: str, at: str) -> float:
    weight = float(field) if REAL.fullmatch(field) else math.nan
    if not math.isfinite(weight):
        raise DatasetError(f"{at}: the weight {field[:60]!r} is not a finite number")
    return weight


def _joined(fields: list[str]) -> str:
    return repr(",".join(fields)[:60])


def _note_rest(header: list[str], read: set[int | None], options: Options) -> None:
    rest = [field for i, field in enumerate(header) if field and i not in read]
    if rest:
        options.notes.append(f"columns not read: {shown(', '.join(rest))}")


def _refusal(rows: list[list[str]]) -> DatasetError:
    """Return the error on a table that could be anything, or is a table of molecules."""
    header, below = rows[0], rows[1:] or rows
    seen = f"{len(rows)} lines of {len(header)} field{'s' if len(header) > 1 else ''}"
    for column in range(len(below[0])):
        fields = [row[column] for row in rows[:MAX_LOOKED_AT] if len(row) > column]
        alike = [field for field in fields if looks_like_smiles(field)]
        if len(alike) > len(fields) / 2 and max(map(len, alike)) > 2:
            headed = len(header) > column and not looks_like_smiles(header[column])
            return DatasetError(
                f"{seen}, column {column + 1} looks like SMILES ({shown(repr(alike[0]), 40)}), but "
                "nothing says whether these are molecules or the names of nodes",
                advice="end the name of the file in .smi for molecules, in .edges for an edge list",
                policy="smiles",
                choices=(shown(header[column]) if headed else str(column + 1),),
                call="read",
            )
    listed = ", ".join(repr(field[:40]) for field in header[:6])
    listed += ", ..." if len(header) > 6 else ""
    texts = len(header) > 1 and not any(REAL.fullmatch(field) or not field for field in header)
    return DatasetError(
        f"{seen}, the first is {listed}: not an edge list or an adjacency matrix",
        advice="add a first line source,target, or end the name of the file in .edges",
        policy="edges",
        choices=(shown(",".join(header[:2])) if texts else "FROM,TO",),
        call="read",
    )
