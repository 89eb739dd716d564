import numpy as np
import pytest
from scipy.stats import ttest_rel

from ddgk.errors import ParameterError
from ddgk.evaluation.comparison import paired


def test_by_hand():
    """Differences .1 and .3: mean .2, s^2 .02, variance (1/2 + 1/9) .02, t(.975, 1) = 12.7062."""
    found = paired([0.6, 0.8], [0.5, 0.5])
    margin = 12.7062047 * np.sqrt((1 / 2 + 1 / 9) * 0.02)
    assert found.mean == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.2 - margin, 0.2 + margin))


def test_it_is_wider_than_the_interval_for_independent_folds():
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 100))
    naive = ttest_rel(first, second).confidence_interval(0.95)
    found = paired(first, second)
    assert (found.high - found.low) / (naive.high - naive.low) == pytest.approx(
        np.sqrt(1 + 100 / 9)
    )


def test_order_turns_the_sign():
    forth, back = paired([0.9, 0.7], [0.5, 0.6]), paired([0.5, 0.6], [0.9, 0.7])
    assert forth == pytest.approx((-back.mean, -back.high, -back.low))


@pytest.mark.parametrize("other", [[0.1], [[0.1, 0.2]], [0.1, 0.2, 0.3]])
def test_other_folds_are_refused(other):
    with pytest.raises(ParameterError, match="same folds"):
        paired([0.1, 0.2], other)
