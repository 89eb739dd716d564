"""Which graphs become sources: at random, by size, or so that they stand for all others.

The last two look at cheap divergences: a few steps against a few pilot sources, drawn at random.
No choice sees classes, and none sees how nodes are numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.attributes import learn_families
from ddgk.divergence import Scorer
from ddgk.embedding import embed
from ddgk.encoder import LARGE
from ddgk.engine.problem import Engine
from ddgk.errors import ParameterError
from ddgk.graphs import Policies
from ddgk.graphs.convert import as_graphs
from ddgk.graphs.graph import Graph
from ddgk.kernel import Statistics
from ddgk.method import Method
from ddgk.reading import Reader
from ddgk.relations import MOST_NODES, refuse_large

Array = NDArray[np.float64]
Divergences = Callable[[Sequence[Graph], list[int]], Array]

N_PILOTS = 8
CHEAP = Method(encoder_epochs=100, curve=(1, 5, 15), regions=0, reduction="mean", baseline="none")

# Of more graphs than this, sources are chosen among as many drawn at random: a choice by
# divergences compares every graph with every other.
MOST_COMPARED = 4096


def choose_random(n_graphs: int, n_sources: int, seed: int) -> list[int]:
    """Draw positions without replacement, in ascending order."""
    drawn = np.random.default_rng(seed).permutation(n_graphs)[:n_sources]
    return sorted(drawn.tolist())


def choose_by_size(graphs: Sequence[Graph], n_sources: int, seed: int) -> list[int]:
    """Sort graphs by nodes, then edges; cut them into strata; draw one of each."""
    sizes = np.array([(graph.n_edges, graph.n_nodes) for graph in graphs]).T
    strata = np.array_split(np.lexsort(sizes), min(n_sources, len(graphs)))
    generator = np.random.default_rng(seed)
    return sorted(int(generator.choice(stratum)) for stratum in strata)


def farthest_first(points: ArrayLike, n_sources: int) -> list[int]:
    """Begin in the middle, then take what is farthest from all that are chosen.

    points: a row of divergences per graph. Returns positions in the order of choice, so that the
    first of many are the choice of few. Of equal rows only the first is taken before all others.

    >>> farthest_first([[0.0], [5.0], [6.0], [11.0]], 3)
    [1, 3, 0]
    """
    apart = _distances(points)
    chosen = [int(apart.sum(axis=1).argmin())]
    nearest = apart[chosen[0]].copy()
    while len(chosen) < min(n_sources, len(apart)):
        nearest[chosen] = -1.0  # of what is left, copies of chosen graphs have distance 0
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, apart[chosen[-1]])
    return chosen


def facility_location(points: ArrayLike, n_sources: int) -> list[int]:
    """Take, again and again, the graph that brings all graphs nearest to a chosen one.

        maximise  sum_i max_{s in S} (longest - d(i, s))

    which is submodular, so that being greedy is within 1 - 1/e of the best. points and what is
    returned are as for `farthest_first`.

    >>> facility_location([[0.0], [1.0], [2.0], [3.0], [20.0]], 2)
    [2, 4]
    """
    apart = _distances(points)
    nearest = np.full(len(apart), apart.max())
    left = np.ones(len(apart), dtype=bool)
    # A gain never grows as others are chosen: only those that may still be the best are counted.
    gains = np.array([np.maximum(nearest - row, 0.0).sum() for row in apart])
    chosen: list[int] = []
    while len(chosen) < min(n_sources, len(apart)):
        best, gain = -1, -1.0
        for place in np.argsort(-gains, kind="stable"):
            if not left[place]:
                continue
            if gains[place] < gain:
                break
            gains[place] = np.maximum(nearest - apart[place], 0.0).sum()
            if gains[place] > gain or (gains[place] == gain and place < best):
                best, gain = int(place), float(gains[place])
        chosen.append(best)
        left[best] = False
        nearest = np.minimum(nearest, apart[best])
    return chosen


BY_DIVERGENCE: dict[str, Callable[[ArrayLike, int], list[int]]] = {
    "farthest": farthest_first,
    "facility": facility_location,
}
CHOICES = ("random", "sizes", *BY_DIVERGENCE)


def choose(
    graphs: Sequence[Graph], how: str, n_sources: int, seed: int, divergences: Divergences
) -> list[int]:
    """Choose up to `n_sources` of the graphs; all of them where there are fewer.

    divergences: graphs and the positions of pilots among them -> a row per graph.

    Examples
    --------
    >>> from ddgk.graphs import Graph
    >>> rings = [Graph(n, [(i, (i + 1) % n) for i in range(n)]) for n in (3, 4, 40)]
    >>> by_size = lambda graphs, pilots: np.array([[graph.n_nodes] for graph in graphs])
    >>> choose(rings, "farthest", 2, 0, by_size)
    [1, 2]
    """
    if how not in CHOICES:
        raise ParameterError(f"sources must be one of {', '.join(map(repr, CHOICES))}, not {how!r}")
    if n_sources >= len(graphs):
        return list(range(len(graphs)))
    if how == "random":
        return choose_random(len(graphs), n_sources, seed)
    if how == "sizes":
        return choose_by_size(graphs, n_sources, seed)
    among = choose_random(len(graphs), max(MOST_COMPARED, n_sources), seed)
    compared = [graphs[place] for place in among]
    pilots = choose_random(len(compared), N_PILOTS, seed)
    found = BY_DIVERGENCE[how](divergences(compared, pilots), n_sources)
    return sorted(among[place] for place in found)


def cheap_divergences(
    graphs: Sequence[Graph],
    pilots: Sequence[int],
    *,
    method: Method,
    engine: Engine,
    seed: int,
    verbose: bool = False,
) -> Array:
    """Return a few steps' divergences of all graphs from some, (n_graphs, n_pilots * n_columns).

    Of the method only what it reads of a graph is kept, by its first relation; the rest is `CHEAP`,
    so that the choice does not depend on the numbering of nodes even where the method's start does.
    """
    kept = {
        name: getattr(method, name)
        for name in ("families", "precision", "sampled_above", "samples")
    }
    cheap = CHEAP.changed(relation=method.relations[0], **kept)
    reader = Reader(cheap.relations[0], learn_families(graphs, cheap.families), seed=seed)
    scorer = Scorer(cheap, reader, engine, seed)
    encoders = scorer.encode([graphs[place] for place in pilots])
    grid = embed(scorer, graphs, encoders, scorer.baselines(encoders), verbose=verbose)
    return grid.reshape(len(graphs), -1)


def choose_sources(
    graphs: Sequence[Graph],
    wanted: Any,
    n_sources: Any,
    seed: int,
    policies: Policies,
    divergences: Divergences,
) -> tuple[list[Graph], NDArray[np.int64] | None]:
    """Return the sources, and their positions where they are among the graphs.

    wanted: how to choose them, their positions, or other graphs. Graphs too large for an encoder
    are not chosen.
    """
    if isinstance(wanted, str):
        if not isinstance(n_sources, int | np.integer) or n_sources < 1:
            raise ParameterError(
                f"n_sources must be a whole number of at least 1, not {n_sources!r}"
            )
        able = [place for place, graph in enumerate(graphs) if graph.n_nodes <= MOST_NODES]
        if not able:
            refuse_large(graphs[0], LARGE, 0)
        found = choose([graphs[p] for p in able], wanted, int(n_sources), seed, divergences)
        positions = [able[place] for place in found]
    elif all(isinstance(source, int | np.integer) for source in wanted):
        positions = [int(source) for source in wanted]
        outside = [p for p in positions if not 0 <= p < len(graphs)]
        if outside or not positions:
            raise ParameterError(
                f"sources must be positions 0..{len(graphs) - 1}, not {outside or positions!r}"
            )
    else:
        return as_graphs(wanted, policies=policies), None
    return [graphs[p] for p in positions], np.asarray(positions, dtype=np.int64)


def _distances(points: ArrayLike) -> Array:
    """Compare standardised rows; in single precision, beyond which nothing was measured."""
    from scipy.spatial.distance import cdist

    rows = Statistics.of(points).standardise(points)
    found: Array = cdist(rows, rows)
    return found.astype(np.float32).astype(np.float64)
