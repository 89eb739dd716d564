"""Graph files of every format: a valid data set, or a refusal that names the file."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import DatasetError, GraphError
from ddgk.graphs import Graph, Policies
from ddgk.io import read
from hostility import json_values, judged, little_memory, spliced

LENIENT = Policies(
    directed="undirected",
    self_loops="drop",
    parallel_edges="merge",
    negative_weights="absolute",
    missing="mask",
    empty="keep",
)

GML = """graph [ multigraph 1
 node [ id 1 label "a" kind "C" ]
 node [ id 2 label "b" kind "O" ]
 edge [ source 1 target 2 weight 0.5 label "s" ]
 edge [ source 2 target 1 weight 1 label "s" key 1 ]
]"""
GRAPHML = "\n".join(
    networkx.generate_graphml(
        networkx.MultiGraph([(0, 1, {"weight": 0.5}), (0, 1, {"weight": 1.0}), (1, 2, {})])
    )
)
EDGES = "source,target,weight\n0,1,.5\n1,2,1\n7\n"


def check(data: str | bytes, suffix: str, *, lenient: bool) -> None:
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"toy{suffix}")
        path.write_bytes(raw)
        found = judged(lambda p: read(p, policies=LENIENT if lenient else None), path)
    for graph in [] if found is None else found.graphs:
        assert isinstance(graph, Graph)
        assert graph.replace() == graph
        "".join(map(str, graph.node_names)).encode()


@given(text=spliced(GML, "multigraph", "directed 1", "node [ id 1 ]", "[" * 990), lenient=...)
@settings(max_examples=150)
def test_any_gml(text: str, lenient: bool):
    check(text, ".gml", lenient=lenient)


@given(
    text=spliced(GRAPHML, "<port/>", "<hyperedge/>", "<!DOCTYPE x>", "<node>" * 990), lenient=...
)
@settings(max_examples=150)
def test_any_graphml(text: str, lenient: bool):
    check(text, ".graphml", lenient=lenient)


@given(text=spliced(EDGES, "a b c d", "0 0", "# x"), lenient=...)
@settings(max_examples=150)
def test_any_edge_list(text: str, lenient: bool):
    check(text, ".csv", lenient=lenient)


@given(
    nodes=st.lists(
        st.fixed_dictionaries(
            {"id": st.integers(0, 3) | json_values},
            optional={"label": json_values, "attributes": json_values},
        ),
        max_size=4,
    ),
    links=st.lists(
        st.fixed_dictionaries(
            {"source": st.integers(0, 3) | json_values, "target": st.integers(0, 3)},
            optional={"label": json_values, "weight": json_values},
        ),
        max_size=4,
    ),
    rest=st.dictionaries(st.sampled_from(["directed", "graph", "edges"]), json_values),
    as_list=...,
    lenient=...,
)
@settings(max_examples=200)
def test_any_node_link(nodes, links, rest, as_list: bool, lenient: bool):
    content = {"nodes": nodes, "links": links, **rest}
    check(json.dumps([content] if as_list else content), ".json", lenient=lenient)


@given(data=st.binary(max_size=60), suffix=st.sampled_from([".gml", ".json", ".txt", ".graphml"]))
@settings(max_examples=150)
def test_any_bytes(data: bytes, suffix: str):
    check(data, suffix, lenient=True)


@pytest.mark.parametrize("suffix", [".gml", ".graphml", ".json", ".edges"])
@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_not_read_as_other_names(suffix: str, coding: str, tmp_path: Path):
    """XML says itself how it is encoded; of the rest only UTF-8 is read, also without a mark."""
    text = {".gml": GML, ".graphml": GRAPHML, ".json": '{"nodes": []}', ".edges": EDGES}[suffix]
    path = tmp_path / f"toy{suffix}"
    path.write_bytes(text.encode(coding))
    assert judged(lambda p: read(p, policies=LENIENT), path) is None


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.gml", "graph [ ]", "it has no nodes"),
        ("h.graphml", "<a>" * 200_000, "over 100 elements inside each other"),
        ("b.gml", 'graph [ node [ id 0 label "&#xD800;" ] ]', "half of a character"),
        ("c.json", '{"nodes": [{"id": "\\ud800"}], "links": []}', "half of a character"),
        ("d.json", '{"nodes": [{"id": 0, "id": 1}], "links": []}', "an object has 'id' twice"),
        ("e.json", '{"nodes": [{"id": 0}], "nodes": [], "links": []}', "'nodes' twice"),
        (
            "f.json",
            '{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 0, "weight": 1%s}]}'
            % ("0" * 400),
            "edge weights must be numbers",
        ),
        (
            "g.json",
            '{"nodes": [{"id": 0, "label": %s}], "links": []}' % ("[" * 700 + "]" * 700),
            "is not hashable",
        ),
    ],
)
def test_what_used_to_escape(name: str, text: str, complaint: str, tmp_path: Path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises((DatasetError, GraphError), match=complaint) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("depth", [50, 500, *range(900, 1000, 5), 10_000])
@pytest.mark.parametrize("brackets", ["[]", ("{", "}")])
def test_nesting_of_any_depth(depth: int, brackets, tmp_path: Path):
    """Whatever gives up first, the parser or the printing of a message, it is a refusal."""
    opening, closing = ("[", "]") if brackets == "[]" else ('{"a":', "}")
    deep = opening * depth + "0" + closing * depth
    for key in ("label", "attributes", "id"):
        node = f'{{"id": 0, "{key}x": 1, "{key}": {deep}}}'.replace('"id": 0, ', "", key == "id")
        path = tmp_path / f"{key}.json"
        path.write_text(f'{{"nodes": [{node}], "links": []}}')
        assert judged(read, path) is None


def test_digits_of_other_alphabets_are_names_of_their_own(tmp_path: Path):
    path = tmp_path / "toy.edges"
    path.write_text("1٢ 3\n12 3\n", encoding="utf-8")
    assert read(path).graphs[0].node_names == ("12", "1٢", "3")


@pytest.mark.parametrize("name", ["toy.csv", "toy.net"])
def test_a_long_number_that_is_none_takes_no_long_time(name: str, tmp_path: Path):
    head = "*Vertices 2\n*Edges\n1 2 " if name.endswith("net") else "0,1,0\n1,0,0\n0,0,"
    (tmp_path / name).write_text(head + "1" * 300_000 + "x\n")
    started = time.process_time()
    assert judged(read, tmp_path / name) is None
    assert time.process_time() - started < 5


def test_graphml_without_types_is_text_and_says_nothing(tmp_path: Path):
    path = tmp_path / "toy.graphml"
    path.write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="node" '
        'attr.name="label"/><graph edgedefault="undirected"><node id="a"><data key="d0">1</data>'
        "</node></graph></graphml>"
    )
    assert read(path).graphs[0].node_labels == ("1",)


def test_graphml_that_networkx_would_read_in_part_is_refused(tmp_path: Path):
    path = tmp_path / "toy.graphml"
    port = GRAPHML.replace('<node id="0" />', '<node id="0"><port name="p" /></node>')
    assert port != GRAPHML
    path.write_text(port)
    with pytest.raises(DatasetError, match="port tag not supported"):
        read(path)
    path.write_text(GRAPHML.replace('target="1" id="1"', 'target="1" id="0"'))
    with pytest.raises(DatasetError, match="3 edges make 2"):
        read(path, policies=LENIENT)


def test_text_among_numbers_takes_no_more_room_than_itself(tmp_path: Path):
    links = [
        {"source": 0, "target": i, "weight": "x" * (50_000 if i == 1 else 1)} for i in range(1, 800)
    ]
    content = {"nodes": [{"id": i} for i in range(800)], "links": links}
    (tmp_path / "toy.json").write_text(json.dumps(content))
    with little_memory(), pytest.raises(GraphError, match="must be numbers"):
        read(tmp_path / "toy.json")


def test_keys_of_parallel_edges_cannot_make_networkx_search(tmp_path: Path):
    """5,000 keys taken and 5,000 to find took 25 million steps; ten thousand are enough."""
    kept = "".join(f"edge [ source 1 target 2 key {5000 + i} ]\n" for i in range(5000))
    free = "edge [ source 1 target 2 ]\n" * 5000
    text = f'graph [ multigraph 1 node [ id 1 key "x" ] node [ id 2 key "y" ]\n{kept}{free}]'
    (tmp_path / "toy.gml").write_text(text)
    calls = 0
    found = networkx.MultiGraph.new_edge_key

    def counted(self, u, v):
        nonlocal calls
        calls += 1
        key = found(self, u, v)
        assert key == (len(self._adj[u][v]) if v in self._adj[u] else 0), "nothing was searched"
        return key

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networkx.MultiGraph, "new_edge_key", counted)
        (graph,) = read(tmp_path / "toy.gml", policies=LENIENT, node_labels="key").graphs
    assert calls == 10_000
    assert graph.n_edges == 1
    assert graph.node_labels == ("x", "y")


def test_graphml_with_thousands_of_parallel_edges_is_refused(tmp_path: Path):
    edges = '<edge source="a" target="b" />' * 1001
    (tmp_path / "toy.graphml").write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
        f'<node id="a" /><node id="b" />{edges}</graph></graphml>'
    )
    with pytest.raises(DatasetError, match="over 1000 edges join the same two nodes"):
        read(tmp_path / "toy.graphml", policies=LENIENT)


@pytest.mark.parametrize("text", ["\x1b]0;pwned\x07", "\u202eevil", "a\nb", "\x9b31m", "x" * 10**6])
@pytest.mark.parametrize("key", ["id", "label", "weight"])
def test_no_message_sends_what_is_in_a_file_to_the_terminal(text: str, key: str, tmp_path: Path):
    nodes = [{"id": text if key == "id" else 0, "label": [text]}, {"id": 1, "label": [text]}]
    links = [{"source": nodes[0]["id"], "target": 1, "weight": text}] * 2
    (tmp_path / "toy.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    with pytest.raises((DatasetError, GraphError)) as caught:
        read(tmp_path / "toy.json", node_labels="label" if key == "label" else None)
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) < 3000
