"""Nothing that is done with a large target takes room in the square of its nodes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from ddgk import DDGK
from ddgk.datasets import barbell, read
from ddgk.graphs import Graph

N_NODES = 20_000  # 400 megabytes, if every pair of nodes had a byte


@pytest.fixture(scope="module")
def web() -> Graph:
    """A random tree with as many edges again, labels of nodes, and weights."""
    rng = np.random.default_rng(0)
    parents = (rng.uniform(size=N_NODES - 1) * np.arange(1, N_NODES)).astype(int)
    tree = np.stack([parents, np.arange(1, N_NODES)], axis=1)
    others = np.sort(rng.integers(0, N_NODES, (N_NODES, 2)), axis=1)
    edges = np.unique(np.concatenate([tree, others[others[:, 0] < others[:, 1]]]), axis=0)
    return Graph(
        N_NODES,
        edges,
        node_labels=rng.integers(0, 3, N_NODES),
        edge_weights=rng.uniform(0, 1, len(edges)),
    )


@pytest.fixture
def room():
    """How many bytes numpy and Python took at most since the beginning of the test."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_a_file_of_a_large_graph_is_read_and_hashed(web, room, tmp_path):
    path = tmp_path / "web.edges"
    np.savetxt(path, web.edges, fmt="%d")
    (found,) = read(path).graphs
    assert (found.n_nodes, found.n_edges) == (web.n_nodes, web.n_edges)
    assert len(found.digest) == 64
    assert room() < N_NODES**2 / 4


@pytest.mark.parametrize("reverse", ["tied", "free"])
def test_a_large_graph_is_embedded_stored_and_explained(web, room, tmp_path, reverse):
    source = barbell(4).replace(node_labels=[0, 1, 2, 0] * 2)
    how = {"encoder_epochs": 5, "curve": (1, 2), "samples": 8, "weights": "keep"}
    model = DDGK(sources=[source], reverse=reverse, random_state=0, **how).fit([source])
    row = model.transform([web])
    np.testing.assert_array_equal(model.transform([web], run=tmp_path), row)
    why = model.explain(web, 0)
    steps = model.by_channel(row)[0, 0, :, :2]
    np.testing.assert_allclose(why.divergence, steps, rtol=1e-5, atol=1e-5)
    assert room() < N_NODES**2 / 4
