"""A set that every method can learn: rings and stars, of sizes that say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from ddgk.datasets import FAMILIES, Dataset
from ddgk.graphs import Graph


@pytest.fixture(scope="session")
def rings_and_stars() -> Dataset:
    """Twelve rings and twelve stars with labels, the same sizes of both."""
    made = []
    for kind in ("ring", "star"):
        for number in range(12):
            plain = FAMILIES[kind](4 + number % 4)
            labels = ["ab"[(node + number) % 2] for node in range(plain.n_nodes)]
            made.append(Graph(plain.n_nodes, plain.edges, node_labels=labels))
    return Dataset(made, np.repeat([0, 1], 12), "rings and stars")
