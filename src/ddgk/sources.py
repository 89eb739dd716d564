"""Which graphs become sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import ParameterError
from ddgk.graphs import Policies
from ddgk.graphs.convert import as_graphs
from ddgk.graphs.graph import Graph


def choose_random(graphs: Sequence[Graph], n_sources: int, seed: int) -> list[int]:
    """Draw positions without replacement, in ascending order."""
    drawn = np.random.default_rng(seed).permutation(len(graphs))[:n_sources]
    return sorted(drawn.tolist())


CHOICES: dict[str, Callable[[Sequence[Graph], int, int], list[int]]] = {"random": choose_random}


def choose(graphs: Sequence[Graph], how: str, n_sources: int, seed: int) -> list[int]:
    """Choose up to `n_sources` of the graphs; all of them where there are fewer.

    Examples
    --------
    >>> from ddgk.graphs import Graph
    >>> choose([Graph(1, [])] * 3, "random", 5, seed=0)
    [0, 1, 2]
    """
    if how not in CHOICES:
        raise ParameterError(f"sources must be one of {', '.join(map(repr, CHOICES))}, not {how!r}")
    return CHOICES[how](graphs, n_sources, seed)


def choose_sources(
    graphs: Sequence[Graph], wanted: Any, n_sources: Any, seed: int, policies: Policies
) -> tuple[list[Graph], NDArray[np.int64] | None]:
    """Return the sources, and their positions where they are among the graphs.

    wanted: how to choose them, their positions, or other graphs.
    """
    if isinstance(wanted, str):
        if not isinstance(n_sources, int | np.integer) or n_sources < 1:
            raise ParameterError(
                f"n_sources must be a whole number of at least 1, not {n_sources!r}"
            )
        positions = choose(graphs, wanted, int(n_sources), seed)
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
