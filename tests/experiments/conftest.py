"""A set that every method can learn: rings and stars, of sizes that say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from ddgk import Graph
from experiments.data import GraphSet


def ring(n: int, labels: str | None = None) -> Graph:
    return Graph(n, [(i, (i + 1) % n) for i in range(n)], node_labels=labels)


def star(n: int, labels: str | None = None) -> Graph:
    return Graph(n, [(0, i) for i in range(1, n)], node_labels=labels)


@pytest.fixture(scope="session")
def rings_and_stars() -> GraphSet:
    """Twelve rings and twelve stars with labels, the same sizes of both."""
    made = []
    for make in (ring, star):
        for number in range(12):
            n = 4 + number % 4
            made.append(make(n, "".join("ab"[(node + number) % 2] for node in range(n))))
    return GraphSet("rings and stars", made, np.repeat([0, 1], 12))
