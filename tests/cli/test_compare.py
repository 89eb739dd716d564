import csv

import pytest
import typer
from typer.testing import CliRunner

from ddgk.cli import compare, explore, search
from ddgk.cli.failures import Commands


@pytest.fixture
def app():
    """The three commands."""
    made = typer.Typer(cls=Commands)
    made.command()(compare.compare)
    made.command()(explore.explore)
    made.add_typer(search.search, name="search")
    return made


@pytest.fixture
def do(app):
    """Run a command and return what it printed."""

    def invoke(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == code, (result.output, result.exception)
        return result.output

    return invoke


def test_from_a_folder_to_tables_in_one_command(do, rings):
    said = do("compare", rings, "-o", "found")
    assert "4 graphs" in said
    assert "clusters" in said
    with open("found/neighbors.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 1 + 4 * 3
    assert "exists" in do("compare", rings, "-o", "found", code=1)
    assert do("compare", rings, "-o", "found", "--force", "-q") == ""
    assert "is a file" in do("compare", rings, "-o", "found/report.txt", code=1)


def test_build_and_query_an_index(do, rings, folder):
    assert "4 graphs" in do("search", "build", rings, "-o", "lib.index")
    assert "exists" in do("search", "build", rings, "-o", "lib.index", code=1)
    said = do("search", "query", "lib.index", "rings/ring-6.edges", "-k", "2", "-o", "hits.csv")
    assert "ring-6" in said
    with open("hits.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[1][:4] == ["1", "2", "ring-6", "0.0"] or rows[1][2].startswith("ring-6")
    assert "shared part 100%" in do(
        "search", "query", "lib.index", "rings/ring-6.edges", "-k", "1", "--rerank", "2"
    )
    (folder / "bad.index").write_bytes(b"DDGKIDX1" + b"\0" * 100)
    assert "damaged" in do("search", "query", "bad.index", "rings/ring-6.edges", code=1)


def test_explore_writes_one_page(do, rings, folder):
    said = do("explore", rings, "-o", "map.html", "--projection", "pca", "--aligned", "1")
    assert "4 graphs" in said
    page = (folder / "map.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page


def test_explore_needs_somewhere_to_go(do, rings):
    do("explore", rings, code=2)
    said = do("explore", rings, "--serve", "--host", "0.0.0.0", code=1)
    assert "needs a token" in said
