import numpy as np
import pytest

from ddgk import plots
from ddgk.errors import ParameterError

SHARES = [0.1, 0.5, 1.0]


@pytest.fixture
def figure():
    accuracies = {"random": [[0.7, 0.9], [0.8, 0.8], [0.9, 0.9]], "farthest": [[0.8, 0.8]] * 3}
    return plots.bands(SHARES, accuracies)


def test_lines_are_the_means_in_percent(figure):
    drawn = {line.get_label(): line.get_xydata() for line in figure.axes[0].get_lines()}
    assert set(drawn) == {"random", "farthest"}
    np.testing.assert_allclose(drawn["random"], [[0.1, 80], [0.5, 80], [1.0, 90]])


def test_bands_are_a_deviation_wide(figure):
    outline = figure.axes[0].collections[0].get_paths()[0].vertices
    at_first = outline[np.isclose(outline[:, 0], 0.1), 1]
    assert (at_first.min(), at_first.max()) == pytest.approx((70, 90))


def test_shares_are_named(figure):
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["10%", "50%", "100%"]


@pytest.mark.parametrize(
    ("shares", "values", "message"),
    [
        ([0.5, 0.1], [[1.0], [1.0]], "shares must ascend"),
        ([0.0, 0.1], [[1.0], [1.0]], "shares must ascend"),
        ([0.1, 0.5], [[1.0]], "a row for each of the 2 shares"),
        ([0.1], [[np.nan]], "must be finite"),
    ],
)
def test_what_cannot_be_drawn_is_refused(shares, values, message):
    with pytest.raises(ParameterError, match=message):
        plots.bands(shares, {"random": values})
