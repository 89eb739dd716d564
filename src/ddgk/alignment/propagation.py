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

Rows are computed independently of each other and sums run in fixed blocks, so results do not depend
on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.encoding import Network
from ddgk.compiling import inner, kept

Floats = NDArray[np.float32]
Run = Callable[[Callable[..., Any]], list[Any]]

PARTNERED = 0.9  # share of the sparser graph's edges that is supposed to be in the other
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
    regroup: Callable[[Floats], Floats] | None = None,
) -> Floats:
    """Return beliefs, (n_small, n_large).

    costs: D. go_on: asked before every round. other_label: weight of a pair of edges whose labels
    differ. regroup: an additional cost, from P.
    """
    n, m = costs.shape
    affordable = affordable_rounds(small, large)
    rounds = min(rounds, max(LEAST_ROUNDS, int(affordable)))
    lowest = np.float32(NEGLIGIBLE / m)
    beliefs, update = np.full((n, m), 1.0 / m, dtype=np.float32), np.empty_like(costs)
    rows, columns = np.empty(n, dtype=np.float32), np.ones(m, dtype=np.float32)
    if affordable < LEAST_ROUNDS:
        factor = _independent(small, large, beliefs, update)
    else:
        factor = _one_to_one(small, large, beliefs, update, other_label, lowest)
    extra = np.zeros((1, 1), dtype=np.float32)
    with _blocks(n, n_jobs) as run:
        for count in range(-1, rounds):
            if not go_on():
                break
            if count < 0:  # a start by features alone
                update[:] = 0.0
            else:
                factor(run)
            if regroup is not None and count % 4 == 3:
                extra = regroup(beliefs)
            run(partial(_exponentials, update, costs, extra))
            columns[:] = 1.0
            for turn in range(SCALINGS):
                sums = run(partial(_row_scales, update, columns, rows))
                if turn < SCALINGS - 1:
                    np.divide(1.0, np.maximum(np.add.reduce(sums, axis=0), 1e-30), out=columns)
                    if n < m:
                        np.minimum(columns, 1.0, out=columns)
            step = np.float32(1.0 if count < 0 else STEP)
            run(partial(_step, beliefs, update, rows, columns, step))
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


@contextmanager
def _blocks(n_rows: int, n_jobs: int) -> Iterator[Run]:
    """Run a function on fixed blocks of rows, in threads where there are several of both."""
    bounds = [(a, min(a + BLOCK, n_rows)) for a in range(0, n_rows, BLOCK)]
    if n_jobs == 1 or len(bounds) < 2:
        yield lambda function: [function(*bound) for bound in bounds]
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield lambda function: list(pool.map(lambda bound: function(*bound), bounds))


def _exponentials(
    update: Floats, costs: Floats, extra: Floats, first: int, last: int
) -> None:
    """Write rows of Z exp(-D), up to a scale."""
    rows = update[first:last]
    rows -= costs[first:last]
    if len(extra) > 1:
        rows -= extra[first:last]
    rows -= rows.max(axis=1, keepdims=True)
    np.maximum(rows, -60.0, out=rows)
    np.exp(rows, out=rows)


def _one_to_one(
    small: Network,
    large: Network,
    beliefs: Floats,
    out: Floats,
    other_label: float,
    lowest: np.float32,
) -> Callable[[Run], Any]:
    """Return what writes log Z."""
    kinds = np.concatenate([small.kinds, large.kinds])
    weights = np.concatenate([small.weights, large.weights])
    alike = bool((kinds == kinds[:1]).all() and (weights == weights[:1]).all())
    told = np.ones((len(small.heads), len(large.heads)), dtype=np.float32)
    how = alike, other_label, beliefs, _odds(small, large), lowest, told, out
    turns = [
        tuple(np.arange(len(graph.heads)) for graph in (small, large)),
        (_reverse(small), _reverse(large)),
    ]

    def write(run: Run) -> None:
        run(partial(_match, small[:4], large[:4], turns[0], *how))
        turns.reverse()

    return write


def _reverse(graph: Network) -> NDArray[np.int64]:
    """Return the place of every arc's reverse."""
    tails = np.repeat(np.arange(graph.n_nodes), np.diff(graph.starts))
    back = graph.kinds ^ int((graph.kinds & 1).any())
    return np.lexsort((back, tails, graph.heads))


def _independent(
    small: Network, large: Network, beliefs: Floats, out: Floats
) -> Callable[[Run], Any]:
    """Return what writes log Z if the edges of a node find partners independently of each other."""
    arcs = small.starts, small.heads, large.starts, large.heads
    mine, theirs, rest = (np.empty_like(out) for _ in range(3))
    pair, *alone = _odds(small, large)

    def reach(first: int, last: int) -> None:
        _sum_around(*arcs, beliefs, beliefs, theirs, mine, first, last)
        for side, unmatched in zip((mine, theirs), alone, strict=True):
            rows = side[first:last]
            rows *= pair
            rows += unmatched
            np.log(rows, out=rows)

    def collect(first: int, last: int) -> None:
        _sum_around(*arcs, mine, theirs, out, rest, first, last)
        out[first:last] += rest[first:last]
        out[first:last] *= np.float32(0.5)

    return lambda run: (run(reach), run(collect))


@kept(fastmath=REORDERED)
def _sum_around(sa, ha, sb, hb, left, right, of_left, of_right, first, last):  # type: ignore[no-untyped-def]
    """Write rows of A L, and of R B."""
    m = left.shape[1]
    for i in range(first, last):
        near, own, row = of_left[i], right[i], of_right[i]
        near[:] = np.float32(0.0)
        for arc in range(sa[i], sa[i + 1]):
            other = left[ha[arc]]
            for j in range(m):
                near[j] += other[j]
        for j in range(m):
            total = np.float32(0.0)
            for arc in range(sb[j], sb[j + 1]):
                total += own[hb[arc]]
            row[j] = total


@kept(fastmath=REORDERED)
def _match(small, large, turns, alike, other_label, p, odds, lowest, told, out, first, last):  # type: ignore[no-untyped-def]
    """Write rows of log Z, up to a constant, and C; a large negative number where P is negligible.

    turns: where the arcs of both graphs stand in C, since a pair writes C where it read it.
    """
    (sa, ha, ka, wa), (sb, hb, kb, wb) = small, large
    ta, tb = turns
    one, none = np.float32(1.0), np.float32(0.0)
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
                        if wa[arc] != wb[back]:
                            larger = max(abs(wa[arc]), abs(wb[back]))
                            weight *= max(none, one - abs(wa[arc] - wb[back]) / larger)
                        if ka[arc] != kb[back]:
                            weight *= other_label if (ka[arc] - kb[back]) % 2 == 0 else none
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
    for a in range(low, 3):
        for b in range(high):
            w[a, b] = np.float32(0.0)
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
    for a in range(low):
        for b in range(high):
            y[a, b] = np.float32(2.0) / low
    total = 0.0
    for turn in range(ITERATIONS):
        for b in range(high):
            sums[b] = one
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
def _row_scales(k, columns, rows, first, last):  # type: ignore[no-untyped-def]
    """Scale rows to sum 1; return what their columns then sum to, over this block."""
    m = k.shape[1]
    sums = np.zeros(m, dtype=np.float32)
    for i in range(first, last):
        row, total = k[i], np.float32(0.0)
        for j in range(m):
            total += row[j] * columns[j]
        scale = np.float32(1.0) / max(total, np.float32(1e-30))
        rows[i] = scale
        for j in range(m):
            sums[j] += scale * row[j]
    return sums


@kept(fastmath=REORDERED)
def _step(p, k, rows, columns, share, first, last):  # type: ignore[no-untyped-def]
    """Move P towards the scaled update by a share."""
    m = p.shape[1]
    kept = np.float32(1.0) - share
    for i in range(first, last):
        mine, row, scale = p[i], k[i], share * rows[i]
        for j in range(m):
            mine[j] = kept * mine[j] + scale * row[j] * columns[j]
