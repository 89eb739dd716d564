"""Problems and sources as the flat arrays of the kernels.

A target brings one lane of its own to a group of eight, or fills all lanes with its units when it
comes alone. Whatever a target does not fill is 0, has weight 0, and so adds exact zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.engine.fused.arrays import (
    Entries,
    Factors,
    LabelArrays,
    SourceArrays,
    TargetArrays,
    aligned,
    flat,
)
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.problem import PairTraining, Problem, Source, Weights

Labels = NDArray[np.int64]


def pack_network(weights: Weights, precision: Any) -> NDArray[Any]:
    """Return W_1, b_1, W_2, b_2, ... one after the other."""
    parts = [np.asarray(part).reshape(-1) for layer in weights.hidden for part in layer]
    return flat(np.concatenate([np.zeros(0), *parts]), precision)


def pack_source(
    source: Source, labels: Sequence[Labels], low_rank: bool, tied: bool, precision: Any
) -> SourceArrays:
    """Lay out an encoder; labels: those its units carry, per family.

    Where tied and units are not nodes, attention to units is first taken to their members.
    """
    weight, bias = source.weights.output
    lift = np.vstack([weight, bias]) if low_rank else np.eye(len(bias))
    if tied and source.members is not None:
        lift = lift @ source.members.T
    elif not tied:
        lift = np.hstack([lift, np.zeros((len(lift), 1))])
        lift[-1, -1] = 1
    carried = [q[:, columns] for q, columns in zip(source.families, labels, strict=True)]
    matrix = np.hstack([np.zeros((len(source.weights.table), 0)), *carried])
    return SourceArrays(
        table=flat(source.weights.table, precision),
        network=pack_network(source.weights, precision),
        output=flat(weight, precision),
        output_bias=flat(bias, precision),
        lift=flat(lift, precision),
        by_label=pack_entries(matrix.T, precision),
        by_unit=pack_entries(matrix, precision),
        regions=np.empty(0, np.int64) if source.regions is None else source.regions,
    )


def pack_entries(matrix: Any, precision: Any) -> Entries:
    """Return the nonzero entries of a matrix row by row; a sparse one's as they are."""
    if sparse.issparse(matrix):
        rows = sparse.csr_array(matrix)
        starts, places, values = rows.indptr, rows.indices, rows.data
    else:
        at, places = np.nonzero(matrix)
        values = matrix[at, places]
        starts = np.searchsorted(at, np.arange(len(matrix) + 1))
    return Entries(starts.astype(np.int64), places.astype(np.int64), flat(values, precision))


def no_entries(precision: Any) -> Entries:
    """Return an empty matrix."""
    return pack_entries(np.zeros((0, 0)), precision)


def pack_join(matrix: Any, precision: Any) -> Entries:
    """Return a matrix of means row by row; None is an empty one."""
    return no_entries(precision) if matrix is None else pack_entries(matrix, precision)


def pack_factors(left: Any, right: Any, n_rows: int, block: int, precision: Any) -> Factors:
    """Lay out U and V as they start, and room for training them; None: nothing of it."""
    if left is None:
        return Factors(*(aligned(0, precision=precision) for _ in Factors._fields))
    size = left.shape[1]
    lanes = in_rows(left, precision)
    assert len(lanes) == n_rows * size * LANES
    filled = -(-right.size // LANES) * LANES
    numbers = aligned(filled, precision=precision)
    numbers[: right.size] = right.reshape(-1)

    def empty(length: int) -> NDArray[Any]:
        return aligned(length, precision=precision)

    return Factors(
        left=lanes,
        left_mean=empty(len(lanes)),
        left_square=empty(len(lanes)),
        right=numbers,
        right_mean=empty(filled),
        right_square=empty(filled),
        left_slopes=empty(block * size * LANES),
        right_slopes=empty(filled),
    )


def source_labels(source: Source) -> list[Labels]:
    """Return the labels that units of a source carry, per family."""
    return [np.flatnonzero(np.any(q != 0, axis=0)) for q in source.families]


def target_labels(problem: Problem) -> list[Labels]:
    """Return the labels that surround units of a target or come from its nodes, per family."""
    return [
        np.flatnonzero(np.any(f.nodes != 0, axis=0) | np.any(f.surroundings != 0, axis=0))
        for f in problem.families
    ]


def starts_of(widths: Any) -> NDArray[np.int64]:
    """Return where each family's columns start, and where the last one's end."""
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


def scales_of(problem: Problem, training: PairTraining) -> tuple[float, float]:
    """Return what the structure and the label losses are divided by."""
    if training.reduction == "sum":
        return 1.0, 1.0
    count = float(problem.unit_weights.sum())
    return count * float(problem.node_weights.sum()), count


def in_rows(matrix: Any, precision: Any) -> NDArray[Any]:
    """Lay eight rows of a matrix side by side: (n, columns) -> (n / LANES rows, columns) lanes."""
    values = np.asarray(matrix)
    values = values[:, None] if values.ndim == 1 else values
    n_rows = -(-len(values) // LANES)
    result = aligned(n_rows, values.shape[1], LANES, precision=precision)
    padded = np.zeros((n_rows * LANES, values.shape[1]))
    padded[: len(values)] = values
    shaped = padded.reshape(n_rows, LANES, values.shape[1]).swapaxes(1, 2)
    result.reshape(n_rows, values.shape[1], LANES)[:] = shaped
    return result


def in_lanes(matrices: Sequence[Any], shape: tuple[int, ...], precision: Any) -> NDArray[Any]:
    """Give every matrix a lane: matrices of at most that shape -> (*shape) lanes."""
    result = aligned(*shape, LANES, precision=precision)
    shaped = result.reshape(*shape, LANES)
    for lane, matrix in enumerate(matrices):
        corner: Any = (*(slice(size) for size in matrix.shape), lane)
        shaped[corner] = matrix
    return result


def pack_alone(problem: Problem, training: PairTraining, precision: Any) -> TargetArrays:
    """Lay out a target that comes alone."""
    structure, label = scales_of(problem, training)
    labels = target_labels(problem)
    around = [f.surroundings[:, c] for f, c in zip(problem.families, labels, strict=True)]
    nodes = [f.nodes[:, c] for f, c in zip(problem.families, labels, strict=True)]
    n_units, n_nodes = problem.relation.shape
    weighted = problem.node_weights[:, None] * np.hstack([np.zeros((n_nodes, 0)), *nodes])
    return TargetArrays(
        relation=aligned(0, precision=precision),
        related=pack_entries(problem.relation, precision),
        structure_factors=in_rows(problem.unit_weights / structure, precision),
        label_factors=in_rows(problem.unit_weights / label, precision),
        unit_weights=in_rows(problem.unit_weights, precision),
        column_weights=flat(np.repeat(problem.node_weights, LANES), precision),
        attending_weights=in_rows(problem.attending_weights, precision),
        node_weights=in_rows(problem.node_weights, precision),
        scales=flat(np.repeat([structure, label], LANES), np.float64),
        around=in_rows(np.hstack([np.zeros((n_units, 0)), *around]), precision),
        contributions=aligned(0, precision=precision),
        by_label=pack_entries(weighted.T, precision),
        by_node=pack_entries(weighted, precision),
        reverse_starts=starts_of([len(columns) for columns in labels]),
        spreads=pack_join(problem.spreads, precision),
        gathers=pack_join(problem.gathers, precision),
    )


def pack_side_by_side(
    problems: Sequence[Problem], training: PairTraining, precision: Any
) -> TargetArrays:
    """Lay out up to eight targets, each in a lane of its own."""
    n_units = max(p.relation.shape[0] for p in problems)
    n_nodes = max(p.relation.shape[1] for p in problems)
    scales = np.array([scales_of(p, training) for p in problems])
    labels = [target_labels(p) for p in problems]
    widths = [max(len(own[f]) for own in labels) for f in range(len(problems[0].families))]
    starts = starts_of(widths)
    around = aligned(n_units, int(starts[-1]), LANES, precision=precision)
    contributions = aligned(n_nodes, int(starts[-1]), LANES, precision=precision)
    for lane, (problem, own) in enumerate(zip(problems, labels, strict=True)):
        for family, start, columns in zip(problem.families, starts[:-1], own, strict=True):
            taken = slice(start, start + len(columns))
            shape = (-1, int(starts[-1]), LANES)
            n_own_units, n_own_nodes = problem.relation.shape
            around.reshape(shape)[:n_own_units, taken, lane] = family.surroundings[:, columns]
            weighted = problem.node_weights[:, None] * family.nodes[:, columns]
            contributions.reshape(shape)[:n_own_nodes, taken, lane] = weighted
    all_scales = np.ones((2, LANES))
    all_scales[:, : len(problems)] = scales.T
    units = [p.unit_weights for p in problems]
    node_weights = in_lanes([p.node_weights for p in problems], (n_nodes,), precision)
    return TargetArrays(
        relation=in_lanes([p.dense_relation() for p in problems], (n_units, n_nodes), precision),
        related=no_entries(precision),
        structure_factors=in_lanes(
            [w / s for w, (s, _) in zip(units, scales, strict=True)], (n_units,), precision
        ),
        label_factors=in_lanes(
            [w / s for w, (_, s) in zip(units, scales, strict=True)], (n_units,), precision
        ),
        unit_weights=in_lanes(units, (n_units,), precision),
        attending_weights=in_lanes(units, (n_units,), precision),
        column_weights=node_weights,
        node_weights=node_weights,
        scales=flat(all_scales, np.float64),
        around=around,
        contributions=contributions,
        by_label=no_entries(precision),
        by_node=no_entries(precision),
        reverse_starts=starts,
        spreads=no_entries(precision),
        gathers=no_entries(precision),
    )


def pack_units(problems: Sequence[Problem], alone: bool, precision: Any) -> NDArray[Any]:
    """Lay out Q_u of all families side by side, (rows, all labels, LANES)."""
    given = [
        np.hstack([np.zeros((p.relation.shape[0], 0)), *(f.units for f in p.families)])
        for p in problems
    ]
    if alone:
        shape = (-(-len(given[0]) // LANES), given[0].shape[1])
        return in_rows(given[0], precision).reshape(*shape, LANES)
    shape = (max(map(len, given)), given[0].shape[1])
    return in_lanes(given, shape, precision).reshape(*shape, LANES)


def pack_labels(
    units: NDArray[Any], widths: NDArray[np.int64], labels: Sequence[Labels], training: PairTraining
) -> LabelArrays:
    """Choose what targets carry of the source's labels, and how much of none of them.

    units: as `pack_units` returns it; widths: k of each family; labels: of the source.
    """
    begin = starts_of(widths)
    columns = [start + own for start, own in zip(begin[:-1], labels, strict=True)]
    carried = units[:, np.concatenate([np.zeros(0, dtype=np.int64), *columns])]
    lacking = aligned(len(units), len(widths), LANES, precision=units.dtype)
    for family, (own, start, width) in enumerate(zip(columns, begin[:-1], widths, strict=True)):
        others = np.ones(width, dtype=bool)
        others[own - start] = False
        lacking.reshape(len(units), -1, LANES)[:, family] = units[:, start : start + width][
            :, others
        ].sum(axis=1)
    return LabelArrays(
        observed=flat(carried, units.dtype),
        missing=lacking,
        attention_starts=starts_of([len(own) for own in labels]),
        widths=widths,
        coefficients=np.array(training.coefficients[: len(widths)], dtype=np.float64),
    )
