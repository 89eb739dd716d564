import base64
import csv
import gzip
import json
import re
import sys

import pytest

QUICK = ("--set", "encoder_epochs=3")


@pytest.fixture
def model(run, rings):
    """A model that `ddgk embed` saved."""
    run("embed", rings, "-o", "x.npy", "--save-model", "rings.ddgk", *QUICK, "-q")
    return "rings.ddgk"


def rows(name):
    with open(name, newline="") as file:
        return list(csv.reader(file))


def test_from_a_folder_to_tables_in_one_command(run, fails, rings, model):
    result = run("compare", rings, "-o", "found", "--model", model, "--neighbors", 2)
    assert "4 graphs" in result.stdout
    assert "clusters" in result.stdout
    assert len(rows("found/neighbors.csv")) == 1 + 4 * 2
    assert "exists" in fails("compare", rings, "-o", "found")
    again = run("compare", rings, "-o", "found", "--force", "-q", "--model", model)
    assert again.output == ""
    assert "is a file" in fails("compare", rings, "-o", "found/report.txt")


def test_without_a_model_one_is_fitted(run, fails, rings):
    assert "2 clusters, as asked" in run("compare", rings, "--clusters", 2).stdout
    assert "at least 2 graphs" in fails("compare", f"{rings}:0")
    assert "--clusters" in fails("compare", rings, "--clusters", 9)


def test_options_for_input_arrive(run, fails, folder):
    (folder / "graphs").mkdir()
    for n in (3, 4):
        text = "".join(f"{i} {i + 1}\n" for i in range(n)) + "0 1\n"
        (folder / "graphs" / f"{n}.edges").write_text(text)
    assert "--parallel-edges merge" in fails("compare", "graphs")
    run("compare", "graphs", "--parallel-edges", "merge")


def test_build_and_query_an_index(run, fails, rings, folder, model):
    words = ("search", "build", rings, "-o", "lib.index", "--model", model)
    assert "4 graphs" in run(*words).stdout
    assert "exists" in fails(*words)
    query = ("search", "query", "lib.index", "rings/ring-6.edges")
    assert "ring-6" in run(*query, "-k", 2, "-o", "hits.csv").stdout
    assert rows("hits.csv")[1][2] == "ring-6"
    assert "shared part 100%" in run(*query, "-k", 1, "--rerank", 2).stdout
    (folder / "bad.index").write_bytes(b"DDGKIDX1" + b"\0" * 100)
    assert "damaged" in fails("search", "query", "bad.index", "rings/ring-6.edges")


def test_explore_writes_one_page(run, rings, folder, model):
    words = ("-o", "map.html", "--projection", "pca", "--aligned", 1, "--model", model)
    assert "4 graphs" in run("explore", rings, *words).stdout
    page = (folder / "map.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page


def test_explore_colours_by_a_table(run, fails, rings, folder, model):
    words = ("-o", "map.html", "--projection", "pca", "--aligned", 0, "--model", model)
    (folder / "values.csv").write_text("mass,kind,comment\n1,a,x\n2,b,\n,a,y\n4.5,b,z\n")
    run("explore", rings, *words, "--values", "values.csv")
    (held,) = re.findall(r'id="data">([^<]*)<', (folder / "map.html").read_text())
    columns = json.loads(gzip.decompress(base64.b64decode(held)))["columns"]
    found = {column["name"]: column for column in columns}
    assert found["mass"]["values"] == [1.0, 2.0, None, 4.5]
    assert found["kind"]["labels"] == ["a", "b"]
    (folder / "values.csv").write_text("mass\n1\n")
    said = fails("explore", rings, *words, "--values", "values.csv", "--force")
    assert "needs 4 rows" in said


def test_explore_needs_somewhere_to_go(fails, rings):
    assert "-o map.html, or pass --serve" in fails("explore", rings, code=2)
    assert "must be one of auto, umap, pca" in fails("explore", rings, "--projection", "x", code=2)
    pytest.importorskip("starlette", reason="the server needs starlette (extra explore)")
    said = fails("explore", rings, "--serve", "--host", "0.0.0.0")
    assert "needs a token" in said


def test_a_missing_server_is_said_before_the_work(fails, rings, monkeypatch):
    monkeypatch.delitem(sys.modules, "ddgk.explorer.server", raising=False)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    assert "pip install 'ddgk[explore]'" in fails("explore", rings, "--serve")
