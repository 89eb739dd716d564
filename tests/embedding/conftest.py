"""Small runs of many tiles."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ddgk import DDGK
from specimens import random_graph

QUICK = {"n_sources": 3, "encoder_epochs": 10, "curve": (1, 3), "random_state": 0}


@pytest.fixture
def small_tiles(monkeypatch):
    """Cut the few graphs of a test into many tiles."""
    monkeypatch.setattr("ddgk.tiling.WANTED_SECONDS", 1e-9)
    monkeypatch.setattr("ddgk.tiling.SHORTEST_SECONDS", 1e-9)


@pytest.fixture(scope="session")
def example():
    """Graphs, some of them twice, and what a plain transform gives for them."""
    graphs = [random_graph(seed, labels=True) for seed in [*range(40), 3, 5]]
    new = [random_graph(seed, labels=True) for seed in range(100, 112)]
    model = DDGK(**QUICK).fit(graphs)
    return SimpleNamespace(
        graphs=graphs,
        expected=model.transform(graphs),
        new=new,
        expected_new=model.transform(new),
        model=model,
    )


@pytest.fixture
def make():
    """Make an estimator of the example's configuration, but for what is given."""

    def make_estimator(**changes):
        return DDGK(**{**QUICK, **changes})

    return make_estimator
