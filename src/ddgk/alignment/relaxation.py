"""Relaxed quadratic assignment between all nodes, annealed to a soft matching; numbers only.

Minimises over soft matchings P (rows: the graph with fewer nodes; rows sum to 1, columns to at
most 1) by Frank-Wolfe steps, as FUGAL and the PATH algorithm do:

    |A P - P B|^2 + mu <D, P> - lambda |P|^2

A, B: weighted adjacencies. D: distances of node features, and costs of labels. The first part is
convex, so that features decide the start; a growing lambda pushes P to a permutation. The linear
subproblem is solved softly by Sinkhorn's scaling. A gradient costs n * (arcs of both), not n^3.

Rows are computed independently of each other and sums run in fixed blocks, so results do not depend
on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.encoding import Network

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

FEATURES = np.float32(0.05)  # mu / 2
SHARPNESS = np.float32(20.0)  # inverse temperature of the soft linear assignment
STEP = 0.2  # of Frank-Wolfe; the first ones are longer
FIRST, LAST = 0.05, 15.0  # lambda, geometrically
CONVEX_SHARE = 12  # one in so many iterations goes by before lambda is above 0
ROUNDS = 4  # of Sinkhorn's scaling
BLOCK = 256  # rows that are one piece of work
REORDERED = {"reassoc", "nsz", "contract", "arcp"}


def vectorised(function: Any) -> Any:
    """Compile a kernel whose sums may be reordered into SIMD lanes."""
    try:
        return numba.njit(error_model="numpy", nogil=True, cache=True, fastmath=REORDERED)(function)
    except RuntimeError:  # no folder on this machine can be written
        return numba.njit(error_model="numpy", nogil=True, fastmath=REORDERED)(function)


class Work(NamedTuple):
    """Arrays of (n, m): soft matching, residual, scaled gradient; and the scales of both sides."""

    matching: Floats
    residual: Floats
    kernel: Floats
    rows: Floats
    columns: Floats


def relax(
    small: Network,
    large: Network,
    costs: Floats,
    iterations: int,
    go_on: Callable[[], bool],
    n_jobs: int = 1,
    regroup: Callable[[Floats], Floats] | None = None,
) -> Floats:
    """Return a soft matching, (n_small, n_large).

    costs: D. go_on: asked before every iteration. regroup: an additional cost, from P.
    """
    n, m = costs.shape
    single = np.float32
    work = Work(
        np.full((n, m), 1.0 / m, dtype=single),
        np.empty((n, m), dtype=single),
        np.empty((n, m), dtype=single),
        np.empty(n, dtype=single),
        np.ones(m, dtype=single),
    )
    convex = max(1, iterations // CONVEX_SHARE)
    pushes = np.concatenate(
        [np.zeros(convex), np.geomspace(FIRST, LAST, max(iterations - convex, 1))]
    )
    mine, theirs = _scaled(small, large)
    extra = np.zeros((0, 0), dtype=single)
    with _blocks(n, n_jobs) as run:
        for count, push in enumerate(pushes):
            if not go_on():
                break
            if regroup is not None and count >= convex and count % convex == 0:
                extra = regroup(work.matching)
            run(partial(_residual, *mine, *theirs, work.matching, work.residual))
            run(partial(_scaled_gradient, (*mine, *theirs), work, costs, extra, single(push)))
            work.columns[:] = 1.0
            for turn in range(ROUNDS):
                sums = run(partial(_row_scales, work.kernel, work.columns, work.rows))
                if turn < ROUNDS - 1:
                    total = np.add.reduce(sums, axis=0)
                    np.divide(1.0, np.maximum(total, 1e-30), out=work.columns)
                    if n < m:
                        np.minimum(work.columns, 1.0, out=work.columns)
            share = single(max(STEP, 2.0 / (count + 2)))
            run(partial(_step, work.matching, work.kernel, work.rows, work.columns, share))
    return work.matching


def _scaled_gradient(
    arcs: Any, work: Work, costs: Floats, extra: Floats, push: Any, first: int, last: int
) -> None:
    """Write rows of exp(-(G - min G) / temperature)."""
    _gradient(*arcs, work.matching, work.residual, costs, extra, push, work.kernel, first, last)
    np.exp(work.kernel[first:last], out=work.kernel[first:last])


def feature_costs(small: Network, large: Network, label_cost: float) -> Floats:
    """Return D: mu / 2 times distances of features, and what different labels cost, (n, m)."""
    mine, theirs = small.features, large.features
    squares = (mine**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1)[None] - 2.0 * mine @ theirs.T
    distances = np.sqrt(np.maximum(squares, 0.0)).astype(np.float32)
    distances *= FEATURES
    distances += np.float32(label_cost) * (small.labels[:, None] != large.labels[None])
    return cast(Floats, distances)


def _scaled(small: Network, large: Network) -> tuple[Any, Any]:
    """Return starts, heads and weights of both; weights are divided by their mean size.

    Direction counts in features and in the local search alone: here A and B are symmetric.
    """
    sizes = np.abs(np.concatenate([small.weights, large.weights]))
    unit = float(sizes.mean()) if len(sizes) and sizes.mean() > 0 else 1.0
    both = []
    for network in (small, large):
        weights = (network.weights / unit).astype(np.float32)
        both.append((network.starts, network.heads, weights))
    return both[0], both[1]


@contextmanager
def _blocks(n_rows: int, n_jobs: int) -> Iterator[Callable[[Callable[..., Any]], list[Any]]]:
    """Run a function on fixed blocks of rows, in threads where there are several of both."""
    bounds = [(a, min(a + BLOCK, n_rows)) for a in range(0, n_rows, BLOCK)]
    if n_jobs == 1 or len(bounds) < 2:
        yield lambda function: [function(*bound) for bound in bounds]
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield lambda function: list(pool.map(lambda bound: function(*bound), bounds))


@vectorised
def _residual(sa, ha, wa, sb, hb, wb, p, e, first, last):  # type: ignore[no-untyped-def]
    """Write rows of E = A P - P B."""
    m = p.shape[1]
    for i in range(first, last):
        row, own = e[i], p[i]
        for j in range(m):
            total = np.float32(0.0)
            for arc in range(sb[j], sb[j + 1]):
                total += own[hb[arc]] * wb[arc]
            row[j] = -total
        for arc in range(sa[i], sa[i + 1]):
            other, weight = p[ha[arc]], wa[arc]
            for j in range(m):
                row[j] += weight * other[j]


@vectorised
def _gradient(sa, ha, wa, sb, hb, wb, p, e, costs, extra, push, k, first, last):  # type: ignore[no-untyped-def]
    """Write rows of -(G - min G) / temperature; G = A E - E B + D - lambda P."""
    m = p.shape[1]
    for i in range(first, last):
        row, own, mine, given = k[i], e[i], p[i], costs[i]
        for j in range(m):
            total = np.float32(0.0)
            for arc in range(sb[j], sb[j + 1]):
                total += own[hb[arc]] * wb[arc]
            row[j] = given[j] - push * mine[j] - total
        if len(extra):
            for j in range(m):
                row[j] += extra[i, j]
        for arc in range(sa[i], sa[i + 1]):
            other, weight = e[ha[arc]], wa[arc]
            for j in range(m):
                row[j] += weight * other[j]
        least = row[0]
        for j in range(m):
            least = min(least, row[j])
        for j in range(m):
            row[j] = max(SHARPNESS * (least - row[j]), np.float32(-80.0))


@vectorised
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


@vectorised
def _step(p, k, rows, columns, share, first, last):  # type: ignore[no-untyped-def]
    """Move P towards the soft assignment by a share."""
    m = p.shape[1]
    kept = np.float32(1.0) - share
    for i in range(first, last):
        mine, row, scale = p[i], k[i], share * rows[i]
        for j in range(m):
            mine[j] = kept * mine[j] + scale * row[j] * columns[j]
