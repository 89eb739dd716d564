from dataclasses import replace

import numpy as np
import pytest

from ddgk import plots
from ddgk.errors import ParameterError
from ddgk.explanation import Explanation
from ddgk.graphs import Graph
from ddgk.io import karate_club
from experiments.graphs.synthetic import FAMILIES, barbell


def explained(graph: Graph) -> Explanation:
    """Return shares that grow with the number of the node."""
    n = graph.n_nodes
    nodes = np.arange(n, dtype=float) + 1
    entries = np.zeros((2, n, n))
    for u, v in graph.edges.tolist():
        entries[0, u, v] = entries[0, v, u] = u + v
    return Explanation(
        target=graph,
        source=FAMILIES["ring"](5),
        terms=("edges", "non_edges"),
        checkpoints=(1, 60),
        nodes=np.stack([np.stack([nodes, nodes])] * 2),
        entries=entries,
        baseline=np.full((2, 2), 0.5),
        attention=np.full((n, 5), 0.2),
    )


def test_colours_and_widths_say_who_adds_what(drawn):
    why = explained(barbell())
    figure = plots.explanation(why)
    (nodes,), (edges,) = drawn(figure, "nodes"), drawn(figure, "edges")
    np.testing.assert_array_equal(nodes.get_array(), list(why.by_node().values()))
    widths = edges.get_linewidths()
    shares = list(why.by_edge().values())
    assert np.array_equal(np.argsort(widths, kind="stable"), np.argsort(shares, kind="stable"))
    assert len(figure.axes) == 3


def test_a_term_can_be_chosen(drawn):
    why = explained(barbell())
    why.nodes[1] *= 10
    figure = plots.explanation(why, term="edges")
    (nodes,) = drawn(figure, "nodes")
    np.testing.assert_array_equal(nodes.get_array(), np.arange(10) + 1)
    said = "mismatch in edges after 60 steps: loss 55, baseline 0.5, divergence 54.5"
    assert figure.axes[0].texts[-1].get_text() == said
    with pytest.raises(ParameterError, match="no term 'nodes'; there are edges, non_edges"):
        plots.explanation(why, term="nodes")


def test_the_amounts_are_told():
    axes = plots.explanation(explained(barbell())).axes[0]
    assert axes.get_title(loc="left") == "What tells barbell from ring-5"
    said = "all loss terms after 60 steps: loss 110, baseline 1, divergence 109"
    assert axes.texts[-1].get_text() == said
    both = replace(explained(barbell()), mirror=explained(barbell()))
    told = plots.explanation(both).axes[0].texts[-1].get_text()
    assert told.startswith("all loss terms, this direction after 60 steps: loss 110")


def test_edges_without_shares_are_plain(drawn):
    figure = plots.explanation(replace(explained(barbell()), matrix="neighborhood"))
    (edges,) = drawn(figure, "edges")
    assert len(set(edges.get_linewidths())) == 1
    assert len(figure.axes) == 2  # the graph, and the scale of nodes


@pytest.mark.parametrize(
    "graph",
    [Graph(1, []), Graph(4, []), Graph(2, [(0, 1)]), karate_club(), FAMILIES["grid"](60)],
    ids=["one node", "no edges", "one edge", "karate", "60 nodes"],
)
def test_any_graph_can_be_drawn(graph, tmp_path):
    path = tmp_path / "figure.svg"
    plots.explanation(explained(graph), path=path)
    assert b"<svg" in path.read_bytes()
