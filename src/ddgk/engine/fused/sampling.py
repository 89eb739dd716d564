"""The middle of a step for a large target: its own entries and sampled ones in place of all.

`ddgk.engine.samples` says which. A sampled block has the layout of a block of Y, (rows, samples)
lanes: unit i in lane l meets node (i + b) mod n in the column of shift b, and the nodes that eight
lanes meet lie side by side in M^T. It is cut into tiles of a few columns, (tiles, rows, SPAN): in
one piece its rows would be so far apart that each is a miss. Kept entries (edges, diagonal) are
taken one by one.
"""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.compiling import compiled, inlined
from ddgk.engine.fused.functions import exponential, one_more_logarithm, sigmoid
from ddgk.engine.fused.lanes import LANES, fetch, fill, fma, load, store, where_above
from ddgk.engine.fused.products import multiply, view

AHEAD = 12  # entries between having a node's row brought near and using it
TILE = 64  # columns of M^T that lie together: what runs of one row after the other meet stays near
SPAN = TILE + 2 * LANES  # and those of the next tile, repeated: as far as a run of eight lanes goes


@compiled
def begin_step(sampling: Any, step: int, ends: bool) -> None:
    """Note which shifts this step draws and what they stand for; or forget them again."""
    for r in range(len(sampling.lengths)):
        for b in range(sampling.lengths[r]):
            weight = sampling.weights[r]
            sampling.drawn[sampling.starts[step, r] + b] = 0 * weight if ends else weight


@inlined
def place_in_lanes(node: int, known: int) -> int:
    """Return where the row of a node begins in (node_rows, known) lanes."""
    return node // LANES * known * LANES + node % LANES


@inlined
def place_in_tiles(node: int, n_rows: int) -> int:
    """Return where a node's column begins in tiles of (n_rows, SPAN) numbers."""
    return node // TILE * n_rows * SPAN + node % TILE


@compiled
def spread_nodes(lanes: Any, sampling: Any, n_nodes: int, known: int) -> None:
    """Lay M out as M^T in tiles, and row by row; dL/dM becomes 0.

    lanes: (node_rows, known) lanes; sampling.across: (tiles, known, SPAN); sampling.nodes:
    (n_nodes, 2, known filled up to whole lanes), a row of M and of dL/dM side by side.
    """
    across, nodes = sampling.across, sampling.nodes
    stride = len(nodes) // n_nodes // 2
    for first in range(0, n_nodes, TILE):
        tile = place_in_tiles(first, known)
        for c in range(0, SPAN, LANES):
            j = first + c
            if j + LANES <= n_nodes:
                for k in range(known):
                    store(across, tile + k * SPAN + c, load(lanes, j * known + k * LANES))
            else:
                for lane in range(LANES):
                    at = place_in_lanes((j + lane) % n_nodes, known)
                    for k in range(known):
                        across[tile + k * SPAN + c + lane] = lanes[at + k * LANES]
    for j in range(n_nodes):
        at = place_in_lanes(j, known)
        for k in range(known):
            nodes[2 * j * stride + k] = lanes[at + k * LANES]
        for k in range(stride):
            nodes[(2 * j + 1) * stride + k] = 0


@compiled
def gather_nodes(sampling: Any, lanes: Any, n_nodes: int, known: int) -> None:
    """Add up dL/dM of samples and of kept entries, in lanes; what no node fills is 0."""
    slopes, nodes = sampling.across_slopes, sampling.nodes
    stride = len(nodes) // n_nodes // 2
    for entry in range(n_nodes // LANES * known * LANES, len(lanes)):
        lanes[entry] = 0
    for j in range(n_nodes):
        at = place_in_lanes(j, known)
        for k in range(known):
            lanes[at + k * LANES] = nodes[(2 * j + 1) * stride + k]
    for first in range(0, n_nodes, TILE):
        tile = place_in_tiles(first, known)
        for c in range(0, SPAN, LANES):
            j = first + c
            if j + LANES <= n_nodes:
                for k in range(known):
                    entry = j * known + k * LANES
                    added = load(slopes, tile + k * SPAN + c)
                    store(lanes, entry, load(lanes, entry) + added)
            else:
                for lane in range(LANES):
                    at = place_in_lanes((j + lane) % n_nodes, known)
                    for k in range(known):
                        lanes[at + k * LANES] += slopes[tile + k * SPAN + c + lane]


@compiled
def score_samples(
    facts: Any, facts_step: int, sampling: Any, step: int, rows: Any, out: Any, sizes: Any
) -> None:
    """Y of sampled entries.  facts: (array, offset), F; out: (n_rows, n_samples) lanes.

    rows: (first, last); sizes: (known, n_nodes, n_samples).
    """
    first, last = rows
    known, n_nodes, n_samples = sizes
    for i in range(last - first):
        column = 0
        left = view(facts[0], facts[1] + i * facts_step, facts_step, LANES)
        for r in range(len(sampling.lengths)):
            length = sampling.lengths[r]
            at = ((first + i) * LANES + sampling.starts[step, r]) % n_nodes
            # What the next row will meet there, and its slopes, when the block comes back.
            ahead = place_in_tiles(min(at + 3 * LANES - 1, n_nodes - 1), known)
            for k in range(known):
                fetch(sampling.across, ahead + k * SPAN)
                fetch(sampling.across_slopes, ahead + k * SPAN)
            right = view(sampling.across, place_in_tiles(at, known), SPAN, 1)
            result = view(out, (i * n_samples + column) * LANES, n_samples * LANES, LANES)
            multiply(left, right, result, 1, known, length, False)
            column += length


@compiled
def score_samples_back(
    slopes: Any,
    facts: Any,
    facts_slopes: Any,
    facts_step: int,
    sampling: Any,
    step: int,
    rows: Any,
    sizes: Any,
) -> None:
    """dL/dF = G M and dL/dM += G^T F over sampled entries.  slopes: G, (n_rows, n_samples) lanes.

    sizes: (known, n_nodes, n_samples, how many columns of dL/dF are wanted).
    """
    first, last = rows
    known, n_nodes, n_samples, n_wanted = sizes
    for i in range(last - first):
        column = 0
        values, at_values = facts[0], facts[1] + i * facts_step
        out = view(facts_slopes[0], facts_slopes[1] + i * facts_step, facts_step, LANES)
        for r in range(len(sampling.lengths)):
            length = sampling.lengths[r]
            at = ((first + i) * LANES + sampling.starts[step, r]) % n_nodes
            at = place_in_tiles(at, known)
            here = (i * n_samples + column) * LANES
            left = view(slopes, here, n_samples * LANES, LANES)
            multiply(left, view(sampling.across, at, 1, SPAN), out, 1, length, n_wanted, r > 0)
            for c in range(length):
                slope = load(slopes, here + c * LANES)
                for k in range(known):
                    entry = k * SPAN + at + c
                    added = load(sampling.across_slopes, entry)
                    value = load(values, at_values + k * LANES)
                    store(sampling.across_slopes, entry, fma(slope, value, added))
            column += length


@compiled
def sample_labels(
    given: Any, sampling: Any, step: int, rows: Any, out: Any, sizes: Any, back: bool
) -> None:
    """Count labels over sampled entries, out = (w S) C; or, back, out = w (slopes of counts) C^T.

    given: w S, (n_rows, n_samples) lanes, and out (n_rows, n_labels) lanes; back, the other way
    round. sizes: (n_labels, n_nodes, n_samples).
    """
    first, last = rows
    n_labels, n_nodes, n_samples = sizes
    for i in range(last - first):
        column = 0
        for r in range(len(sampling.lengths)):
            length = sampling.lengths[r]
            at = ((first + i) * LANES + sampling.starts[step, r]) % n_nodes
            at = place_in_tiles(at, n_labels)
            samples = (i * n_samples + column) * LANES
            labels = i * n_labels * LANES
            if back:
                left = view(given, labels, n_labels * LANES, LANES)
                result = view(out, samples, n_samples * LANES, LANES)
                right = view(sampling.labels, at, SPAN, 1)
                multiply(left, right, result, 1, n_labels, length, False)
            else:
                left = view(given, samples, n_samples * LANES, LANES)
                result = view(out, labels, n_labels * LANES, LANES)
                right = view(sampling.labels, at, 1, SPAN)
                multiply(left, right, result, 1, length, n_labels, r > 0)
            column += length


@compiled
def weigh_samples(given: Any, columns: Any, out: Any, n_rows: int, n_samples: int) -> None:
    """Find out = w given, column by column; (n_rows, n_samples) lanes."""
    for i in range(n_rows):
        for c in range(n_samples):
            entry = (i * n_samples + c) * LANES
            store(out, entry, load(given, entry) * load(columns, c * LANES))


@compiled
def score_kept(facts: Any, facts_step: int, sampling: Any, rows: Any, known: int) -> None:
    """Y of the kept entries of some rows, then s(Y) and what each costs as an edge and otherwise.

    Left in sampling.scores, .predicted, .edge_costs, .other_costs, from the first of the block on;
    .repeated says how much of an entry samples have too.
    """
    first, last = rows
    starts, places, _ = sampling.kept
    n_units = len(starts) - 1
    stride = len(sampling.nodes) // n_units // 2
    facts_rows, nodes, scores = sampling.facts, sampling.nodes, sampling.scores
    n_kept = len(places) - 1
    begin = starts[min(first * LANES, n_units)]
    for unit in range(first * LANES, min(last * LANES, n_units)):
        at = facts[1] + (unit // LANES - first) * facts_step + unit % LANES
        own = (unit - first * LANES) * stride
        for k in range(known):
            facts_rows[own + k] = facts[0][at + k * LANES]
        for e in range(starts[unit], starts[unit + 1]):
            # The row of dL/dM is wanted too, when the block comes back.
            ahead = places[min(e + AHEAD, n_kept)] * 2 * stride
            for line in range(0, 2 * stride, 2 * LANES):
                fetch(nodes, ahead + line)
            fetch(sampling.drawn, sampling.shifts[min(e + AHEAD, n_kept)])
            total = fill(nodes, 0.0)
            other = places[e] * 2 * stride
            for k in range(0, stride, LANES):
                total = fma(load(facts_rows, own + k), load(nodes, other + k), total)
            store(sampling.total, 0, total)
            sums = sampling.total
            score = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + (
                (sums[4] + sums[5]) + (sums[6] + sums[7])
            )
            scores[e - begin] = score
            sampling.repeated[e - begin] = sampling.drawn[sampling.shifts[e]]
    count = starts[min(last * LANES, n_units)] - begin
    for entry in range(0, count, LANES):
        y = load(scores, entry)
        size = where_above(y, 0.0, y, 0.0 - y)
        both = one_more_logarithm(exponential(0.0 - size))
        store(sampling.predicted, entry, sigmoid(y))
        store(sampling.edge_costs, entry, both + where_above(0.0, y, 0.0 - y, 0.0))
        store(sampling.other_costs, entry, both + where_above(y, 0.0, y, 0.0))


@compiled
def record_kept(sampling: Any, rows: Any, n_rows: int, terms: Any, scale: float) -> None:
    """Add what kept entries cost to the channels edges and non_edges; a drawn one is taken back.

    terms: (n_channels, n_rows) lanes.
    """
    first, last = rows
    starts, _, values = sampling.kept
    n_units = len(starts) - 1
    begin = starts[min(first * LANES, n_units)]
    for unit in range(first * LANES, min(last * LANES, n_units)):
        edges, others = 0.0, 0.0
        for e in range(starts[unit], starts[unit + 1]):
            drawn = sampling.repeated[e - begin]
            edges += values[e] * sampling.edge_costs[e - begin]
            others += (1 - values[e] - drawn) * sampling.other_costs[e - begin]
        terms[unit] += edges / scale
        terms[n_rows * LANES + unit] += others / scale


@compiled
def count_kept(sampling: Any, by_node: Any, rows: Any, around: Any, n_labels: int) -> None:
    """Add the labels at kept entries to the counts, S C.  around: (rows, n_labels) lanes."""
    first, last = rows
    starts, places, _ = sampling.kept
    label_starts, labels, values = by_node
    n_units = len(starts) - 1
    begin = starts[min(first * LANES, n_units)]
    for unit in range(first * LANES, min(last * LANES, n_units)):
        at = (unit // LANES - first) * n_labels * LANES + unit % LANES
        for e in range(starts[unit], starts[unit + 1]):
            seen = (1 - sampling.repeated[e - begin]) * sampling.predicted[e - begin]
            for k in range(label_starts[places[e]], label_starts[places[e] + 1]):
                around[at + labels[k] * LANES] += seen * values[k]


@compiled
def kept_slopes(
    sampling: Any, by_node: Any, rows: Any, around: Any, n_labels: int, factor: float
) -> None:
    """G of kept entries, in place of their scores; n_labels: 0 where labels do not train.

    G = f (B (s - 1) + (1 - B - drawn) s) + (1 - drawn) dL/dS s (1 - s)
    """
    first, last = rows
    starts, places, values = sampling.kept
    label_starts, labels, contributed = by_node
    n_units = len(starts) - 1
    begin = starts[min(first * LANES, n_units)]
    for unit in range(first * LANES, min(last * LANES, n_units)):
        at = (unit // LANES - first) * n_labels * LANES + unit % LANES
        for e in range(starts[unit], starts[unit + 1]):
            drawn = sampling.repeated[e - begin]
            s = sampling.predicted[e - begin]
            slope = factor * (s * (1 - drawn) - values[e])
            if n_labels > 0:
                along = 0 * s
                for k in range(label_starts[places[e]], label_starts[places[e] + 1]):
                    along += around[at + labels[k] * LANES] * contributed[k]
                slope += (1 - drawn) * along * s * (1 - s)
            sampling.scores[e - begin] = slope


@compiled
def score_kept_back(
    facts_slopes: Any, facts_step: int, sampling: Any, rows: Any, n_wanted: int
) -> None:
    """dL/dF += G M and dL/dM += G^T F over kept entries."""
    first, last = rows
    starts, places, _ = sampling.kept
    n_units = len(starts) - 1
    stride = len(sampling.nodes) // n_units // 2
    begin = starts[min(first * LANES, n_units)]
    own_slopes, nodes = sampling.facts_slopes, sampling.nodes
    for unit in range(first * LANES, min(last * LANES, n_units)):
        own = (unit - first * LANES) * stride
        for k in range(0, stride, LANES):
            store(own_slopes, own + k, fill(own_slopes, 0.0))
        for e in range(starts[unit], starts[unit + 1]):
            slope = fill(own_slopes, sampling.scores[e - begin])
            other = places[e] * 2 * stride
            for k in range(0, stride, LANES):
                added = load(own_slopes, own + k)
                store(own_slopes, own + k, fma(slope, load(nodes, other + k), added))
                added, value = load(nodes, other + stride + k), load(sampling.facts, own + k)
                store(nodes, other + stride + k, fma(slope, value, added))
        at = facts_slopes[1] + (unit // LANES - first) * facts_step + unit % LANES
        for k in range(n_wanted):
            facts_slopes[0][at + k * LANES] += own_slopes[own + k]
