"""Local search on a matching, and how sure each of its pairs is; numbers only.

What is maximised over one-to-one partners p is

    sum over target edges (i, k) of s(i k, p_i p_k) - 1/2 edges between partners (if sizes differ)
        - sum over i of label_cost [labels of i and p_i differ]

s is 1 where an edge falls on an equal edge, 0 where it falls on none, and between where labels or
weights of the two differ. Up to constants it is minus half the squared error |A - P B P'|^2: a
quadratic assignment. Simulated annealing proposes swaps that keep an edge for sure, and prices
them by the arcs of the nodes that move, not by n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.encoding import Array, Integers, Network
from ddgk.compiling import compiled, inner

SHARPNESS = 2.0  # inverse temperature of confidences, per edge
WIDTH = 16  # entries of a row of attention
LEAST = 1e-6  # attention below is left out
MOST_ASKED = 200  # of the neighbours of a hub so many are candidates
MOST_WEIGHED = 1 << 16  # edges of candidates that are looked at for the confidence of one node
FREE = -1
NO_PRIOR = np.zeros((0, 0), dtype=np.float32)
MULTIPLIER, INCREMENT = np.uint64(6364136223846793005), np.uint64(1442695040888963407)


class Scoring(NamedTuple):
    """What a matching is worth, in edges."""

    label_cost: float  # of a pair whose labels differ
    other_label: float  # the worth of an edge on one of another label
    induced: float  # weight of edges between partners
    prior: NDArray[np.float32] = NO_PRIOR  # worth of pairs by themselves, (n_small, n_large)


class Matching(NamedTuple):
    """Partners of the nodes of a small graph, (n_small,), among those of a large one, or -1."""

    small: Network
    large: Network
    partners: Integers
    scoring: Scoring


@inner
def edge_fit(mine: float, theirs: float, kind: int, other: int, other_label: float) -> float:
    """Return what an edge on an edge is worth: by their weights, and by their kinds."""
    fit = 1.0
    if mine != theirs:
        fit = max(0.0, 1.0 - abs(mine - theirs) / max(abs(mine), abs(theirs)))
    if kind != other:
        fit *= other_label if (kind - other) % 2 == 0 else 0.0
    return fit


@inner
def _arc_worth(found: Matching, arc: int, at: int, head: int) -> float:
    """Return how well an arc of the small graph fits the best one from `at` to `head`."""
    small, large = found.small, found.large
    low, high = large.starts[at], large.starts[at + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        low, high = (middle + 1, high) if large.heads[middle] < head else (low, middle)
    best = 0.0
    while low < end and large.heads[low] == head:
        mine, theirs = small.weights[arc], large.weights[low]
        kind, other = small.kinds[arc], large.kinds[low]
        best = max(best, edge_fit(mine, theirs, kind, other, found.scoring.other_label))
        low += 1
    return best


@inner
def _worth(found: Matching, node: int, besides: int) -> float:
    """Return how well the arcs of a node are kept, but for those to one neighbour."""
    total = 0.0
    for arc in range(found.small.starts[node], found.small.starts[node + 1]):
        near = found.small.heads[arc]
        if near != besides and found.partners[near] >= 0:
            total += _arc_worth(found, arc, found.partners[node], found.partners[near])
    return total


@inner
def _pair_cost(found: Matching, node: int, at: int) -> float:
    """Return what a pair costs by itself."""
    cost = 0.0 if found.small.labels[node] == found.large.labels[at] else found.scoring.label_cost
    if len(found.scoring.prior):
        cost -= found.scoring.prior[node, at]
    return cost


@inner
def _crowd(large: Network, holders: Integers, at: int, besides: int) -> int:
    """Count the arcs from a node to others that are somebody's partner."""
    count = 0
    for head in large.heads[large.starts[at] : large.starts[at + 1]]:
        if head != besides and (holders[head] >= 0 or head == at):
            count += 1
    return count


@compiled
def inverse(partners: Integers, n_large: int) -> Integers:
    """Return whose partner each node of the other graph is, (n_large,), or -1."""
    holders = np.full(n_large, FREE)
    for node in range(len(partners)):
        if partners[node] >= 0:
            holders[partners[node]] = node
    return holders


@compiled
def total_worth(found: Matching) -> float:
    """Return what is maximised, of a whole matching."""
    large, induced = found.large, found.scoring.induced
    holders = inverse(found.partners, len(large.starts) - 1)
    total = 0.0
    for node, at in enumerate(found.partners):
        if at >= 0:
            total += 0.5 * _worth(found, node, FREE)
            total -= 0.5 * induced * _crowd(large, holders, at, FREE)
            total -= _pair_cost(found, node, at)
    return total


@inner
def _draw(state: np.uint64) -> tuple[np.uint64, int]:
    """Return the next state of a linear congruential generator, and its upper 31 bits."""
    state = state * MULTIPLIER + INCREMENT
    return state, int(np.int64(state >> np.uint64(33)))


@compiled
def anneal(
    found: Matching, steps: int, temperatures: tuple[float, float], state: np.uint64
) -> tuple[Integers, float, np.uint64]:
    """Swap partners at falling temperature; return the best partners met, their gain, the state.

    Partners are changed in place; every node of the small graph has one.
    """
    small, large, partners, scoring = found
    n = len(partners)
    holders = inverse(partners, len(large.starts) - 1)
    best = partners.copy()
    value, top = 0.0, 0.0
    temperature = temperatures[0]
    cooling = (temperatures[1] / temperatures[0]) ** (1.0 / max(steps, 1))
    for _ in range(steps):
        temperature *= cooling
        state, drawn = _draw(state)
        node = drawn % n
        state, drawn = _draw(state)
        to = FREE
        degree = small.starts[node + 1] - small.starts[node]
        if degree > 0:
            image = partners[small.heads[small.starts[node] + drawn % degree]]
            width = large.starts[image + 1] - large.starts[image]
            if width > 0:
                state, drawn = _draw(state)
                to = large.heads[large.starts[image] + drawn % width]
        if to == FREE:
            to = drawn % len(holders)
        given = partners[node]
        if to == given:
            continue
        other = holders[to]
        gain = _pair_cost(found, node, given) - _pair_cost(found, node, to)
        gain -= _worth(found, node, FREE)
        partners[node] = to
        if other >= 0:
            gain += _pair_cost(found, other, to)
            gain -= _pair_cost(found, other, given)
            gain -= _worth(found, other, node)
            partners[other] = given
            gain += _worth(found, other, node)
        elif scoring.induced > 0.0:
            gain += scoring.induced * _crowd(large, holders, given, FREE)
            gain -= scoring.induced * _crowd(large, holders, to, given)
        gain += _worth(found, node, FREE)
        if gain < 0.0:
            state, drawn = _draw(state)
            if drawn / 2147483648.0 >= np.exp(gain / temperature):
                partners[node] = given
                if other >= 0:
                    partners[other] = to
                continue
        holders[to] = node
        holders[given] = other
        value += gain
        if value > top + 1e-9:
            top = value
            for place in range(n):  # compiles faster than best[:] = partners
                best[place] = partners[place]
    return best, top, state


def share_attention(found: Matching) -> tuple[Integers, Array, Array]:
    """Say where each node would go, and how sure it is; less so where there are others like it."""
    target, source = found.small, found.large
    columns, values, sureness = weigh(found, SHARPNESS, WIDTH)
    alone, others = target.degrees == 0, source.degrees == 0
    alike = np.bincount(source.labels[others], minlength=int(target.labels.max()) + 1)
    sureness[alone] /= np.maximum(alike[target.labels[alone]], 1)
    sureness[target.labels != source.labels[found.partners]] *= 0.5
    values = np.where((columns >= 0) & (values > LEAST), values, 0.0)
    values /= np.maximum(values.sum(axis=1, keepdims=True), LEAST)  # rows sum to 1
    return columns, values, sureness


@compiled
def weigh(found: Matching, sharpness: float, width: int) -> tuple[Integers, Array, Array]:
    """Say where each matched node would go if the rest stayed, and how sure its partner is.

        1 / sum_j exp(-beta d_ij),  d_ij: how many more edges of i and j are lost if i takes j

    Whoever had j takes i's. j: neighbours of partners of neighbours of i. Returns candidates and
    their shares, (n, width) each, and the sureness, (n,).
    """
    target, source, partners, _ = found
    n, n_source = len(partners), len(source.starts) - 1
    holders = inverse(partners, n_source)
    columns = np.full((n, width), -1, dtype=np.int64)
    values = np.zeros((n, width))
    sureness = np.zeros(n)
    listed = np.empty(n_source, dtype=np.int64)
    seen = np.full(n_source, -1, dtype=np.int64)
    for node in range(n):
        partner = partners[node]
        if partner < 0:
            continue
        best = np.full(width, -np.inf)
        keep_best(best, columns[node], 0.0, partner)
        seen[partner], n_listed = node, 0
        around = target.heads[target.starts[node] : target.starts[node + 1]]
        most = max(8, MOST_WEIGHED // max(1, len(around)))
        for near in around:
            image = partners[near]
            if image < 0 or n_listed >= most:
                continue
            others = source.heads[source.starts[image] : source.starts[image + 1]]
            for to in others[:MOST_ASKED]:
                if seen[to] != node and n_listed < most:
                    seen[to] = node
                    listed[n_listed] = to
                    n_listed += 1
        total, degree = 1.0, source.starts[partner + 1] - source.starts[partner]
        own = _worth(found, node, FREE) - _pair_cost(found, node, partner)
        for to in listed[:n_listed]:
            other = holders[to]
            partners[node] = to
            if other >= 0:
                partners[other] = partner
            gained = _worth(found, node, FREE) - _pair_cost(found, node, to) - own
            if other >= 0:
                partners[other] = to
            lost = source.starts[to + 1] - source.starts[to] - degree - 2.0 * gained
            score = -max(lost, 0.0)
            total += np.exp(sharpness * score)
            keep_best(best, columns[node], score, to)
        partners[node] = partner
        shares(best, columns[node], values[node], sharpness)
        sureness[node] = 1.0 / total
    return columns, values, sureness


@inner
def keep_best(best: Array, columns: Integers, score: float, other: int) -> None:
    """Enter a candidate into a short list, best first."""
    place = len(best) - 1
    if score <= best[place]:
        return
    while place > 0 and best[place - 1] < score:
        best[place] = best[place - 1]
        columns[place] = columns[place - 1]
        place -= 1
    best[place] = score
    columns[place] = other


@inner
def shares(best: Array, columns: Integers, values: Array, sharpness: float) -> None:
    """Turn scores into shares that sum to 1."""
    total = 0.0
    for place in range(len(best)):
        if columns[place] >= 0:
            values[place] = np.exp(sharpness * (best[place] - best[0]))
            total += values[place]
    if total > 0:
        values /= total
