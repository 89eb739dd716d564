"""Read graphs from what a user points at: names, files, folders, patterns.

`READERS` is the table of file formats: one reader per ending, from a file's bytes to its graphs.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from ddgk.errors import DatasetError, GraphError, InputError, shown
from ddgk.graphs import Graph
from ddgk.graphs.graph import natural_key
from ddgk.graphs.policies import Policies, chosen_policies
from ddgk.io import arrays, markup, tables
from ddgk.io.catalogue import (
    BUILT_IN,
    DATASETS,
    NETWORKS,
    DatasetInfo,
    check_name,
    find_network,
    find_tu,
)
from ddgk.io.dataset import Dataset, ReadReport
from ddgk.io.loading import load, not_stored
from ddgk.io.reading import MAX_BYTES, MAX_PARSED_BYTES, ByteBudget, Options, placed
from ddgk.io.tu import is_tu_folder, read_tu

MAX_LISTED = 20
NO_GRAPHS = ("readme", "license", "licence")  # files of a folder that are never graphs

Reader = Callable[[bytes, str, Options], list[Graph]]

READERS: dict[str, Reader] = {
    ".gml": markup.read_gml,
    ".graphml": markup.read_graphml,
    ".gexf": markup.read_gexf,
    ".json": markup.read_json,
    ".net": markup.read_pajek,
    ".g6": markup.read_graph6,
    ".edges": tables.read_edges,
    ".edgelist": tables.read_edges,
    ".ncol": tables.read_edges,
    ".txt": tables.read_txt,
    ".csv": tables.read_csv,
    ".tsv": tables.read_csv,
    ".parquet": tables.read_parquet,
    ".mtx": arrays.read_mtx,
    ".npy": arrays.read_npy,
    ".npz": arrays.read_npz,
    ".smi": tables.read_smiles,
    ".smiles": tables.read_smiles,
    ".sdf": tables.read_sdf,
}


def read(
    source: str | PathLike[str],
    *,
    node_labels: str | None = "label",
    edge_labels: str | None = "label",
    node_attributes: str | None = "attributes",
    edge_attributes: str | None = "attributes",
    edge_weights: str | None = "weight",
    edges: str | None = None,
    arcs: str | None = None,
    smiles: str | None = None,
    policies: Policies | None = None,
    max_bytes: int | None = None,
) -> Dataset:
    r"""Read graphs from a name, a file, a folder or a pattern.

    Parameters
    ----------
    source : str or path
        - the name of a set, as for `load`, or of a network: "karate", which comes with networkx,
          or any that is stored as ``networks/NAME.gml`` where `load` looks;
        - a folder or zip archive in TU format, as for `read_tu`;
        - a file of a format in the table below;
        - a folder of such files, or a pattern such as ``"run-*/*.gml"``; in natural order, so that
          graph-2 comes before graph-10. Files with other endings in a folder, hidden ones and a
          README are skipped and listed in the report; all files that cannot be read are named in
          one error.
    node_labels, edge_labels, node_attributes, edge_attributes, edge_weights : str or None
        Keys in .gml, .graphml, .gexf and .json files, as for `from_networkx`; those of edges also
        name columns of tables. In GML `label` is the name of a node, never its label. Of a network
        by name only the structure is read, and `node_labels` if it names another key.
    edges : str, optional
        The two columns of an edge list, as "FROM,TO", where the header is not a usual one; "1,2"
        where there is none.
    arcs : str, optional
        The same for a directed edge list; columns called tail and head need no such word.
    smiles : str, optional
        The column of SMILES in a table; one that is called smiles is found without. "1" is the
        first one where there is no header; of two columns the other then holds the names.
    policies : Policies, optional
        How to read what can be read in more than one way. The networks in `NETWORKS` have defaults
        of their own, which make the undirected simple graph that the paper uses.
    max_bytes : int, optional
        How much is read at most of files: 1 GiB of a set in TU format, 256 MiB of others.

    Returns
    -------
    Dataset
        It unpacks as graphs and classes; only sets in TU format have classes. Graphs are named
        after their files. Its `report` lists what was skipped.

    Notes
    -----
    ==============================  ===========================================================
    .gml .graphml .gexf             one graph
    .json                           networkx's node-link layout, one graph or a list
    .net                            Pajek: vertices with arcs or edges
    .g6                             graph6, one graph per line
    .edges .edgelist .ncol          ``u v`` or ``u v weight`` per line; one name is a node
    .txt .csv .tsv .parquet         an edge list, a square adjacency matrix with or without
                                    names, or a table with a column of SMILES
    .mtx .npy .npz                  adjacency matrices
    .smi .smiles .sdf               molecules
    ==============================  ===========================================================

    Examples
    --------
    >>> import tempfile
    >>> from ddgk import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "path.edges").write_text("a b\nb c\n")
    ...     _ = Path(folder, "pair.csv").write_text("0,1\n")
    ...     graphs, classes = io.read(folder)
    >>> graphs
    [Graph(n_nodes=2, n_edges=1, name='pair'), Graph(n_nodes=3, n_edges=2, name='path')]
    >>> io.read("karate").graphs
    [Graph(n_nodes=34, n_edges=78, name='karate')]
    """
    keys = (node_labels, edge_labels, node_attributes, edge_attributes, edge_weights)
    options = Options(*keys, chosen_policies(policies), edges, arcs, smiles)
    tu_bytes = MAX_BYTES if max_bytes is None else max_bytes
    file_bytes = MAX_PARSED_BYTES if max_bytes is None else max_bytes
    text = os.fspath(source)

    if isinstance(source, str) and glob.has_magic(text) and not os.path.exists(text):
        found = [] if "\0" in text else map(Path, glob.glob(text, recursive=True))
        paths = [path for path in found if path.is_file()]
        if not paths:
            raise DatasetError(f"{text}: no file matches")
        return _read_files(paths, Path(text).parent.name or text, options, file_bytes)
    if not _is_path(source):
        check_name(text)
        if text not in NETWORKS and (find_tu(text) or not find_network(text)):
            return load(text, policies=policies)
        # The default key of node labels is for files; a network is structure unless asked.
        labels = None if node_labels == "label" else node_labels
        return Dataset([_network(text, labels, policies)], None, text)
    path = Path(source)
    is_folder = os.path.isdir(path)
    if not is_folder and not os.path.isfile(path):
        raise DatasetError(f"{shown(text)}: there is no such file or folder")
    if is_tu_folder(path) if is_folder else path.suffix.lower() == ".zip":
        return read_tu(path, policies=policies, max_bytes=tu_bytes)
    if is_folder:
        return _read_folder(path, options, file_bytes)
    return _read_files([path], path.stem, options, file_bytes)


def _is_path(source: str | PathLike[str]) -> bool:
    """Tell whether to read this as a path: a known name never is, an existing path always.

    >>> _is_path("MUTAG"), _is_path(Path("MUTAG")), _is_path("data/MUTAG"), _is_path("toy.zip")
    (False, True, True, True)
    """
    if not isinstance(source, str):
        return True
    if source in DATASETS or source in NETWORKS:
        return False
    known = Path(source).suffix in READERS or source.endswith(".zip")
    return known or os.path.exists(source) or "/" in source or os.sep in source


def _read_folder(path: Path, options: Options, max_bytes: int) -> Dataset:
    try:
        files = sorted((file for file in path.iterdir() if file.is_file()), key=_by_name)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error
    paths = []
    for file in files:
        if file.name[0] == "." or file.stem.lower() in NO_GRAPHS:
            options.skipped.append(f"{file.name}: hidden, or about the data")
        elif file.suffix.lower() not in READERS:
            options.skipped.append(f"{file.name}: not a format that is read")
        else:
            paths.append(file)
    if not paths:
        raise DatasetError(
            f"{path}: neither a set in TU format (DS_A.txt) nor a folder of {_endings()} files"
        )
    return _read_files(paths, path.resolve().name, options, max_bytes)


def _read_files(paths: list[Path], name: str, options: Options, max_bytes: int) -> Dataset:
    """Read all files; those that cannot be read are collected into one error."""
    allowed = ByteBudget(max_bytes)
    graphs, errors = [], []
    for path in sorted(paths, key=_by_name):
        suffix = path.suffix.lower()
        try:
            if suffix not in READERS:
                raise DatasetError(
                    f"{path}: cannot tell its format; known endings are {_endings()}"
                )
            data = allowed.read_file(path)
            graphs += convert(data, suffix, str(path), path.stem, options)
        except InputError as error:
            errors.append(error)
            if allowed.left < 0:
                break
    if errors:
        raise _combined(errors, len(paths))
    if not graphs:
        raise DatasetError(f"{name}: all graphs were skipped by the policies")
    return Dataset(graphs, None, name, ReadReport(tuple(options.skipped), tuple(options.notes)))


def _combined(errors: list[InputError], n_files: int) -> InputError:
    """Return one error for all files; where all have the same fix it is named once."""
    first, listed = errors[0], errors[:MAX_LISTED]
    if len(errors) == 1:
        return first
    more = f", here are the first {MAX_LISTED}" if len(errors) > MAX_LISTED else ""
    head = f"{len(errors)} of {n_files} files cannot be read{more}:"
    if len({(error.advice, error.policy, error.choices, error.call) for error in errors}) == 1:
        return first.of_file("\n  ".join([head, *(error.problem for error in listed)]))
    combined = DatasetError(head)
    combined.causes = tuple(listed)
    return combined


def karate_club() -> Graph:
    """Return the friendships in Zachary's karate club: 34 nodes, 78 edges, structure only.

    Examples
    --------
    >>> from ddgk.io import karate_club
    >>> karate_club()
    Graph(n_nodes=34, n_edges=78, name='karate')
    """
    return _network(BUILT_IN, None, None)


def _network(name: str, node_labels: str | None, policies: Policies | None) -> Graph:
    """Return a network: only the structure, unless node labels are asked for."""
    known = NETWORKS.get(name, DatasetInfo(name, ""))
    chosen = chosen_policies(known.policies if policies is None else policies)
    options = Options(node_labels, None, None, None, known.edge_weights, chosen)
    if name == BUILT_IN:
        import networkx

        return options.convert(networkx.karate_club_graph(), name)
    path = find_network(name)
    if path is None:
        raise not_stored(name, "network", f"networks/{name}.gml")
    data = ByteBudget(MAX_PARSED_BYTES).read_file(path)
    return convert(data, ".gml", os.fspath(path), name, options)[0]


def convert(data: bytes, suffix: str, where: str, name: str, options: Options) -> list[Graph]:
    """Read a file's bytes by the table, and put the file's name before all that is said of it."""
    own = replace(options, skipped=[], notes=[])
    try:
        graphs = READERS[suffix](data, name, own)
        for graph in graphs:
            _check_texts(graph)
    except InputError as error:
        error.problem = placed(where, shown(error.problem, 1000))
        raise
    except RecursionError as error:
        raise DatasetError(f"{where}: something in it is nested too deeply") from error
    if options.policies.empty == "skip":
        own.skipped.extend(f"graph {g.name!r} has no nodes" for g in graphs if not g.n_nodes)
        graphs = [graph for graph in graphs if graph.n_nodes]
    options.skipped.extend(placed(where, problem) for problem in own.skipped)
    options.notes.extend(placed(where, note) for note in own.notes)
    return graphs


def _check_texts(graph: Graph) -> None:
    """Refuse halves of characters, which an escape in a file can make: no file can hold them."""
    columns = ((graph.name,), graph.node_names, graph.node_labels or (), graph.edge_labels or ())
    for column in columns:
        try:
            "".join(text for text in column if isinstance(text, str)).encode()
        except UnicodeEncodeError as error:
            raise GraphError(
                f"{error.object[error.start]!a} is half of a character (a lone surrogate)"
            ) from error


def _by_name(path: Path) -> tuple[int, Any, str]:
    return natural_key(str(path))


def _endings() -> str:
    return ", ".join(READERS)
