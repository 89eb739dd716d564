"""What an encoder does not see, drawn in kernels: the same entries as `ddgk.engine.hiding` gives.

An entry of the relation is known by its unit and node; in a block of scores it stands at
((row of eight units - first row) n_nodes + node) LANES + lane.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.engine.fused.arrays import Entries
from ddgk.engine.fused.compiling import compiled
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.fused.packing import pack_entries
from ddgk.engine.fused.starts import scramble_word, uniform_number
from ddgk.engine.hiding import HELD_SHARE, HIDDEN, held_entries
from ddgk.engine.problem import EncoderTraining
from ddgk.engine.starts import HELD
from ddgk.hashing import scramble

ROWS = 256  # of a mask at a time, so that it never takes more room than a few rows do


class Hiding(NamedTuple):
    """What is hidden of one relation.

    held: the entries held out. hidden: one flag per nonzero entry, drawn anew in every epoch.
    seed: scrambled once, which every stream starts from.
    """

    drop: float
    held_share: float
    held: Entries
    hidden: NDArray[np.bool_]
    seed: Any


def pack_hiding(
    shape: tuple[int, ...], n_nonzero: int, seed: int, training: EncoderTraining, precision: Any
) -> Hiding:
    """Draw what is held out, and make room for what is hidden."""
    n_units, n_nodes = shape
    held = sparse.csr_array((n_units, n_nodes))
    if training.patience:
        parts = [
            sparse.csr_array(
                held_entries((min(ROWS, n_units - first), n_nodes), seed, training, first)
            )
            for first in range(0, n_units, ROWS)
        ]
        held = sparse.vstack(parts, format="csr")
    return Hiding(
        float(training.drop),
        HELD_SHARE if training.patience else 0.0,
        pack_entries(held, precision),
        np.zeros(n_nonzero, dtype=np.bool_),
        scramble(np.array([seed % 2**64], dtype=np.uint64))[0],
    )


@compiled
def draw_hidden(related: Any, hiding: Any, epoch: int) -> int:
    """Draw which nonzero entries are hidden in an epoch (from 0), and return how many.

    Those held out do not count: they never train.
    """
    starts, places, values = related
    base = scramble_word(hiding.seed ^ np.uint64(HIDDEN + epoch))
    held_base = scramble_word(hiding.seed ^ np.uint64(HELD))
    count = 0
    for unit in range(len(starts) - 1):
        for k in range(starts[unit], starts[unit + 1]):
            node = places[k]
            hides = values[k] != 0 and uniform_number(base, unit, node) < hiding.drop
            if hides and uniform_number(held_base, unit, node) < hiding.held_share:
                hides = False
            hiding.hidden[k] = hides
            count += hides
    return count


@compiled
def hide(slopes: Any, related: Any, hiding: Any, first: int, last: int, n_nodes: int) -> None:
    """Take the slope from entries that are hidden or held out; slopes: of rows first to last."""
    starts, places, _ = related
    held_starts, held_places, _ = hiding.held
    for unit in range(first * LANES, min(last * LANES, len(starts) - 1)):
        row = (unit // LANES - first) * n_nodes * LANES + unit % LANES
        for k in range(starts[unit], starts[unit + 1]):
            if hiding.hidden[k]:
                slopes[row + places[k] * LANES] = 0
        for k in range(held_starts[unit], held_starts[unit + 1]):
            slopes[row + held_places[k] * LANES] = 0


@compiled
def held_cost(
    scores: Any, relation: Any, held: Any, first: int, last: int, n_nodes: int, bends: bool
) -> float:
    """Sum over the entries held out of BCE(Z, B) = log(1 + e^Z) - B Z, in float64.

    scores: Y of rows first to last, Z = Y or, if it bends, tanh(Y); relation: B of the same rows.
    """
    starts, places, _ = held
    total = 0.0
    for unit in range(first * LANES, min(last * LANES, len(starts) - 1)):
        row = (unit // LANES - first) * n_nodes * LANES + unit % LANES
        for k in range(starts[unit], starts[unit + 1]):
            entry = row + places[k] * LANES
            z = np.float64(scores[entry])
            if bends:
                z = np.tanh(z)
            total += max(z, 0.0) + np.log1p(np.exp(-abs(z))) - relation[entry] * z
    return total
