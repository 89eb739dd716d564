import pytest

from ddgk.errors import ParameterError
from ddgk.plots.comparison import Measured, comparison

METHODS = [Measured("ours", 90, 88, 92, 10.0), Measured("theirs", 85, 82, 88, 0.0)]


def test_intervals_and_times_are_drawn():
    left, right = comparison(METHODS, title="t").axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["ours  1", "theirs  2"]
    assert list(left.lines[0].get_xdata()) == [88, 92]
    assert left.lines[1].get_xdata()[0] == 90
    assert right.get_xscale() == "log"
    assert [line.get_ydata()[0] for line in right.lines] == [90, 85]


def test_the_same_figure_is_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        comparison(METHODS, path=tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_refusals(tmp_path):
    with pytest.raises(ParameterError, match="no method"):
        comparison([])
    with pytest.raises(ParameterError, match=r"\.svg"):
        comparison(METHODS, path=tmp_path / "a.txt")
