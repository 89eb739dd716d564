"""Local search that also climbs: exchanges that were just made may not be undone for a while.

Taillard's robust tabu search for quadratic assignment. The best exchange is made even where it
makes things worse, so that the search walks out of a valley; what a row held lately is forbidden to
it, for a random while, so that the search does not walk straight back.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.annealing import Costs, compiled, matching_loss

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def search_beyond(
    costs: Costs, partners: Integers, rounds: int, seed: int, enough: float = -np.inf
) -> Integers:
    """Return the best matching met in so many exchanges, at least as good as the one given.

    enough: a loss that ends the search. Where there are fewer rows than columns, rows that stand
    for nobody hold the rest.
    """
    n, m = costs.unary.shape
    unary, left, right = costs.unary, costs.left, costs.right
    held = partners.astype(np.int64)
    if n < m:
        # What a pair of columns costs by itself counts for real rows only, so it depends on who
        # holds them: one more relation.
        real = -(1.0 - np.eye(n))
        left = np.zeros((len(costs.left) + 1, m, m))
        left[:-1, :n, :n] = costs.left
        left[-1, :n, :n] = real
        right = np.concatenate([costs.right, costs.right_squares[None]])
        unary = np.concatenate([costs.unary, np.zeros((m - n, m))])
        held = np.concatenate([held, np.setdiff1d(np.arange(m), held)])
    gain = enough - matching_loss(costs, partners)
    state = np.uint64(seed % 2**64)  # of a linear congruential generator
    return walk(unary, left, np.ascontiguousarray(right), held, rounds, state, gain)[:n]


@cache
def announce() -> None:
    """Say on stderr that the first use takes its time, unless compiled code is there or on disk."""
    kernel: Any = walk
    stored = getattr(getattr(kernel, "stats", None), "cache_path", None)
    if kernel.signatures or (stored and any(Path(stored).glob("tabu.walk-*.nbi"))):
        return
    text = "ddgk: compiling the aligner; about ten seconds, once on this machine"
    print(text, file=sys.stderr, flush=True)  # noqa: T201


@compiled
def walk(
    unary: Array,
    left: Array,
    right: Array,
    held: Integers,
    rounds: int,
    state: np.uint64,
    enough: float,
) -> Integers:
    """Make `rounds` exchanges; return the best assignment met, (m,). All arrays are square.

    enough: a change of the loss, below 0, that ends the search.
    """
    size = len(held)
    held = held.copy()
    best = held.copy()
    value, least = 0.0, 0.0
    changes = np.zeros((size, size))
    for i in range(size):
        for k in range(i):
            changes[i, k] = _change(unary, left, right, held, i, k)
    until = np.zeros((size, size), dtype=np.int64)  # row i may not take column j before this round
    for turn in range(1, rounds + 1):
        first, second, chosen = -1, -1, np.inf
        for i in range(size):
            for k in range(i):
                change = changes[i, k]
                if change >= chosen:
                    continue
                forbidden = until[i, held[k]] > turn and until[k, held[i]] > turn
                if forbidden and value + change >= least - 1e-9:
                    continue
                first, second, chosen = i, k, change
        if first < 0:
            continue
        _update(left, right, held, changes, first, second)
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        share = float(state >> np.uint64(33)) / 2147483648.0
        until[first, held[first]] = turn + 1 + int(size * (0.9 + 0.2 * share))
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        share = float(state >> np.uint64(33)) / 2147483648.0
        until[second, held[second]] = turn + 1 + int(size * (0.9 + 0.2 * share))
        held[first], held[second] = held[second], held[first]
        for k in range(size):
            if k < first:
                changes[first, k] = _change(unary, left, right, held, first, k)
            elif k > first:
                changes[k, first] = _change(unary, left, right, held, k, first)
            if k < second:
                changes[second, k] = _change(unary, left, right, held, second, k)
            elif k > second:
                changes[k, second] = _change(unary, left, right, held, k, second)
        value += chosen
        if value < least - 1e-9:
            least = value
            best[:] = held
            if least <= enough:
                break
    return best


@compiled
def _change(unary: Array, left: Array, right: Array, held: Integers, i: int, k: int) -> float:
    """Return how much worse it gets when rows i and k exchange what they hold."""
    mine, theirs = held[i], held[k]
    change: float = unary[i, theirs] + unary[k, mine] - unary[i, mine] - unary[k, theirs]
    for row in range(len(held)):
        if row not in (i, k):
            column = held[row]
            for relation in range(len(left)):
                change -= (
                    2.0
                    * (left[relation, i, row] - left[relation, k, row])
                    * (right[relation, theirs, column] - right[relation, mine, column])
                )
    return change


@compiled
def _update(
    left: Array, right: Array, held: Integers, changes: Array, first: int, second: int
) -> None:
    """Correct the changes of all other exchanges for one that is about to be made."""
    before, after = held[first], held[second]
    for relation in range(len(left)):
        own, other = left[relation, first], left[relation, second]
        near, far = right[relation, before], right[relation, after]
        for i in range(len(held)):
            if i in (first, second):
                continue
            rise = own[i] - other[i]
            place = far[held[i]] - near[held[i]]
            for k in range(i):
                if k not in (first, second):
                    changes[i, k] -= (
                        2.0 * (rise - own[k] + other[k]) * ((far[held[k]] - near[held[k]]) - place)
                    )
