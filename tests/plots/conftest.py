"""Results made by hand, so that figures are tested without training anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ddgk.alignment import Alignment
from ddgk.graphs import Graph


@pytest.fixture(autouse=True)
def matplotlib() -> Any:
    """Skip what draws where nothing can be drawn."""
    return pytest.importorskip("matplotlib", reason="figures need matplotlib (extra plots)")


@pytest.fixture
def matched() -> Callable[..., Alignment]:
    """Return what aligns a graph with a shuffled copy of itself, as sure as is said."""

    def make(target: Graph, source: Graph | None = None, sure: float = 0.9) -> Alignment:
        order = np.random.default_rng(0).permutation(target.n_nodes)
        copy = target.permuted(order).replace(name="copy") if source is None else source
        attention = np.full((target.n_nodes, copy.n_nodes), (1 - sure) / max(copy.n_nodes - 1, 1))
        nodes = np.arange(min(target.n_nodes, copy.n_nodes))
        pairs = np.stack([nodes, np.argsort(order) if source is None else nodes], axis=1)
        attention[nodes, pairs[:, 1]] = sure
        attention[len(nodes) :] = 0.0
        attributes = () if target.node_labels is None else ("node_labels",)
        return Alignment(target, copy, pairs, attention, np.full(len(nodes), sure), attributes)

    return make


@pytest.fixture
def drawn() -> Callable[[Any, str], list[Any]]:
    """Return what finds the artists of a kind, target before source."""

    def find(figure: Any, kind: str) -> list[Any]:
        return [a for axes in figure.axes for a in axes.collections if a.get_gid() == kind]

    return find
