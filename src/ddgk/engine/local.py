"""Local attention: what a node looks like from a source after t gradient steps.

For a target node i with attention P_i = softmax(A_i) over the n_s source nodes, frozen encoder f,
Z_i = f(P_i E), uniform attention p = 1 / n_s and z = f(p E), the loss is a sum over nodes

    L = sum_i [ sum_{j in N(i)} softplus(-Z_i . P_j) + softplus(Z_i . p) + softplus(z . P_i)
              + sum_attributes ( CE(q_i, P_i Q) + CE(around_i, rownorm(sigmoid(Z_i) Q)) ) ]

with squared errors in place of cross-entropies for real attributes. It contains no quantity of the
whole graph. From A = 0, plain gradient steps A <- A - rate n_s dL/dA therefore make row i after t
steps a function of the t-hop neighbourhood of node i alone.

The engine uses this twice. Nodes with equal t-hop neighbourhoods have equal rows, so each distinct
neighbourhood of a batch is trained once. And sums over neighbours run in the order of the hashes of
neighbourhoods (`ddgk.engine.neighbourhoods`), so results are bitwise independent of node order, of
batches and of the rest of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ddgk.compiling import INNER, kept
from ddgk.config import Config
from ddgk.engine.arrays import EncoderWeights
from ddgk.engine.neighbourhoods import (
    LABELS,
    REALS,
    LocalTargets,
    colour,
    merge_neighbours,
    pool,
)

Integers = NDArray[np.int64]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]

STRUCTURE_TERMS = ("edges", "forward_background", "reverse_background")
N_STRUCTURE = len(STRUCTURE_TERMS)
_FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz", "arcp"}}
_KEPT: dict[str, Any] = {**_FAST, "_nrt": False}
# Inlined without exception: fast-math may round a function that stays one differently in the
# process that compiles it and in those that load the kernel from disk.
_inlined: Any = numba.njit(**INNER, **_KEPT, forceinline=True)


@dataclass(frozen=True)
class LocalSource:
    """A frozen encoder with what its nodes carry.

    attributes: Q or y per attribute, (n_s, k); a missing value is 0, the mean.
    """

    weights: EncoderWeights
    attributes: tuple[Doubles, ...]

    @cached_property
    def packed(self) -> tuple[Any, ...]:
        """Return the encoder as float32: table, W and b of all layers stacked, W_o, b_o."""
        given, hidden = self.weights, self.weights.hidden
        width = hidden[0][0].shape[1]
        weights = np.zeros((len(hidden), max(given.table.shape[1], width), width), np.float32)
        for layer, (matrix, _) in enumerate(hidden):
            weights[layer, : len(matrix)] = matrix
        shifts = np.stack([shift for _, shift in hidden])
        table, biases, output, bias = (
            np.ascontiguousarray(array, dtype=np.float32)
            for array in (given.table, shifts, *given.output)
        )
        return table, weights, biases, output, bias

    @cached_property
    def carried(self) -> tuple[Any, ...]:
        """List what source nodes carry: starts, (n_attributes, n_s + 1), columns and values."""
        starts = np.zeros((len(self.attributes), len(self.weights.table) + 1), np.int64)
        columns, values = [np.zeros(0, np.int64)], [np.zeros(0)]
        size = 0
        for a, rows in enumerate(self.attributes):
            nodes, where = np.nonzero(rows)
            starts[a] = size + np.searchsorted(nodes, np.arange(len(rows) + 1))
            columns.append(where)
            values.append(rows[nodes, where])
            size += len(nodes)
        return starts, np.concatenate(columns), np.concatenate(values).astype(np.float32)


@dataclass(frozen=True)
class LocalOutcome:
    """What local attention found about a batch.

    terms: every graph's sum of each loss term, (n_graphs, n_sources, n_terms, n_steps + 1).
    ids: which row of `views` is the view of each node, (n_nodes,). views: distinct node views,
    (n_distinct, n_directions).
    """

    terms: Doubles
    ids: Integers
    views: Singles


@dataclass(frozen=True)
class LocalDetail:
    """One graph against one source, node by node.

    terms: (n_terms, n_steps + 1, n_nodes). attention: P after the last step, (n_nodes, n_s).
    edge_terms: what the arc from a node to each of its neighbours adds to the term `edges` after
    the last step, in the order of `LocalTargets.out`.
    """

    terms: Doubles
    attention: Doubles
    edge_terms: Doubles


# --- elementary functions, which the compiler can vectorise -------------------------------------


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _bits_to_float(_typing: Any, _bits: Any) -> Any:
    """Read the bits of an int32 as a float32."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), emit


@_inlined
def _clip(x: Any, low: Any, high: Any) -> Any:
    x = low if low > x else x
    return high if high < x else x


@_inlined
def _exp(x: Any) -> Any:
    """e^x = 2^n e^r with n = round(x / ln 2), in float32; a few 1e-7 relative error."""
    x = _clip(x, np.float32(-87.0), np.float32(88.0))
    n = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
    r = x - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
    p = np.float32(0.008290308795) * r + np.float32(0.04189793997)
    p = p * r + np.float32(0.1666763634)
    p = p * r + np.float32(0.4999914945)
    p = p * r + np.float32(0.9999997071)
    p = p * r + np.float32(1.0)
    return p * _bits_to_float(np.int32((np.int32(n) + np.int32(127)) << np.int32(23)))


@_inlined
def _tanh(x: Any) -> Any:
    """Ratio of polynomials; relative error below 4e-7 in float32."""
    x = _clip(x, np.float32(-7.9), np.float32(7.9))
    q = x * x
    above = np.float32(1.14843344e-05) * q + np.float32(0.00295581829)
    above = above * q + np.float32(0.129299739)
    above = above * q + np.float32(0.999999879)
    below = np.float32(2.47791474e-07) * q + np.float32(0.000239370477)
    below = below * q + np.float32(0.0238347155)
    below = below * q + np.float32(0.462631899)
    below = below * q + np.float32(1.0)
    return x * above / below


@_inlined
def _sigmoid(x: Any) -> Any:
    return np.float32(1.0) / (np.float32(1.0) + _exp(-x))


@_inlined
def _softplus(x: Any) -> Any:
    """log(1 + e^x)."""
    size = x if x > 0 else -x
    above = x if not x < 0 else np.float32(0.0)
    return above + np.float32(np.log1p(_exp(-size)))


# --- training ------------------------------------------------------------------------------------


@kept(**_KEPT)
def _forward(A: Any, encoder: Any, P: Any, X: Any, Z: Any, scratch: Any) -> None:
    """P = softmax(A), X: hidden layers of P E, Z: scores. X: (n_rows, depth, h)."""
    table, weights, biases, output, output_bias = encoder
    n_source, dimension = table.shape
    depth, width = biases.shape
    x, y = scratch[0], scratch[1]
    for r in range(len(A)):
        top = A[r, 0]
        for m in range(1, n_source):
            if A[r, m] > top:
                top = A[r, m]
        total = np.float32(0.0)
        for m in range(n_source):
            P[r, m] = _exp(A[r, m] - top)
        for m in range(n_source):
            total += P[r, m]
        scale = np.float32(1.0) / total
        for m in range(n_source):
            P[r, m] *= scale
        for c in range(dimension):
            x[c] = 0
        for m in range(n_source):
            for c in range(dimension):
                x[c] += P[r, m] * table[m, c]
        size = dimension
        for layer in range(depth):
            for c in range(width):
                y[c] = biases[layer, c]
            for k in range(size):
                for c in range(width):
                    y[c] += x[k] * weights[layer, k, c]
            for c in range(width):
                x[c] = _tanh(y[c])
            for c in range(width):
                X[r, layer, c] = x[c]
            size = width
        for m in range(n_source):
            Z[r, m] = output_bias[m]
        for k in range(width):
            for m in range(n_source):
                Z[r, m] += x[k] * output[k, m]


@_inlined
def _dot(a: Any, b: Any) -> Any:
    total = np.float32(0.0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@_inlined
def _cross_entropy(wanted: Any, mass: Any, total: Any, smoothing: Any, slopes: Any) -> Any:
    """CE(wanted, (1 - e) mass / total + e / k); slopes: its derivative by mass / total."""
    k = len(wanted)
    loss = np.float32(0.0)
    for c in range(k):
        slopes[c] = 0
        if wanted[c] > 0:
            share = mass[c] / total if total > 0 else np.float32(0.0)
            if smoothing > 0:
                inferred = (np.float32(1.0) - smoothing) * share + smoothing / np.float32(k)
                slopes[c] = -wanted[c] * (np.float32(1.0) - smoothing) / inferred
            else:
                inferred = share if share > np.float32(1e-12) else np.float32(1e-12)
                slopes[c] = -wanted[c] / inferred if share > np.float32(1e-12) else 0
            loss -= wanted[c] * np.float32(np.log(inferred))
    return loss


@_inlined
def _squared_error(wanted: Any, mass: Any, total: Any, slopes: Any) -> Any:
    """Mean over observed columns of (mass / total - wanted)^2; slopes as in `_cross_entropy`."""
    n_observed = 0
    for c in range(len(wanted)):
        n_observed += wanted[c] == wanted[c]
    loss = np.float32(0.0)
    for c in range(len(wanted)):
        slopes[c] = 0
        if wanted[c] == wanted[c]:
            gap = (mass[c] / total if total > 0 else np.float32(0.0)) - wanted[c]
            loss += gap * gap / np.float32(n_observed)
            slopes[c] = np.float32(2.0) * gap / np.float32(n_observed)
    return loss


@_inlined
def _attribute_terms(
    observed: Any,
    attributes: Any,
    P: Any,
    sigmoids: Any,
    gradients: Any,
    terms: Any,
    smoothing: Any,
    scratch: Any,
) -> None:
    """Add both loss terms of every attribute of a node, and their gradients by P and Z.

    observed: what the node carries, and its neighbours. gradients: by P and Z. attributes: offsets
    of columns, kinds, coefficients, and what source nodes carry as lists: node m has the columns
    columns[starts[a, m]:starts[a, m + 1]] of attribute a.
    """
    own, around = observed
    gP, gZ = gradients
    mass, slopes = scratch
    offsets, kinds, coefficients, starts, columns, values = attributes
    n_source = len(P)
    one = np.float32(1.0)
    for a in range(len(kinds)):
        first, last = offsets[a], offsets[a + 1]
        for reverse in range(2):
            wanted = around[first:last] if reverse else own[first:last]
            empty = True
            for c in range(last - first):
                if kinds[a] == REALS:
                    empty = empty and wanted[c] != wanted[c]
                else:
                    empty = empty and not wanted[c] > 0
            term = N_STRUCTURE + 2 * a + reverse
            terms[term] = 0
            if empty:
                continue
            for c in range(last - first):
                mass[c] = 0
            total = np.float32(0.0)
            for m in range(n_source):
                weight = sigmoids[m] if reverse else P[m]
                if kinds[a] == REALS:
                    total += weight
                for k in range(starts[a, m], starts[a, m + 1]):
                    mass[columns[k]] += weight * values[k]
                    if kinds[a] == LABELS:
                        total += weight * values[k]
            total = total if reverse else one
            if kinds[a] == REALS:
                terms[term] = _squared_error(wanted, mass, total, slopes[: last - first])
            else:
                terms[term] = _cross_entropy(wanted, mass, total, smoothing, slopes[: last - first])
            coefficient = coefficients[a]
            if reverse and total <= 0:
                continue
            mean = np.float32(0.0)
            for c in range(last - first):
                mean += slopes[c] * mass[c] / total
            for m in range(n_source):
                slope = np.float32(0.0)
                weight = np.float32(1.0 if kinds[a] == REALS else 0.0)
                for k in range(starts[a, m], starts[a, m + 1]):
                    slope += slopes[columns[k]] * values[k]
                    if kinds[a] == LABELS:
                        weight += values[k]
                if reverse:
                    change = (slope - weight * mean) / total
                    gZ[m] += coefficient * change * sigmoids[m] * (one - sigmoids[m])
                else:
                    gP[m] += coefficient * slope


@kept(**_KEPT)
def _step(
    rows: Any,
    near: Any,
    carried: Any,
    attributes: Any,
    encoder: Any,
    state: Any,
    background: Any,
    how: Any,
    terms: Any,
    moved: Any,
    scratch: Any,
) -> None:
    """Loss terms of distinct (t + 1)-hop neighbourhoods, and A after the next step.

    rows: the t-hop neighbourhood of each. near: neighbours out and into, merged. carried: what the
    nodes and their neighbours carry. state: A, P, X, Z after t steps, by t-hop neighbourhood.
    background: z. how: learning rate, smoothing, whether to take a step. terms: (n_rows, n_terms).
    moved: the next A.
    """
    own, around = carried
    rate, smoothing, trains = how
    table, weights, _, output, _ = encoder
    A, P, X, Z = state
    out_starts, out_rows, out_weights, out_counts = near[0]
    in_starts, in_rows, in_weights, in_counts = near[1]
    n_source, dimension = table.shape
    depth, width = X.shape[1], X.shape[2]
    gP, gZ, sigmoids = scratch[0, :n_source], scratch[1, :n_source], scratch[2, :n_source]
    slopes, below = scratch[3], scratch[4]
    one = np.float32(1.0)
    for r in range(len(rows)):
        i = rows[r]
        uniform = np.float32(0.0)
        for m in range(n_source):
            uniform += Z[i, m]
        uniform /= np.float32(n_source)
        seen = _dot(background, P[i])
        terms[r, 0] = 0
        terms[r, 1] = _softplus(uniform)
        terms[r, 2] = _softplus(seen)
        push, pull = _sigmoid(uniform) / np.float32(n_source), _sigmoid(seen)
        for m in range(n_source):
            gZ[m] = push
            gP[m] = pull * background[m]
        for k in range(out_starts[r], out_starts[r + 1]):
            j = out_rows[k]
            score = _dot(Z[i], P[j])
            weight = out_weights[k]
            loss = weight * _softplus(-score) + (one - weight) * _softplus(score)
            if 0 < weight < one:  # less the entropy, so that 0 is perfect
                loss += weight * np.float32(np.log(weight))
                loss += (one - weight) * np.float32(np.log(one - weight))
            terms[r, 0] += out_counts[k] * loss
            slope = out_counts[k] * (_sigmoid(score) - weight)
            for m in range(n_source):
                gZ[m] += slope * P[j, m]
        for k in range(in_starts[r], in_starts[r + 1]):
            j = in_rows[k]
            score = _dot(Z[j], P[i])
            slope = in_counts[k] * (_sigmoid(score) - in_weights[k])
            for m in range(n_source):
                gP[m] += slope * Z[j, m]
        if len(attributes[1]) > 0:
            for m in range(n_source):
                sigmoids[m] = _sigmoid(Z[i, m])
            given, gradients = (own[r], around[r]), (gP, gZ)
            _attribute_terms(
                given, attributes, P[i], sigmoids, gradients, terms[r], smoothing, (slopes, below)
            )
        if not trains:
            continue
        for c in range(width):
            slopes[c] = _dot(output[c], gZ)
        for back in range(depth):
            layer = depth - 1 - back
            size = width if layer > 0 else dimension
            for c in range(width):
                slopes[c] *= one - X[i, layer, c] * X[i, layer, c]
            for k in range(size):
                total = np.float32(0.0)
                for c in range(width):
                    total += weights[layer, k, c] * slopes[c]
                below[k] = total
            for k in range(size):
                slopes[k] = below[k]
        for m in range(n_source):
            for c in range(dimension):
                gP[m] += table[m, c] * slopes[c]
        mean = _dot(gP, P[i])
        scale = rate * np.float32(n_source)
        for m in range(n_source):
            moved[r, m] = A[i, m] - scale * P[i, m] * (gP[m] - mean)


@kept(**_KEPT)
def _project(losses: Any, directions: Any, views: Any) -> None:
    """Add log(1 + losses) R to the views; R may have fewer terms."""
    n_terms, size = directions.shape
    for r in range(len(losses)):
        for k in range(n_terms):
            loss = losses[r, k]
            value = np.float32(np.log1p(loss if not loss < 0 else np.float32(0.0)))
            for c in range(size):
                views[r, c] += value * directions[k, c]


class _Prepared:
    """What all sources share: neighbourhoods, their merged neighbours and attributes per step.

    graph: the graph of every node. rows: per step the neighbourhoods of all nodes, graph by graph,
    ascending, so that a sum over the nodes of a graph does not depend on their order.
    """

    def __init__(self, targets: LocalTargets, n_steps: int) -> None:
        self.targets, self.levels = targets, colour(targets, n_steps + 1)
        self.graph = np.repeat(np.arange(len(targets.starts) - 1), np.diff(targets.starts))
        self.rows, self.out = [], []
        for level, following in pairwise(self.levels):
            self.rows.append(following.ids[np.lexsort((following.ids, self.graph))])
            self.out.append(merge_neighbours(following.nodes, targets.out, level.ids))
        self.into = self.out
        if targets.into is not targets.out:
            self.into = [
                merge_neighbours(following.nodes, targets.into, level.ids)
                for level, following in pairwise(self.levels)
            ]
        attributes = targets.attributes
        widths = [attribute.own.shape[1] for attribute in attributes]
        self.offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        self.kinds = np.array([attribute.kind for attribute in attributes], dtype=np.int64)
        first, hop = self.levels[:2]
        around = [
            pool(self.out[0], attribute.given[first.nodes], attribute.kind)[hop.ids]
            for attribute in attributes
        ]
        empty = np.zeros((targets.n_nodes, 0))
        own = [attribute.own for attribute in attributes]
        self.own, self.around = (
            np.hstack([empty, *parts]).astype(np.float32) for parts in (own, around)
        )


def train_local(
    targets: LocalTargets,
    sources: Sequence[LocalSource],
    config: Config,
    directions: Sequence[Singles] = (),
    *,
    n_threads: int = 1,
) -> LocalOutcome:
    """Train local attention of every target against every source.

    directions: R of every source for the first terms, (n_steps + 1, n_terms, n_directions), see
    `ddgk.features`; without them there are no node views. n_threads: sources trained at the same
    time; the result does not depend on it.
    """
    prepared = _Prepared(targets, config.checkpoints[-1])
    levels = prepared.levels
    size = directions[0].shape[-1] if len(directions) else 0
    parts = [np.zeros((len(level.nodes), size), np.float32) for level in levels[1:]]
    n_terms = len(STRUCTURE_TERMS) + 2 * len(targets.attributes)
    terms = np.zeros((len(targets.starts) - 1, len(sources), n_terms, config.checkpoints[-1] + 1))

    def work(place: int) -> list[Singles]:
        own = [np.zeros_like(part) for part in parts]
        for step, (_, losses) in enumerate(_train_source(prepared, sources[place], config)):
            for term, shares in enumerate(losses[prepared.rows[step]].T):
                terms[:, place, term, step] = np.bincount(prepared.graph, shares, len(terms))
            if size > 0:
                _project(losses, directions[place][step], own[step])
        return own

    # Views are added in the order of the sources, a few at a time: rounding and memory are fixed.
    for first in range(0, len(sources), max(1, n_threads)):
        group = range(first, min(len(sources), first + max(1, n_threads)))
        for own in _in_threads(work, group):
            for part, added in zip(parts, own, strict=True):
                part += added
    last = levels[-1]
    views = np.zeros((len(last.nodes), size), np.float32)
    for level, part in zip(levels[1:], parts, strict=True):
        views += part[level.ids[last.nodes]]
    return LocalOutcome(terms, last.ids, views)


def _in_threads(work: Any, items: Sequence[int]) -> Any:
    if len(items) == 1:
        return map(work, items)
    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(work, items))


def _train_source(prepared: _Prepared, source: LocalSource, config: Config) -> Any:
    """Yield, for every checkpoint, the next A (None after the last) and the loss terms."""
    encoder = source.packed
    n_source = len(source.weights.table)
    depth, width = encoder[2].shape
    names = [attribute.name for attribute in prepared.targets.attributes]
    coefficients = np.array([config.coefficient(name) for name in names], dtype=np.float32)
    attributes = (prepared.offsets, prepared.kinds, coefficients, *source.carried)
    how = np.float32(config.learning_rate), np.float32(config.smoothing)
    n_terms = len(STRUCTURE_TERMS) + 2 * len(prepared.kinds)
    levels = prepared.levels
    scratch = _scratch(prepared, source)
    A = np.zeros((1, n_source), np.float32)
    uniform = np.zeros(len(levels[0].nodes), np.int64)
    background = np.zeros(0, np.float32)
    for step in range(config.checkpoints[-1] + 1):
        P, Z = np.empty_like(A), np.empty_like(A)
        X = np.empty((len(A), depth, width), np.float32)
        _forward(A, encoder, P, X, Z, scratch)
        if step == 0:
            background = Z[0].copy()
        following = levels[step + 1]
        # Before the first step all nodes share one row.
        ids = uniform if step == 0 else np.arange(len(levels[step].nodes))
        rows = ids[levels[step].ids[following.nodes]]
        sides = prepared.out[step], prepared.into[step]
        near = tuple(tuple(side._replace(rows=ids[side.rows])) for side in sides)
        trains = step < config.checkpoints[-1]
        losses = np.empty((len(following.nodes), n_terms), np.float32)
        moved = np.empty((len(following.nodes) if trains else 0, n_source), np.float32)
        _step(
            rows,
            near,
            (prepared.own[following.nodes], prepared.around[following.nodes]),
            attributes,
            encoder,
            (A, P, X, Z),
            background,
            (*how, trains),
            losses,
            moved,
            scratch,
        )
        yield (moved if trains else None), losses
        A = moved


def _scratch(prepared: _Prepared, source: LocalSource) -> Singles:
    """Return memory for one node in the kernels."""
    sizes = (*source.weights.table.shape, source.packed[2].shape[1], int(prepared.offsets[-1]))
    return np.empty((5, max(sizes)), np.float32)


def explain_local(targets: LocalTargets, source: LocalSource, config: Config) -> LocalDetail:
    """Train one graph against one source and keep what every node and edge adds to the loss."""
    prepared = _Prepared(targets, config.checkpoints[-1])
    terms = []
    A = np.zeros((1, len(source.weights.table)), np.float32)
    rows = np.zeros(targets.n_nodes, np.int64)
    for step, (moved, losses) in enumerate(_train_source(prepared, source, config)):
        terms.append(losses[prepared.levels[step + 1].ids].T)
        if moved is not None:
            A, rows = moved, prepared.levels[step + 1].ids
    encoder = source.packed
    P, Z = np.empty_like(A), np.empty_like(A)
    X = np.empty((len(A), *encoder[2].shape), np.float32)
    _forward(A, encoder, P, X, Z, _scratch(prepared, source))
    tails = np.repeat(np.arange(targets.n_nodes), np.diff(targets.out.starts))
    scores = np.einsum("em,em->e", Z[rows[tails]], P[rows[targets.out.nodes]]).astype(np.float64)
    weights = np.ones(len(tails)) if targets.out.weights is None else targets.out.weights
    entropy = sum(s * np.log(np.where(s > 0, s, 1.0)) for s in (weights, 1 - weights))
    losses = weights * np.logaddexp(0, -scores) + (1 - weights) * np.logaddexp(0, scores) + entropy
    return LocalDetail(
        np.stack(terms, axis=1).astype(np.float64), P[rows].astype(np.float64), losses
    )
