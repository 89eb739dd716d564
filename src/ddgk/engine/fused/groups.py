"""Which pairs are trained together, and one group from its arrays to its outcomes."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.compiling import inlined, lean
from ddgk.engine.arrays import EncodedGraph, Outcome, PairTraining, Source
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.fused.layout import (
    Packed,
    PackedLabels,
    PackedSource,
    PackedTarget,
    Schedule,
    Settings,
    Sizes,
    State,
    Workspace,
    findings_places,
    memory_places,
    pack_alone,
    pack_labels,
    pack_side_by_side,
    pack_source,
    pack_units,
    source_labels,
)
from ddgk.engine.fused.pairs import train_group
from ddgk.engine.initialisation import ATTENTION, REVERSE, glorot_limit, stream_base
from ddgk.hashing import scramble

scramble_word = inlined(scramble)


@inlined
def uniform_number(base: Any, row: int, column: int) -> float:
    """Hash a place of a stream to 53 bits in (0, 1)."""
    word = scramble_word(scramble_word(base + np.uint64(row)) ^ np.uint64(column))
    return (np.float64(word >> np.uint64(11)) + 0.5) * 2.0**-53


@lean
def draw_into(
    lanes: Any, lane: int, alone: bool, flipped: bool, shape: Any, base: Any, limit: float
) -> None:
    """Draw a matrix uniformly from (-limit, limit) into rows of lanes.

    shape: (units, columns, columns of a row of `lanes`). Entry (row, column) of the matrix is that
    of (unit, column), or of (column, unit) if it is flipped; alone, units fill the lanes in turn.
    """
    n_units, n_columns, width = shape
    for unit in range(n_units):
        row, own = (unit // LANES, unit % LANES) if alone else (unit, lane)
        for column in range(n_columns):
            first, second = (column, unit) if flipped else (unit, column)
            number = uniform_number(base, first, second)
            lanes[(row * width + column) * LANES + own] = limit * (2.0 * number - 1.0)


LANES_LIMIT = 48  # nodes, of target and source: eight such pairs fit into the second-level cache
LARGE_BUFFER = 1 << 28  # numbers; pairs that need more are in memory one at a time
ROWS_ALONE = 9  # rows of eight nodes of a single pair that are taken forward together


@dataclass(frozen=True)
class Group:
    """Pairs of one source that are trained together, by position; or a single pair."""

    positions: tuple[int, ...]
    alone: bool


def is_alone(graph: EncodedGraph, source: Source) -> bool:
    """Return whether a pair is too large for a lane; this does not depend on other pairs."""
    return len(graph.unit_weights) * len(source.weights.table) > LANES_LIMIT**2


def plan_groups(pairs: Sequence[tuple[EncodedGraph, Source]]) -> list[Group]:
    """Group pairs of one source and of similar size, the most expensive groups first."""
    groups, by_source = [], defaultdict(list)
    for place, pair in enumerate(pairs):
        if is_alone(*pair):
            groups.append(Group((place,), True))
        else:
            by_source[id(pair[1])].append(place)
    for places in by_source.values():
        places.sort(key=lambda place: len(pairs[place][0].unit_weights))
        starts = range(0, len(places), LANES)
        groups += [Group(tuple(places[first : first + LANES]), False) for first in starts]

    def cost(group: Group) -> int:
        graph, source = pairs[group.positions[-1]]
        return len(graph.unit_weights) * len(source.weights.table)

    order = np.argsort([cost(group) for group in groups], kind="stable")[::-1]
    return [groups[place] for place in order]


class Call:
    """One call of `train_pairs`: arrays that its groups share are laid out once."""

    def __init__(
        self,
        pairs: Sequence[tuple[EncodedGraph, Source]],
        seeds: Sequence[int],
        training: PairTraining,
        detail: bool,
        precision: Any,
    ) -> None:
        self.pairs, self.seeds, self.training = pairs, seeds, training
        self.detail, self.precision = detail, precision
        self.schedule = make_schedule(training, detail)
        self._sources: dict[int, tuple[list[NDArray[np.int64]], PackedSource]] = {}
        self._targets: dict[tuple[int, ...], tuple[NDArray[Any], PackedTarget]] = {}
        self._joined: dict[tuple[Any, ...], PackedLabels] = {}
        self._own, self._packing = threading.local(), threading.Lock()
        self._one_large, self._large = threading.Lock(), Workspace(precision)
        attributes = pairs[0][0].attributes if pairs else ()
        self.widths = np.array([a.units.shape[1] for a in attributes], dtype=np.int64)

    def train(self, group: Group) -> list[Outcome]:
        """Train a group and return the outcomes of its pairs."""
        graphs = [self.pairs[place][0] for place in group.positions]
        source = self.pairs[group.positions[0]][1]
        sizes, settings = self._sizes(graphs, source, group.alone)
        with self._packing:  # or two threads would lay out the same targets
            labels, packed_source = self._source(source)
            units, target = self._target(graphs, group.alone)
            joined = self._labels(units, labels)
        n_labels = int(target.reverse_starts[-1]), int(joined.attention_starts[-1])
        packed = Packed(sizes, settings, packed_source, target, joined)
        places = memory_places(sizes, settings, n_labels), findings_places(sizes, self.schedule)
        needed = int(places[0][-1]), int(places[1][-1])
        with self._workspace(needed[0]) as workspace:
            buffers = workspace.of_size(*needed)
            buffers[0][: places[0][len(State._fields)]] = 0
            if self.training.initialisation == "glorot":
                self._draw(group, sizes, buffers[0], places[0])
            train_group(packed, self.schedule, places, buffers)
            return self._outcomes(graphs, sizes, settings, places, buffers)

    @contextmanager
    def _workspace(self, needed: int) -> Iterator[Workspace]:
        """Lend the workspace of this thread; or the large one, which threads share in turn."""
        if needed > LARGE_BUFFER:
            with self._one_large:
                yield self._large
            return
        if not hasattr(self._own, "workspace"):
            self._own.workspace = Workspace(self.precision)
        yield self._own.workspace

    def _source(self, source: Source) -> tuple[list[NDArray[np.int64]], PackedSource]:
        if id(source) not in self._sources:
            labels = source_labels(source)
            packed = pack_source(source, labels, self.precision)
            self._sources[id(source)] = (labels, packed)
        return self._sources[id(source)]

    def _target(
        self, graphs: Sequence[EncodedGraph], alone: bool
    ) -> tuple[NDArray[Any], PackedTarget]:
        # A target may be a single pair with a large source and in a lane with a small one.
        key = (alone, *map(id, graphs))
        if key not in self._targets:
            units = pack_units(graphs, alone, self.precision)
            if alone:
                packed = pack_alone(graphs[0], self.training, self.precision)
            else:
                packed = pack_side_by_side(graphs, self.training, self.precision)
            self._targets[key] = (units, packed)
        return self._targets[key]

    def _labels(self, units: NDArray[Any], labels: Sequence[NDArray[np.int64]]) -> PackedLabels:
        """Join target and source labels; sources with the same labels share the result."""
        key = (id(units), *(tuple(own.tolist()) for own in labels))
        if key not in self._joined:
            self._joined[key] = pack_labels(units, self.widths, labels, self.training)
        return self._joined[key]

    def _sizes(
        self, graphs: Sequence[EncodedGraph], source: Source, alone: bool
    ) -> tuple[Sizes, Settings]:
        n_nodes = max(len(g.unit_weights) for g in graphs)
        n_source, dimension = source.weights.table.shape
        top = len(source.weights.output[0])
        bends = self.training.scores == "tanh"
        low_rank = not bends and n_source > top
        rows = -(-n_nodes // (LANES if alone else 1))
        sizes = Sizes(
            rows=rows,
            n_nodes=n_nodes,
            n_source=n_source,
            dimension=dimension,
            width=top,
            depth=len(source.weights.hidden),
            n_factors=top + 1 if low_rank else n_source + 1,
            n_reverse=n_source + 1,
            n_attributes=len(graphs[0].attributes),
            block=min(rows, ROWS_ALONE if alone else LANES_LIMIT),
        )
        settings = Settings(
            alone=alone,
            bends=bends,
            low_rank=low_rank,
            trains_labels=any(c != 0 for c in self.training.coefficients),
            rate=float(self.training.learning_rate),
            smoothing=float(self.training.smoothing),
        )
        return sizes, settings

    def _draw(
        self, group: Group, sizes: Sizes, narrow: NDArray[Any], places: NDArray[np.int64]
    ) -> None:
        """Draw A, and (R^T | r) with r = 0."""
        reverse = narrow[places[State._fields.index("reverse")] :]
        for lane, place in enumerate(group.positions):
            n_nodes, n_source = len(self.pairs[place][0].unit_weights), sizes.n_source
            seed, alone = self.seeds[place], group.alone
            limit = glorot_limit(n_nodes, n_source)
            shape, base = (n_nodes, n_source, n_source), _base(seed, ATTENTION)
            draw_into(narrow, lane, alone, False, shape, base, limit)
            shape, base = (n_nodes, n_source, sizes.n_reverse), _base(seed, REVERSE)
            draw_into(reverse, lane, alone, True, shape, base, limit)

    def _outcomes(
        self,
        graphs: Sequence[EncodedGraph],
        sizes: Sizes,
        settings: Settings,
        places: tuple[NDArray[np.int64], NDArray[np.int64]],
        buffers: tuple[NDArray[Any], NDArray[np.float64]],
    ) -> list[Outcome]:
        """Copy the findings out of the buffers."""
        narrow, wide = buffers
        shape = (self.schedule.n_checkpoints, 2 + 2 * sizes.n_attributes)
        _, costs, sums, step, _ = places[1]
        by_lane = wide[sums:step].reshape(*shape, LANES)
        if settings.alone:
            terms = [by_lane.sum(axis=-1)]
        else:
            terms = list(np.ascontiguousarray(np.moveaxis(by_lane, -1, 0))[: len(graphs)])
        if not self.detail:
            return [Outcome(own) for own in terms]
        apart = places[0][State._fields.index("attention")]
        attention = narrow[apart : apart + sizes.rows * sizes.n_source * LANES]

        def of_nodes(array: Any, lane: int, n_nodes: int, *before: int, after: int = 1) -> Any:
            shaped = array.reshape(*before, -1, after, LANES)
            if settings.alone:
                rows = np.moveaxis(shaped, -1, -2).reshape(*before, -1, after)
            else:
                rows = shaped[..., lane]
            return rows[..., :n_nodes, :].astype(np.float64)

        outcomes = []
        for lane, graph in enumerate(graphs):
            n = len(graph.unit_weights)
            own_costs = of_nodes(wide[costs:sums], lane, n, 2, after=sizes.n_nodes)[..., :n]
            unit_terms = of_nodes(wide[:costs], lane, n, *shape)[..., 0]
            own_attention = of_nodes(attention, lane, n, after=sizes.n_source)
            outcomes.append(Outcome(terms[lane], unit_terms, own_attention, own_costs))
        return outcomes


@lru_cache(4096)
def _base(seed: int, stream: int) -> np.uint64:
    """Return the offset of a stream; pairs of one source share it."""
    return np.uint64(stream_base(seed, stream)[0])


def make_schedule(training: PairTraining, detail: bool) -> Schedule:
    """Say which steps are checkpoints."""
    last, n_checkpoints = training.checkpoints[-1], len(training.checkpoints)
    checkpoints = np.full(last + 1, -1, dtype=np.int64)
    checkpoints[list(training.checkpoints)] = np.arange(n_checkpoints)
    return Schedule(last, checkpoints, n_checkpoints, detail)
