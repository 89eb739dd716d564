"""The table of file formats: one reader per ending, from a file's bytes to its graphs."""

from __future__ import annotations

from collections.abc import Callable

from ddgk.errors import DatasetError, GraphError, InputError, shown
from ddgk.graphs import Graph
from ddgk.io.arrays import read_mtx, read_npy, read_npz
from ddgk.io.delimited import read_csv, read_edges, read_parquet, read_tsv, read_txt
from ddgk.io.listings import read_graph6, read_pajek
from ddgk.io.markup import read_gexf, read_gml, read_graphml
from ddgk.io.molecules import read_sdf, read_smiles
from ddgk.io.node_link import read_json
from ddgk.io.options import Options

Reader = Callable[[bytes, str, str, Options], list[Graph]]

READERS: dict[str, Reader] = {
    ".gml": read_gml,
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".json": read_json,
    ".net": read_pajek,
    ".g6": read_graph6,
    ".s6": read_graph6,
    ".edges": read_edges,
    ".edgelist": read_edges,
    ".ncol": read_edges,
    ".txt": read_txt,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
    ".mtx": read_mtx,
    ".npy": read_npy,
    ".npz": read_npz,
    ".smi": read_smiles,
    ".smiles": read_smiles,
    ".sdf": read_sdf,
}


def convert(data: bytes, suffix: str, where: str, name: str, options: Options) -> list[Graph]:
    """Read a file's bytes by the table, with the file's name in every message."""
    try:
        graphs = READERS[suffix](data, where, name, options)
        for graph in graphs:
            _check_texts(graph)
    except InputError as error:
        error.problem = shown(error.problem.removeprefix(where), 1000)
        if not error.problem.startswith((":", ",")):
            error.problem = f": {error.problem}"
        error.problem = where + error.problem
        raise
    except RecursionError as error:
        raise DatasetError(f"{where}: something in it is nested too deeply") from error
    if options.policies.empty != "skip":
        return graphs
    options.skipped.extend(
        f"{where}: graph {graph.name!r} has no nodes" for graph in graphs if not graph.n_nodes
    )
    return [graph for graph in graphs if graph.n_nodes]


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
