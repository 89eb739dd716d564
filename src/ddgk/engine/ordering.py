"""An order of nodes that does not depend on how they were numbered, in compiled loops.

The same idea as `ddgk.symmetry.canonical_order`, for small graphs by the thousand: refine, single
out a node of the first class that is not alone, refine again. The order only decides which random
number a node gets, so that a renumbered graph is aligned in the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.compiling import compiled
from ddgk.hashing import scramble

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

_scramble: Any = compiled(scramble)


def order_nodes(colours: Integers, tails: Integers, heads: Integers, codes: Integers) -> Integers:
    """List nodes by structure alone: the node that comes first, second, ..., (n,).

    colours: (n,), equal where nodes carry the same; tails, heads, codes: of the arcs, both ways.
    """
    by_tail = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[by_tail], np.arange(len(colours) + 1)).astype(np.int64)
    words = colours.astype(np.uint64)
    _tell_apart(words, starts, heads[by_tail], codes[by_tail].astype(np.uint64))
    return np.argsort(words, kind="stable").astype(np.int64)


@compiled
def _tell_apart(words: Words, starts: Integers, heads: Integers, codes: Words) -> None:
    """Give every node a word of its own, in place."""
    n_nodes = len(words)
    n_classes = _refine(words, starts, heads, codes)
    while n_classes < n_nodes:
        ordered = np.sort(words)
        shared = ordered[0]
        for place in range(1, n_nodes):
            if ordered[place] == ordered[place - 1]:
                shared = ordered[place]
                break
        members = np.flatnonzero(words == shared)
        before = words.copy()
        words[members[0]] = _scramble(words[members[0]] ^ np.uint64(1))
        n_refined = _refine(words, starts, heads, codes)
        if n_refined == n_classes + 1:
            # Singling one out told nothing else apart: the members are interchangeable.
            words[:] = before
            for rank in range(1, len(members)):
                words[members[rank]] = _scramble(shared ^ np.uint64(rank))
            n_refined = _refine(words, starts, heads, codes)
        n_classes = n_refined


@compiled
def _refine(words: Words, starts: Integers, heads: Integers, codes: Words) -> int:
    """Let every node hear what its neighbours are until that tells no more apart; count classes."""
    n_nodes = len(words)
    n_classes = 0
    fresh = np.empty_like(words)
    while True:
        for node in range(n_nodes):
            heard = np.uint64(0)
            for arc in range(starts[node], starts[node + 1]):
                heard += _scramble(words[heads[arc]] ^ _scramble(codes[arc]))
            fresh[node] = _scramble(_scramble(words[node]) + heard)
        ordered = np.sort(fresh)
        n_refined = 1
        for place in range(1, n_nodes):
            if ordered[place] != ordered[place - 1]:
                n_refined += 1
        words[:] = fresh
        if n_refined == n_classes:
            return n_classes
        n_classes = n_refined
