"""Where the arrays of a group are: all of them in two flat rooms, one after the other.

A thread uses its rooms for one group after the other, so they stay in the cache; and Python, which
only one thread can run at a time, hands two arrays over in place of thirty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.fused.arrays import Findings, Scratch, Settings, Sizes, State, aligned
from ddgk.engine.fused.compiling import compiled, inlined
from ddgk.engine.fused.lanes import LANES

LINE = 16  # numbers: arrays start at a line of the cache, in float64 at every second one


class Rooms:
    """The two rooms of a thread: numbers of the wanted precision, and of float64."""

    def __init__(self, precision: Any) -> None:
        self.narrow = aligned(0, precision=precision)
        self.wide = aligned(0, precision=np.float64)

    def of_size(self, narrow: int, wide: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return both, of that many numbers at least; what they hold is left from before."""
        if narrow > len(self.narrow):
            self.narrow = self.narrow[:0].copy()  # gone before the larger one comes
            self.narrow = aligned(narrow, precision=self.narrow.dtype)
        if wide > len(self.wide):
            self.wide = self.wide[:0].copy()
            self.wide = aligned(wide, precision=np.float64)
        return self.narrow, self.wide


def holds_slopes(settings: Settings) -> bool:
    """Say whether dL/dP of all rows is held at once, and not of a block."""
    return settings.gathers or (settings.tied and not settings.lifted)


def state_places(sizes: Sizes, settings: Settings) -> tuple[int, int, int, int]:
    """Return how far the arrays of A are apart, where P of units begins, R, and the state's end.

    A and P come first; then Adam's two sums unless A has factors, P of units if it gathers, and R.
    """
    scores = -(-sizes.attending_rows * sizes.n_source_units * LANES // LINE) * LINE
    units = (4 if sizes.size == 0 else 2) * scores
    reverse_at = units
    if settings.gathers:
        reverse_at += -(-sizes.rows * sizes.n_source_units * LANES // LINE) * LINE
    end = reverse_at
    if not settings.tied:
        end += 3 * (-(-sizes.node_rows * sizes.n_reverse * LANES // LINE) * LINE)
    return scores, units, reverse_at, end


def findings_places(sizes: Sizes, n_reports: int, detail: bool) -> tuple[int, ...]:
    """Return where costs, channels, shares, one step's terms and images begin, and the end."""
    n_channels = 2 + 2 * sizes.n_families
    costs = n_reports * n_channels * sizes.rows * LANES
    channels = costs + (2 * sizes.rows * sizes.n_nodes * LANES if detail else 0)
    shares = channels + n_reports * n_channels * LANES
    terms = shares + n_channels * sizes.n_source_units * LANES
    images = terms + n_channels * sizes.rows * LANES
    end = images + sizes.n_images * sizes.attending_rows * sizes.n_regions * LANES
    return costs, channels, shares, terms, images, end


def room_needed(sizes: Sizes, settings: Settings, n_labels: tuple[int, int]) -> int:
    """Return how many numbers `make_state` and `make_scratch` take at most."""
    wide = max(sizes.dimension, sizes.width) + 1
    across = sizes.n_samples if sizes.n_samples > 0 else sizes.n_nodes
    by_block = 2 * (sizes.depth + 1) * wide + 2 * sizes.n_known + 3 * across + sum(n_labels)
    by_node = 6 * sizes.n_known + (0 if settings.tied else sizes.n_reverse)
    node_rows = max(sizes.node_rows, sizes.attending_rows)
    lanes = sizes.block * (by_block + sizes.n_source_units) + node_rows * by_node
    lanes += sizes.rows * sizes.dimension
    if holds_slopes(settings):
        lanes += sizes.rows * sizes.n_source_units
    if settings.gathers:
        lanes += sizes.attending_rows * sizes.n_source_units
    return state_places(sizes, settings)[-1] + LANES * lanes + 20 * LINE


_state_places, _findings_places = inlined(state_places), inlined(findings_places)
_holds_slopes = inlined(holds_slopes)


@inlined
def first_held(first: int, settings: Any) -> int:
    """Return of which row dL/dP comes first where a block that begins with row `first` is held."""
    return 0 if _holds_slopes(settings) else first


@compiled
def make_state(room: Any, sizes: Any, settings: Any) -> Any:
    """Return what trains, as it stands at the beginning of the room."""
    scores, units, at, end = _state_places(sizes, settings)
    reverse = (end - at) // 3
    sums = scores if sizes.size == 0 else 0
    return State(
        room[:scores],
        room[scores : 2 * scores],
        room[units:at] if settings.gathers else room[scores : 2 * scores],
        room[2 * scores : 2 * scores + sums],
        room[2 * scores + sums : 2 * scores + 2 * sums],
        room[at : at + reverse],
        room[at + reverse : at + 2 * reverse],
        room[at + 2 * reverse : end],
    )


@compiled
def make_findings(wide: Any, sizes: Any, n_reports: int, detail: bool) -> Any:
    """Return what comes out, and room for the terms of one step, all of it 0."""
    costs, channels, shares, terms, images, end = _findings_places(sizes, n_reports, detail)
    wide[:end] = 0
    return Findings(
        wide[:costs],
        wide[costs:channels],
        wide[channels:shares],
        wide[shares:terms],
        wide[terms:images],
        wide[images:end],
    )


@inlined
def _take(room: Any, at: int, n_lanes: int) -> Any:
    """Return a part of the room, and where the next one may begin."""
    size = n_lanes * LANES
    return room[at : at + size], at + -(-size // LINE) * LINE


@compiled
def make_scratch(room: Any, sizes: Any, settings: Any, n_labels: Any) -> Any:
    """Return room for one step, behind the state; n_labels: of the target and of the source."""
    at = _state_places(sizes, settings)[-1]
    rows, node_rows, known, block = sizes.rows, sizes.node_rows, sizes.n_known, sizes.block
    if settings.tied:
        node_rows = sizes.attending_rows  # what M is lifted from
    layers = (sizes.depth + 1) * block * (max(sizes.dimension, sizes.width) + 1)
    across = sizes.n_samples if sizes.n_samples > 0 else sizes.n_nodes
    entries, predictions = block * across, 0 if settings.low_rank else block * known
    hidden, at = _take(room, at, layers)
    hidden_slopes, at = _take(room, at, layers)
    predicted, at = _take(room, at, predictions)
    predicted_slopes, at = _take(room, at, predictions)
    nodes, at = _take(room, at, node_rows * known if settings.lifted else 0)
    nodes_slopes, at = _take(room, at, node_rows * known)
    in_numbers = settings.alone and sizes.n_samples == 0
    numbers, at = _take(room, at, node_rows * known if in_numbers else 0)
    numbers_slopes, at = _take(room, at, node_rows * known if in_numbers else 0)
    means, at = _take(room, at, sizes.node_rows * known if settings.spreads else 0)
    means_slopes, at = _take(room, at, sizes.node_rows * known if settings.spreads else 0)
    inputs_slopes, at = _take(room, at, rows * sizes.dimension)
    held = rows if _holds_slopes(settings) else block
    attention_slopes, at = _take(room, at, held * sizes.n_source_units)
    attending = sizes.attending_rows if settings.gathers else 0
    attended_slopes, at = _take(room, at, attending * sizes.n_source_units)
    lifted = settings.lifted and not settings.tied
    reverse_slopes, at = _take(room, at, node_rows * sizes.n_reverse if lifted else 0)
    scores, at = _take(room, at, entries)
    sigmoids, at = _take(room, at, entries if sizes.n_families > 0 else 0)
    relation, at = _take(room, at, entries if settings.alone else 0)
    relation[:] = 0  # entries are placed there and cleared again
    around, at = _take(room, at, block * n_labels[0])
    labels, at = _take(room, at, block * n_labels[1])
    return Scratch(
        hidden,
        hidden_slopes,
        predicted,
        predicted_slopes,
        nodes,
        nodes_slopes,
        numbers,
        numbers_slopes,
        means,
        means_slopes,
        inputs_slopes,
        attention_slopes,
        attended_slopes,
        reverse_slopes,
        scores,
        sigmoids,
        relation,
        around,
        labels,
    )
