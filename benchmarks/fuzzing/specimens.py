"""Valid inputs to spoil: small, of every kind of content, and all accepted as they are."""

from __future__ import annotations

import importlib
import io
import json
import os
import zipfile
from functools import cache
from pathlib import Path

import networkx

from ddgk import Graph
from ddgk.errors import DDGKError
from ddgk.graphs import Policies, to_networkx
from ddgk.io import load
from ddgk.store import save_parts
from degrees import DegreeEmbedder

LENIENT = Policies(directed="undirected", self_loops="drop", parallel_edges="merge", missing="mask")

Texts = dict[str, bytes]


def graphs() -> list[networkx.Graph]:
    """Return a labelled one, a directed one with parallel edges, and the karate club."""
    molecule = Graph(
        4,
        [(0, 1), (1, 2), (1, 3)],
        node_labels=["C", "O", "C", "H"],
        edge_labels=["single", "double", "single"],
        edge_weights=[0.5, 0.25, 1.0],
        node_names=["x", "y", "z", "w"],
        name="molecule",
    )
    parallel = networkx.MultiDiGraph(
        [(0, 1, {"weight": 2.0}), (0, 1, {"weight": 1.0}), (1, 2, {"weight": 0.5})]
    )
    return [to_networkx(molecule), parallel, networkx.karate_club_graph()]


@cache
def gml() -> list[bytes]:
    """GML as networkx writes it; there the label is the name, so that kinds have another key."""
    return ["\n".join(networkx.generate_gml(graph)).encode() for graph in graphs()[1:]] + [
        b'graph [\n  node [ id 1 label "a" kind "C" ]\n  node [ id 2 label "b" kind "O" ]\n'
        b'  node [ id 3 kind "&lt;"\n label "two\nlines"\n ]\n'
        b'  edge [ source 1 target 2 label "single" weight .5 ]\n'
        b'  edge [ source 2 target 3 label "double" weight 1 ]\n]\n'
    ]


@cache
def graphml() -> list[bytes]:
    """GraphML as networkx writes it."""
    return ["\n".join(networkx.generate_graphml(graph)).encode() for graph in graphs()]


@cache
def node_link() -> list[bytes]:
    """One graph, a list of two, one with attribute vectors and names that are lists."""
    one, two, _ = (networkx.node_link_data(graph, edges="links") for graph in graphs())
    vectors = {
        "nodes": [{"id": ["a", i], "attributes": [i, 1, 0.5]} for i in range(3)],
        "edges": [{"source": ["a", 0], "target": ["a", 1], "label": "s"}],
        "graph": {"name": "vectors"},
    }
    return [json.dumps(content).encode() for content in (one, [one, two], vectors)]


@cache
def edge_lists() -> list[bytes]:
    """Plain, weighted with a header, and with names and nodes that stand alone."""
    return [
        b"# a comment\n0 1\n1 2\n2 3\n3 0\n7\n",
        b"source,target,weight\n0,1,.5\n1,2,1e-3\n2,0,1\n",
        b"ann bob\nbob eve\neve zo\xc3\xab\nadam\n",
    ]


@cache
def matrix_market() -> list[bytes]:
    """Coordinates with and without values."""
    return [
        b"%%MatrixMarket matrix coordinate real symmetric\n% made\n3 3 2\n2 1 0.5\n3 2 1e-3\n",
        b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 1\n",
    ]


@cache
def pajek() -> list[bytes]:
    """Pajek with edges and with arcs."""
    return [
        b'*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Edges\n1 2 0.5\n2 3 1\n',
        b"*Vertices 2\n1 a\n2 b\n*Arcs\n1 2\n",
    ]


@cache
def graph6() -> list[bytes]:
    """Two graphs a file, as networkx writes them."""
    made = (networkx.petersen_graph(), networkx.path_graph(9))
    return [b"".join(map(networkx.to_graph6_bytes, made))]


@cache
def gexf() -> list[bytes]:
    """GEXF as networkx writes it."""
    return ["\n".join(networkx.generate_gexf(networkx.path_graph(3))).encode()]


@cache
def smiles() -> list[bytes]:
    """Molecules by line, with and without names."""
    return [b"smiles name\nCCO ethanol\nc1ccccc1 benzene\n# none\nC[N+](C)(C)C\nO=C=O\n"]


@cache
def sdf() -> list[bytes]:
    """Two molecules as RDKit writes them."""
    from rdkit import Chem

    made = [Chem.MolFromSmiles(text) for text in ("CCO", "c1ccccc1O")]
    return ["".join(f"{Chem.MolToMolBlock(one)}>  <a>\n1\n\n$$$$\n" for one in made).encode()]


@cache
def tu_texts() -> list[Texts]:
    """Return a toy set with every optional file, and the first graphs of MUTAG if at hand."""
    toy = {
        "A": b"1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n3, 4\n4, 3\n5, 6\n6, 5\n",
        "graph_indicator": b"1\n1\n1\n1\n2\n2\n2\n",
        "graph_labels": b"1\n-1\n",
        "node_labels": b"0, 1\n0, 1\n1, 1\n3, 1\n0, 2\n1, 1\n1, 1\n",
        "edge_labels": b"0\n0\n1\n1\n0\n0\n2\n2\n0\n0\n",
        "node_attributes": b"0.5, -1\n1, 0\n2, 3\n0, 0\n1e1, -2.5\n0, 0\n7, 1\n",
    }
    return [toy, *_first_of_mutag()]


def _first_of_mutag(count: int = 3) -> list[Texts]:
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("DDGK_DATA", str(beside))
    try:
        found, classes = load("MUTAG", fetch=False)
    except DDGKError:
        return []
    kinds: dict[str, list[str]] = {"A": [], "graph_indicator": [], "node_labels": []}
    kinds["node_attributes"] = []
    kinds |= {"edge_labels": [], "graph_labels": [str(kind) for kind in classes[:count]]}
    before = 1
    for number, graph in enumerate(found[:count], start=1):
        kinds["A"] += [f"{u + before}, {v + before}" for u, v in graph.edges.tolist()]
        kinds["graph_indicator"] += [str(number)] * graph.n_nodes
        kinds["node_labels"] += map(str, graph.node_labels)
        kinds["node_attributes"] += [f"{label}.5" for label in graph.node_labels]  # it has none
        kinds["edge_labels"] += map(str, graph.edge_labels)
        before += graph.n_nodes
    return [{kind: ("\n".join(lines) + "\n").encode() for kind, lines in kinds.items()}]


def warm_up() -> None:
    """Let libraries compile what they compile at first use, before the guard can hear it."""
    importlib.import_module("numpy.ma")  # numpy.unique imports it late
    for kind in (networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph):
        networkx.relabel_nodes(kind([(0, 1), (0, 1)]), {0: "a"})


def zipped(members: Texts) -> bytes:
    """Pack members as an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def write_models(folder: Path) -> None:
    """Save a model whose sources carry everything, and a plain one."""
    graph = Graph.from_networkx(graphs()[0], policies=LENIENT)
    full = graph.replace(node_attributes=[[1, 0], [0, 2], [1, 1], [0, 1]])
    save_parts(folder / "full.ddgk", *DegreeEmbedder([full, Graph(2, [(0, 1)])]).to_parts())
    save_parts(folder / "plain.ddgk", *DegreeEmbedder([Graph(3, [(0, 1)])], 5).to_parts())
