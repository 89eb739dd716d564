import base64
import gzip
import html.parser
import json
import re

import numpy as np
import pytest

from ddgk.comparison import compare
from ddgk.errors import ParameterError
from ddgk.explorer import make_atlas, render_page
from ddgk.explorer.atlas import drawing_values, project
from ddgk.graphs import Graph
from ddgk.graphs.display import bond_orders


@pytest.fixture(scope="module")
def page(atlas):
    return render_page(atlas, n_aligned=1)


def data_of(page):
    (held,) = re.findall(r'id="data">([^<]*)<', page)
    return json.loads(gzip.decompress(base64.b64decode(held)))


class Elements(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_names_make_no_elements(page):
    found = Elements(page).found
    assert [tag for tag, _ in found].count("script") == 2
    assert not any(tag == "img" for tag, _ in found)
    assert not any(key.startswith("on") for _, attributes in found for key in attributes)


def test_nothing_is_fetched(page):
    for tag, attributes in Elements(page).found:
        assert "src" not in attributes, tag
        assert attributes.get("href", "data:,").startswith(("data:", "#")), tag
    (policy,) = [a["content"] for t, a in Elements(page).found if "http-equiv" in a]
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_page_holds_everything(atlas, page):
    data = data_of(page)
    assert len(data["names"]) == len(data["graphs"]) == 14
    assert [column["name"] for column in data["columns"]][:3] == ["class", "cluster", "=mass"]
    assert data["neighbors"] == atlas.comparison.neighbors.tolist()
    for key, match in data["matches"].items():
        first, second = map(int, key.split("-"))
        assert first < second
        assert len(match["p"]) == data["graphs"][first]["n"]
        assert max(match["p"]) < data["graphs"][second]["n"]
    nearest = {tuple(sorted((i, row[0]))) for i, row in enumerate(data["neighbors"])}
    assert {tuple(map(int, key.split("-"))) for key in data["matches"]} == nearest


def test_the_same_graphs_give_the_same_page(atlas, page):
    assert render_page(atlas, n_aligned=1) == page


def test_molecules_are_recognised():
    carbonyl = Graph(2, [(0, 1)], node_labels=["C", "O"], edge_labels=[2])
    assert bond_orders(carbonyl) == [2]
    assert drawing_values(carbonyl)["o"] == [2]
    charged = Graph(2, [(0, 1)], node_labels=["N+", "O-"], edge_labels=["-"])
    assert drawing_values(charged)["o"] == [1]
    other = Graph(2, [(0, 1)], node_labels=["C", "Q"], edge_labels=[2])
    assert drawing_values(other)["b"] == ["2"]


def test_large_graphs_are_not_drawn():
    assert drawing_values(Graph(2000, [(0, 1)])) == {"n": 2000, "m": 1}


def test_a_new_graph_is_placed_between_its_neighbours():
    rows = np.random.default_rng(0).normal(size=(30, 4))
    where = make_atlas(compare([Graph(2, [(0, 1)])] * 30, embedding=rows), projection="pca")
    assert where.places.min() >= 0
    assert where.places.max() <= 1
    same = [{"position": 3, "distance": 0.0}, {"position": 4, "distance": 1.0}]
    np.testing.assert_allclose(where.place(same), where.places[3])
    halfway = [{"position": 3, "distance": 0.5}, {"position": 4, "distance": 0.5}]
    np.testing.assert_allclose(where.place(halfway), where.places[3:5].mean(axis=0))


def test_umap_is_repeatable():
    pytest.importorskip("umap", reason="the map needs umap-learn (extra explore)")
    rows = np.random.default_rng(0).normal(size=(40, 4))
    one, two = (project(rows, method="umap") for _ in range(2))
    assert one[0] == "UMAP"
    np.testing.assert_array_equal(one[1], two[1])


def test_refusals():
    found = compare([Graph(2, [(0, 1)]), Graph(3, [])], embedding=np.eye(2))
    with pytest.raises(ParameterError, match="one of 'auto', 'umap', 'pca'"):
        make_atlas(found, projection="sphere")
    with pytest.raises(ParameterError, match="2 graphs need as many values of 'mass'"):
        make_atlas(found, attributes={"mass": [1]})
