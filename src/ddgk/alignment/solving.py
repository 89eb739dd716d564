"""From two encoded graphs to the best matching found: relax, round, search, restart."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from itertools import pairwise
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from ddgk.alignment.encoding import Integers, Network
from ddgk.alignment.propagation import affordable_rounds, assign, feature_costs, propagate
from ddgk.alignment.search import NO_PRIOR, Matching, Scoring, anneal, inverse, total_worth
from ddgk.alignment.voting import complete, find_kept, match_by_votes
from ddgk.errors import ParameterError
from ddgk.hashing import scramble

CHUNKS = (1 << 12, 1 << 20)  # search steps between two looks at the clock, least and most
TEMPERATURES = (0.3, 0.05)  # of the search, in edges
SMALL_TEMPERATURES = (0.6, 0.1)  # where restarts are affordable, and so is more search
SMALL_FACTOR = 2  # so many times the search steps, likewise
RESTART_ENTRIES = 40_000  # pairs of nodes that another restart is worth
PATIENCE = 3  # restarts without improvement that end the search
FEATURES = (1.0, 4.0, 0.0)  # weights of node features, restart by restart
NOISE = (0.0, 0.0, 0.5, 1.0, 2.0)  # standard deviations of random costs, likewise
PRIOR = 0.6  # what a belief of 1 is worth to the search, in edges; nothing in small graphs
EDGE_LABELS = 0.5  # what an edge on an edge of another label is worth
IMPOSSIBLE = 1e3  # the cost of a pair that labels="strict" excludes, in edges
EVERY = 3.0  # seconds between two lines of progress


@dataclass(frozen=True)
class AlignmentOptions:
    """Options of `align` that most callers leave alone.

    Attributes
    ----------
    max_restarts : int
        At most so many; fewer once one is proven best, three bring nothing, or graphs are large.
    iterations : int
        Rounds of belief propagation at most; fewer where a round is expensive.
    search_steps : int
        Proposals of the local search, per node.
    max_dense : int
        Nodes (geometric mean) up to which all pairs are compared; above, a few candidates a node.
    label_cost : float
        What a pair with different node labels costs, in edges.
    unmatched_cost : float
        What leaving two nodes without partner costs, in edges. A pair that keeps k edges is dropped
        where ``unmatched_cost + k < label_cost [labels differ] + [k = 0, but both have edges]``.
    connected : bool
        Keep only the largest connected part that both graphs have in common.

    Examples
    --------
    >>> import ddgk
    >>> path, cut = ddgk.Graph(4, [(0, 1), (1, 2), (2, 3)]), ddgk.Graph(4, [(0, 1), (1, 2)])
    >>> len(ddgk.align(path, cut, options=ddgk.AlignmentOptions(connected=True)).matching)
    3
    """

    max_restarts: int = 8
    iterations: int = 40
    search_steps: int = 2000
    max_dense: int = 6000
    label_cost: float = 1.0
    unmatched_cost: float = 0.5
    connected: bool = False

    def __post_init__(self) -> None:
        meant = {bool: "True or False", int: "a whole number above 0", float: "a number from 0 on"}
        for given in fields(self):
            value, kind = getattr(self, given.name), type(given.default)
            fits = isinstance(value, int | float if kind is float else kind)
            fits = fits and isinstance(value, bool) == (kind is bool)
            if not (fits and (kind is int) <= value < float("inf")):
                raise ParameterError(f"{given.name} must be {meant[kind]}, not {value!r}")


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
            print(f"ddgk: aligning, {self.doing}, {now - self.began:.0f} s", file=sys.stderr)  # noqa: T201
        return not self.stopped


@dataclass
class Solver:
    """The search for the best matching of the graph with fewer nodes (small) into the other."""

    target: Network
    source: Network
    labels: str
    options: AlignmentOptions
    budget: Budget
    seed: int
    n_jobs: int

    def __post_init__(self) -> None:
        self.small, self.large = sorted((self.target, self.source), key=lambda g: g.n_nodes)
        induced = 0.0 if self.small.n_nodes == self.large.n_nodes else 0.5
        self.scoring = Scoring(self.options.label_cost, EDGE_LABELS, induced)
        if self.labels == "strict":
            self.scoring = Scoring(IMPOSSIBLE, 0.0, induced)
        self.n_pairs = self.small.n_nodes * self.large.n_nodes
        self.is_dense = self.n_pairs <= self.options.max_dense**2
        self.is_small = self.n_pairs <= RESTART_ENTRIES  # so that another restart is cheap
        self.proven, self.n_restarts = False, 0  # proven: nothing can be worth more

    def bound(self, induced: float) -> float:
        """Return what no matching is worth more than, up to rounding."""
        n_arcs = min(len(self.small.heads), len(self.large.heads))
        return n_arcs / 2 * (1.0 - induced) - 1e-9

    def solve(self) -> Integers:
        """Return the target's partners, (n_target,), or -1; Ctrl-C returns the best so far.

        Restarts are compared by what is left of them after pairs are dropped.
        """
        rounds = 1 + RESTART_ENTRIES // self.n_pairs
        if self.is_dense:
            affordable = int(affordable_rounds(self.small, self.large))
            rounds = max(rounds, affordable // self.options.iterations)
        rounds = min(self.options.max_restarts, rounds)
        best, most, idle = np.full(self.small.n_nodes, -1, dtype=np.int64), -np.inf, 0
        try:
            for count in range(1, rounds + 1):
                self.n_restarts = count
                self.budget.doing = f"restart {count} of at most {rounds}"
                partners = self._drop_pairs(self._search(*self._start()))
                value = total_worth(Matching(self.small, self.large, partners, self.scoring))
                self.proven = value >= self.bound(self.scoring.induced)
                value -= self.options.unmatched_cost * (partners < 0).sum()
                idle += 1
                if value > most + 1e-9:
                    best, most, idle = partners, value, 0
                if self.proven or idle >= PATIENCE or not self.budget.go_on():
                    break
        except KeyboardInterrupt:
            self.budget.stopped = True
            if most == -np.inf:
                best = self._drop_pairs(complete(best, self.small, self.large))
        return best if self.small is self.target else inverse(best, self.large.n_nodes)

    def _start(self) -> tuple[Integers, NDArray[np.float32]]:
        """Return a first matching and what its pairs are worth; the latter not of large graphs."""
        small, large, go_on = self.small, self.large, self.budget.go_on
        iterations, (label_cost, other_label) = self.options.iterations, self.scoring[:2]
        if not self.is_dense:
            found = match_by_votes(small, large, label_cost, max(1, 3 * iterations // 4), go_on)
            return complete(found, small, large), NO_PRIOR
        count = self.n_restarts - 1
        weight = FEATURES[count % len(FEATURES)]
        costs = feature_costs(small, large, min(label_cost, 20.0), weight)
        level = NOISE[min(count, 2 + count % 3)]
        if level:
            generator = np.random.Generator(np.random.PCG64([self.seed, self.n_restarts]))
            costs += np.float32(level) * generator.standard_normal(costs.shape, dtype=np.float32)
        beliefs = propagate(small, large, costs, iterations, go_on, other_label, self.n_jobs)
        return assign(beliefs), NO_PRIOR if self.is_small else np.float32(PRIOR) * beliefs

    def _search(self, partners: Integers, prior: NDArray[np.float32]) -> Integers:
        """Anneal in chunks of a fixed number of steps, so that the clock decides nothing else."""
        # Edges between partners that will be dropped count, too; so every second time none does.
        induced = 0.0 if self.n_restarts % 2 == 0 else self.scoring.induced
        plain = self.scoring._replace(induced=induced)
        found = Matching(self.small, self.large, partners, plain._replace(prior=prior))
        steps = self.options.search_steps * len(partners) * (SMALL_FACTOR if self.is_small else 1)
        hot, cold = SMALL_TEMPERATURES if self.is_small else TEMPERATURES
        salt = np.array([self.seed * 4096 + self.n_restarts], dtype=np.uint64)
        state = np.uint64(scramble(salt)[0])
        best, most = found, total_worth(found)
        chunk = min(max(steps // 10, CHUNKS[0]), CHUNKS[1])
        for first, last in pairwise([*range(0, steps, chunk), steps]):
            reached = total_worth(best._replace(scoring=plain)) >= self.bound(induced)
            if reached or not self.budget.go_on():
                break
            pair = hot * (cold / hot) ** (first / steps), hot * (cold / hot) ** (last / steps)
            found = found._replace(partners=found.partners.copy())
            before = total_worth(found)
            better, gain, state = anneal(found, last - first, pair, state)
            state = np.uint64(state)
            if before + gain > most + 1e-9:
                best, most = found._replace(partners=better), before + gain
        return best.partners

    def _drop_pairs(self, partners: Integers) -> Integers:
        """Leave nodes without partner where that costs less, one round after the other.

        A pair is dropped where unmatched_cost + kept < label_cost [labels differ] + [loses all],
        kept: edges that it keeps; it loses all if both nodes have edges and it keeps none.
        """
        partners, n = partners.copy(), self.small.n_nodes
        tails, heads = self.small.tails, self.small.heads
        strict = self.scoring.label_cost >= IMPOSSIBLE
        while True:
            kept_arcs = find_kept(self.small, self.large, partners, strict=strict)
            if self.options.connected:
                partners = _largest_part(partners, tails[kept_arcs], heads[kept_arcs])
                kept_arcs &= (partners[tails] >= 0) & (partners[heads] >= 0)
            matched = np.flatnonzero(partners >= 0)
            at = partners[matched]
            kept = np.bincount(tails[kept_arcs], minlength=n)[matched]
            loses_all = (
                (kept == 0) & (self.small.degrees[matched] > 0) & (self.large.degrees[at] > 0)
            )
            differ = self.small.labels[matched] != self.large.labels[at]
            cost = self.scoring.label_cost * differ + loses_all
            dropped = self.options.unmatched_cost + kept < cost
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
