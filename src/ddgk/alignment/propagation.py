"""Belief propagation between all nodes of two graphs; numbers only.

P[i, j] is the belief that node i (of the graph with fewer nodes) is node j: rows sum to 1, columns
to at most 1. A pair is as likely as its neighbours can be matched with each other, one to one:

    P[i, j] ~ Z[i, j] exp(-D[i, j])
    Z[i, j] = sum over partial matchings of N(i) with N(j) of prod_(a, b) w M[a, b] prod_rest e
    M[a, b] = P[a, b] C[ai, bj],    C[ai, bj] = Z[a, b] without i and j / Z[a, b]

w and e are the odds that an edge has a partner, and that it has none: likelihood ratios of trees in
correlated random graphs. What a pair hears of its neighbours leaves out what it told them (cavity
messages, C). Z is exact where one of the nodes has at most three neighbours, otherwise Bethe's
approximation. Where that is too much work or memory, neighbours are matched independently of each
other (mean field), which costs n * (arcs of both). D: distances of node features, and costs of
labels. Sinkhorn's scaling keeps P a matching.

Rows of Z do not depend on each other, so results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ddgk.alignment.encoding import Integers, Network
from ddgk.alignment.search import edge_fit
from ddgk.compiling import compiled, inner, kept

Floats = NDArray[np.float32]
Factor = Callable[[Floats, Floats], None]

PARTNERED = 0.8  # share of the sparser graph's edges that is supposed to be in the other
STEP = 0.5  # of damping
LABELS = 4.0  # what a pair of different labels costs, in nats an edge of label cost
FEATURES, MEAN_FIELD_FEATURES = 0.2, 1.0  # weights of distances of features
SCALINGS = 6  # rounds of Sinkhorn's scaling
ITERATIONS = 2  # of Bethe's approximation
NEGLIGIBLE = 1e-3  # so many times less likely than by chance is impossible
LEAST_ROUNDS = 12
WORK = 1.7e5  # pairs of arcs that may be looked at, times n^1.3
PAIR = 8  # pairs of arcs that a pair of nodes costs
MOST_PAIRS = 3e8  # of arcs, for which C is kept
BLOCK = 256  # rows that are one piece of work
REORDERED = {"reassoc", "nsz", "contract", "arcp"}


def affordable_rounds(small: Network, large: Network) -> float:
    """Return how many rounds of matching neighbours may be spent; few: use the mean field."""
    pairs = len(small.heads) * len(large.heads)
    if pairs > MOST_PAIRS:
        return 0.0
    work = pairs + PAIR * small.n_nodes * large.n_nodes
    return float(WORK * large.n_nodes**1.3 / max(work, 1))


def propagate(
    small: Network,
    large: Network,
    costs: Floats,
    rounds: int,
    go_on: Callable[[], bool],
    other_label: float,
    n_jobs: int = 1,
) -> Floats:
    """Return beliefs, (n_small, n_large).

    costs: D. go_on: asked before every round. other_label: weight of edges whose labels differ.
    """
    affordable = affordable_rounds(small, large)
    rounds = min(rounds, max(LEAST_ROUNDS, int(affordable)))
    beliefs, update = np.full_like(costs, 1.0 / large.n_nodes), np.zeros_like(costs)
    if affordable < LEAST_ROUNDS:
        factor = _independent(small, large)
    else:
        factor = _one_to_one(small, large, other_label, n_jobs)
    for count in range(rounds + 1):
        if not go_on():
            break
        if count:  # the start is by features alone
            factor(beliefs, update)
        update -= costs
        update -= update.max(axis=1, keepdims=True)
        np.maximum(update, -60.0, out=update)
        np.exp(update, out=update)
        _move(beliefs, update, np.float32(STEP if count else 1.0))
    return beliefs


def feature_costs(small: Network, large: Network, label_cost: float, weight: float = 1.0) -> Floats:
    """Return D: distances of features, and what different labels cost, (n, m)."""
    mine, theirs = small.features, large.features
    squares = (mine**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1)[None] - 2.0 * mine @ theirs.T
    distances = np.sqrt(np.maximum(squares, 0.0)).astype(np.float32)
    dense = affordable_rounds(small, large) < LEAST_ROUNDS
    distances *= np.float32(weight * (MEAN_FIELD_FEATURES if dense else FEATURES))
    distances += np.float32(LABELS * label_cost) * (small.labels[:, None] != large.labels[None])
    return cast(Floats, distances)


def _odds(small: Network, large: Network) -> tuple[np.float32, ...]:
    """Return w, times the number of columns, and e of both graphs."""
    mine, theirs = (max(len(g.heads), 1) / max(g.n_nodes, 1) for g in (small, large))
    shared = PARTNERED * min(mine, theirs)
    pair = shared / (mine * theirs) * large.n_nodes
    return np.float32(pair), np.float32(1.0 - shared / mine), np.float32(1.0 - shared / theirs)


def _one_to_one(small: Network, large: Network, other_label: float, n_jobs: int) -> Factor:
    """Return what writes log Z."""
    both = (small.kinds, large.kinds), (small.weights, large.weights)
    alike = all(len(np.unique(np.concatenate(pair))) < 2 for pair in both)
    n_arcs = len(small.heads), len(large.heads)
    told = np.ones(n_arcs, dtype=np.float32)
    turns = [tuple(map(np.arange, n_arcs)), (_reverse(small), _reverse(large))]
    how = alike, other_label, _odds(small, large), np.float32(NEGLIGIBLE / large.n_nodes)

    def write(beliefs: Floats, out: Floats) -> None:
        rows = partial(_match, small[:4], large[:4], turns[0], *how, beliefs, told, out)
        turns.reverse()
        if n_jobs == 1:
            rows(0, small.n_nodes)
            return
        bounds = [*range(0, small.n_nodes, BLOCK), small.n_nodes]
        with ThreadPoolExecutor(n_jobs) as pool:
            list(pool.map(rows, bounds, bounds[1:]))

    return write


def _reverse(graph: Network) -> Integers:
    """Return the place of every arc's reverse."""
    back = graph.kinds ^ int((graph.kinds & 1).any())
    return np.lexsort((back, graph.tails, graph.heads))


def _independent(small: Network, large: Network) -> Factor:
    """Return what writes log Z if the edges of a node find partners independently of each other."""
    a, b = (
        csr_array((np.ones(len(g.heads), dtype=np.float32), g.heads, g.starts))
        for g in (small, large)
    )
    pair, mine, theirs = _odds(small, large)

    def write(beliefs: Floats, out: Floats) -> None:
        out[:] = a @ np.log(pair * (beliefs @ b) + mine)
        out += np.log(pair * (a @ beliefs) + theirs) @ b
        out *= np.float32(0.5)

    return write


@kept(fastmath=REORDERED)
def _match(small, large, turns, alike, other_label, odds, lowest, p, told, out, first, last):  # type: ignore[no-untyped-def]
    """Write rows of log Z, up to a constant, and C; a large negative number where P is negligible.

    turns: where the arcs of both graphs stand in C, since a pair writes C where it read it.
    """
    (sa, ha, ka, wa), (sb, hb, kb, wb) = small, large
    ta, tb = turns
    one = np.float32(1.0)
    alone = odds[1] * odds[2]
    scale = odds[0] / alone
    mine, theirs = np.log(odds[1]), np.log(odds[2])
    widest = max((sa[1:] - sa[:-1]).max(), (sb[1:] - sb[:-1]).max(), 3)
    w = np.empty((widest, widest), dtype=np.float32)
    x, y, sums = np.empty_like(w), np.empty_like(w), np.empty(widest, dtype=np.float32)
    for i in range(first, last):
        n_mine = sa[i + 1] - sa[i]
        for j in range(len(sb) - 1):
            if p[i, j] < lowest:
                out[i, j] = np.float32(-1e4)
                continue
            start, n_theirs = sb[j], sb[j + 1] - sb[j]
            low, high = min(n_mine, n_theirs), max(n_mine, n_theirs)
            for a in range(n_mine):
                arc = sa[i] + a
                row, said = p[ha[arc]], told[ta[arc]]
                for b in range(n_theirs):
                    back = start + b
                    weight = scale * min(row[hb[back]] * said[tb[back]], one)
                    if not alike:
                        weight *= edge_fit(wa[arc], wb[back], ka[arc], kb[back], other_label)
                    if n_mine <= n_theirs:
                        w[a, b] = weight
                    else:
                        w[b, a] = weight
            total = _exact(w, x, low, high) if low <= 3 else _bethe(w, x, y, sums, low, high)
            out[i, j] = n_mine * mine + n_theirs * theirs + total
            for a in range(n_mine):
                said = told[ta[sa[i] + a]]
                for b in range(n_theirs):
                    rest = x[a, b] if n_mine <= n_theirs else x[b, a]
                    said[tb[start + b]] = rest / alone


@inner
def _exact(w: Floats, rest: Floats, low: int, high: int) -> float:
    """Sum all partial matchings of at most three rows, by inclusion and exclusion.

    Return the logarithm; rest: the share that remains without a row and a column.
    """
    w[low:3, :high] = np.float32(0.0)
    x, y, z, xy, xz, yz, xyz = 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0
    for b in range(high):
        p, q, r = float(w[0, b]), float(w[1, b]), float(w[2, b])
        x += p
        y += q
        z += r
        xy += p * q
        xz += p * r
        yz += q * r
        xyz += p * q * r
    total = max(x * y * z - xy * z - xz * y - yz * x + 2.0 * xyz, 1.0)
    share = 1.0 / total
    for b in range(high):
        p, q, r = float(w[0, b]), float(w[1, b]), float(w[2, b])
        rest[0, b] = share * max((y - q) * (z - r) - yz + q * r, 1.0)
        rest[1, b] = share * max((x - p) * (z - r) - xz + p * r, 1.0)
        rest[2, b] = share * max((x - p) * (y - q) - xy + p * q, 1.0)
    return float(np.log(total))


@inner
def _bethe(w: Floats, x: Floats, y: Floats, sums: Floats, low: int, high: int) -> float:
    """Sum all partial matchings approximately; return the logarithm, and the same shares in x."""
    one = np.float32(1.0)
    y[:low, :high] = np.float32(2.0) / low
    total = 0.0
    for turn in range(ITERATIONS):
        sums[:high] = one
        for a in range(low):
            whole = one
            for b in range(high):
                whole += w[a, b] * y[a, b]
            for b in range(high):
                x[a, b] = one / max(whole - w[a, b] * y[a, b], one)
                sums[b] += w[a, b] * x[a, b]
            if turn == ITERATIONS - 1:
                total += np.log(whole)
        if turn < ITERATIONS - 1:
            for a in range(low):
                for b in range(high):
                    y[a, b] = one / max(sums[b] - w[a, b] * x[a, b], one)
    for b in range(high):
        total += np.log(sums[b])
    for a in range(low):
        product = 1.0
        for b in range(high):
            both = x[a, b] * y[a, b]
            product *= 1.0 + w[a, b] * both
            x[a, b] = both / (one + w[a, b] * both)
        total -= np.log(product)
    return total


@kept(fastmath=REORDERED)
def _move(p, k, step):  # type: ignore[no-untyped-def]
    """Move P towards K, scaled to a matching: rows sum to 1, columns to (at most) 1."""
    n, m = p.shape
    one, least = np.float32(1.0), np.float32(1e-30)
    rows, columns, sums = np.empty(n, dtype=p.dtype), np.ones(m, dtype=p.dtype), p[0].copy()
    for turn in range(SCALINGS):
        sums[:] = np.float32(0.0)
        for i in range(n):
            row, total = k[i], np.float32(0.0)
            for j in range(m):
                total += row[j] * columns[j]
            rows[i] = one / max(total, least)
            for j in range(m):
                sums[j] += rows[i] * row[j]
        if turn < SCALINGS - 1:
            for j in range(m):
                columns[j] = one / max(sums[j], least if n == m else one)
    for i in range(n):
        mine, row, scale = p[i], k[i], step * rows[i]
        for j in range(m):
            mine[j] = (one - step) * mine[j] + scale * row[j] * columns[j]


@compiled
def assign(values: NDArray[Any]) -> Integers:
    """Match every row to a column of its own so that the sum is largest: columns, (n,), n <= m.

    Shortest augmenting paths (Jonker, Volgenant 1987; Crouse 2016). Ties fall as in scipy, whose
    `linear_sum_assignment` takes a sixth of the time of a first alignment to import.
    """
    n, m = values.shape
    columns, owner, path = np.full(n, -1), np.full(m, -1), np.full(m, -1)
    row_prices, column_prices = np.zeros(n), np.zeros(m)
    for first in range(n):
        lengths = np.full(m, np.inf)
        left = np.arange(m)[::-1].copy()  # columns: those to visit, then those visited
        n_left, row, sink, least = m, first, -1, 0.0
        while sink < 0:
            reached, nearest, at = least, np.inf, -1
            for place in range(n_left):
                column = left[place]
                length = reached - values[row, column] - row_prices[row] - column_prices[column]
                if length < lengths[column]:
                    lengths[column], path[column] = length, row
                length = lengths[column]
                if length < nearest or (length == nearest and owner[column] < 0):
                    nearest, at = length, place
            least, n_left = nearest, n_left - 1
            column = left[at]
            left[at], left[n_left] = left[n_left], column
            if owner[column] < 0:
                sink = column
            else:
                row = owner[column]
        row_prices[first] += least
        for column in left[n_left:]:
            if column != sink:
                row_prices[owner[column]] += least - lengths[column]
            column_prices[column] -= least - lengths[column]
        column, row = sink, -1
        while row != first:
            row = path[column]
            owner[column] = row
            columns[row], column = column, columns[row]
    return columns
