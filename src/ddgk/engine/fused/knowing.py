"""What is known of nodes, M, from the reverse attention and back to its gradient.

Lifting goes by blocks of rows. A product of all rows at once would go through all of them again for
every few columns, and large targets do not stay in any cache meanwhile. Where the reverse attention
is P itself, its blocks are lifted while they are near: forward where P is made, and back where
dL/dP is wanted.
"""

from __future__ import annotations

from typing import Any

from ddgk.engine.fused.compiling import compiled
from ddgk.engine.fused.lanes import LANES
from ddgk.engine.fused.products import multiply_shared, view
from ddgk.engine.fused.relayout import (
    clear,
    lanes_of,
    mean_numbers,
    mean_numbers_back,
    numbers_of,
)
from ddgk.engine.fused.sampling import gather_nodes, spread_nodes


@compiled
def lift_rows(first: int, last: int, sizes: Any, source: Any, reverse: Any, lanes: Any) -> None:
    """Find M of some rows: what they attend to, of what is known of source nodes."""
    known, n_reverse = sizes.n_known, sizes.n_reverse
    given = view(reverse, first * n_reverse * LANES, n_reverse * LANES, LANES)
    out = view(lanes, first * known * LANES, known * LANES, LANES)
    lift = view(source.lift, 0, 1, n_reverse)
    multiply_shared(given, lift, out, last - first, n_reverse, known, False)


@compiled
def lift_rows_back(rows: Any, sizes: Any, source: Any, lanes: Any, out: Any) -> None:
    """Take dL/dM of some rows back to the reverse attention.  rows: (first, last, first in out)."""
    first, last, held = rows
    known, n_reverse = sizes.n_known, sizes.n_reverse
    given = view(lanes, first * known * LANES, known * LANES, LANES)
    lifted = view(out, (first - held) * n_reverse * LANES, n_reverse * LANES, LANES)
    lift = view(source.lift, 0, n_reverse, 1)
    multiply_shared(given, lift, lifted, last - first, known, n_reverse, False)


@compiled
def know_nodes(
    sizes: Any,
    settings: Any,
    source: Any,
    target: Any,
    reverse: Any,
    lanes: Any,
    scratch: Any,
    sampling: Any,
) -> None:
    """Find M, what is known of every node: the reverse attention, or lifted to X_L, or averaged.

    reverse: P of what attends if tied, else (R^T | r); lanes: where it is lifted to, or the same.
    Where tied, it was lifted when P was made.
    """
    known = sizes.n_known
    n_rows = sizes.attending_rows if settings.tied else sizes.node_rows
    if settings.lifted and not settings.tied:
        for first in range(0, n_rows, sizes.block):
            lift_rows(first, min(first + sizes.block, n_rows), sizes, source, reverse, lanes)
    if sizes.n_samples > 0:
        spread_nodes(lanes, sampling, sizes.n_nodes, known)
    elif settings.alone:
        numbers_of(lanes, scratch.numbers, n_rows, known)
    if settings.spreads:
        clear(scratch.means)
        mean_numbers(target.spreads, scratch.numbers, scratch.means, known)


@compiled
def know_nodes_back(
    sizes: Any,
    settings: Any,
    source: Any,
    target: Any,
    scratch: Any,
    sampling: Any,
    lanes: Any,
    out: Any,
) -> None:
    """Take dL/dM back to the gradient of the reverse attention.

    lanes: dL/dM in lanes; out: (n_rows, n_reverse) lanes, the same where M is not lifted, and left
    to `lift_rows_back` where it holds a block.
    """
    known = sizes.n_known
    n_rows = sizes.attending_rows if settings.tied else sizes.node_rows
    if settings.spreads:
        clear(scratch.numbers_slopes)
        mean_numbers_back(target.spreads, scratch.means_slopes, scratch.numbers_slopes, known)
    if sizes.n_samples > 0:
        gather_nodes(sampling, lanes, sizes.n_nodes, known)
    elif settings.alone:
        lanes_of(scratch.numbers_slopes, lanes, n_rows, known)
    if settings.lifted and (settings.gathers or not settings.tied):
        for first in range(0, n_rows, sizes.block):
            rows = (first, min(first + sizes.block, n_rows), 0)
            lift_rows_back(rows, sizes, source, lanes, out)
