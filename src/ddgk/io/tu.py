"""Read sets in the text format of the TU collection, from a folder or a zip archive.

A set DS is a few files of numbers: `DS_A.txt` has one `row, column` pair of node ids per line,
`DS_graph_indicator.txt` the graph of each node, `DS_graph_labels.txt` the class of each graph;
`DS_node_labels.txt`, `DS_edge_labels.txt` (a line per line of `DS_A.txt`),
`DS_node_attributes.txt` and `DS_edge_attributes.txt` are optional. Ids start at 1.
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path, PurePosixPath

from ddgk.errors import DatasetError, shown
from ddgk.graphs.policies import Policies, chosen_policies
from ddgk.io.archives import read_archive
from ddgk.io.dataset import Dataset
from ddgk.io.limits import MAX_BYTES, budget, read_file
from ddgk.io.tu_text import Text, parse

NEEDED = ("A", "graph_indicator")
OPTIONAL = ("graph_labels", "node_labels", "edge_labels", "node_attributes", "edge_attributes")
KINDS = NEEDED + OPTIONAL


def read_tu(
    path: str | PathLike[str],
    *,
    name: str | None = None,
    policies: Policies | None = None,
    max_bytes: int = MAX_BYTES,
) -> Dataset:
    r"""Read a set in TU text format, with all labels and attributes that it has.

    Lines may come in any order: the nodes of a graph are numbered as they appear. `DS_A.txt` is an
    adjacency matrix: where every edge is listed in both directions, with the same label and
    attributes, the graphs are undirected; otherwise all graphs of the set are directed. Repeated
    lines are one edge; their labels must agree, their attributes are averaged. Labels are whole
    numbers, or tuples of them where a file has several columns. Graph attributes are not read.

    Parameters
    ----------
    path : path of a folder or a zip archive
        With one `DS_A.txt` in it.
    name : str, optional
        Default: the DS of `DS_A.txt`. Graphs are called DS-0, DS-1, ...
    policies : Policies, optional
        For directed sets, self-loops, missing attributes and graphs without nodes.
    max_bytes : int
        How much text is read at most.

    Returns
    -------
    Dataset
        It unpacks as graphs and classes; classes is None without `DS_graph_labels.txt`.

    Examples
    --------
    >>> import tempfile
    >>> from ddgk.io import read_tu
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "toy_A.txt").write_text("1, 2\n2, 1\n4, 3\n3, 4\n")
    ...     _ = Path(folder, "toy_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n")
    ...     _ = Path(folder, "toy_graph_labels.txt").write_text("1\n-1\n")
    ...     graphs, classes = read_tu(folder)
    >>> graphs
    [Graph(n_nodes=2, n_edges=1, name='toy-0'), Graph(n_nodes=3, n_edges=1, name='toy-1')]
    """
    policies = chosen_policies(policies)
    path = Path(path)
    # os.path answers False where pathlib raises, for names too long for the system.
    if os.path.isdir(path):
        stem, texts = _texts_of_folder(path, max_bytes)
    elif os.path.isfile(path):
        stem, texts = _texts_of_archive(path, max_bytes)
    else:
        raise DatasetError(f"{shown(str(path))}: there is no such folder or zip archive")
    for needed in NEEDED:
        if needed not in texts:
            raise DatasetError(f"{path}: {shown(stem)}_{needed}.txt is missing")
    return parse(texts, name or stem, policies)


def is_tu_folder(path: Path) -> bool:
    """Tell whether a folder holds a set in this format."""
    return any(path.glob("*_A.txt"))


def _texts_of_folder(path: Path, max_bytes: int) -> tuple[str, dict[str, Text]]:
    stem = _only_stem([file.name for file in path.glob("*_A.txt")], path)
    allowed = budget(max_bytes)
    texts = {}
    for kind in KINDS:
        file = path / f"{stem}_{kind}.txt"
        if file.exists():
            texts[kind] = Text(read_file(file, allowed), str(file))
    return stem, texts


def _texts_of_archive(path: Path, max_bytes: int) -> tuple[str, dict[str, Text]]:
    endings = {f"_{kind}.txt": kind for kind in KINDS}

    def is_wanted(member: str) -> bool:
        # Some systems pack a shadow file "._x" with each x.
        shadow = PurePosixPath(member).name.startswith("._")
        return not shadow and member.endswith(tuple(endings))

    with path.open("rb") as stream:
        members = read_archive(stream, str(path), is_wanted, max_bytes)
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
