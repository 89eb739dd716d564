"""Encoded graphs and sources as the flat arrays of the kernels.

A target fills one lane of a group of eight, or all lanes with its own nodes when it is trained as a
single pair. Entries that a target does not fill are 0, have weight 0, and add exact zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.engine.arrays import EncodedGraph, EncoderWeights, PairTraining, Source
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.fused.layout import (
    Compressed,
    PackedLabels,
    PackedSource,
    PackedTarget,
    aligned,
    flat,
)

Labels = NDArray[np.int64]


def pack_network(weights: EncoderWeights, precision: Any) -> NDArray[Any]:
    """Return W_1, b_1, W_2, b_2, ... one after the other."""
    parts = [np.asarray(part).reshape(-1) for layer in weights.hidden for part in layer]
    return flat(np.concatenate([np.zeros(0), *parts]), precision)


def pack_source(
    source: Source, labels: Sequence[Labels], tied: bool, precision: Any
) -> PackedSource:
    """Lay out an encoder; labels: those its nodes carry, per attribute."""
    weight, bias = source.weights.output
    lift = np.vstack([weight, bias])
    if not tied:
        lift = np.hstack([lift, np.zeros((len(lift), 1))])
        lift[-1, -1] = 1
    carried = [q[:, columns] for q, columns in zip(source.attributes, labels, strict=True)]
    matrix = np.hstack([np.zeros((len(source.weights.table), 0)), *carried])
    return PackedSource(
        table=flat(source.weights.table, precision),
        network=pack_network(source.weights, precision),
        output=flat(weight, precision),
        output_bias=flat(bias, precision),
        lift=flat(lift, precision),
        by_label=compress(matrix.T, precision),
        by_unit=compress(matrix, precision),
    )


def compress(matrix: Any, precision: Any) -> Compressed:
    """Return the nonzero entries of a matrix row by row; of a sparse one the stored entries."""
    if sparse.issparse(matrix):
        rows = sparse.csr_array(matrix)
        starts, places, values = rows.indptr, rows.indices, rows.data
    else:
        at, places = np.nonzero(matrix)
        values = matrix[at, places]
        starts = np.searchsorted(at, np.arange(len(matrix) + 1))
    return Compressed(starts.astype(np.int64), places.astype(np.int64), flat(values, precision))


def source_labels(source: Source) -> list[Labels]:
    """Return the labels that nodes of a source carry, per attribute."""
    return [np.flatnonzero(np.any(q != 0, axis=0)) for q in source.attributes]


def target_labels(graph: EncodedGraph) -> list[Labels]:
    """Return the labels that nodes of a target carry or have around them, per attribute."""
    return [
        np.flatnonzero(np.any(a.nodes != 0, axis=0) | np.any(a.neighbours != 0, axis=0))
        for a in graph.attributes
    ]


def starts_of(widths: Any) -> NDArray[np.int64]:
    """Return where the columns of each attribute start, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


def scales_of(graph: EncodedGraph, training: PairTraining) -> tuple[float, float]:
    """Return the divisors of the structure loss and of the attribute losses."""
    if training.reduction == "sum":
        return 1.0, 1.0
    count = float(graph.unit_weights.sum())
    return count * float(graph.node_weights.sum()), count


def in_rows(matrix: Any, precision: Any) -> NDArray[Any]:
    """Put eight rows of a matrix into the lanes: (n, columns) -> (n / LANES, columns) lanes."""
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


def pack_alone(graph: EncodedGraph, training: PairTraining, precision: Any) -> PackedTarget:
    """Lay out the target of a single pair."""
    structure, label = scales_of(graph, training)
    labels = target_labels(graph)
    around = [a.neighbours[:, c] for a, c in zip(graph.attributes, labels, strict=True)]
    nodes = [a.nodes[:, c] for a, c in zip(graph.attributes, labels, strict=True)]
    weights, empty = graph.unit_weights, np.zeros((len(graph.unit_weights), 0))
    weighted = graph.node_weights[:, None] * np.hstack([empty, *nodes])
    return PackedTarget(
        matrix=aligned(0, precision=precision),
        entries=compress(graph.matrix, precision),
        structure_factors=in_rows(weights / structure, precision),
        label_factors=in_rows(weights / label, precision),
        weights=in_rows(weights, precision),
        column_weights=flat(np.repeat(graph.node_weights, LANES), precision),
        scales=flat(np.repeat([structure, label], LANES), np.float64),
        neighbours=in_rows(np.hstack([empty, *around]), precision),
        nodes=aligned(0, precision=precision),
        by_label=compress(weighted.T, precision),
        by_node=compress(weighted, precision),
        reverse_starts=starts_of([len(columns) for columns in labels]),
    )


def pack_side_by_side(
    graphs: Sequence[EncodedGraph], training: PairTraining, precision: Any
) -> PackedTarget:
    """Lay out up to eight targets, each in a lane of its own."""
    n_nodes = max(len(g.unit_weights) for g in graphs)
    scales = np.array([scales_of(g, training) for g in graphs])
    labels = [target_labels(g) for g in graphs]
    widths = [max(len(own[a]) for own in labels) for a in range(len(graphs[0].attributes))]
    starts = starts_of(widths)
    around, nodes = (
        aligned(n_nodes, int(starts[-1]), LANES, precision=precision) for _ in range(2)
    )
    shape = (-1, int(starts[-1]), LANES)
    for lane, (graph, own) in enumerate(zip(graphs, labels, strict=True)):
        for attribute, start, columns in zip(graph.attributes, starts[:-1], own, strict=True):
            taken = (slice(len(graph.unit_weights)), slice(start, start + len(columns)), lane)
            around.reshape(shape)[taken] = attribute.neighbours[:, columns]
            nodes.reshape(shape)[taken] = graph.node_weights[:, None] * attribute.nodes[:, columns]
    all_scales = np.ones((2, LANES))
    all_scales[:, : len(graphs)] = scales.T

    def by_node(vectors: Sequence[Any]) -> NDArray[Any]:
        return in_lanes(vectors, (n_nodes,), precision)

    weights = [g.unit_weights for g in graphs]
    nothing = compress(np.zeros((0, 0)), precision)
    return PackedTarget(
        matrix=in_lanes([g.dense_matrix() for g in graphs], (n_nodes, n_nodes), precision),
        entries=nothing,
        structure_factors=by_node([w / s for w, (s, _) in zip(weights, scales, strict=True)]),
        label_factors=by_node([w / s for w, (_, s) in zip(weights, scales, strict=True)]),
        weights=by_node(weights),
        column_weights=by_node([g.node_weights for g in graphs]),
        scales=flat(all_scales, np.float64),
        neighbours=around,
        nodes=nodes,
        by_label=nothing,
        by_node=nothing,
        reverse_starts=starts,
    )


def pack_units(graphs: Sequence[EncodedGraph], alone: bool, precision: Any) -> NDArray[Any]:
    """Lay out Q_u of all attributes, (rows, all labels, LANES)."""
    given = [
        np.hstack([np.zeros((len(g.unit_weights), 0)), *(a.units for a in g.attributes)])
        for g in graphs
    ]
    if alone:
        shape = (-(-len(given[0]) // LANES), given[0].shape[1])
        return in_rows(given[0], precision).reshape(*shape, LANES)
    shape = (max(map(len, given)), given[0].shape[1])
    return in_lanes(given, shape, precision).reshape(*shape, LANES)


def pack_labels(
    units: NDArray[Any], widths: NDArray[np.int64], labels: Sequence[Labels], training: PairTraining
) -> PackedLabels:
    """Split what targets carry into labels of the source and the mass on all others.

    units: as `pack_units` returns it; widths: k of each attribute; labels: of the source.
    """
    begin = starts_of(widths)
    columns = [start + own for start, own in zip(begin[:-1], labels, strict=True)]
    carried = units[:, np.concatenate([np.zeros(0, dtype=np.int64), *columns])]
    lacking = aligned(len(units), len(widths), LANES, precision=units.dtype)
    for place, (own, start, width) in enumerate(zip(columns, begin[:-1], widths, strict=True)):
        others = np.ones(width, dtype=bool)
        others[own - start] = False
        lacking.reshape(len(units), -1, LANES)[:, place] = units[:, start : start + width][
            :, others
        ].sum(axis=1)
    return PackedLabels(
        observed=flat(carried, units.dtype),
        missing=lacking,
        attention_starts=starts_of([len(own) for own in labels]),
        widths=widths,
        coefficients=np.array(training.coefficients[: len(widths)], dtype=np.float64),
    )
