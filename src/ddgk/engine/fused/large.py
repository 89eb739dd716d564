"""Large targets as flat arrays: which entries are looked at, and room for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.fused.arrays import Entries, Sampling, Sizes, aligned, flat
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.fused.packing import no_entries, pack_entries, target_labels
from ddgk.engine.fused.sampling import WRAP
from ddgk.engine.problem import Problem
from ddgk.engine.samples import Shifts, kept_entries


def pack_sampling(
    problem: Problem, shifts: Shifts | None, sizes: Sizes, precision: Any
) -> Sampling:
    """Lay out shifts and kept entries, and room for a step; None: nothing of it."""

    def room(length: int) -> NDArray[Any]:
        return aligned(length, precision=precision)

    if shifts is None:
        return Sampling(
            starts=np.zeros((0, 0), dtype=np.int64),
            lengths=np.zeros(0, dtype=np.int64),
            kept=no_entries(precision),
            shifts=np.zeros(0, dtype=np.int64),
            **{name: room(0) for name in Sampling._fields if name not in NUMBERED},
        )
    kept = pack_entries(kept_entries(problem.relation), precision)
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
        shifts=(kept.places - np.repeat(np.arange(n_nodes), np.diff(kept.starts))) % n_nodes,
        across=room(sizes.n_known * (n_nodes + WRAP)),
        across_slopes=room(sizes.n_known * (n_nodes + WRAP)),
        nodes=room(2 * n_nodes * stride),
        labels=flat(_labels_across(problem), precision),
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
    """Return C^T of all labels the target has, its beginning repeated, (labels, n_nodes + WRAP)."""
    n_nodes = len(problem.node_weights)
    own = [
        family.nodes[:, columns]
        for family, columns in zip(problem.families, target_labels(problem), strict=True)
    ]
    matrix = np.hstack([np.zeros((n_nodes, 0)), *own]).T
    return matrix[:, np.arange(n_nodes + WRAP) % n_nodes]
