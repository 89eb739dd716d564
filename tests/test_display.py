"""What notebooks and terminals show: well-formed, escaped, short, without matplotlib."""

from __future__ import annotations

from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

import ddgk
from ddgk.graphs import display

HOSTILE = "<script>\x1b[31m\u202e"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return one object of every kind that notebooks display."""
    graphs = [nx.cycle_graph(n) for n in range(5, 9)] + [nx.star_graph(n) for n in range(5, 9)]
    named = [
        ddgk.graphs.as_graph(graph).replace(name=f"{HOSTILE}{place}")
        for place, graph in enumerate(graphs)
    ]
    folder = tmp_path_factory.mktemp("run") / "<b>run"
    model = ddgk.DDGK(n_sources=2, random_state=0)
    X = model.fit_transform(named, run=folder)
    labelled = named[0].replace(
        node_labels=[HOSTILE] * 5, node_names=[HOSTILE + c for c in "abcde"]
    )
    return {
        "Graph": labelled,
        "Alignment": ddgk.align(named[0], named[4]),
        "Explanation": model.explain(named[5], source=0),
        "SimilarityExplanation": model.explain_similarity(named[0], named[5]),
        "Comparison": ddgk.compare(named, embedding=X),
        "Run": ddgk.open_run(folder),
    }


KINDS = ["Graph", "Alignment", "Explanation", "SimilarityExplanation", "Comparison", "Run"]


@pytest.mark.parametrize("kind", KINDS)
def test_notebooks_show_well_formed_html_without_controls(shown, kind):
    text = shown[kind]._repr_html_()
    root = ElementTree.fromstring(text)
    assert kind in root.find("p").text
    assert not list(root.iter("script"))
    assert text.isprintable()


@pytest.mark.parametrize("kind", KINDS)
def test_terminals_show_one_short_line(shown, kind):
    line = repr(shown[kind])
    assert line.startswith(f"{kind}(")
    assert line.isprintable()
    assert len(line) < 300


def circles(text):
    return list(ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}circle"))


def test_partners_have_one_colour(shown):
    found = shown["Alignment"]
    colours = [circle.get("fill") for circle in circles(found._repr_html_())]
    cut = found.target.n_nodes
    assert len(colours) == cut + found.source.n_nodes
    for target, source in found.pairs.tolist():
        assert colours[target] == colours[cut + source]
    alone = set(range(found.source.n_nodes)) - set(found.pairs[:, 1].tolist())
    assert {colours[cut + node] for node in alone} <= {display.UNMATCHED}


def test_lost_edges_are_dashed(shown):
    found = shown["Alignment"]
    text = found._repr_html_()
    lost = found.target.n_edges - found.n_kept_edges
    unused = found.source.n_edges - found.n_kept_edges
    assert text.count("stroke-dasharray") == lost + unused > 0


def test_the_largest_share_is_the_darkest(shown):
    why = shown["Explanation"]
    shares = np.array(list(why.by_node().values()))
    fills = [circle.get("fill") for circle in circles(why._repr_html_())]
    assert fills == display.shade(shares)
    assert display.shade(np.array([0.0, 2.0, -2.0])) == [
        "rgb(255,255,255)",
        "rgb(220,0,0)",
        "rgb(0,0,220)",
    ]


@pytest.mark.parametrize(
    "graph",
    [
        ddgk.Graph(1, []),
        ddgk.Graph(3, []),
        ddgk.Graph(2, [(0, 0), (0, 1)]),
        ddgk.Graph(3, [(0, 1), (1, 2)], directed=True),
    ],
    ids=["one", "isolated", "loop", "directed"],
)
def test_graphs_of_every_form_are_drawn_inside_the_frame(graph):
    root = ElementTree.fromstring(graph._repr_html_())
    found = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(found) >= graph.n_nodes
    for circle in found:
        assert 0 <= float(circle.get("cx")) <= display.WIDTH
        assert -10 <= float(circle.get("cy")) <= display.HEIGHT
    arrows = list(root.iter("{http://www.w3.org/2000/svg}polygon"))
    assert len(arrows) == (graph.n_edges if graph.directed else 0)


def test_large_graphs_are_named_and_not_drawn():
    graph = ddgk.graphs.as_graph(nx.cycle_graph(display.MOST_NODES + 1))
    assert "<svg" not in graph._repr_html_()
    assert "n_nodes=151" in graph._repr_html_()


def test_a_graph_without_nodes_is_named_and_not_drawn():
    assert ddgk.Graph(0, [])._repr_html_() == "<div><p>Graph(n_nodes=0, n_edges=0)</p></div>"


def test_tables_say_what_is_left_out():
    text = display.table(["a"], [[n] for n in range(25)], 25)
    assert text.count("<td>") == display.MOST_ROWS
    assert "and 15 more" in text
