from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import DatasetError, DDGKError, GraphError
from ddgk.graphs import Graph, Policies, to_networkx
from ddgk.io.files import READERS, convert
from ddgk.io.reading import Options


def read(suffix: str, text: str | bytes, **options: Any) -> list[Graph]:
    data = text.encode() if isinstance(text, str) else text
    return convert(data, suffix, f"toy{suffix}", "toy", Options(**options))


def molecule() -> networkx.Graph:
    graph = Graph(
        3,
        [(0, 1), (1, 2)],
        node_labels=["C", "O", "C"],
        edge_labels=["single", "double"],
        edge_weights=[0.5, 0.25],
        node_names=["x", "y", "z"],
    )
    return to_networkx(graph)


KEEP = Policies()
EASY = Policies(missing="mask", empty="skip", invalid_smiles="skip")


def test_graphml_comes_back():
    text = "\n".join(networkx.generate_graphml(molecule()))
    (graph,) = read(".graphml", text, policies=KEEP)
    assert graph.name == "toy"
    assert graph.node_names == ("x", "y", "z")
    assert graph.node_labels == ("C", "O", "C")
    assert graph.edge_labels == ("single", "double")
    assert graph.edge_weights.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("key", ["links", "edges"])
def test_node_link_comes_back(key: str):
    made = molecule()
    content = {
        "directed": False,
        "graph": {},
        "nodes": [{"id": node, **data} for node, data in made.nodes(data=True)],
        key: [{"source": u, "target": v, **data} for u, v, data in made.edges(data=True)],
    }
    (graph,) = read(".json", json.dumps(content), policies=KEEP)
    assert graph.node_labels == ("C", "O", "C")
    assert graph.edge_labels == ("single", "double")
    content["graph"] = {"name": "mine"}
    graphs = read(
        ".json", json.dumps([content, {"nodes": [{"id": [1, 2]}], key: []}]), policies=KEEP
    )
    assert [graph.name for graph in graphs] == ["mine", "toy-1"]
    assert graphs[1].node_names == ((1, 2),)


def test_gml_comes_back_with_labels_as_names():
    text = "\n".join(networkx.generate_gml(molecule()))
    (graph,) = read(".gml", text, policies=KEEP)
    assert graph.node_names == ("x", "y", "z")
    assert graph.node_labels is None
    assert graph.edge_labels == ("single", "double")


def test_gml_without_labels_has_ids_as_names():
    (graph,) = read(".gml", "graph [ node [ id 5 ] node [ id 7 ] edge [ source 5 target 7 ] ]")
    assert graph.node_names == (5, 7)


def test_gml_labels_that_cannot_be_names():
    twice = 'graph [ node [ id 0 label "C" kind "C" ] node [ id 1 label "C" kind "C" ] ]'
    with pytest.raises(DatasetError, match=r"toy.gml: the label 'C' names 2 nodes"):
        read(".gml", twice)
    with pytest.raises(DatasetError, match="node 0 needs a text or a number"):
        read(".gml", "graph [ node [ id 0 label [ a 1 ] ] ]")


@pytest.mark.parametrize(
    "text", ["", "graph", "graph 3", "graph [ node 5 ]", "graph [ " * 50_000, "\x01", "graph [ }"]
)
def test_hostile_gml(text: str):
    with pytest.raises(DatasetError, match=r"toy.gml: not GML .*write_gml"):
        read(".gml", text)


GRAPHML = "<graphml xmlns='http://graphml.graphdrawing.org/xmlns'><graph edgedefault='undirected'>"
LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<graphml><graph edgedefault="undirected"><node id="&b;"/></graph></graphml>"""
FOREIGN = LAUGHS.replace('"lol"', 'SYSTEM "file:///etc/passwd"')


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("text", [LAUGHS, FOREIGN])
def test_entities_are_refused_before_they_unfold(text: str, encoding: str):
    with pytest.raises(DatasetError, match=r"toy.graphml: (refused, it has a DOCTYPE|not XML)"):
        read(".graphml", text.encode(encoding))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not XML"),
        ("<graphml>", "not XML"),
        ('<?xml version="1.0" encoding="nonsense"?><graphml/>', "not XML"),
        ("<graphml/>", "0 graphs in one file"),
        ("<graphml><graph/><graph/></graphml>", "2 graphs in one file"),
        (f"{GRAPHML}<node id='a'><data key='k'/></node></graph></graphml>", "not GraphML"),
        (f"{GRAPHML}<node/><node/></graph></graphml>", "2 nodes make 1"),
        (f"{GRAPHML}<node id='a'/><node id='a'/></graph></graphml>", "2 nodes make 1"),
        (f"{GRAPHML}<node id='a'/><edge source='a' target='b'/></graph></graphml>", "1 nodes make"),
    ],
)
def test_damaged_graphml(text: str, message: str):
    with pytest.raises(DatasetError, match=rf"toy.graphml: {message}"):
        read(".graphml", text)


def test_directed_graphml_follows_the_policy():
    text = "\n".join(networkx.generate_graphml(networkx.DiGraph([("a", "b"), ("b", "a")])))
    assert read(".graphml", text)[0].directed
    with pytest.raises(GraphError, match=r"toy.graphml: graph 'toy': it is directed"):
        read(".graphml", text, policies=Policies(directed="error"))
    assert read(".graphml", text, policies=Policies(directed="undirected"))[0].n_edges == 1


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".edges", "a b .5\nb c .25\n"),
        (".csv", "source,target,weight\na,b,0.5\nb, c ,0.25"),
        (".txt", "# a comment\n\na\tb\t0.5 # another\nb  c  2.5e-1\n"),
        (".edgelist", "\ufeffb c .25\r\na b .5\r\n"),
    ],
)
def test_lists_of_edges(suffix: str, text: str):
    (graph,) = read(suffix, text, policies=KEEP)
    assert graph.node_names == ("a", "b", "c")
    assert graph.edge_weights.tolist() == [0.5, 0.25]
    (graph,) = read(suffix, text, edge_weights=None)
    assert graph.edge_weights is None
    (graph,) = read(suffix, text, policies=Policies(weights="ignore"))
    assert graph.edge_weights is None


def test_names_are_integers_only_when_all_are():
    assert read(".edges", "10 9\n9 -1\n0")[0].node_names == (0, -1, 9, 10)
    assert read(".edges", "10 9\n9 09\n")[0].node_names == ("09", "10", "9")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\nc d e f\n", "line 2: 'c,d,e,f' is not two names"),
        ("a b\nc d 1\n", "line 2: 'c,d,1' is not two names as in other lines"),
        ("a b 1\nc d\n", "line 2: 'c,d' is not two names and a weight as in other lines"),
        ("a b x\n", "line 1: the weight 'x' is not a finite number"),
        ("a b nan\n", "line 1: the weight 'nan' is not a finite number"),
        ("a,\n", "line 1: 'a,' is not two names"),
        (b"a b\n\xff c\n", "line 2: not UTF-8"),
    ],
)
def test_damaged_lists_of_edges(text: str | bytes, message: str):
    with pytest.raises(DatasetError, match=f"toy.edges, {message}"):
        read(".edges", text)


def test_loops_and_repeats_follow_the_policies():
    assert read(".edges", "a a\n")[0].edges.tolist() == [[0, 0]]
    with pytest.raises(GraphError, match=r"toy.edges: .*more than once"):
        read(".edges", "a b\nb a\n")
    merge = Policies(parallel_edges="merge", self_loops="drop")
    assert read(".edges", "a b\nb a\na a\n", policies=merge)[0].n_edges == 1
    with pytest.raises(GraphError, match="no nodes"):
        read(".edges", "# nothing\n")


NODES = '"nodes": [{"id": 0}, {"id": 1}]'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 1_000_000, "not JSON that can be read"),
        ('{"a":' * 1_000_000, "not JSON that can be read"),
        ("", "not JSON"),
        ("9" * 10_000, "not JSON"),
        ("Infinity", "needs a graph"),
        ("3", "needs a graph"),
        ("[]", "needs a graph"),
        ("[3]", 'graph 0: needs "nodes"'),
        ("{}", 'needs "nodes"'),
        ('{"nodes": 3}', 'needs "nodes"'),
        ('{"nodes": [3]}', 'needs "nodes"'),
        ("{" + NODES + "}", 'needs "links"'),
        ('{"nodes": [{"id": 0}, {"id": 0}], "links": []}', "node 1: the id 0 is taken"),
        ('{"nodes": [{"id": {}}], "links": []}', 'node 0: needs "id"'),
        ('{"nodes": [{}], "links": []}', 'node 0: needs "id"'),
        ('{"links": [{"source": 0}], ' + NODES + "}", 'link 0: needs "target"'),
        ('{"links": [{"source": 0, "target": 7}], ' + NODES + "}", "link 0: there is no node 7"),
    ],
)
def test_damaged_json(text: str, message: str):
    with pytest.raises(DatasetError, match=rf"toy.json.*{message}"):
        read(".json", text)


def test_missing_attributes_in_json_follow_the_policy():
    nodes = '"nodes": [{"id": 0, "attributes": [1.0, NaN]}, {"id": 1, "attributes": [2, 3]}]'
    text = "{" + nodes + ', "links": []}'
    with pytest.raises(GraphError, match=r'attribute 1 of node 0 is missing.*missing="mask"'):
        read(".json", text)
    assert read(".json", text, policies=Policies(missing="mask"))[0].has_missing


def test_repeated_links_are_not_merged_silently():
    links = '"links": [{"source": 0, "target": 1}, {"source": 1, "target": 0}]'
    text = "{" + NODES + ", " + links + "}"
    with pytest.raises(GraphError, match="more than once"):
        read(".json", text)


def saved(save: Callable[..., None], array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    save(stream, array)
    return stream.getvalue()


VALID: dict[str, str | bytes] = {
    ".gml": "\n".join(networkx.generate_gml(molecule())),
    ".graphml": "\n".join(networkx.generate_graphml(molecule())),
    ".json": '{"graph": {"name": "x"}, "links": [{"source": 0, "target": 1}], ' + NODES + "}",
    ".edges": "a b 0.5\nb c 0.25\n# end\n",
    ".csv": ",x,y\nx,0,1\ny,1,0\n",
    ".tsv": "source\ttarget\na\tb\n",
    ".net": '*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1 2 0.5\n',
    ".g6": networkx.to_graph6_bytes(networkx.petersen_graph()),
    ".gexf": "\n".join(networkx.generate_gexf(networkx.path_graph(2))),
    ".mtx": "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 0.5\n",
    ".npy": saved(np.save, np.eye(2)),
    ".npz": saved(np.savez, np.eye(2)),
    ".smi": "CCO ethanol\nc1ccccc1\n",
}


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150, deadline=None)
@given(
    suffix=st.sampled_from(sorted(READERS)),
    data=st.data(),
    policies=st.sampled_from([KEEP, Policies("undirected", "drop", "merge", "ignore"), EASY]),
)
def test_any_bytes_give_graphs_or_one_of_our_errors(
    suffix: str, data: st.DataObject, policies: Policies
):
    valid = VALID.get(suffix, VALID[".edges"])
    valid = valid.encode() if isinstance(valid, str) else valid
    start = data.draw(st.integers(0, len(valid)))
    end = data.draw(st.integers(start, min(len(valid), start + 20)))
    middle = data.draw(
        st.binary(max_size=10) | st.text("[]{}<>\"'/ 0a.,-", max_size=6).map(str.encode)
    )
    with contextlib.suppress(DDGKError):
        read(suffix, valid[:start] + middle + valid[end:], policies=policies)
    with contextlib.suppress(DDGKError):
        read(suffix, data.draw(st.binary(max_size=60)), policies=policies)
