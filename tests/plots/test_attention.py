from pathlib import Path

import numpy as np
import pytest

from ddgk import plots
from ddgk.datasets import FAMILIES, barbell, karate_club
from ddgk.errors import ParameterError
from ddgk.graphs import Graph


def test_everything_is_drawn_once(matched, drawn):
    figure = plots.alignment(matched(barbell(node_labels=True)))
    assert [len(nodes.get_offsets()) for nodes in drawn(figure, "nodes")] == [10, 10]
    assert [len(edges.get_segments()) for edges in drawn(figure, "edges")] == [11, 11]
    (attention,) = drawn(figure, "attention")
    assert len(attention.get_segments()) == 10
    assert len(figure.axes) == 3


def test_lines_run_to_the_strongest_and_are_as_wide_as_sure(matched, drawn):
    found = matched(barbell())
    found.attention[0] = 0.1
    found.attention[0, 3] = 0.11
    figure = plots.alignment(found, layout="own")
    (attention,) = drawn(figure, "attention")
    source = drawn(figure, "nodes")[1].get_offsets()
    ends = np.array([segment[1] for segment in attention.get_segments()])
    np.testing.assert_allclose(ends, source[found.attention.argmax(axis=1)])
    widths = attention.get_linewidths()
    assert widths[0] < widths[1] / 2


def test_matched_partners_stand_above_each_other(matched, drawn):
    figure = plots.alignment(matched(karate_club()))
    (attention,) = drawn(figure, "attention")
    segments = np.array(attention.get_segments())
    np.testing.assert_allclose(segments[:, 0, 0], segments[:, 1, 0])
    assert len(set((segments[:, 0, 1] - segments[:, 1, 1]).round(9))) == 1


def test_columns_follow_partners_or_the_given_order(matched):
    found = matched(barbell())
    by_partner = plots.alignment(found).axes[1]
    np.testing.assert_array_equal(np.diag(by_partner.images[0].get_array()), [0.9] * 10)
    names = [text.get_text() for text in by_partner.get_xticklabels()]
    assert names == [str(node) for node in found.matching.values()]
    as_given = plots.alignment(found, layout="own").axes[1]
    np.testing.assert_array_equal(as_given.images[0].get_array(), found.attention)


def test_identical_graphs_look_identical(matched, drawn):
    figure = plots.alignment(matched(barbell(), barbell()), layout="own")
    target, source = (nodes.get_offsets() for nodes in drawn(figure, "nodes"))
    np.testing.assert_allclose(target[:, 0], source[:, 0])


def test_labels_are_colours_shared_by_both_graphs(matched, drawn):
    found = matched(barbell(node_labels=True))
    for graph, nodes in zip(
        (found.target, found.source),
        drawn(plots.alignment(found), "nodes"),
        strict=True,
    ):
        colours = {}
        for label, colour in zip(graph.node_labels, nodes.get_facecolors(), strict=True):
            colours.setdefault(label, set()).add(tuple(colour))
        assert {label: len(own) for label, own in colours.items()} == {0: 1, 1: 1}
        assert colours[0] != colours[1]


@pytest.mark.parametrize(
    "graph",
    [
        Graph(1, []),
        Graph(2, [(0, 1)]),
        Graph(6, [(0, 1), (2, 3)], name="in pieces"),
        Graph(9, [(i, i + 1) for i in range(8)], node_labels=range(9)),
        Graph(3, [(0, 1)], node_names=["a long name", ("a", 1), None]),
        FAMILIES["watts_strogatz"](60),
        FAMILIES["random_tree"](200, seed=1),
    ],
    ids=["one node", "one edge", "pieces", "many labels", "names", "60 nodes", "200 nodes"],
)
def test_any_graph_can_be_drawn(matched, graph, tmp_path):
    plots.alignment(matched(graph), path=tmp_path / "figure.png")


def test_graphs_of_different_sizes(matched, drawn, tmp_path):
    large, small = FAMILIES["path"](7), FAMILIES["path"](5).replace(node_labels="abcde")
    for found in (matched(large, small), matched(small, large)):
        figure = plots.alignment(found, path=tmp_path / "figure.png")
        counts = [len(nodes.get_offsets()) for nodes in drawn(figure, "nodes")]
        assert counts == [found.target.n_nodes, found.source.n_nodes]
        places = drawn(figure, "nodes")[0].get_offsets()
        assert len(np.unique(np.asarray(places).round(3), axis=0)) == found.target.n_nodes


def test_texts_do_not_run_into_each_other(matched):
    labelled = matched(barbell(node_labels=True, name="a name of some length, to see"))
    figure = plots.alignments([labelled] * 3, layout="own", titles=["One", "Two", "Three"])
    figure.draw_without_rendering()
    for axes in figure.axes[:6:2]:
        texts = [axes.title, *(text for text in axes.texts if len(text.get_text()) > 2)]
        boxes = [text.get_window_extent() for text in texts]
        # A left title has an artist of its own, which axes.title is not.
        boxes.append(axes._left_title.get_window_extent())
        boxes.append(axes.get_legend().get_window_extent())
        filled = [box for box in boxes if box.width > 1]
        assert len(filled) == 5
        for place, box in enumerate(filled):
            assert not any(box.overlaps(other) for other in filled[place + 1 :])


def test_several_share_one_scale(matched):
    figure = plots.alignments([matched(barbell())] * 3)
    assert len(figure.axes) == 7


def test_refusals_write_nothing(matched, tmp_path: Path):
    found = matched(barbell())
    with pytest.raises(ParameterError, match="layout must be one of 'matched', 'own'"):
        plots.alignment(found, layout="round", path=tmp_path / "a.png")
    with pytest.raises(ParameterError, match=r"must end in one of \.svg, \.png, \.pdf"):
        plots.alignment(found, path=tmp_path / "a.jpeg")
    with pytest.raises(ParameterError, match="at least one"):
        plots.alignments([])
    with pytest.raises(ParameterError, match="1 alignments need as many titles, not 2"):
        plots.alignments([found], titles=["a", "b"])
    assert list(tmp_path.iterdir()) == []
