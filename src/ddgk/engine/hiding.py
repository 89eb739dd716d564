"""Which entries of a relation an encoder does not see: hashes of where they stand, without state.

The stream of an entry is that of its epoch, so what is hidden depends neither on threads nor on
what was trained before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.problem import Array, EncoderTraining, Problem
from ddgk.engine.starts import HELD, uniform

HELD_SHARE = 0.1  # of all entries, held out of the training of an encoder that may stop early
HIDDEN = 1 << 33  # the stream of the first epoch

Mask = NDArray[np.bool_]


def drawing_seeds(
    seeds: Sequence[int], problems: Sequence[Problem], training: EncoderTraining
) -> Sequence[int]:
    """Return a seed for every encoder; where nothing is hidden none need be given."""
    return seeds if training.hides or seeds else [0] * len(problems)


def held_entries(
    shape: tuple[int, ...], seed: int, training: EncoderTraining, first: int = 0
) -> Mask:
    """Draw the entries that tell when to stop: a tenth of all, edges and non-edges alike.

    shape: (rows, n_nodes), the rows from unit `first` on. None without patience.
    """
    if not training.patience:
        return np.zeros(shape, dtype=np.bool_)
    n_rows, n_nodes = shape
    held: Mask = uniform(seed, HELD, n_rows, n_nodes, first) < HELD_SHARE
    return held


def shown_entries(relation: Array, seed: int, epoch: int, training: EncoderTraining) -> Mask:
    """Return the entries that train in an epoch (from 0): not held out, and not hidden.

    relation: B, (n_units, n_nodes); hidden is a share of what is not 0 there.
    """
    shown = ~held_entries(relation.shape, seed, training)
    if training.drop:
        drawn = uniform(seed, HIDDEN + epoch, *relation.shape) < training.drop
        shown &= ~(drawn & (relation != 0))
    return shown
