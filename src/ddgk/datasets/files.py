"""Graphs from whatever a user points at: names, files, folders, patterns."""

from __future__ import annotations

import glob
import os
import re
from os import PathLike
from pathlib import Path

from ddgk.datasets.catalogue import NETWORKS
from ddgk.datasets.dataset import Dataset
from ddgk.datasets.formats import READERS, Conversion, convert
from ddgk.datasets.limits import MAX_BYTES, MAX_PARSED_BYTES, budget, read_file
from ddgk.datasets.loading import is_path, load
from ddgk.datasets.networks import load_network
from ddgk.datasets.storage import check_name, find_network, find_tu
from ddgk.datasets.tu import is_tu_folder, read_tu
from ddgk.errors import DatasetError
from ddgk.graphs import Policies


def read(
    source: str | PathLike[str],
    *,
    node_labels: str | None = "label",
    edge_labels: str | None = "label",
    node_attributes: str | None = "attributes",
    edge_weights: str | None = "weight",
    policies: Policies | None = None,
    attributes: str = "ignore",
    max_bytes: int | None = None,
) -> Dataset:
    r"""Read graphs from a name, a file, a folder or a pattern.

    Parameters
    ----------
    source : str or path
        - the name of a set or network, as for `load` and `load_network`;
        - a folder or zip archive in TU format, as for `read_tu`;
        - a file: .gml, .graphml, .json (networkx's node-link layout, one graph or a list), or a
          list of edges (.edges, .edgelist, .txt, .csv: `u v` or `u v weight` per line, separated
          by white space or commas, `#` for comments; a line with one name is a node);
        - a folder of such files, or a pattern such as ``"run-*/*.gml"``; in natural order, so that
          graph-2 comes before graph-10. Files with other endings in a folder are passed over.
    node_labels, edge_labels, node_attributes, edge_weights : str or None
        The keys in .gml, .graphml and .json files, as for `from_networkx`. In GML `label` is the
        name of a node, never its label.
    policies : Policies, optional
        What to do with directions, self-loops, repeated edges and weights. Default: all errors,
        save for the networks in `NETWORKS`. Neither keys nor policies apply to sets in TU format,
        whose layout says all of that.
    attributes : {"ignore", "keep", "shift"}
        Of sets in TU format; see `read_tu`.
    max_bytes : int, optional
        How much is read at most: 1 GiB of a set in TU format, 256 MiB of other files.

    Returns
    -------
    Dataset
        It unpacks as graphs and classes; only sets in TU format have classes. Graphs are named
        after their files.

    Examples
    --------
    >>> import tempfile
    >>> from ddgk import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "path.edges").write_text("a b\nb c\n")
    ...     _ = Path(folder, "pair.csv").write_text("0,1\n")
    ...     graphs, classes = datasets.read(folder)
    >>> graphs
    [Graph(n_nodes=2, n_edges=1, name='pair'), Graph(n_nodes=3, n_edges=2, name='path')]
    >>> datasets.read("karate").graphs
    [Graph(n_nodes=34, n_edges=78, name='karate')]
    """
    conversion = Conversion(node_labels, edge_labels, node_attributes, edge_weights, policies)
    tu_bytes = MAX_BYTES if max_bytes is None else max_bytes
    file_bytes = MAX_PARSED_BYTES if max_bytes is None else max_bytes
    text = os.fspath(source)

    if isinstance(source, str) and _is_pattern(text):
        found = [] if "\0" in text else [Path(m) for m in glob.glob(text, recursive=True)]
        paths = [path for path in found if path.is_file()]
        if not paths:
            raise DatasetError(f"{text}: no file matches")
        return _read_files(paths, Path(text).parent.name or text, conversion, file_bytes)
    if not is_path(source) and Path(text).suffix not in READERS:
        check_name(text)
        if text in NETWORKS or (find_tu(text) is None and find_network(text) is not None):
            # The default key of node labels is for files; a network is structure unless asked.
            labels = None if node_labels == "label" else node_labels
            network = load_network(
                text, node_labels=labels, policies=policies, max_bytes=file_bytes
            )
            return Dataset([network], None, text)
        return load(text, attributes=attributes, max_bytes=tu_bytes)
    path = Path(source)
    if os.path.isdir(path):
        if is_tu_folder(path):
            return read_tu(path, attributes=attributes, max_bytes=tu_bytes)
        try:
            paths = [file for file in path.iterdir() if file.suffix.lower() in READERS]
        except OSError as error:
            raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error
        if not paths:
            raise DatasetError(
                f"{path}: neither a set in TU format (DS_A.txt) nor a folder of {_endings()} files"
            )
        return _read_files(paths, path.resolve().name, conversion, file_bytes)
    if not os.path.isfile(path):
        raise DatasetError(f"{path}: there is no such file or folder")
    if path.suffix.lower() == ".zip":
        return read_tu(path, attributes=attributes, max_bytes=tu_bytes)
    return _read_files([path], path.stem, conversion, file_bytes)


def _read_files(paths: list[Path], name: str, conversion: Conversion, max_bytes: int) -> Dataset:
    allowed = budget(max_bytes)
    graphs = []
    for path in sorted(paths, key=_natural_order):
        suffix = path.suffix.lower()
        if suffix not in READERS:
            raise DatasetError(f"{path}: cannot tell its format; known endings are {_endings()}")
        data = read_file(path, allowed)
        graphs += convert(data, suffix, str(path), path.stem, conversion)
    return Dataset(graphs, None, name)


def _is_pattern(text: str) -> bool:
    return glob.has_magic(text) and not os.path.exists(text)


def _natural_order(path: Path) -> list[tuple[int, int, str]]:
    parts = re.split(r"([0-9]{1,18})", str(path))
    return [(1, int(part), "") if i % 2 else (0, 0, part) for i, part in enumerate(parts)]


def _endings() -> str:
    return ", ".join(READERS)
