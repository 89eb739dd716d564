import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from ddgk import vectors
from ddgk.errors import IndexFileError, ParameterError
from ddgk.graphs import Graph
from ddgk.search import KIND, GraphIndex
from ddgk.similarity import match_lines
from ddgk.store.sealed import map_sealed, save_sealed
from light_model import WIDTH, DegreeCounts, rings_and_stars

MODEL = DegreeCounts()


@pytest.fixture
def index():
    return GraphIndex.build(MODEL, rings_and_stars())


@pytest.fixture(params=["exact", "approximate"])
def random_index(request, monkeypatch):
    """400 random vectors, searched in either way."""
    if request.param == "approximate":
        pytest.importorskip("usearch", reason="the approximate index needs usearch (extra search)")
        monkeypatch.setattr(vectors, "MAX_EXACT", 100)
    rows = np.random.default_rng(0).normal(size=(400, WIDTH)).astype(np.float32)
    graphs = [Graph(2, [(0, 1)])] * 400
    found = GraphIndex.build(MODEL, graphs, names=[str(i) for i in range(400)], embedding=rows)
    assert request.param in repr(found)
    return found, rows


def test_the_nearest_is_the_graph_itself(index):
    for graph in rings_and_stars():
        hit, *others = index.query(graph, k=3)
        assert (hit.name, hit.distance, hit.graph) == (graph.name, 0.0, graph)
        assert [h.distance for h in others] == sorted(h.distance for h in others)


def test_queries_agree_with_brute_force(random_index):
    index, rows = random_index
    for query in np.random.default_rng(1).normal(size=(30, WIDTH)).astype(np.float32):
        apart = np.linalg.norm(rows.astype(float) - query, axis=1)
        hits = index.query_vector(query, 10)
        assert [hit.id for hit in hits] == np.argsort(apart)[:10].tolist()
        np.testing.assert_allclose([hit.distance for hit in hits], np.sort(apart)[:10])


def test_add_remove_and_save(random_index, tmp_path):
    index, rows = random_index
    path = tmp_path / "lib.index"
    index.remove(range(0, 400, 2))
    new = index.add([Graph(3, [])], names=["new"], embedding=rows[:1] + 100)
    assert new.tolist() == [400]
    for own in (index, None):
        if own is None:
            index.save(path)
            own = GraphIndex.load(path, model=MODEL)
        assert len(own) == 201
        assert own.query_vector(rows[0] + 100, 1)[0].name == "new"
        assert all(hit.id % 2 == 1 for hit in own.query_vector(rows[4], 20))
        assert own.query_vector(rows[5], 1)[0].id == 5
        assert own.ids[own.names.index("new")] == 400
        with pytest.raises(ParameterError, match="no graph with id 4"):
            own.graph(4)
    own.remove([5])
    assert own.add([Graph(1, [])], embedding=rows[5:6]).tolist() == [401]
    assert own.query_vector(rows[5], 1)[0].id == 401


def test_candidates_by_principal_components_agree_with_brute_force(monkeypatch, tmp_path):
    pytest.importorskip("usearch", reason="the approximate index needs usearch (extra search)")
    monkeypatch.setattr(vectors, "MAX_EXACT", 100)
    monkeypatch.setattr(vectors, "N_SKETCHED", 4)
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(500, WIDTH)).astype(np.float32) * 0.8 ** np.arange(WIDTH)
    index = GraphIndex.build(MODEL, [Graph(2, [(0, 1)])] * 500, embedding=rows)
    index.save(tmp_path / "lib.index")
    for own in (index, GraphIndex.load(tmp_path / "lib.index", model=MODEL)):
        for place in range(0, 500, 50):
            apart = np.linalg.norm(rows - rows[place], axis=1)
            found = [hit.id for hit in own.query_vector(rows[place], 10)]
            assert found == np.argsort(apart)[:10].tolist()


def test_within_is_exact(index):
    ring = rings_and_stars()[2]
    hits = index.within(ring, 2.0)
    every = index.query(ring, k=len(index))
    assert [h.name for h in hits] == [h.name for h in every if h.distance <= 2.0]
    assert index.within(ring, 0.0)[0].name == ring.name
    with pytest.raises(ParameterError):
        index.within(ring, float("nan"))


def test_reranking_says_why(index):
    ring = rings_and_stars()[1]
    hits = index.query(ring, k=3, rerank=3)
    assert hits[0].shared == 1.0
    assert "6 of 6 nodes have a partner among 6" in match_lines(hits[0].alignment)
    assert hits[0].shared >= hits[1].shared
    assert index.query(ring, k=1)[0].alignment is None


def test_without_graphs_there_is_no_reranking(tmp_path):
    index = GraphIndex.build(MODEL, rings_and_stars(), keep_graphs=False)
    index.save(tmp_path / "lib.index")
    opened = GraphIndex.load(tmp_path / "lib.index", model=MODEL)
    assert opened.query(rings_and_stars()[0], k=1)[0].graph is None
    with pytest.raises(ParameterError, match="keep_graphs=True"):
        opened.query(rings_and_stars()[0], rerank=2)


def test_a_saved_index_has_its_model(tmp_path):
    import ddgk

    graphs = rings_and_stars(2)
    model = ddgk.DDGK(n_sources=2, random_state=0).fit(graphs)
    index = GraphIndex.build(model, graphs)
    index.save(tmp_path / "lib.index")
    opened = GraphIndex.load(tmp_path / "lib.index")
    assert [(h.name, h.distance) for h in opened.query(graphs[0])] == [
        (h.name, h.distance) for h in index.query(graphs[0])
    ]
    assert opened.graph(1) == graphs[1]


def test_any_flipped_byte_is_noticed(index, tmp_path):
    path = tmp_path / "lib.index"
    index.save(path)
    content = path.read_bytes()
    for place in np.random.default_rng(0).integers(len(content), size=200).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises(IndexFileError):
            GraphIndex.load(path, model=MODEL)


@pytest.mark.parametrize("size", [0, 7, 16, 40, 300, -1])
def test_a_truncated_file_is_refused(index, tmp_path, size):
    path = tmp_path / "lib.index"
    index.save(path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(IndexFileError, match="build it again"):
        GraphIndex.load(path, model=MODEL)


def test_what_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(FileNotFoundError):
            GraphIndex.load(path)


def test_a_killed_save_leaves_the_file_as_it_was(index, tmp_path):
    path = tmp_path / "lib.index"
    index.save(path)
    before = path.read_bytes()
    code = (
        "import os, signal, sys; sys.path[:0] = sys.argv[2:]\n"
        "from light_model import DegreeCounts\n"
        "from ddgk.search import GraphIndex\n"
        "index = GraphIndex.load(sys.argv[1], model=DegreeCounts())\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "index.save(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", code, str(path), os.path.dirname(__file__), *sys.path]
    ended = subprocess.run(command, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert GraphIndex.load(path, model=MODEL).names == index.names


def test_neighbor_tables_agree(monkeypatch):
    pytest.importorskip("usearch", reason="the approximate index needs usearch (extra search)")
    rows = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    exact = vectors.neighbor_table(rows, 5)
    monkeypatch.setattr(vectors, "MAX_EXACT", 10)
    near = vectors.neighbor_table(rows, 5)
    np.testing.assert_array_equal(exact[0], near[0])
    np.testing.assert_array_equal(exact[1], near[1])


@pytest.mark.parametrize("name", ["ids", "names", "vectors", "graph_ends", "graphs"])
@pytest.mark.parametrize("change", [lambda c: c[:-1], lambda c: [*c, *c], lambda c: c[:0]])
def test_an_array_sealed_with_another_length_is_named(index, tmp_path, name, change):
    path = tmp_path / "forged.ddgk"
    index.save(path)
    arrays, content = map_sealed(KIND, str(path))
    forged = np.asarray(change(arrays[name]), dtype=arrays[name].dtype)
    save_sealed(path, KIND, arrays | {name: forged}, content)
    with pytest.raises(IndexFileError, match=r"forged\.ddgk.*build it again"):
        GraphIndex.load(path, model=MODEL)
