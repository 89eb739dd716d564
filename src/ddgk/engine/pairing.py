"""Two graphs side by side, refined together: classes that hold one node of each are matches.

Nodes below n_target are the target's, the others the source's. Equal classes take as many nodes of
either; where they do not, the graphs are not isomorphic, or a tie was broken in the wrong way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.compiling import compiled
from ddgk.refinement import (
    Cells,
    Network,
    append,
    begin,
    first_cells,
    settle,
    settle_all,
    unlink,
)

Integers = NDArray[np.int64]


def pair_up(colours: Integers, network: Network, n_target: int) -> tuple[Integers, bool]:
    """Match nodes by refining both graphs together and singling out ties, one of each at a time.

    Returns the partner of every target node, counted from the first of the source, or -1, and
    whether the graphs stayed equal. Where they did not, what no tie had to be broken for is
    returned: nothing that a wrong choice led to.
    """
    cells = first_cells(colours)
    settle_all(cells, network)
    target_sizes = np.bincount(cells.owner[:n_target], minlength=cells.counts[0])
    equal = bool((2 * target_sizes == cells.size[: cells.counts[0]]).all())
    partners = _partners(cells, n_target)
    if not equal or not _single_out_pairs(cells, network, n_target):
        return partners, False
    return _partners(cells, n_target), True


def _partners(cells: Cells, n_target: int) -> Integers:
    """Return who is alone with a node of the target, (n_target,); -1: nobody."""
    owners = cells.owner[:n_target]
    mine, theirs = cells.first[owners], cells.last[owners]
    alone = (cells.size[owners] == 2) & (mine < n_target) & (theirs >= n_target)
    return np.where(alone, theirs - n_target, -1)


@compiled
def _single_out_pairs(cells: Cells, network: Network, n_target: int) -> bool:
    """Single out a node of each graph until no class has more; False once classes are unequal."""
    position = 0
    while position < len(cells.owner):
        own = cells.at[position]
        if cells.size[own] > 2:
            n_classes = cells.counts[0]
            _leave_together(cells, own)
            settle(cells, network, 2)
            for fresh in range(n_classes, cells.counts[0]):
                if not _is_equal(cells, fresh, n_target):
                    return False
            if cells.counts[0] == n_classes + 1:
                # It told nothing else apart: whoever is left may be paired in any way.
                while cells.size[own] > 2:
                    _leave_together(cells, own)
        position += 2
    return True


@compiled
def _leave_together(cells: Cells, own: int) -> None:
    """Give the first and the last node of a class, one of each graph, a class in front of it."""
    position = cells.start[own]
    mine = cells.counts[0]
    cells.counts[0] += 1
    cells.fresh[0], cells.fresh[1] = cells.first[own], cells.last[own]
    for place in range(2):
        node = cells.fresh[place]
        unlink(cells, node)
        append(cells, mine, node)
    cells.start[mine] = position
    cells.at[position] = mine
    begin(cells, own, position + 2)


@compiled
def _is_equal(cells: Cells, own: int, n_target: int) -> bool:
    """Count whether a class has as many nodes of one graph as of the other."""
    surplus = 0
    node = cells.first[own]
    while node >= 0:
        surplus += 1 if node < n_target else -1
        node = cells.after[node]
    return surplus == 0
