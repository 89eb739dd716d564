import numpy as np
import pytest

from ddgk import plots
from ddgk.errors import ParameterError
from ddgk.kernels import distances


def make(n_classes=6, n_each=5):
    rng = np.random.default_rng(0)
    centres = 20 * rng.normal(size=(n_classes, 3))
    values = np.repeat(centres, n_each, axis=0) + rng.normal(size=(n_classes * n_each, 3))
    classes = [f"kind{place}" for place in range(n_classes) for _ in range(n_each)]
    names = [f"{kind}-{place}" for place, kind in enumerate(classes)]
    return distances(values), names, classes


def test_families_stand_together(drawn):
    apart, names, classes = make()
    shuffled = np.random.default_rng(1).permutation(30)
    figure = plots.clusters(
        apart[np.ix_(shuffled, shuffled)],
        [names[i] for i in shuffled],
        [classes[i] for i in shuffled],
    )
    shown = [text.get_text().partition("-")[0] for text in figure.axes[2].get_yticklabels()]
    assert [shown[i : i + 5] for i in range(0, 30, 5)] == [[s] * 5 for s in dict.fromkeys(shown)]
    (branches,) = drawn(figure, "branches")
    assert len(branches.get_segments()) == 29
    heat = figure.axes[2].images[0].get_array()
    assert heat.shape == (30, 30)
    order = [names.index(text.get_text()) for text in figure.axes[2].get_yticklabels()]
    np.testing.assert_allclose(heat, apart[np.ix_(order, order)])


def test_leaves_stand_at_their_rows(drawn):
    figure = plots.clusters([[0, 1, 9], [1, 0, 9], [9, 9, 0]], "abc")
    (branches,) = drawn(figure, "branches")
    # scipy puts leaves at 5, 15, 25, ...
    leaves = sorted(y for line in branches.get_segments() for x, y in line if x == 0)
    assert leaves == [5, 15, 25]
    assert figure.axes[0].get_ylim() == (30, 0)
    assert figure.axes[2].get_ylim() == (2.5, -0.5)


def test_the_legend_leaves_title_and_scale_alone():
    apart, names, classes = make()
    figure = plots.clusters(apart, names, classes, title="A title")
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert not legend.overlaps(figure.texts[0].get_window_extent())
    assert not any(legend.overlaps(axes.get_window_extent()) for axes in figure.axes)
    names_shown = [text.get_window_extent() for text in figure.axes[2].get_yticklabels()]
    assert max(box.x1 for box in names_shown) < figure.bbox.x1


@pytest.mark.parametrize(
    ("linkage", "n_each"), [("average", 1), ("complete", 1), ("single", 1), ("ward", 20)]
)
def test_any_linkage_and_number_of_graphs(linkage, n_each, tmp_path):
    apart, names, classes = make(n_each=n_each)
    path = tmp_path / "figure.png"
    plots.clusters(apart, names, classes, linkage=linkage, path=path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_equal_graphs_have_distance_zero():
    plots.clusters(np.zeros((4, 4)), range(4))


@pytest.mark.parametrize(
    ("apart", "how", "message"),
    [
        ([[0.0]], {}, "at least 2 graphs"),
        (np.zeros((2, 3)), {}, "square matrix"),
        ([[0, 1], [2, 0]], {}, "must be symmetric"),
        ([[0, -1], [-1, 0]], {}, "finite and not negative"),
        ([[0, np.nan], [np.nan, 0]], {}, "finite"),
        ([[1, 1], [1, 1]], {}, "between a graph and itself"),
        (np.zeros((2, 2)), {"classes": "a"}, "2 graphs need as many classes, not 1"),
        (np.zeros((2, 2)), {"linkage": "centroid"}, "linkage must be one of"),
        (np.zeros((2, 2)), {"path": "tree.txt"}, "must end in one of"),
    ],
)
def test_refusals(apart, how, message):
    with pytest.raises(ParameterError, match=message):
        plots.clusters(apart, "ab", **how)


def test_names_are_counted():
    with pytest.raises(ParameterError, match="2 graphs need as many names, not 3"):
        plots.clusters(np.zeros((2, 2)), "abc")
