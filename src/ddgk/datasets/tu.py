"""Read sets in the text format of the TU collection, from a folder or a zip archive.

A set DS is a few files of numbers: `DS_A.txt` has one `row, column` pair of node ids per line,
`DS_graph_indicator.txt` the graph of each node, `DS_graph_labels.txt` the class of each graph;
`DS_node_labels.txt`, `DS_edge_labels.txt` (a line per line of `DS_A.txt`) and
`DS_node_attributes.txt` are optional. Ids start at 1.
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path, PurePosixPath

from ddgk.datasets.archives import read_archive
from ddgk.datasets.dataset import Dataset
from ddgk.datasets.limits import MAX_BYTES, budget, read_file
from ddgk.datasets.tu_text import Text, parse
from ddgk.errors import DatasetError, ParameterError, shown

NEEDED = ("A", "graph_indicator")
OPTIONAL = ("graph_labels", "node_labels", "edge_labels", "node_attributes")
ATTRIBUTES = ("ignore", "keep", "shift")


def read_tu(
    path: str | PathLike[str],
    *,
    attributes: str = "ignore",
    name: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    r"""Read a set in TU text format.

    Lines may come in any order: the nodes of a graph are numbered as they appear, wherever they
    stand in the file. An edge may be listed in one direction, in both, or repeatedly; it is one
    edge, and all its lines must agree on its label. Labels are whole numbers, or tuples of them
    where a file has several columns. Edge attributes and graph attributes are not read.

    Parameters
    ----------
    path : path of a folder or a zip archive
        With one `DS_A.txt` in it.
    attributes : {"ignore", "keep", "shift"}
        What to do with `DS_node_attributes.txt`. "ignore", the default, does not open it. "keep"
        reads it; a negative value is an error then, since a model reads attributes as
        distributions. "shift" moves each column that has negative values up until its smallest
        value in the set is 0.
    name : str, optional
        Default: the DS of `DS_A.txt`. Graphs are called DS-0, DS-1, ...
    max_bytes : int
        How much text is read at most.

    Returns
    -------
    Dataset
        It unpacks as graphs and classes; classes is None without `DS_graph_labels.txt`.

    Examples
    --------
    >>> import tempfile
    >>> from ddgk.datasets import read_tu
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "toy_A.txt").write_text("1, 2\n2, 1\n4, 3\n")
    ...     _ = Path(folder, "toy_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n")
    ...     _ = Path(folder, "toy_graph_labels.txt").write_text("1\n-1\n")
    ...     graphs, classes = read_tu(folder)
    >>> graphs
    [Graph(n_nodes=2, n_edges=1, name='toy-0'), Graph(n_nodes=3, n_edges=1, name='toy-1')]
    """
    if attributes not in ATTRIBUTES:
        allowed = ", ".join(map(repr, ATTRIBUTES))
        raise ParameterError(f"attributes must be one of {allowed}, not {attributes!r}")
    path = Path(path)
    # os.path answers False where pathlib raises, for names too long for the system.
    if os.path.isdir(path):
        stem, texts = _texts_of_folder(path, attributes, max_bytes)
    elif os.path.isfile(path):
        stem, texts = _texts_of_archive(path, attributes, max_bytes)
    else:
        raise DatasetError(f"{path}: there is no such folder or zip archive")
    for needed in NEEDED:
        if needed not in texts:
            raise DatasetError(f"{path}: {shown(stem)}_{needed}.txt is missing")
    return parse(texts, name or stem, attributes)


def is_tu_folder(path: Path) -> bool:
    """Whether a folder holds a set in this format."""
    return any(path.glob("*_A.txt"))


def _wanted(attributes: str) -> tuple[str, ...]:
    return NEEDED + tuple(
        file for file in OPTIONAL if file != "node_attributes" or attributes != "ignore"
    )


def _texts_of_folder(path: Path, attributes: str, max_bytes: int) -> tuple[str, dict[str, Text]]:
    stem = _only_stem([file.name for file in path.glob("*_A.txt")], path)
    allowed = budget(max_bytes)
    texts = {}
    for kind in _wanted(attributes):
        file = path / f"{stem}_{kind}.txt"
        if file.exists():
            texts[kind] = Text(read_file(file, allowed), str(file))
    return stem, texts


def _texts_of_archive(path: Path, attributes: str, max_bytes: int) -> tuple[str, dict[str, Text]]:
    endings = {f"_{kind}.txt": kind for kind in _wanted(attributes)}

    def is_wanted(member: str) -> bool:
        # Some systems pack a shadow file "._x" beside each x.
        shadow = PurePosixPath(member).name.startswith("._")
        return not shadow and member.endswith(tuple(endings))

    members = read_archive(path, is_wanted, max_bytes)
    stem = _only_stem([member for member in members if member.endswith("_A.txt")], path)
    texts = {
        kind: Text(members[stem + ending], f"{path}: {shown(stem)}{ending}")
        for ending, kind in endings.items()
        if stem + ending in members
    }
    return PurePosixPath(stem).name, texts


def _only_stem(candidates: list[str], path: Path) -> str:
    if len(candidates) != 1:
        found = shown(", ".join(sorted(candidates)[:3])) or "none"
        raise DatasetError(f"{path}: needs exactly one file named DS_A.txt, found {found}")
    return candidates[0].removesuffix("_A.txt")
