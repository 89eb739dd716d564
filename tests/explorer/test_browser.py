"""The page in a real browser, as a file and served."""

from __future__ import annotations

import csv

import pytest

from ddgk.comparison import compare
from ddgk.explorer import make_atlas
from ddgk.explorer.page import write_page
from ddgk.graphs import Graph
from light_model import DegreeCounts, rings_and_stars

SIZES = ((1280, 800), (390, 844))


@pytest.fixture(scope="module")
def file(atlas, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "map.html"
    write_page(atlas, path, n_aligned=2)
    return path.as_uri()


@pytest.fixture
def watched(browser):
    """Open pages, and check at the end that nothing failed, left the machine or ran a script."""
    pages, seen = [], {"errors": [], "requests": []}

    def open_page(address, width=1280, height=800, **context):
        own = browser.new_context(viewport={"width": width, "height": height}, **context)
        page = own.new_page()
        page.on("pageerror", lambda error: seen["errors"].append(str(error)))
        page.on(
            "console",
            lambda said: seen["errors"].append(said.text) if said.type == "error" else None,
        )
        page.on("request", lambda request: seen["requests"].append(request.url))
        page.on("dialog", lambda dialog: seen["errors"].append(dialog.message))
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        assert page.evaluate("window.hacked") is None
        page.context.close()
    assert seen["errors"] == []
    local = ("file:", "data:", "blob:", "http://127.0.0.1:")
    assert [url for url in seen["requests"] if not url.startswith(local)] == []


def click(page, graph):
    page.mouse.click(*page.evaluate(f"ddgk.locate({graph})"))


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_hover_click_and_align_in_the_file(watched, file, width, height):
    page = watched(file, width, height)
    page.mouse.move(*page.evaluate("ddgk.locate(2)"))
    page.wait_for_selector("#tooltip svg circle")
    assert "ring 7" in page.inner_text("#tooltip")
    click(page, 2)
    page.wait_for_selector(".card svg")
    assert page.inner_text("#panel h2") == "ring 7"
    assert page.locator(".card").count() == 10
    page.click(".card >> nth=0")
    page.wait_for_selector("#pair .link", state="attached")
    assert page.locator("#pair .link").count() >= 5
    text = page.inner_text("#panel")
    assert "edges are kept" in text
    assert "mean confidence" in text
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width


def test_a_pair_that_the_file_does_not_hold_is_explained(watched, file, atlas):
    page = watched(file)
    far = int(set(range(12)).difference(atlas.comparison.neighbors[0].tolist(), [0]).pop())
    click(page, 0)
    page.wait_for_selector(".card svg")
    click(page, far)
    page.wait_for_selector("#pair")
    assert "--serve" in page.inner_text("#panel")


def test_search_by_keyboard(watched, file):
    page = watched(file)
    page.focus("#search")
    page.keyboard.type("star 8")
    assert page.get_attribute("#search", "aria-expanded") == "true"
    page.keyboard.press("Enter")
    page.wait_for_selector(".card svg")
    assert page.inner_text("#panel h2") == "star 8"
    assert "star 8 selected" in page.text_content("#said")


def test_the_map_by_keyboard(watched, file):
    page = watched(file)
    page.focus("#map")
    for key in ("ArrowLeft", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(".card svg")
    name = page.inner_text("#panel h2")
    page.keyboard.press("ArrowRight")
    assert page.text_content("#said") != name
    page.keyboard.press("Escape")
    assert page.inner_text("#panel h2") == "Details"


def test_lasso_table_and_file(watched, file, tmp_path):
    page = watched(file, accept_downloads=True)
    page.click("#lasso")
    box = page.locator("#map").bounding_box()
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98)]
    places = [(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    assert page.inner_text("#panel h2") == "14 graphs selected"
    assert page.locator("tbody tr").count() == 14
    with page.expect_download() as started:
        page.click("#download")
    started.value.save_as(tmp_path / "selection.csv")
    rows = list(csv.reader((tmp_path / "selection.csv").read_text().splitlines()))
    assert len(rows) == 15
    assert "'=mass" in rows[0]
    assert any("onerror" in row[1] for row in rows)


def test_colours_legend_and_theme(watched, file):
    page = watched(file, color_scheme="dark")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.click("#theme")
    assert page.get_attribute("html", "data-theme") == "light"
    assert page.locator("#legend button").count() == 3
    page.click("#legend button >> nth=0")
    page.click("#visible")
    page.wait_for_selector("#download")
    assert page.inner_text("#panel h2") in ("8 graphs selected", "12 graphs selected")
    page.select_option("#colour", label="nodes")
    page.wait_for_selector("#legend .ramp")


def test_points_are_drawn(file, browser):
    page = browser.new_page(viewport={"width": 900, "height": 600})
    page.goto(file)
    page.wait_for_selector("html[data-ready]")
    page.wait_for_timeout(300)
    x, y = page.evaluate("ddgk.locate(0)")
    box = {"x": x - 2, "y": y - 2, "width": 4, "height": 4}
    point = page.screenshot(clip=box)
    paper = page.screenshot(clip={"x": 5, "y": 300, "width": 4, "height": 4})
    page.close()
    assert point != paper


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_served_page_aligns_any_pair_and_places_a_graph(watched, address, width, height):
    page = watched(address, width, height)
    click(page, 0)
    page.wait_for_selector(".card svg")
    click(page, 9)
    page.wait_for_selector("#pair .link", state="attached", timeout=90_000)
    page.click("#panel button:has-text('Clear')")
    page.fill("#graph", "a b\nb c\nc d\nd e\ne a\n")
    page.click("#place")
    page.wait_for_selector(".card svg", timeout=60_000)
    assert page.inner_text("#panel h2") == "your graph"
    assert page.locator(".card >> nth=0").inner_text().startswith("ring 5")
    page.click(".card >> nth=0")
    # A vertical line has no width, and playwright takes what has none for hidden.
    page.wait_for_selector("#pair .link", state="attached", timeout=60_000)
    assert page.locator("#pair .link").count() == 5
    assert page.locator("#pair").is_visible()
    assert "5 of 5 edges are kept" in page.inner_text("#panel")
    page.click("#panel button:has-text('Clear')")
    page.fill("#graph", "CCO")
    page.click("#place")
    page.wait_for_selector("#panel h2:has-text('CCO')", timeout=60_000)


def test_a_malformed_graph_is_refused_in_words(watched, address):
    page = watched(address)
    page.fill("#graph", '{"n_nodes": 2')
    page.click("#place")
    page.wait_for_selector(".wrong:has-text('JSON')")


def test_a_graph_is_shaded_by_what_it_shares(watched, tmp_path):
    import ddgk

    graphs = rings_and_stars(3)
    model = ddgk.DDGK(n_sources=2, random_state=0).fit(graphs)
    write_page(make_atlas(ddgk.compare(graphs, model=model), projection="pca"), tmp_path / "m.html")
    page = watched((tmp_path / "m.html").as_uri())
    click(page, 4)
    page.wait_for_selector("#shares")
    assert page.inner_text("#panel h2") == "star 7"
    shades = page.eval_on_selector_all(
        "#shares circle", "all => all.map(c => +c.getAttribute('fill-opacity'))"
    )
    assert len(shades) == 7
    assert max(shades) == 1
    page.click(".card >> nth=0")
    page.wait_for_selector(".two svg")
    assert "What makes them alike" in page.inner_text("#panel")


def test_arrows_of_directed_graphs(watched, tmp_path):
    graphs = [Graph(n, [(i, i + 1) for i in range(n - 1)], directed=n % 2 > 0) for n in range(3, 9)]
    found = compare(graphs, model=DegreeCounts())
    write_page(make_atlas(found, projection="pca"), tmp_path / "m.html", n_aligned=5)
    page = watched((tmp_path / "m.html").as_uri())
    click(page, 0)
    page.wait_for_selector(".card svg")
    assert page.locator("#panel > div >> nth=0").locator(".arrow").count() == 2
    near = int(found.neighbors[0].tolist().index(1))
    page.click(f".card >> nth={near}")
    page.wait_for_selector("#pair")
    assert "2 of 2 edges are kept" in page.inner_text("#panel")
