"""Random starts without a random state: every number is a hash of where it stands.

A pair's start therefore does not depend on what was drawn before it, on threads or on batches.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.problem import EncoderTraining, PairTraining, Source, Weights
from ddgk.hashing import scramble

ATTENTION = 1 << 32  # streams: the layers of an encoder are 0, 1, 2, ...; those of a pair these
REVERSE = ATTENTION + 1
ATTENTION_FACTOR = ATTENTION + 2
REVERSE_FACTOR = ATTENTION + 3
SHIFTS = ATTENTION + 4
HELD = ATTENTION + 5
IMAGES = ATTENTION + 6
SMALLEST = 1e-12
ATTRIBUTES_COUNT = 2.0  # times as much as a standard deviation of the weights


def first_weights(shape: tuple[int, ...], seed: int, training: EncoderTraining) -> Weights:
    """Draw the start of an encoder of a relation of that shape; biases start at 0."""
    n_units, n_nodes = shape
    sizes = [training.dimension] + [training.width] * training.depth
    hidden = tuple(
        (glorot(seed, 1 + place, rows, columns), np.zeros(columns))
        for place, (rows, columns) in enumerate(pairwise(sizes))
    )
    output = (glorot(seed, 1 + training.depth, sizes[-1], n_nodes), np.zeros(n_nodes))
    return Weights(glorot(seed, 0, n_units, training.dimension), hidden, output)


def pair_start(
    shape: tuple[int, int, int, int], source: Source, seed: int, training: PairTraining
) -> list[NDArray[np.float64]]:
    """Return what trains of a pair, as it starts: A, or U and V; if free, R or U_r and V_r, and r.

    shape: (a_t, n_t, a_s, n_s). From an equivariant start all is 0 but the factors of the source's
    side, V (q, a_s) and V_r (q, n_s), which say what the encoder knows of the source's nodes and
    nothing of the target's; they stay as they are (`PairTraining.trains_sources`).
    """
    n_attending, n_nodes, n_source, n_source_nodes = shape
    size, drawn = training.size, training.start == "glorot"

    def matrix(stream: int, rows: int, columns: int) -> NDArray[np.float64]:
        return glorot(seed, stream, rows, columns) if drawn else np.zeros((rows, columns))

    def factor(stream: int, columns: int, of_nodes: bool) -> NDArray[np.float64]:
        if drawn:
            return glorot(seed, stream, size, columns)
        return directions(source_features(source, of_nodes=of_nodes), size, seed, stream)

    if size:
        start = [
            matrix(ATTENTION, n_attending, size),
            factor(ATTENTION_FACTOR, n_source, False),
        ]
    else:
        start = [matrix(ATTENTION, n_attending, n_source)]
    if training.reverse == "tied":
        return start
    if size:
        start += [
            matrix(REVERSE, n_nodes, size),
            factor(REVERSE_FACTOR, n_source_nodes, True),
        ]
    else:
        start += [matrix(REVERSE, n_source_nodes, n_nodes)]
    return [*start, np.zeros((1, n_nodes))]


def source_features(source: Source, *, of_nodes: bool = False) -> NDArray[np.float64]:
    """Return what an attention can tell the rows of a source apart by, (n_rows, n_features).

    Rows of the table, columns of the last layer and attributes: the gradient of an attention has no
    other directions. of_nodes: those of its nodes, where they are not the rows of the table.
    """
    weights, members = source.weights, source.members
    columns = weights.output[0].T
    seen = [weights.table, columns if members is None else members @ columns]
    carried = source.families
    if of_nodes and members is not None:
        seen, carried = [columns], ()
    spreads = [part.std(axis=0) for part in seen]
    parts = [p / np.where(s > 0, s, 1.0) for p, s in zip(seen, spreads, strict=True)]
    parts += [ATTRIBUTES_COUNT * family for family in carried]
    return np.hstack([part / np.sqrt(part.shape[1]) for part in parts])


def directions(
    features: NDArray[np.float64], size: int, seed: int, stream: int
) -> NDArray[np.float64]:
    """Read `size` random combinations of features, (size, n_rows), each of variance 1 / size.

    They lie where gradients do, which as many random numbers of a large source would hardly touch.
    """
    drawn = 2.0 * uniform(seed, stream, size, features.shape[1]) - 1.0
    # Not by a product of matrices, whose rounding depends on the threads of a library.
    found = np.einsum("qk,jk->qj", drawn, features - features.mean(axis=0))
    spreads = found.std(axis=1, keepdims=True)
    return np.asarray(found / (np.where(spreads > SMALLEST, spreads, 1.0) * np.sqrt(size)))


def glorot(seed: int, stream: int, rows: int, columns: int) -> NDArray[np.float64]:
    """Draw a matrix uniformly from (-limit, limit), limit = sqrt(6 / (rows + columns)).

    Entry (i, j) depends on seed, stream, i, j and the limit only. Returns (rows, columns).
    """
    return glorot_limit(rows, columns) * (2.0 * uniform(seed, stream, rows, columns) - 1.0)


def glorot_limit(rows: int, columns: int) -> float:
    """Return sqrt(6 / (rows + columns))."""
    return float(np.sqrt(6.0 / (rows + columns)))


def uniform(seed: int, stream: int, rows: int, columns: int, first: int = 0) -> NDArray[np.float64]:
    """Hash (seed, stream, row, column) to 53 bits in (0, 1). Returns (rows, columns).

    first: the number of the first row.
    """
    row = np.arange(first, first + rows, dtype=np.uint64)
    column = np.arange(columns, dtype=np.uint64)
    by_row = scramble(stream_base(seed, stream) + row)
    words = scramble(by_row[:, np.newaxis] ^ column)
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def stream_base(seed: int, stream: int) -> NDArray[np.uint64]:
    """Hash a seed and a stream to where its rows are counted from. Returns (1,)."""
    return scramble(scramble(np.array([seed % 2**64], dtype=np.uint64)) ^ np.uint64(stream))
