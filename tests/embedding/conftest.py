"""Small runs of several tiles."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ddgk.embedding import embed_graphs, embed_into
from degrees import DegreeEmbedder
from specimens import random_graph


@pytest.fixture(scope="session")
def example():
    """Graphs, two of them twice, others, and their rows."""
    graphs = [random_graph(seed, labels=True) for seed in [*range(40), 3, 5]]
    new = [random_graph(seed, labels=True) for seed in range(100, 112)]
    embedder = DegreeEmbedder()
    return SimpleNamespace(
        graphs=graphs,
        expected=embed_graphs(embedder, graphs),
        new=new,
        expected_new=embed_graphs(embedder, new),
    )


@pytest.fixture
def embedder():
    """An embedder whose cost makes a tile of every eight graphs."""
    return DegreeEmbedder()


@pytest.fixture
def finished(example, embedder, tmp_path):
    """The folder of a finished run of five tiles."""
    embed_into(tmp_path / "run", embedder, example.graphs)
    embedder.computed.clear()
    return tmp_path / "run"
