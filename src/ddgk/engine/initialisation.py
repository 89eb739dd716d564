"""Initial parameters as hashes of their position, without a random state.

The initial values of a pair therefore do not depend on earlier draws, on threads or on batches.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ddgk.config import Config
from ddgk.engine.arrays import Array, EncoderWeights, Source
from ddgk.hashing import scramble

# Streams: the layers of an encoder are 0, 1, 2, ...; those of a pair start here.
ATTENTION = 1 << 32
REVERSE = ATTENTION + 1
ATTENTION_FACTOR = ATTENTION + 2
REVERSE_FACTOR = ATTENTION + 3
HIDDEN_LAYERS = ATTENTION + 16  # of attention; REVERSE_LAYERS after them
REVERSE_LAYERS = ATTENTION + 64
SMALLEST = 1e-12
ATTRIBUTE_SCALE = 2.0  # of attributes relative to a standard deviation of the weights


def initial_weights(shape: tuple[int, ...], seed: int, config: Config) -> EncoderWeights:
    """Draw the initial weights of an encoder of a target matrix of that shape; biases are 0."""
    n_units, n_nodes = shape
    sizes = [config.dimension] + [config.hidden_width] * config.depth
    hidden = tuple(
        (glorot(seed, 1 + place, rows, columns), np.zeros(columns))
        for place, (rows, columns) in enumerate(pairwise(sizes))
    )
    output = (glorot(seed, 1 + config.depth, sizes[-1], n_nodes), np.zeros(n_nodes))
    return EncoderWeights(glorot(seed, 0, n_units, config.dimension), hidden, output)


def initial_attention(
    shape: tuple[int, int, int, int], source: Source, seed: int, config: Config
) -> list[Array]:
    """Return the initial parameters of a pair.

        full matrices:   A, and if free R, r
        hidden layers:   U, V_1 ... V_m, and if free U_r, V_r1 ... V_rm, r

    shape: (a_t, n_t, a_s, n_s). U is (a_t, q_1), V_l (q_l, q_{l+1}), V_m (q_m, a_s). From an
    equivariant initialisation A, R, r, U and U_r are 0, the last layer is a projection of what the
    encoder knows of the source, and the layers between are random; these do not train.
    """
    n_attending, n_nodes, n_source, n_source_nodes = shape
    random = config.initialisation == "glorot"

    def matrix(stream: int, rows: int, columns: int) -> Array:
        return glorot(seed, stream, rows, columns) if random else np.zeros((rows, columns))

    def network(
        streams: tuple[int, int, int], rows: int, columns: int, of_nodes: bool
    ) -> list[Array]:
        first, last, between = streams
        sizes = config.attention_layers
        hidden = [glorot(seed, between + k, *pair) for k, pair in enumerate(pairwise(sizes))]
        if random:
            factor = glorot(seed, last, sizes[-1], columns)
        else:
            features = source_features(source, of_nodes=of_nodes)
            factor = directions(features, sizes[-1], seed, last)
        return [matrix(first, rows, sizes[0]), *hidden, factor]

    if config.attention_layers:
        streams = (ATTENTION, ATTENTION_FACTOR, HIDDEN_LAYERS)
        initial = network(streams, n_attending, n_source, False)
    else:
        initial = [matrix(ATTENTION, n_attending, n_source)]
    if config.reverse == "tied":
        return initial
    if config.attention_layers:
        streams = (REVERSE, REVERSE_FACTOR, REVERSE_LAYERS)
        initial += network(streams, n_nodes, n_source_nodes, True)
    else:
        initial += [matrix(REVERSE, n_source_nodes, n_nodes)]
    return [*initial, np.zeros((1, n_nodes))]


def source_features(source: Source, *, of_nodes: bool = False) -> Array:
    """Return what distinguishes the rows of a source's table, (n_rows, n_features).

    Rows of the table, columns of the output layer and attributes: the gradient of A lies in their
    span. of_nodes: features of the source's nodes, where they are not the rows of the table.
    """
    weights, members = source.weights, source.members
    columns = weights.output[0].T
    seen = [weights.table, columns if members is None else members @ columns]
    carried = [np.where(np.isnan(rows), 0.0, rows) for rows in source.attributes]
    if of_nodes and members is not None:
        seen, carried = [columns], []
    deviations = [part.std(axis=0) for part in seen]
    parts = [p / np.where(s > 0, s, 1.0) for p, s in zip(seen, deviations, strict=True)]
    parts += [ATTRIBUTE_SCALE * attribute for attribute in carried]
    return np.hstack([part / np.sqrt(part.shape[1]) for part in parts])


def directions(features: Array, size: int, seed: int, stream: int) -> Array:
    """Return random combinations of features, (size, n_rows), each of variance 1 / size."""
    drawn = 2.0 * uniform(seed, stream, size, features.shape[1]) - 1.0
    # einsum: the rounding of a BLAS product depends on its number of threads.
    found = np.einsum("qk,jk->qj", drawn, features - features.mean(axis=0))
    deviations = found.std(axis=1, keepdims=True)
    return np.asarray(found / (np.where(deviations > SMALLEST, deviations, 1.0) * np.sqrt(size)))


def glorot(seed: int, stream: int, rows: int, columns: int) -> Array:
    """Draw a matrix uniformly from (-limit, limit), limit = sqrt(6 / (rows + columns)).

    Entry (i, j) depends on seed, stream, i, j and the limit only. Returns (rows, columns).
    """
    return glorot_limit(rows, columns) * (2.0 * uniform(seed, stream, rows, columns) - 1.0)


def glorot_limit(rows: int, columns: int) -> float:
    """Return sqrt(6 / (rows + columns))."""
    return float(np.sqrt(6.0 / (rows + columns)))


def uniform(seed: int, stream: int, rows: int, columns: int, first: int = 0) -> Array:
    """Hash (seed, stream, row, column) to 53 bits in (0, 1). Returns (rows, columns).

    first: the number of the first row.
    """
    row = np.arange(first, first + rows, dtype=np.uint64)
    column = np.arange(columns, dtype=np.uint64)
    by_row = scramble(stream_base(seed, stream) + row)
    words = scramble(by_row[:, np.newaxis] ^ column)
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def stream_base(seed: int, stream: int) -> NDArray[np.uint64]:
    """Hash a seed and a stream to the offset of its rows. Returns (1,)."""
    return scramble(scramble(np.array([seed % 2**64], dtype=np.uint64)) ^ np.uint64(stream))
