from __future__ import annotations

import io

import networkx
import numpy as np
import pytest

from ddgk.errors import DatasetError, GraphError, message
from ddgk.graphs import Policies
from ddgk.io import read
from ddgk.io.files import convert
from ddgk.io.reading import Options


def one(text: str, ending=".csv", **options):
    (graph,) = convert(text.encode(), ending, "toy.csv", "toy", Options(**options))
    return graph


@pytest.mark.parametrize(
    "text",
    [
        "source,target\na,b\nb,c\n",
        "when,From,TO\n1,a,b\n2,b,c\n",
        '"u","v"\n"a","b"\n"b","c"\n',
        "source;target\na;b\nb;c\n",
        "a,b\nb,c\n",
        "# a comment\nsource,target\na,b\nb,c\n",
    ],
)
def test_edge_lists_with_a_header_and_without(text: str):
    graph = one(text)
    assert graph.node_names == ("a", "b", "c")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]


def test_columns_by_name():
    options = Options()
    text = b"id,target,source,weight,label,when\n1,b,a,0.5,x,1\n2,c,b,2,y,1\n,,d,,,\n"
    (graph,) = convert(text, ".csv", "toy.csv", "toy", options)
    assert graph.node_names == ("d", "a", "b", "c")
    assert graph.edge_weights.tolist() == [0.5, 2]
    assert graph.edge_labels == ("x", "y")
    assert options.notes == ["toy.csv: columns not read: id, when"]
    chosen = one("a,b,c\n1,2,3\n1,3,4\n", edges="b,c")
    assert chosen.node_names == (2, 3, 4)


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("name,kind\na,b\nc,d\ne,f\n", "name,kind"),
        ("id,age\n1,20\n2,30\n", "id,age"),
        ("class,text\n0,x\n1,y\n0,z\n", "class,text"),
        ("a,b,c,d\n1,2,3,4\n", "a,b"),
        ("a,b,x\nb,c,y\nc,d,z\n", "a,b"),
        ("ann,red\nbob,blue\nann,blue\nbob,red\n", "ann,red"),
        ("a\nb\n", "FROM,TO"),
        ("1,2,3,4\n5,6,7,8\n", "FROM,TO"),
    ],
)
def test_tables_that_are_no_edge_lists_are_refused(text: str, suggested: str):
    with pytest.raises(DatasetError, match="not an edge list or an adjacency") as caught:
        one(text)
    assert f'read(..., edges="{suggested}")' in str(caught.value)
    assert f"--edges {suggested}" in message(caught.value, command_line=True)


def test_a_table_of_molecules_is_not_one_graph(tmp_path):
    pytest.importorskip("rdkit", reason="reads molecules")
    path = tmp_path / "mols.csv"
    path.write_text("name,structure_smi\nethanol,CCO\nmethane,C\nwater,O\n")
    with pytest.raises(DatasetError) as caught:
        read(path)
    assert 'read(..., smiles="structure_smi")' in str(caught.value)
    graphs = read(path, smiles="structure_smi").graphs
    assert [(graph.name, graph.n_nodes) for graph in graphs] == [
        ("ethanol", 3),
        ("methane", 1),
        ("water", 1),
    ]
    path.write_text("name,smiles,y\nethyne,C#C,1\nbad,C1CC,2\n")
    with pytest.raises(DatasetError, match=r"mols.csv, line 3: 'C1CC' is not a valid SMILES"):
        read(path)
    found = read(path, policies=Policies(invalid_smiles="skip"))
    assert [graph.name for graph in found.graphs] == ["ethyne"]
    assert "line 3" in found.report.skipped[0]
    assert found.report.notes == (f"{path}: columns not read: y",)


@pytest.mark.parametrize("ending", [".txt", ".csv", ".tsv"])
@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("CCO ethanol\nc1ccccc1 benzene\nC#N cyanide\n", "1"),
        ("CCO ethanol\n", "1"),
        ("ethanol CCO\nbenzene c1ccccc1\n", "2"),
        ("CCO -0.77\nc1ccccc1 -3.3\nCC(=O)O 0.1\n", "1"),
        ("CCO active\nCCO active\nCCN active\nCCN active\n", "1"),
        ("CCO CCN\nc1ccccc1 CC(=O)O\n", "1"),
        ("structure class\nCCO active\nCCN active\nCCO inactive\n", "structure"),
        ("CCO\nCCN\nc1ccccc1\n", "1"),
        ("CCO\nCCN\nc1ccccc1\nunknown\nC=C\nC\n", "1"),
    ],
)
def test_smiles_that_nothing_announces_are_not_one_graph(text, fix, ending, tmp_path):
    path = tmp_path / f"mols{ending}"
    path.write_text(text.replace(" ", {".txt": " ", ".csv": ",", ".tsv": "\t"}[ending]))
    with pytest.raises(DatasetError, match="looks like SMILES") as caught:
        read(path)
    assert message(caught.value, command_line=True).endswith(f"or use --smiles {fix}")


@pytest.mark.parametrize("ending", [".txt", ".csv", ".tsv"])
def test_smiles_by_number_and_by_header(ending, tmp_path):
    pytest.importorskip("rdkit", reason="reads molecules")
    path, mark = tmp_path / f"mols{ending}", {".txt": " ", ".csv": ",", ".tsv": "\t"}[ending]
    lines = ["CCO ethanol", "# a comment", "C#N cyanide", "C methane"]
    text = "\n".join(lines).replace(" ", mark)
    path.write_text(text)
    by_number = read(path, smiles="1").graphs
    path.write_text(f"SMILES{mark}name\n{text}")
    by_header = read(path).graphs
    for graphs in (by_number, by_header):
        assert [graph.name for graph in graphs] == ["ethanol", "cyanide", "methane"]
        assert [graph.n_nodes for graph in graphs] == [3, 2, 1]
    path.write_text("CCO 1.5\nCCO 2.5\n".replace(" ", mark))
    assert [graph.name for graph in read(path, smiles="1").graphs] == ["CCO", "CCO"]
    with pytest.raises(DatasetError, match="there is no column '3'"):
        read(path, smiles="3")


@pytest.mark.parametrize(
    "text",
    [
        "C N\nN O\nO C\n",  # elements
        "CCO CCN\nCCN CCC\nCCC CCO\n",  # a network of molecules: names in both columns
        "c1 c2\nc2 c3\nc3 c1\n",  # rings that never close
        "NO FI\nFI IN\nIN NO\n",
    ],
)
def test_names_that_could_be_smiles_are_still_names(text):
    assert one(text, ".txt").n_edges == 3


@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_square_tables_are_adjacency_matrices(ending):
    matrix = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    mark = "," if ending == ".csv" else " "
    rows = [mark.join(map(str, row)) for row in matrix]
    assert one("\n".join(rows), ending).edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert one("\n".join(rows), ending).edge_weights is None
    named = [mark.join("abcd"), *rows]
    assert one("\n".join(named), ending).node_names == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("text", "n_nodes", "n_edges"),
    [
        ("0,1,1\n1,0,0\n1,0,0\n", 3, 2),
        ("0,1\n1,0\n", 2, 1),
        ("1,2\n2,3\n", 3, 2),
        ("0,1,.5\n1,2,.3\n2,0,.4\n", 3, 3),
        ("0,1,5\n1,2,5\n", 3, 2),
    ],
)
def test_small_tables_are_matrices_only_if_they_look_like_one(text, n_nodes, n_edges):
    graph = one(text)
    assert (graph.n_nodes, graph.n_edges) == (n_nodes, n_edges)


def test_a_correlation_matrix_with_its_diagonal_is_an_ordinary_input():
    text = ",x,y,z\nx,1.0,0.5,-0.2\ny,0.5,1.0,0.1\nz,-0.2,0.1,1.0\n"
    with pytest.raises(GraphError) as caught:
        one(text)
    assert caught.value.policy == "negative_weights"
    graph = one(text, policies=Policies(negative_weights="absolute"))
    assert graph.node_names == ("x", "y", "z")
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.edge_weights.tolist() == [0.5, 0.2, 0.1]


def test_files_that_say_what_they_are_are_believed():
    text = b"a b\nc d\ne f\n"
    with pytest.raises(DatasetError, match="not an edge list"):
        convert(text, ".txt", "toy.txt", "toy", Options())
    assert convert(text, ".edges", "toy.edges", "toy", Options())[0].n_edges == 3


def test_tabulators():
    graph = one("source\ttarget\na b\tc\n")
    assert graph.node_names == ("a b", "c")


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ("", {}, "it is empty"),
        ("source,target\na\nb,c,d\n", {}, "line 3: 'b,c,d' does not fit the header"),
        ("source,target,weight\na,b,x\n", {}, "line 2: the weight 'x' is not a finite"),
        ("a,b\n1,2\n", {"edges": "a,c"}, "there is no column 'c'; the first line is 'a', 'b'"),
        ("a,b\n1,2\n", {"edges": "a"}, "edges must name two columns"),
        ("a,b\n1,2\n", {"smiles": "c"}, "there is no column 'c'"),
        ('a,"b\n', {}, "not CSV"),
        ("x,y,source,target\n1,2\n", {}, "line 2: '1,2' does not fit the header"),
    ],
)
def test_damaged_tables(text: str, options, complaint: str):
    with pytest.raises(DatasetError, match=complaint):
        one(text, **options)


def test_columns_by_number_for_tables_without_header():
    text = "1 2 .5\n2 3 2\n3 2 1\n"
    graph = one(text, ".edges", arcs="1,2")
    assert (graph.directed, graph.n_edges, graph.edge_weights.tolist()) == (True, 3, [0.5, 2, 1])
    back = one(text, ".txt", arcs="2,1")
    assert back.edges.tolist() == [[1, 0], [1, 2], [2, 1]]
    wide = one("x,1,2,7\ny,2,3,8\n", edges="2,3", edge_weights="4")
    assert (wide.node_names, wide.edge_weights.tolist()) == ((1, 2, 3), [7, 8])
    with pytest.raises(DatasetError, match="there is no column '5'; the first line is '1', '2'"):
        one(text, ".edges", edges="1,5")


def test_a_mark_inside_a_word_begins_no_comment():
    graph = one("C# C++ # similar\n# all of them\nC# F#\n", ".edges")
    assert graph.node_names == ("C#", "C++", "F#")


@pytest.mark.parametrize("text", ["", "# nothing\n", "\t\n"])
def test_named_columns_of_an_empty_file(text: str):
    with pytest.raises(GraphError, match="it has no nodes"):
        one(text, ".edges", arcs="1,2")


def test_edge_lists_as_networkx_writes_them():
    made = networkx.Graph([("a", "b", {"weight": 2.5, "since": 7}), ("b", "{c}", {"weight": 1})])
    options = Options()
    text = "\n".join(networkx.generate_edgelist(made)).encode()
    (graph,) = convert(text, ".edges", "toy.edgelist", "toy", options)
    assert (graph.node_names, graph.edge_weights.tolist()) == (("a", "b", "{c}"), [2.5, 1])
    assert options.notes == ["toy.edgelist: of what stands in braces only the weight is read"]
    bare = "\n".join(networkx.generate_edgelist(networkx.path_graph(3), delimiter=","))
    assert one(bare, ".txt").edges.tolist() == [[0, 1], [1, 2]]


def test_edge_lists_as_gephi_writes_them():
    graph = one("Source,Target,Type,Id,Label,Weight\n0,1,Undirected,0,,2\n1,2,Undirected,1,,1\n")
    assert (graph.edge_labels, graph.edge_weights.tolist()) == (None, [2, 1])


def test_rows_with_names_that_pandas_writes_as_parquet():
    pandas = pytest.importorskip("pandas", reason="writes .parquet")
    pytest.importorskip("pyarrow", reason="reads .parquet")
    stream = io.BytesIO()
    pandas.DataFrame([[1, 0.5], [0.5, 1]], ["x", "y"], ["x", "y"]).to_parquet(stream)
    (graph,) = convert(stream.getvalue(), ".parquet", "toy.parquet", "toy", Options())
    assert (graph.node_names, graph.edge_weights.tolist()) == (("x", "y"), [0.5])


def test_parquet_edge_lists():
    pyarrow = pytest.importorskip("pyarrow", reason="reads .parquet")
    from pyarrow import parquet

    stream = io.BytesIO()
    table = {"source": [1, 2], "target": [2, 3], "weight": [0.5, 1.5]}
    parquet.write_table(pyarrow.table(table), stream)
    (graph,) = convert(stream.getvalue(), ".parquet", "toy.parquet", "toy", Options())
    assert (graph.node_names, graph.edge_weights.tolist()) == ((1, 2, 3), [0.5, 1.5])
    for data in (b"", b"PAR1", stream.getvalue()[:-30], b"PAR1" + b"\0" * 40 + b"PAR1"):
        with pytest.raises(DatasetError, match=r"toy.parquet"):
            convert(data, ".parquet", "toy.parquet", "toy", Options())


def test_further_columns_of_parquet_are_no_weights():
    pyarrow = pytest.importorskip("pyarrow", reason="reads .parquet")
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({"u": [1, 2], "v": [2, 3], "when": [5, 6]}), stream)
    options = Options()
    (graph,) = convert(stream.getvalue(), ".parquet", "toy.parquet", "toy", options)
    assert graph.edge_weights is None
    assert options.notes == ["toy.parquet: columns not read: when"]


def test_directed_edge_lists():
    text = "tail,head\na,b\nb,a\nb,c\n"
    assert one(text).directed
    assert one(text).edges.tolist() == [[0, 1], [1, 0], [1, 2]]
    chosen = one("from,to\na,b\nb,a\n", arcs="from,to")
    assert (chosen.directed, chosen.n_edges) == (True, 2)
    assert not one("from,to\na,b\n").directed
    joined = one(text, policies=Policies(directed="undirected"))
    assert (joined.directed, joined.n_edges) == (False, 2)
