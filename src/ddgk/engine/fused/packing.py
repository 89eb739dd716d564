"""Which pairs are trained together, and how arrays are laid out for the kernels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache
from math import prod
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ddgk.config import Config
from ddgk.engine.arrays import Array, EncodedGraph, EncoderWeights, Outcome, Source
from ddgk.engine.fused.kernels import adam_paces
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.fused.pairs import (
    Compressed,
    Integers,
    Memory,
    Numbers,
    PackedLabels,
    PackedSource,
    PackedTarget,
    Plan,
    train_group,
)
from ddgk.engine.initialisation import ATTENTION, REVERSE, glorot_limit, uniform

LANES_LIMIT = 48  # nodes, of target and source: eight such pairs fit into the second-level cache
LARGE = 1 << 28  # numbers; pairs that need more are in memory one at a time
ROWS_ALONE = 9  # rows of eight nodes of a single pair that are taken forward together
CACHE_LINE = 64  # bytes


def aligned(*shape: int, kind: Any = np.float32) -> Numbers:
    """Return a flat array of zeros for that shape that starts at a cache line.

    A vector then never straddles two lines, which would halve the speed of products.
    """
    size = prod(shape) * np.dtype(kind).itemsize
    memory = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(kind)


def flat(array: Any, kind: Any = np.float32) -> Numbers:
    """Copy an array into a flat, aligned one."""
    values = np.asarray(array)
    result = aligned(values.size, kind=kind)
    result[:] = values.reshape(-1)
    return result


def in_rows(matrix: Any) -> Numbers:
    """Put eight rows of a matrix into the lanes: (n, columns) -> (n / LANES, columns) lanes."""
    values = np.asarray(matrix)
    by_lane = [values[lane::LANES] for lane in range(LANES)]
    return in_lanes(by_lane, by_lane[0].shape)


def in_lanes(matrices: Sequence[Any], shape: tuple[int, ...]) -> Numbers:
    """Give every matrix a lane: matrices of at most that shape -> (*shape) lanes."""
    result = aligned(*shape, LANES)
    shaped = result.reshape(*shape, LANES)
    for lane, matrix in enumerate(matrices):
        corner: Any = (*(slice(size) for size in matrix.shape), lane)
        shaped[corner] = matrix
    return result


def compress(matrix: Any) -> Compressed:
    """Return the nonzero entries of a matrix row by row; of a sparse one the stored entries."""
    rows = sparse.csr_array(matrix)
    return Compressed(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), flat(rows.data))


def starts_of(widths: Any) -> Integers:
    """Return where the columns of each attribute start, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


def side_by_side(matrices: Sequence[Any], n_rows: int) -> Array:
    """Concatenate the columns of matrices, of which there may be none."""
    return np.hstack([np.zeros((n_rows, 0)), *matrices])


def pack_network(weights: EncoderWeights) -> Numbers:
    """Return W_1, b_1, W_2, b_2, ... one after the other."""
    return flat(np.concatenate([part.reshape(-1) for layer in weights.hidden for part in layer]))


def pack_source(source: Source, labels: Sequence[Integers]) -> PackedSource:
    """Lay out an encoder; labels: those its nodes carry, per attribute."""
    weight, bias = source.weights.output
    lift = np.zeros((len(weight) + 1, len(bias) + 1))
    lift[:-1, :-1], lift[-1, :-1], lift[-1, -1] = weight, bias, 1
    carried = [q[:, columns] for q, columns in zip(source.attributes, labels, strict=True)]
    matrix = side_by_side(carried, len(source.weights.table))
    return PackedSource(
        table=flat(source.weights.table),
        network=pack_network(source.weights),
        output=flat(weight),
        output_bias=flat(bias),
        lift=flat(lift),
        by_label=compress(matrix.T),
        by_unit=compress(matrix),
    )


def source_labels(source: Source) -> list[Integers]:
    """Return the labels that nodes of a source carry, per attribute."""
    return [np.flatnonzero(np.any(q != 0, axis=0)) for q in source.attributes]


def label_columns(graphs: Sequence[EncodedGraph]) -> tuple[list[Array], list[Array], Integers]:
    """Return Q_s and C of every graph at the labels it carries or has around it, and the starts.

    The columns of an attribute start at the same place in all graphs.
    """
    labels = [
        [
            np.flatnonzero(np.any(a.nodes != 0, axis=0) | np.any(a.neighbours != 0, axis=0))
            for a in g.attributes
        ]
        for g in graphs
    ]
    starts = starts_of([max(map(len, own)) for own in zip(*labels, strict=True)])
    around, nodes = (
        [np.zeros((len(g.unit_weights), starts[-1])) for g in graphs] for _ in range(2)
    )
    for place, (graph, own) in enumerate(zip(graphs, labels, strict=True)):
        for attribute, start, columns in zip(graph.attributes, starts[:-1], own, strict=True):
            taken = slice(start, start + len(columns))
            around[place][:, taken] = attribute.neighbours[:, columns]
            nodes[place][:, taken] = attribute.nodes[:, columns]
    return around, nodes, starts


class Group(NamedTuple):
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
        config: Config,
        detail: bool,
    ) -> None:
        self.pairs, self.seeds, self.config, self.detail = pairs, seeds, config, detail
        self.last = config.checkpoints[-1]
        self.checkpoints = np.full(self.last + 1, -1, dtype=np.int64)
        self.checkpoints[list(config.checkpoints)] = np.arange(len(config.checkpoints))
        self.paces = adam_paces(config.learning_rate, self.last)
        attributes = pairs[0][0].attributes if pairs else ()
        self.widths = np.array([a.units.shape[1] for a in attributes], dtype=np.int64)
        self.coefficients = np.array([config.coefficient(a.name) for a in attributes])
        self._sources: dict[int, tuple[list[Integers], PackedSource]] = {}
        self._targets: dict[Any, tuple[Numbers, PackedTarget]] = {}
        self._packing, self._one_large = Lock(), Lock()

    def train(self, group: Group) -> list[Outcome]:
        """Train a group and return the outcomes of its pairs."""
        graphs = [self.pairs[place][0] for place in group.positions]
        source = self.pairs[group.positions[0]][1]
        plan = self._plan(graphs, source, group.alone)
        with self._packing:  # or two threads would lay out the same targets
            if id(source) not in self._sources:
                labels = source_labels(source)
                self._sources[id(source)] = labels, pack_source(source, labels)
            labels, packed_source = self._sources[id(source)]
            key = (*map(id, graphs), group.alone)
            if key not in self._targets:
                self._targets[key] = self._target(graphs, plan)
            units, target = self._targets[key]
        joined = self._labels(units, labels)
        sizes = memory_sizes(plan, int(target.starts[-1]), int(joined.starts[-1]))
        large = self._one_large if LANES * sum(sizes.values()) > LARGE else nullcontext()
        with large:
            memory = self._memory(plan, sizes)
            if self.config.initialisation == "glorot":
                self._draw(group, plan, memory)
            train_group(plan, packed_source, target, joined, memory)
            return self._outcomes(graphs, plan, memory)

    def _plan(self, graphs: Sequence[EncodedGraph], source: Source, alone: bool) -> Plan:
        n_nodes = max(len(g.unit_weights) for g in graphs)
        n_source, dimension = source.weights.table.shape
        width = len(source.weights.output[0])
        bends = self.config.scores == "tanh"
        low_rank = not bends and n_source > width
        n_factors = width + 1 if low_rank else n_source + 1
        rows = -(-n_nodes // (LANES if alone else 1))
        step = (max(dimension, width) + 1) * LANES
        return Plan(
            rows=rows,
            n_nodes=n_nodes,
            n_source=n_source,
            dimension=dimension,
            width=width,
            depth=len(source.weights.hidden),
            n_factors=n_factors,
            block=min(rows, ROWS_ALONE if alone else LANES_LIMIT),
            step=step,
            factor_step=step if low_rank else n_factors * LANES,
            alone=alone,
            bends=bends,
            low_rank=low_rank,
            trains_labels=bool(self.coefficients.any()),
            smoothing=float(self.config.smoothing),
            last=self.last,
            detail=self.detail,
            checkpoints=self.checkpoints,
            paces=self.paces,
        )

    def _target(self, graphs: Sequence[EncodedGraph], plan: Plan) -> tuple[Numbers, PackedTarget]:
        """Lay out Q_u of all attributes, (rows, all labels, LANES), and the rest of the targets."""
        rows, alone = plan.rows, plan.alone

        def lay(matrices: Sequence[Any], *columns: int) -> Numbers:
            if alone:
                return in_rows(matrices[0])
            return in_lanes(matrices, (rows, *(columns or matrices[0].shape[1:])))

        units = [side_by_side([a.units for a in g.attributes], len(g.unit_weights)) for g in graphs]
        around, nodes, starts = label_columns(graphs)
        weighted = [g.node_weights[:, None] * c for g, c in zip(graphs, nodes, strict=True)]
        sparse_labels = weighted[0] if alone else np.zeros((0, 0))
        scales = np.array([g.divisors(self.config.reduction) for g in graphs])
        by_lane = np.ones((2, LANES))
        by_lane[:, : None if alone else len(graphs)] = scales.T
        weights, sizes = [g.unit_weights for g in graphs], [g.node_weights for g in graphs]
        packed = PackedTarget(
            matrix=aligned(0) if alone else lay([g.dense_matrix() for g in graphs], rows),
            entries=compress(graphs[0].matrix if alone else np.zeros((0, 0))),
            structure_factors=lay([w / s for w, (s, _) in zip(weights, scales, strict=True)]),
            label_factors=lay([w / s for w, (_, s) in zip(weights, scales, strict=True)]),
            weights=lay(weights),
            column_weights=flat(np.repeat(sizes[0], LANES)) if alone else lay(sizes),
            scales=flat(by_lane, np.float64),
            neighbours=lay(around),
            nodes=aligned(0) if alone else lay(weighted),
            by_label=compress(sparse_labels.T),
            by_node=compress(sparse_labels),
            starts=starts,
        )
        return lay(units).reshape(rows, -1, LANES), packed

    def _labels(self, units: Numbers, labels: Sequence[Integers]) -> PackedLabels:
        """Split what targets carry into labels of the source and the mass on all others."""
        begin = starts_of(self.widths)
        columns = [start + own for start, own in zip(begin[:-1], labels, strict=True)]
        carried = units[:, np.concatenate([np.zeros(0, dtype=np.int64), *columns])]
        lacking = np.zeros((len(units), len(labels), LANES), dtype=units.dtype)
        for place, (own, start, end) in enumerate(zip(columns, begin, begin[1:], strict=False)):
            others = np.setdiff1d(np.arange(start, end), own)
            lacking[:, place] = units[:, others].sum(axis=1)
        return PackedLabels(
            observed=flat(carried, units.dtype),
            missing=flat(lacking, units.dtype),
            starts=starts_of([len(own) for own in labels]),
            widths=self.widths,
            coefficients=self.coefficients,
        )

    def _memory(self, plan: Plan, sizes: dict[str, int]) -> Memory:
        """Return zeros for all that a group writes, every array at the start of a cache line."""
        parts = {name: aligned(size, LANES) for name, size in sizes.items()}
        if plan.low_rank:
            top_at = plan.depth * plan.block * plan.step
            parts["factors"] = parts["hidden"][top_at:]
            parts["factors_slopes"] = parts["hidden_slopes"][top_at:]
        else:
            parts["nodes"], parts["reverse_slopes"] = parts["reverse"], parts["nodes_slopes"]
        if not plan.alone:
            parts["numbers"], parts["numbers_slopes"] = parts["nodes"], parts["nodes_slopes"]
        n_terms = len(self.config.checkpoints) * (2 + 2 * len(self.widths))
        n_costs = 2 * plan.rows * plan.n_nodes * self.detail
        return Memory(
            **parts,
            terms=aligned(n_terms, plan.rows, LANES, kind=np.float64),
            sums=aligned(n_terms, LANES, kind=np.float64),
            costs=aligned(n_costs, LANES, kind=np.float64),
        )

    def _draw(self, group: Group, plan: Plan, memory: Memory) -> None:
        """Draw A, and (R^T | r) with r = 0."""
        n_source = plan.n_source
        attention = memory.scores.reshape(plan.rows, n_source, LANES)
        reverse = memory.reverse.reshape(plan.rows, n_source + 1, LANES)
        for lane, place in enumerate(group.positions):
            n = len(self.pairs[place][0].unit_weights)
            seed, limit = self.seeds[place], glorot_limit(n, n_source)
            if group.alone:
                drawn = limit * (2.0 * uniform(seed, ATTENTION, n, n_source) - 1.0)
                attention[:] = in_rows(drawn).reshape(attention.shape)
                drawn = limit * (2.0 * uniform(seed, REVERSE, n_source, n) - 1.0)
                reverse[:, :-1] = in_rows(drawn.T).reshape(attention.shape)
            else:
                attention[:n, :, lane] = limit * _drawn(seed, ATTENTION, n, n_source)
                reverse[:n, :-1, lane] = (limit * _drawn(seed, REVERSE, n_source, n)).T

    def _outcomes(
        self, graphs: Sequence[EncodedGraph], plan: Plan, memory: Memory
    ) -> list[Outcome]:
        """Copy the findings out of the memory."""
        shape = (len(self.config.checkpoints), 2 + 2 * len(self.widths))
        by_lane = memory.sums.reshape(*shape, LANES)
        if plan.alone:
            terms = [by_lane.sum(axis=-1)]
        else:
            terms = list(np.ascontiguousarray(np.moveaxis(by_lane, -1, 0))[: len(graphs)])
        if not self.detail:
            return [Outcome(own) for own in terms]

        def of_nodes(array: Any, lane: int, n_nodes: int, *before: int, after: int = 1) -> Any:
            shaped = array.reshape(*before, -1, after, LANES)
            if plan.alone:
                rows = np.moveaxis(shaped, -1, -2).reshape(*before, -1, after)
            else:
                rows = shaped[..., lane]
            return rows[..., :n_nodes, :].astype(np.float64)

        outcomes = []
        for lane, graph in enumerate(graphs):
            n = len(graph.unit_weights)
            costs = of_nodes(memory.costs, lane, n, 2, after=plan.n_nodes)[..., :n]
            unit_terms = of_nodes(memory.terms, lane, n, *shape)[..., 0]
            attention = of_nodes(memory.attention, lane, n, after=plan.n_source)
            outcomes.append(Outcome(terms[lane], unit_terms, attention, costs))
        return outcomes


def memory_sizes(plan: Plan, n_around: int, n_carried: int) -> dict[str, int]:
    """Return how many lanes the arrays of `Memory` have that are of float32.

    n_around, n_carried: numbers of labels of the target and of the source.
    """
    rows, block, n_source = plan.rows, plan.block, plan.n_source
    low_rank, alone = plan.low_rank, plan.alone
    reverse, entries = rows * (n_source + 1), block * plan.n_nodes
    layers = (plan.depth + 1) * block * plan.step // LANES
    factors, predictions = rows * plan.n_factors, block * plan.n_factors
    return {
        **dict.fromkeys(("scores", "attention", "scores_mean", "scores_square"), rows * n_source),
        **dict.fromkeys(("reverse", "reverse_mean", "reverse_square"), reverse),
        **dict.fromkeys(("hidden", "hidden_slopes"), layers),
        **dict.fromkeys(("factors", "factors_slopes"), 0 if low_rank else predictions),
        "nodes": factors if low_rank else 0,
        "nodes_slopes": factors,
        **dict.fromkeys(("numbers", "numbers_slopes"), factors if alone else 0),
        "reverse_slopes": reverse if low_rank else 0,
        "inputs_slopes": rows * plan.dimension,
        "attention_slopes": block * n_source,
        "predicted": entries,
        "sigmoids": entries,
        "matrix": entries if alone else 0,
        "counts": block * n_around,
        "labels": block * n_carried,
    }


def _drawn(seed: int, stream: int, rows: int, columns: int) -> Array:
    """Return a part of what pairs of one source share: numbers in (-1, 1)."""
    step = LANES_LIMIT
    drawn = _drawn_once(seed, stream, -(-rows // step) * step, -(-columns // step) * step)
    return drawn[:rows, :columns]


@lru_cache(256)
def _drawn_once(seed: int, stream: int, rows: int, columns: int) -> Array:
    return 2.0 * uniform(seed, stream, rows, columns) - 1.0
