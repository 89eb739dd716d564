import numpy as np
import pytest

from ddgk import plots
from ddgk.errors import ParameterError


def make(n_each=4):
    rng = np.random.default_rng(0)
    centres = np.repeat([[0, 0, 0], [9, 0, 0], [0, 9, 9]], n_each, axis=0)
    return centres + rng.normal(size=centres.shape), np.repeat(list("abc"), n_each).tolist()


def test_families_stand_apart():
    columns, families = make()
    figure = plots.projections({"ours": columns, "theirs": columns[:, :2]}, families)
    assert [axes.get_title() for axes in figure.axes] == ["ours", "theirs"]
    (drawn,) = figure.axes[0].collections
    places, colours = drawn.get_offsets(), drawn.get_facecolors()
    assert len({tuple(colour) for colour in colours}) == 3
    middles = [places[start : start + 4].mean(axis=0) for start in (0, 4, 8)]
    spread = max(places[start : start + 4].std() for start in (0, 4, 8))
    assert np.linalg.norm(middles[0] - middles[1]) > 3 * spread / 2


def test_the_legend_names_families_and_leaves_panels_alone():
    columns, families = make()
    names = {"a": "barabasi_albert", "b": "watts_strogatz", "c": "geometric"}
    figure = plots.projections({"x": columns}, [names[f] for f in families], title="A title")
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 3
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.get_tightbbox()) for axes in figure.axes)


def test_the_same_figure_is_the_same_file(tmp_path):
    columns, families = make()
    for name in ("a.svg", "b.svg"):
        plots.projections({"x": columns}, families, path=tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "nothing to project"),
        ({"x": np.zeros((3, 2))}, "each of the 2 graphs"),
        ({"x": np.zeros((2, 1))}, "two or more"),
        ({"x": [[0.0, np.inf], [1.0, 1.0]]}, "not finite"),
    ],
)
def test_refusals(columns, message):
    with pytest.raises(ParameterError, match=message):
        plots.projections(columns, "ab")
