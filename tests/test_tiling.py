from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddgk.tiling import (
    LANES,
    LONGEST_SECONDS,
    Plan,
    TileShape,
    choose_shape,
    cut_rows,
    estimate_seconds,
)


@given(
    rows=st.integers(1, 9),
    sources=st.integers(1, 7),
    n_sources=st.integers(1, 20),
    batches=st.lists(st.integers(0, 40), max_size=5),
)
def test_every_plan_covers_each_pair_exactly_once(rows, sources, n_sources, batches):
    plan = Plan(TileShape(rows, min(sources, n_sources)), n_sources, tuple(batches))
    seen = np.zeros((plan.n_rows, n_sources), dtype=int)
    for tile in plan.tiles():
        seen[tile.first : tile.first + tile.n_targets, tile.sources] += 1
        assert tile == plan.tile(tile.number)
    # The rows of a batch begin with a tile of their own; what fills up the last one is empty.
    expected = np.zeros_like(seen)
    for number, count in enumerate(batches):
        first = plan.first_block(number) * rows
        expected[first : first + count] = 1
    np.testing.assert_array_equal(seen, expected)
    assert sum(tile.n_pairs for tile in plan.tiles()) == plan.n_pairs == sum(batches) * n_sources


@given(
    batches=st.lists(st.integers(0, 40), min_size=1, max_size=4),
    more=st.integers(1, 40),
    rows=st.integers(1, 9),
)
def test_adding_a_batch_moves_nothing(batches, more, rows):
    shape = TileShape(rows, 2)
    before, after = Plan(shape, 5, tuple(batches)), Plan(shape, 5, (*batches, more))
    assert after.tiles()[: before.n_tiles] == before.tiles()


@given(
    targets=st.lists(st.integers(1, 6000), min_size=1, max_size=60),
    sources=st.lists(st.integers(1, 3000), min_size=1, max_size=40),
    steps=st.integers(0, 700),
    whole=st.booleans(),
)
def test_shapes_are_possible_and_fill_lanes(targets, sources, steps, whole):
    shape = choose_shape(targets, sources, steps, whole_rows=whole)
    assert shape.targets % LANES == 0
    assert 1 <= shape.sources <= len(sources)
    assert not whole or shape.sources == len(sources)
    if shape.targets > LANES:
        dearest = estimate_seconds([max(targets)], sources, steps)[0]
        assert shape.targets * dearest <= LONGEST_SECONDS * 1.001


def test_seconds_grow_with_sizes_and_add_up():
    plan = Plan(TileShape(8, 2), 3, (16,))
    sizes = [np.full(8, 10), np.full(8, 100)]
    seconds = plan.seconds(sizes, [10, 20, 500], 60)
    assert seconds.shape == (4,)
    assert seconds[2] > seconds[0]
    assert seconds[1] > seconds[0] / 2  # one source, but a large one
    half = plan.seconds(sizes, [10, 20, 500], 30)
    assert (half < seconds).all()


@given(st.lists(st.integers(0, 100), max_size=50), st.integers(1, 200))
def test_pieces_hold_all_rows_and_keep_the_limit(sizes, limit):
    pieces = cut_rows(sizes, limit)
    assert [i for piece in pieces for i in range(piece.start, piece.stop)] == [*range(len(sizes))]
    for piece in pieces:
        assert sum(sizes[piece]) <= limit or piece.stop - piece.start == 1


@pytest.mark.parametrize(("n_steps", "smaller"), [(60, 600)])
def test_more_steps_make_smaller_tiles(n_steps, smaller):
    few = choose_shape([20] * 5000, [20] * 16, n_steps, whole_rows=False)
    many = choose_shape([20] * 5000, [20] * 16, smaller, whole_rows=False)
    assert many.targets < few.targets
