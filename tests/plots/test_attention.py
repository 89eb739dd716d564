from pathlib import Path

import networkx
import numpy as np
import pytest

from ddgk import plots
from ddgk.errors import ParameterError
from ddgk.graphs import Graph
from ddgk.io import karate_club
from experiments.graphs.synthetic import FAMILIES, barbell


def legend_of(figure):
    """Return all that the legends of the drawing say."""
    legends = [a for a in figure.axes[0].get_children() if type(a).__name__ == "Legend"]
    return {text.get_text() for legend in legends for text in legend.get_texts()}


def test_everything_is_drawn_once(matched, drawn):
    figure = plots.alignment(matched(barbell(node_labels=True)))
    assert [len(nodes.get_offsets()) for nodes in drawn(figure, "nodes")] == [10, 10]
    assert [len(edges.get_segments()) for edges in drawn(figure, "edges")] == [11, 11]
    (attention,) = drawn(figure, "attention")
    assert len(attention.get_segments()) == 10
    assert len(figure.axes) == 3


def test_lines_run_to_partners_and_are_as_wide_as_sure(matched, drawn):
    found = matched(barbell(), sure=0.95)
    unsure = int(found.pairs[0, 1])
    found.attention[0] = 0.1
    found.attention[0, unsure] = found.sureness[0] = 0.11
    figure = plots.alignment(found, layout="own")
    (attention,) = drawn(figure, "attention")
    source = drawn(figure, "nodes")[1].get_offsets()
    ends = np.array([segment[1] for segment in attention.get_segments()])
    np.testing.assert_allclose(ends, source[found.pairs[:, 1]])
    widths = attention.get_linewidths()
    assert widths[0] < widths[1] / 2
    assert legend_of(figure) >= {"match, sure", "unsure"}


def test_dotted_lines_run_to_where_else_a_node_attends(matched, drawn):
    found = matched(barbell(), sure=0.95)
    (target, partner), elsewhere = found.pairs[0], int(found.pairs[1, 1])
    found.attention[target] = 0.0
    found.attention[target, [partner, elsewhere]] = 0.6, 0.4
    figure = plots.alignment(found)
    (attention,) = drawn(figure, "attention")
    assert len(attention.get_segments()) == 11
    np.testing.assert_allclose(
        attention.get_segments()[-1][1], drawn(figure, "nodes")[1].get_offsets()[elsewhere]
    )
    dashes = [pattern for _, pattern in attention.get_linestyles()]
    assert dashes[:10] == [None] * 10
    assert dashes[10] is not None
    assert "attends also" in legend_of(figure)


def test_lines_shine_through_the_upper_sheet(matched, drawn):
    figure = plots.alignment(matched(karate_club()))
    (lines,), (upper, lower) = drawn(figure, "attention"), figure.axes[0].patches
    mine, theirs = drawn(figure, "edges")
    order = [part.get_zorder() for part in (lower, theirs, lines, upper, mine)]
    assert order == sorted(order)
    assert 0 < upper.get_facecolor()[3] < 1


def test_edges_that_are_not_kept_are_dashed(matched, drawn):
    graph = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    other = Graph(5, [(0, 1), (1, 2), (2, 3), (0, 4)])
    figure = plots.alignment(matched(graph, other))
    for edges in drawn(figure, "edges"):
        dashed = [pattern is not None for _, pattern in edges.get_linestyles()]
        assert sum(dashed) == 1
        colours = {tuple(colour) for colour in edges.get_colors()}
        assert len(colours) == 2
    assert "edge not kept" in legend_of(figure)
    assert "edge not kept" not in legend_of(plots.alignment(matched(graph)))


def test_bonds_are_as_wide_as_their_order(matched, drawn):
    molecule = Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="CCCO", edge_labels="-#=")
    edges = drawn(plots.alignment(matched(molecule)), "edges")[0]
    single, triple, double = edges.get_linewidths()
    assert single < double < triple


def test_nodes_without_a_partner_are_rings(matched, drawn):
    small, large = FAMILIES["path"](5), FAMILIES["path"](7)
    figure = plots.alignment(matched(small, large))
    faces = [(nodes.get_facecolors()[:, :3] == 1).all(axis=1) for nodes in drawn(figure, "nodes")]
    assert [int(white.sum()) for white in faces] == [0, 2]
    assert "no partner" in legend_of(figure)


def test_frames_mark_the_matching(matched):
    found = matched(barbell())
    (frames,) = plots.alignment(found, layout="own").axes[1].collections
    centres = np.array([path.vertices[:4].mean(axis=0) for path in frames.get_paths()])
    np.testing.assert_allclose(centres, found.pairs[:, ::-1], atol=1e-9)


@pytest.mark.parametrize("graph", [barbell(), karate_club(), FAMILIES["stochastic_block"](60)])
def test_discs_do_not_hide_each_other(matched, drawn, graph):
    figure = plots.alignment(matched(graph))
    figure.draw_without_rendering()
    for nodes in drawn(figure, "nodes"):
        points = nodes.get_offset_transform().transform(nodes.get_offsets()) * 72 / figure.dpi
        gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)
        np.fill_diagonal(gaps, np.inf)
        assert gaps.min() > 0.8 * np.sqrt(nodes.get_sizes()[0])


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
        # Legends are added one by one, and the last is also the axes' own.
        legends = {id(a): a for a in axes.get_children() if type(a).__name__ == "Legend"}
        boxes += [legend.get_window_extent() for legend in legends.values()]
        filled = [box for box in boxes if box.width > 1]
        assert len(filled) == 6
        for place, box in enumerate(filled):
            assert not any(box.overlaps(other) for other in filled[place + 1 :])


def test_without_labels_colours_are_communities_where_there_are_many_nodes(matched, drawn):
    found = matched(karate_club())
    figure = plots.alignment(found)
    groups = found.coarsen()
    assert {f"community {name}" for name in groups.source_groups.names} <= legend_of(figure)
    target, source = (nodes.get_facecolors() for nodes in drawn(figure, "nodes"))
    for t, s in groups.pairs.tolist():
        mine = target[groups.target_groups.codes == t]
        theirs = source[groups.source_groups.codes == s]
        assert (mine == mine[0]).all()
        assert (theirs == mine[0]).all()
    few = plots.alignment(matched(barbell()))
    assert len(np.unique(drawn(few, "nodes")[0].get_facecolors(), axis=0)) == 1


def test_above_sixty_nodes_communities_are_drawn(matched, drawn):
    graph = Graph.from_networkx(networkx.random_partition_graph([30, 25, 20], 0.3, 0.02, seed=1))
    found = matched(graph)
    figure = plots.alignment(found)
    groups = found.coarsen()
    target, source = drawn(figure, "nodes")
    assert len(target.get_offsets()) == len(groups.target_groups.names)
    assert len(source.get_offsets()) == len(groups.source_groups.names)
    np.testing.assert_array_equal(
        np.argsort(target.get_sizes()), np.argsort(groups.target_groups.sizes)
    )
    assert figure.axes[1].images[0].get_array().shape == groups.attention.shape
    assert any("75 nodes" in text.get_text() for text in figure.axes[0].texts)
    again = plots.alignment(groups)
    np.testing.assert_array_equal(drawn(again, "nodes")[0].get_offsets(), target.get_offsets())


def test_small_graphs_can_be_drawn_by_groups_too(matched, drawn):
    found = matched(barbell())
    figure = plots.alignment(found.coarsen("aaaaabbbbb"))
    assert len(drawn(figure, "nodes")[0].get_offsets()) == 2


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
