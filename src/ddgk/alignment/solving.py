"""From two encoded graphs to the best matching found: relax, round, search, restart."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from ddgk.alignment.encoding import Encoded, Network
from ddgk.alignment.options import AlignmentOptions
from ddgk.alignment.propagation import affordable_rounds, feature_costs, propagate
from ddgk.alignment.search import NO_PRIOR, Scoring, anneal, total_worth
from ddgk.alignment.voting import complete, find_kept, match_by_votes
from ddgk.hashing import scramble

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

CHUNKS = (1 << 12, 1 << 20)  # search steps between two looks at the clock, least and most
TEMPERATURES = (0.3, 0.05)  # of the search, in edges
SMALL_TEMPERATURES = (0.6, 0.1)  # where restarts are affordable, and so is more search
SMALL_FACTOR = 2  # so many times the search steps, likewise
RESTART_ENTRIES = 40_000  # pairs of nodes that another restart is worth
PATIENCE = 3  # restarts without improvement that end the search
FEATURES = (1.0, 4.0, 0.0)  # weights of node features, restart by restart
NOISE = (0.0, 0.0, 0.5, 1.0, 2.0)  # standard deviations of random costs, likewise
PRIOR = 0.6  # what a belief of 1 is worth to the search, in edges; nothing in small graphs
GROUPS = 4.0  # what leaving a group costs, in nats
IMPOSSIBLE = 1e3  # the cost of a pair that labels="strict" excludes, in edges
EVERY = 3.0  # seconds between two lines of progress


@dataclass
class Budget:
    """A ceiling on seconds, and Ctrl-C: whichever comes first ends every loop."""

    max_seconds: float | None = None
    verbose: bool = False
    stopped: bool = False
    began: float = field(default_factory=perf_counter)
    told: float = field(default_factory=perf_counter)
    doing: str = ""

    def go_on(self) -> bool:
        """Return whether time is left; print a progress line every few seconds if verbose."""
        now = perf_counter()
        if self.max_seconds is not None and now - self.began > self.max_seconds:
            self.stopped = True
        if self.verbose and now - self.told > EVERY:
            self.told = now
            text = f"ddgk: aligning, {self.doing}, {now - self.began:.0f} s"
            print(text, file=sys.stderr, flush=True)  # noqa: T201
        return not self.stopped


@dataclass(frozen=True)
class Solution:
    """The best matching found.

    partners: place among the source's nodes, or -1, (n_target,). proven: whether nothing can be
    worth more. n_restarts: how many were run.
    """

    partners: Integers
    proven: bool
    n_restarts: int


def solve(
    encoded: Encoded,
    labels: str,
    options: AlignmentOptions,
    budget: Budget,
    seed: int,
    n_jobs: int = 1,
    groups: tuple[Integers, Integers] | None = None,
) -> Solution:
    """Match the graph with fewer nodes into the other; Ctrl-C returns the best so far.

    Restarts are compared by what is left of them after pairs are dropped. Since the search counts
    edges between all partners, also those of pairs that will be dropped, every second restart does
    not count them where sizes differ.
    """
    small, large = encoded.target, encoded.source
    turned = small.n_nodes > large.n_nodes
    if turned:
        small, large = large, small
        groups = None if groups is None else (groups[1], groups[0])
    scoring = node_scores(encoded, labels, options)
    best, worth, proven, count = np.full(small.n_nodes, -1, dtype=np.int64), -np.inf, False, 0
    rounds = min(options.max_restarts, 1 + RESTART_ENTRIES // (small.n_nodes * large.n_nodes))
    if small.n_nodes * large.n_nodes <= options.max_dense**2:
        affordable = int(affordable_rounds(small, large)) // options.iterations
        rounds = min(options.max_restarts, max(rounds, affordable))
    idle = 0
    try:
        for count in range(1, rounds + 1):
            budget.doing = f"restart {count} of at most {rounds}"
            stream = seed, count
            first = _start(small, large, scoring, options, budget, stream, n_jobs, groups)
            searched = scoring._replace(
                prior=first[1], induced=0.0 if count % 2 == 0 else scoring.induced
            )
            partners = _search(small, large, searched, first[0], options, budget, stream)
            partners = drop_pairs(small, large, partners, scoring, options)
            value = total_worth(small, large, partners, scoring)
            proven = value >= _bound(small, large, scoring) - 1e-9
            value -= options.unmatched_cost * (partners < 0).sum()
            idle = 0 if value > worth + 1e-9 else idle + 1
            if value > worth + 1e-9:
                best, worth = partners, value
            if proven or idle >= PATIENCE or not budget.go_on():
                break
    except KeyboardInterrupt:
        budget.stopped = True
        if worth == -np.inf:
            best = drop_pairs(small, large, complete(best, small, large), scoring, options)
    return Solution(_inverse(best, large.n_nodes) if turned else best, proven, count)


def node_scores(encoded: Encoded, labels: str, options: AlignmentOptions) -> Scoring:
    """Return what matchings are worth."""
    strict, alike = labels == "strict", encoded.target.n_nodes == encoded.source.n_nodes
    return Scoring(
        IMPOSSIBLE if strict else options.label_cost,
        0.0 if strict else options.edge_label_worth,
        0.0 if alike else 0.5,
    )


def _bound(small: Network, large: Network, scoring: Scoring) -> float:
    """Return what no matching is worth more than."""
    return min(len(small.heads), len(large.heads)) / 2 * (1.0 - scoring.induced)


def drop_pairs(
    small: Network, large: Network, partners: Integers, scoring: Scoring, options: AlignmentOptions
) -> Integers:
    """Leave nodes without partner where that costs less, one round after the other.

    A pair is dropped where unmatched_cost + kept < label_cost [labels differ] + [kept = 0], kept:
    edges that it keeps. Two nodes without edges count as keeping one.
    """
    partners = partners.copy()
    n = small.n_nodes
    tails = np.repeat(np.arange(n), np.diff(small.starts))
    isolated = np.diff(small.starts) == 0, np.diff(large.starts) == 0
    while True:
        kept_arcs = find_kept(small, large, partners, strict=scoring.label_cost >= IMPOSSIBLE)
        if options.connected:
            partners = _largest_part(partners, tails[kept_arcs], small.heads[kept_arcs])
            kept_arcs &= (partners[tails] >= 0) & (partners[small.heads] >= 0)
        matched = np.flatnonzero(partners >= 0)
        at = partners[matched]
        kept = np.bincount(tails[kept_arcs], minlength=n)[matched]
        kept[isolated[0][matched] & isolated[1][at]] = 1
        differ = small.labels[matched] != large.labels[at]
        dropped = options.unmatched_cost + kept < scoring.label_cost * differ + (kept == 0)
        if not dropped.any():
            return partners
        partners[matched[dropped]] = -1


def _largest_part(partners: Integers, tails: Integers, heads: Integers) -> Integers:
    """Keep the partners of the largest part that kept edges connect."""
    from scipy.sparse.csgraph import connected_components

    n = len(partners)
    joined = coo_array((np.ones(len(tails)), (tails, heads)), (n, n))
    parts = connected_components(joined, directed=False)[1]
    sizes = np.bincount(parts[partners >= 0], minlength=int(parts.max()) + 1)
    return np.where(parts == int(sizes.argmax()), partners, -1)


def _start(
    small: Network,
    large: Network,
    scoring: Scoring,
    options: AlignmentOptions,
    budget: Budget,
    stream: tuple[int, int],
    n_jobs: int,
    groups: tuple[Integers, Integers] | None,
) -> tuple[Integers, NDArray[np.float32]]:
    """Return a first matching and what its pairs are worth; the latter not of large graphs."""
    if small.n_nodes * large.n_nodes > options.max_dense**2:
        steps = max(1, 3 * options.iterations // 4)
        found = match_by_votes(small, large, scoring, options.candidates, steps, budget.go_on)
        return complete(found, small, large), NO_PRIOR
    from scipy.optimize import linear_sum_assignment

    count = stream[1] - 1
    weight = FEATURES[count % len(FEATURES)]
    costs = feature_costs(small, large, min(scoring.label_cost, 20.0), weight)
    level = NOISE[min(count, 2 + count % 3)]
    if level:
        generator = np.random.Generator(np.random.PCG64(list(stream)))
        costs += np.float32(level) * generator.standard_normal(costs.shape, dtype=np.float32)
    # A third of the restarts leaves groups out, since groups may mislead.
    regroup = None if groups is None or count % 3 == 2 else _regrouping(*groups)
    how = small, large, costs, options.iterations, budget.go_on, scoring.other_label
    beliefs = propagate(*how, n_jobs, regroup)
    partners = linear_sum_assignment(beliefs, maximize=True)[1]
    is_small = beliefs.size <= RESTART_ENTRIES
    return partners.astype(np.int64), NO_PRIOR if is_small else np.float32(PRIOR) * beliefs


def _regrouping(mine: Integers, theirs: Integers) -> Callable[[Any], Any]:
    """Return what it costs to leave the group that most of a node's group attends."""
    here = np.eye(int(mine.max()) + 1, dtype=np.float32)[mine]
    there = np.eye(int(theirs.max()) + 1, dtype=np.float32)[theirs]

    def regroup(matching: Any) -> Any:
        between = here.T @ matching @ there
        between /= np.maximum(between.max(axis=1, keepdims=True), 1e-12)
        return np.float32(GROUPS) * ((here @ (1.0 - between)) @ there.T)

    return regroup


def _search(
    small: Network,
    large: Network,
    scoring: Scoring,
    partners: Integers,
    options: AlignmentOptions,
    budget: Budget,
    stream: tuple[int, int],
) -> Integers:
    """Anneal in chunks of a fixed number of steps, so that the clock decides nothing else."""
    is_small = small.n_nodes * large.n_nodes <= RESTART_ENTRIES
    steps = options.search_steps * small.n_nodes * (SMALL_FACTOR if is_small else 1)
    hot, cold = SMALL_TEMPERATURES if is_small else TEMPERATURES
    state = np.uint64(scramble(np.array([stream[0] * 4096 + stream[1]], dtype=np.uint64))[0])
    plain, bound = scoring._replace(prior=NO_PRIOR), _bound(small, large, scoring)
    best, worth = partners, total_worth(small, large, partners, scoring)
    chunk = min(max(steps // 10, CHUNKS[0]), CHUNKS[1])
    for first, last in pairwise([*range(0, steps, chunk), steps]):
        if total_worth(small, large, best, plain) >= bound - 1e-9 or not budget.go_on():
            break
        pair = hot * (cold / hot) ** (first / steps), hot * (cold / hot) ** (last / steps)
        partners = partners.copy()
        before = total_worth(small, large, partners, scoring)
        found, gain, state = anneal(small, large, partners, scoring, last - first, pair, state)
        state = np.uint64(state)
        if before + gain > worth + 1e-9:
            best, worth = found, before + gain
    return best


def _inverse(partners: Integers, n_large: int) -> Integers:
    turned = np.full(n_large, -1, dtype=np.int64)
    matched = np.flatnonzero(partners >= 0)
    turned[partners[matched]] = matched
    return turned
