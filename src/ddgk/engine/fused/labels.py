"""Attribute terms: inferred distributions, their costs, their gradients.

The labels of all attributes are adjacent, those of attribute f in columns starts[f] ...
starts[f + 1] - 1. Only labels that can matter have a column: those the source has (attention),
those the target has (reverse).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddgk.engine.fused.compiling import compiled
from ddgk.engine.fused.functions import logarithm
from ddgk.engine.fused.lanes import LANES, fill, fma, load, repeat, store, where_above, widen

FLOOR = 1e-12  # where distributions are clamped when they are not smoothed


@compiled
def gather_labels(given: Any, at: int, n_given: int, entries: Any, out: Any, n_rows: int) -> None:
    """out[i, c] = sum_s given[i, s] Q[s, c], Q by its nonzero entries alone.

    given: (n_rows, n_given) lanes from offset `at` on; entries: Q column by column, (starts,
    places, values); out: (n_rows, n_columns) lanes.
    """
    starts, places, values = entries
    n_columns = len(starts) - 1
    for i in range(n_rows):
        row = at + i * n_given * LANES
        for c in range(n_columns):
            total = fill(given, 0.0)
            for k in range(starts[c], starts[c + 1]):
                total = fma(load(given, row + places[k] * LANES), repeat(values, k), total)
            store(out, (i * n_columns + c) * LANES, total)


@compiled
def scatter_labels(
    slopes: Any, n_columns: int, entries: Any, out: Any, at: int, n_rows: int, adds: bool
) -> None:
    """out[i, s] (+)= sum_c slopes[i, c] Q[s, c].

    slopes: (n_rows, n_columns) lanes; entries: Q row by row; out: (n_rows, n_given) lanes.
    """
    starts, places, values = entries
    n_given = len(starts) - 1
    for i in range(n_rows):
        row = i * n_columns * LANES
        for s in range(n_given):
            entry = at + (i * n_given + s) * LANES
            total = load(out, entry) if adds else fill(out, 0.0)
            for k in range(starts[s], starts[s + 1]):
                total = fma(load(slopes, row + places[k] * LANES), repeat(values, k), total)
            store(out, entry, total)


@compiled
def compare_labels(
    observed: Any,
    inferred: Any,
    attributes: Any,
    rows: Any,
    factors: Any,
    settings: Any,
    terms: Any,
) -> None:
    """Cost and slope of CE(p, q) = -sum_c p_c log q~_c for every row and attribute.

        q~ = (1 - e) q + e / k, or q clamped to [1e-12, 1];   dCE/dq = -p / q~ (1 - e)

    With `normalises`, q = counts / their sum t, and the slope is taken on to the counts:
    (dCE/dq_c - sum_c' dCE/dq_c' q_c') / t.
    observed: p, (all rows, n_columns) lanes; inferred: q or counts of the block, becomes
    c_f factor dCE; rows: (first, last); factors: (all rows) lanes; terms: (None or array, first
    term's offset, step to the next attribute's, divisors): costs in float64.
    """
    starts, widths, coefficients = attributes
    first, last = rows
    smoothing, normalises, records = settings
    costs, costs_at, costs_step, scales = terms
    n_columns = starts[-1]
    for i in range(first, last):
        held = (i - first) * n_columns * LANES
        row = i * n_columns * LANES
        for f in range(len(widths)):
            share = fill(inferred, 1.0)
            total = fill(inferred, 1.0)
            if normalises:
                total = fill(inferred, 0.0)
                for c in range(starts[f], starts[f + 1]):
                    total = total + load(inferred, held + c * LANES)
                share = 1.0 / where_above(total, 0.0, total, 1.0)
            factor = load(factors, i * LANES) * coefficients[f]
            cost = widen(fill(inferred, 0.0))
            along = fill(inferred, 0.0)
            floor = smoothing / widths[f] if smoothing > 0 else 0.0
            for c in range(starts[f], starts[f + 1]):
                q = load(inferred, held + c * LANES) * share
                p = load(observed, row + c * LANES)
                if smoothing > 0:
                    safe = fma(q, 1.0 - smoothing, floor)
                    slope = p / safe * (smoothing - 1.0)
                else:
                    safe = where_above(q, FLOOR, q, FLOOR) + q * 0.0
                    safe = where_above(safe, 1.0, 1.0, safe)
                    slope = 0.0 - p / safe
                    slope = where_above(FLOOR, q, 0.0, where_above(q, 1.0, 0.0, slope))
                if records:
                    cost = cost - widen(p * logarithm(safe))
                slope = slope * factor
                along = fma(slope, q, along)
                store(inferred, held + c * LANES, slope)
            if normalises:
                along = where_above(total, 0.0, along, 0.0)
                for c in range(starts[f], starts[f + 1]):
                    slope = load(inferred, held + c * LANES)
                    store(inferred, held + c * LANES, (slope - along) * share)
            if records:
                entry = costs_at + f * costs_step + i * LANES
                store(costs, entry, load(costs, entry) + cost / load(scales, LANES))


@compiled
def add_missing(missing: Any, attributes: Any, n_rows: int, smoothing: float, terms: Any) -> None:
    """Add what labels cost that the source does not have: the same at every step.

    missing: how much of a unit's distribution falls on them, (n_rows, n_attributes) lanes.
    """
    _, widths, _ = attributes
    costs, costs_at, costs_step, scales = terms
    n_attributes = len(widths)
    for f in range(n_attributes):
        each = -np.log(smoothing / widths[f] if smoothing > 0 else FLOOR)
        for i in range(n_rows):
            entry = costs_at + f * costs_step + i * LANES
            cost = widen(load(missing, (i * n_attributes + f) * LANES)) * each
            store(costs, entry, load(costs, entry) + cost / load(scales, LANES))
