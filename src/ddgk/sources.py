"""Which graphs become sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ddgk.errors import ParameterError
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
