"""Large targets as flat arrays: which entries are looked at, and room for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.fused.arrays import Entries, Sampling, Sizes, aligned, flat
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.fused.packing import no_entries, pack_entries, target_labels
from ddgk.engine.fused.sampling import SPAN, TILE
from ddgk.engine.problem import Problem
from ddgk.engine.samples import Shifts, kept_entries


class Kept(NamedTuple):
    """What all pairs of a large target share."""

    entries: Entries  # B and the diagonal, row by row
    shifts: NDArray[np.int64]  # (j - i) mod n_t of each
    labels: NDArray[Any]  # C^T in tiles


def pack_kept(problem: Problem, precision: Any) -> Kept:
    """Lay out what is looked at in every step, and what nodes carry."""
    n_nodes = len(problem.node_weights)
    entries = pack_entries(kept_entries(problem.relation), precision)
    shifts = (entries.places - np.repeat(np.arange(n_nodes), np.diff(entries.starts))) % n_nodes
    return Kept(entries, shifts, flat(_labels_across(problem), precision))


def pack_sampling(
    target: Kept | None, shifts: Shifts | None, sizes: Sizes, precision: Any
) -> Sampling:
    """Lay out shifts and kept entries, and room for a step; None: nothing of it."""

    def room(length: int) -> NDArray[Any]:
        return aligned(length, precision=precision)

    if shifts is None or target is None:
        return Sampling(
            starts=np.zeros((0, 0), dtype=np.int64),
            lengths=np.zeros(0, dtype=np.int64),
            kept=no_entries(precision),
            shifts=np.zeros(0, dtype=np.int64),
            **{name: room(0) for name in Sampling._fields if name not in NUMBERED},
        )
    kept = target.entries
    stride = -(-sizes.n_known // LANES) * LANES
    in_block, n_nodes = _most_in_a_block(kept, sizes.block * LANES), sizes.n_nodes
    by_sample = shifts.by_sample()
    return Sampling(
        starts=shifts.starts,
        lengths=shifts.lengths,
        weights=flat(shifts.weights, precision),
        columns=flat(np.repeat(by_sample, LANES), precision),
        drawn=room(n_nodes),
        kept=kept,
        shifts=target.shifts,
        across=room(-(-n_nodes // TILE) * sizes.n_known * SPAN),
        across_slopes=room(-(-n_nodes // TILE) * sizes.n_known * SPAN),
        nodes=room(2 * n_nodes * stride),
        labels=target.labels,
        facts=room(sizes.block * LANES * stride),
        facts_slopes=room(sizes.block * LANES * stride),
        scores=room(in_block),
        predicted=room(in_block),
        edge_costs=room(in_block),
        other_costs=room(in_block),
        repeated=room(in_block),
        total=room(LANES),
    )


NUMBERED = ("starts", "lengths", "kept", "shifts")


def _most_in_a_block(kept: Entries, n_units: int) -> int:
    """Return how many entries a block of units has at most, filled up to whole lanes."""
    ends = kept.starts[
        np.minimum(np.arange(0, len(kept.starts) + n_units, n_units), len(kept.starts) - 1)
    ]
    return int(-(-np.diff(ends).max(initial=0) // LANES) * LANES)


def _labels_across(problem: Problem) -> NDArray[np.float64]:
    """Return C^T of all labels the target has, in tiles, (tiles, labels, SPAN)."""
    n_nodes = len(problem.node_weights)
    own = [
        family.nodes[:, columns]
        for family, columns in zip(problem.families, target_labels(problem), strict=True)
    ]
    matrix = np.hstack([np.zeros((n_nodes, 0)), *own])
    columns = np.arange(0, n_nodes, TILE)[:, None] + np.arange(SPAN)
    return np.asarray(matrix[columns % n_nodes].swapaxes(1, 2))
