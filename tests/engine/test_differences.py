from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from ddgk.engine.differences import COLUMNS, ROWS, sums_of_differences

GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("n", "m", "n_columns"),
    [(1, 1, 1), (3, 7, 5), (4, ROWS, COLUMNS), (2, ROWS + 3, COLUMNS + 1), (5, 2 * ROWS + 1, 200)],
)
def test_sums_are_those_of_scipy(n, m, n_columns):
    left, right = GENERATOR.normal(size=(n, n_columns)), GENERATOR.normal(size=(m, n_columns))
    expected = cdist(left, right, "cityblock")
    np.testing.assert_allclose(sums_of_differences(left, right), expected, rtol=1e-5)


def test_a_row_does_not_depend_on_the_others():
    left, right = GENERATOR.normal(size=(6, 130)), GENERATOR.normal(size=(ROWS + 40, 130))
    whole = sums_of_differences(left, right)
    np.testing.assert_array_equal(sums_of_differences(left[3:4], right), whole[3:4])
    np.testing.assert_array_equal(sums_of_differences(left, right[500:]), whole[:, 500:])
    np.testing.assert_array_equal(sums_of_differences(right), sums_of_differences(right, right))
