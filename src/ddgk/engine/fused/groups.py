"""Which pairs are trained together, and one group from problems to outcomes."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.batches import attending, pair_shape
from ddgk.engine.fused.arrays import (
    Factors,
    LabelArrays,
    Plan,
    Settings,
    Sizes,
    SourceArrays,
    TargetArrays,
)
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.fused.large import Kept, pack_kept, pack_sampling
from ddgk.engine.fused.packing import (
    pack_alone,
    pack_factors,
    pack_labels,
    pack_side_by_side,
    pack_source,
    pack_units,
    source_labels,
)
from ddgk.engine.fused.pairs import train_group
from ddgk.engine.fused.rooms import Rooms, findings_places, room_needed, state_places
from ddgk.engine.fused.starts import draw_into
from ddgk.engine.problem import Outcome, PairTraining, Problem, Source
from ddgk.engine.samples import Shifts, draw_shifts
from ddgk.engine.starts import ATTENTION, REVERSE, glorot_limit, pair_start, stream_base

LARGEST_IN_LANES = 48  # units or nodes; beyond, eight pairs overflow the second-level cache
LARGE_ROOM = 1 << 28  # numbers; of pairs that need more, one at a time is in memory
ROWS_ALONE = 9  # rows of eight units of a pair that comes alone, which are taken forward together


@dataclass(frozen=True)
class Group:
    """Pairs of one source that are trained together, by position; or one alone."""

    positions: tuple[int, ...]
    alone: bool


def comes_alone(problem: Problem, source: Source, size: int = 0) -> bool:
    """Say whether a pair is too large for a lane, or of a kind that lanes do not know.

    It alone decides, and not its company. size: q, of the factors of its attention.
    """
    if size or problem.samples or problem.spreads is not None or problem.gathers is not None:
        return True
    n_units, n_nodes, n_source_units, n_source_nodes = pair_shape(problem, source)
    return max(n_units, n_nodes) * max(n_source_units, n_source_nodes) > LARGEST_IN_LANES**2


def plan_groups(pairs: Sequence[tuple[Problem, Source]], size: int = 0) -> list[Group]:
    """Put pairs of one source and of like sizes together, the costly groups first."""
    groups, by_source = [], defaultdict(list)
    for place, pair in enumerate(pairs):
        if comes_alone(*pair, size):
            groups.append(Group((place,), True))
        else:
            by_source[id(pair[1])].append(place)
    for places in by_source.values():
        places.sort(key=lambda place: pairs[place][0].relation.shape)
        starts = range(0, len(places), LANES)
        groups += [Group(tuple(places[first : first + LANES]), False) for first in starts]
    sizes = [np.prod(pair_shape(*pairs[group.positions[-1]])[::2]) for group in groups]
    return [groups[place] for place in np.argsort(sizes, kind="stable")[::-1]]


class Call:
    """One call of `score_pairs`: what its groups share is laid out once."""

    def __init__(
        self,
        pairs: Sequence[tuple[Problem, Source]],
        seeds: Sequence[int],
        training: PairTraining,
        detail: bool,
        precision: Any,
    ) -> None:
        self.pairs, self.seeds, self.training = pairs, seeds, training
        self.detail, self.precision = detail, precision
        self.plan = _plan(training, detail)
        self._sources: dict[int, tuple[list[NDArray[np.int64]], SourceArrays]] = {}
        self._targets: dict[tuple[int, ...], tuple[NDArray[Any], TargetArrays]] = {}
        self._bases: dict[tuple[int, int], np.uint64] = {}
        self._joined: dict[tuple[Any, ...], LabelArrays] = {}
        self._kept: dict[int, Kept] = {}
        self._own, self._laying_out = threading.local(), threading.Lock()
        self._one_large, self._large_rooms = threading.Lock(), Rooms(precision)
        families = pairs[0][0].families if pairs else ()
        self.widths = np.array([f.units.shape[1] for f in families], dtype=np.int64)

    def score(self, group: Group) -> list[Outcome]:
        """Train a group and return the outcomes of its pairs."""
        problems = [self.pairs[place][0] for place in group.positions]
        source = self.pairs[group.positions[0]][1]
        sizes, settings = self._sizes(problems, source, group.alone)
        with self._laying_out:  # or two threads would lay out the same targets
            labels, source_arrays = self._source(source, settings.low_rank)
            units, target_arrays = self._target(problems, group.alone)
            label_arrays = self._labels(units, labels)
            kept = self._kept_of(problems[0])
        n_labels = int(target_arrays.reverse_starts[-1]), int(label_arrays.attention_starts[-1])
        plan = self.plan if not sizes.n_samples else _plan(self.training, False)
        places = findings_places(sizes, len(self.training.report), plan.detail)
        needed = room_needed(sizes, settings, n_labels), places[-1]
        with self._rooms(needed[0]) as rooms:
            room, wide_room = rooms.of_size(*needed)
            room[: state_places(sizes, settings)[-1]] = 0
            factors = self._factors(group, sizes)
            shifts = self._shifts(problems[0], self.seeds[group.positions[0]])
            sampling = pack_sampling(kept, shifts, sizes, self.precision)
            if self.training.start == "glorot" and not sizes.size:
                self._draw(group, sizes, settings, room)
            train_group(
                sizes,
                settings,
                source_arrays,
                target_arrays,
                label_arrays,
                plan,
                factors,
                sampling,
                room,
                wide_room,
            )
            return self._outcomes(problems, sizes, settings, room, wide_room)

    @contextmanager
    def _rooms(self, needed: int) -> Iterator[Rooms]:
        """Lend the rooms of this thread; or the large ones, which all threads share in turn."""
        if needed > LARGE_ROOM:
            with self._one_large:
                yield self._large_rooms
            return
        if not hasattr(self._own, "rooms"):
            self._own.rooms = Rooms(self.precision)
        yield self._own.rooms

    def _source(
        self, source: Source, low_rank: bool
    ) -> tuple[list[NDArray[np.int64]], SourceArrays]:
        if id(source) not in self._sources:
            labels, tied = source_labels(source), self.training.reverse == "tied"
            packed = pack_source(source, labels, low_rank, tied, self.precision)
            self._sources[id(source)] = (labels, packed)
        return self._sources[id(source)]

    def _target(
        self, problems: Sequence[Problem], alone: bool
    ) -> tuple[NDArray[Any], TargetArrays]:
        # The same target may come alone with a large source and in a lane with a small one.
        key = (alone, *map(id, problems))
        if key not in self._targets:
            units = pack_units(problems, alone, self.precision)
            if alone:
                packed = pack_alone(problems[0], self.training, self.precision)
            else:
                packed = pack_side_by_side(problems, self.training, self.precision)
            self._targets[key] = (units, packed)
        return self._targets[key]

    def _kept_of(self, problem: Problem) -> Kept | None:
        """Lay out which entries of a sampled target are looked at in every step, once."""
        if not problem.samples:
            return None
        if id(problem) not in self._kept:
            self._kept[id(problem)] = pack_kept(problem, self.precision)
        return self._kept[id(problem)]

    def _labels(self, units: NDArray[Any], labels: Sequence[NDArray[np.int64]]) -> LabelArrays:
        """Join target and source labels; sources that have the same ones share the result."""
        key = (id(units), *(tuple(own.tolist()) for own in labels))
        if key not in self._joined:
            self._joined[key] = pack_labels(units, self.widths, labels, self.training)
        return self._joined[key]

    def _sizes(
        self, problems: Sequence[Problem], source: Source, alone: bool
    ) -> tuple[Sizes, Settings]:
        n_units = max(p.relation.shape[0] for p in problems)
        n_nodes = max(p.relation.shape[1] for p in problems)
        shifts = self._shifts(problems[0], 0)
        n_source_units, dimension = source.weights.table.shape
        top, n_source_nodes = source.weights.output[0].shape
        tied, bends = self.training.reverse == "tied", self.training.scores == "tanh"
        low_rank = not bends and n_source_nodes > top
        n_reverse = n_source_units if tied else n_source_nodes + 1
        spreads, gathers = (
            getattr(problems[0], name) is not None for name in ("spreads", "gathers")
        )
        per_row = LANES if alone else 1
        rows, node_rows = -(-n_units // per_row), -(-n_nodes // per_row)
        sizes = Sizes(
            rows=rows,
            node_rows=node_rows,
            attending_rows=node_rows if gathers else rows,
            n_nodes=n_nodes,
            n_source_units=n_source_units,
            n_source_nodes=n_source_nodes,
            dimension=dimension,
            width=top,
            depth=len(source.weights.hidden),
            n_known=top + 1 if low_rank else n_source_nodes + (not tied),
            n_reverse=n_reverse,
            n_families=len(problems[0].families),
            block=min(rows, ROWS_ALONE if alone else LARGEST_IN_LANES),
            size=self.training.size,
            n_samples=0 if shifts is None else shifts.n_samples,
            n_images=len(self.training.images),
            n_regions=source.n_regions,
        )
        settings = Settings(
            alone=alone,
            tied=tied,
            bends=bends,
            low_rank=low_rank,
            lifted=low_rank or (tied and spreads),
            spreads=tied and spreads,
            gathers=gathers,
            trains_labels=any(c != 0 for c in self.training.coefficients),
            trains_sources=self.training.trains_sources,
            rate=float(self.training.rate),
            epsilon=problems[0].epsilon,
            smoothing=float(self.training.smoothing),
        )
        return sizes, settings

    def _draw(self, group: Group, sizes: Sizes, settings: Settings, room: NDArray[Any]) -> None:
        """Draw A, and (R^T | r) with r = 0."""
        _, _, reverse_at, _ = state_places(sizes, settings)
        scores, reverse = room, room[reverse_at:]
        for lane, place in enumerate(group.positions):
            _, n_nodes, n_source_units, n_source_nodes = pair_shape(*self.pairs[place])
            n_attending = attending(self.pairs[place][0])
            seed, alone = self.seeds[place], group.alone
            shape = (n_attending, n_source_units, sizes.n_source_units)
            limit = glorot_limit(n_attending, n_source_units)
            draw_into(scores, lane, alone, False, shape, self._base(seed, ATTENTION), limit)
            if self.training.reverse == "free":
                shape = (n_nodes, n_source_nodes, sizes.n_reverse)
                limit = glorot_limit(n_source_nodes, n_nodes)
                base = self._base(seed, REVERSE)
                draw_into(reverse, lane, alone, True, shape, base, limit)

    def _factors(self, group: Group, sizes: Sizes) -> tuple[Factors, Factors]:
        """Lay out the factors of A and of R^T as they start; empty where there are none."""
        nothing = pack_factors(None, None, 0, 0, self.precision)
        if not sizes.size:
            return nothing, nothing
        (place,) = group.positions
        problem, source = self.pairs[place]
        shape = (attending(problem), *pair_shape(problem, source)[1:])
        start = pair_start(shape, source, self.seeds[place], self.training)
        pack, block = pack_factors, sizes.block
        scores = pack(start[0], start[1], sizes.attending_rows, block, self.precision)
        if self.training.reverse == "tied":
            return scores, nothing
        return scores, pack(start[2], start[3], sizes.node_rows, block, self.precision)

    def _shifts(self, problem: Problem, seed: int) -> Shifts | None:
        """Draw what is sampled of a target in all steps; None where all is looked at."""
        if not problem.samples:
            return None
        n_steps = self.training.report[-1] + 1
        return draw_shifts(seed, len(problem.node_weights), problem.samples, n_steps)

    def _base(self, seed: int, stream: int) -> np.uint64:
        """Return where a stream starts; pairs of one source share it."""
        if (seed, stream) not in self._bases:
            self._bases[seed, stream] = stream_base(seed, stream)[0]
        return self._bases[seed, stream]

    def _outcomes(
        self,
        problems: Sequence[Problem],
        sizes: Sizes,
        settings: Settings,
        room: NDArray[Any],
        wide_room: NDArray[np.float64],
    ) -> list[Outcome]:
        """Copy what was found out of the rooms."""
        shape = (len(self.training.report), 2 + 2 * sizes.n_families)
        sampled = sizes.n_samples > 0
        ends = findings_places(sizes, len(self.training.report), self.detail and not sampled)
        costs, channels, shares, terms, images, end = ends

        def of_pairs(array: Any, *inner: int) -> list[Any]:
            by_lane = array.reshape(*inner, LANES)
            if settings.alone:
                return [by_lane.sum(axis=-1)]
            return list(np.ascontiguousarray(np.moveaxis(by_lane, -1, 0))[: len(problems)])

        sums = of_pairs(wide_room[channels:shares], *shape)
        shared = of_pairs(wide_room[shares:terms], shape[1], sizes.n_source_units)
        n_images, n_regions = sizes.n_images, sizes.n_regions
        regional = wide_room[images:end]
        apart = state_places(sizes, settings)[0]
        attention = room[apart : apart + sizes.attending_rows * sizes.n_source_units * LANES]
        outcomes = []
        for lane, problem in enumerate(problems):
            n_units, n_nodes = problem.relation.shape

            def units(
                array: Any, *before: int, after: int = 1, lane: int = lane, n: int = n_units
            ) -> Any:
                shaped = array.reshape(*before, -1, after, LANES)
                if settings.alone:
                    rows = np.moveaxis(shaped, -1, -2).reshape(*before, -1, after)
                else:
                    rows = shaped[..., lane]
                return rows[..., :n, :].astype(np.float64)

            n_attending = attending(problem)
            by_region = np.empty((n_images, n_attending, n_regions))
            if by_region.size:
                by_region = units(regional, n_images, after=n_regions, n=n_attending)
            if not self.detail:
                outcomes.append(Outcome(sums[lane], shared[lane], by_region))
                continue
            outcomes.append(
                Outcome(
                    sums[lane],
                    shared[lane],
                    by_region,
                    units(wide_room[:costs], *shape)[..., 0],
                    units(attention, after=sizes.n_source_units, n=n_attending),
                    None
                    if sampled
                    else units(wide_room[costs:channels], 2, after=sizes.n_nodes)[..., :n_nodes],
                )
            )
        return outcomes


def _plan(training: PairTraining, detail: bool) -> Plan:
    """Spread every report over the steps it averages."""
    last = training.report[-1]
    shares = np.zeros((last + 1, len(training.report)))
    for place, step in enumerate(training.report):
        earliest = max(0, step - training.window + 1)
        shares[earliest : step + 1, place] = 1 / (step + 1 - earliest)
    cost_shares = shares[:, -1] if detail else np.zeros(last + 1)
    records = np.asarray(shares.any(axis=1))
    images = np.full(last + 1, -1)
    images[list(training.images)] = np.arange(len(training.images))
    return Plan(last, records, shares, np.ascontiguousarray(cost_shares), detail, images)
