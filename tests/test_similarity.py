"""Explanations of similarity add up to the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from ddgk import DDGK, Graph
from ddgk.errors import ParameterError
from specimens import random_graph

GRAPHS = [random_graph(seed, labels=True) for seed in range(3, 15)]


@pytest.fixture(scope="module")
def model():
    return DDGK(n_sources=3, n_features=None, random_state=0).fit(GRAPHS)


def test_shares_add_up(model):
    why = model.explain_similarity(GRAPHS[0], GRAPHS[1])
    first, second = why.by_node()
    assert sum(first.values()) == pytest.approx(why.shared)
    assert sum(second.values()) == pytest.approx(why.shared)
    degrees = np.bincount(GRAPHS[0].edges.ravel(), minlength=GRAPHS[0].n_nodes)
    lonely = sum(
        first[name] for name, d in zip(GRAPHS[0].node_names, degrees, strict=True) if d == 0
    )
    assert sum(why.by_edge()[0].values()) + lonely == pytest.approx(why.shared)


def test_the_kernel_is_that_of_the_embedding(model):
    rows = model.transform(GRAPHS[:2])
    why = model.explain_similarity(*GRAPHS[:2])
    assert why.kernel == pytest.approx(float(rows[0] @ rows[1]), abs=2e-3)
    same = model.explain_similarity(GRAPHS[0], GRAPHS[0])
    assert same.kernel == pytest.approx(1, abs=1e-6)
    assert same.shared == pytest.approx(1)
    assert np.exp(-sum(why.distances.values())) == pytest.approx(why.kernel)


def test_it_fits_a_line_and_needs_local_attention(model):
    assert len(repr(model.explain_similarity(*GRAPHS[:2]))) < 200
    paper = DDGK(2, config="paper", random_state=0).set_params(
        config__checkpoints=(2,), config__encoder_epochs=2
    )
    with pytest.raises(ParameterError, match='config="default"'):
        paper.fit(GRAPHS).explain_similarity(*GRAPHS[:2])


def test_alignments_in_words():
    from ddgk.similarity import match_graphs, match_lines, shared_part

    first = Graph(3, [(0, 1), (1, 2)], node_labels="CCO", edge_labels=["-", "="])
    second = Graph(3, [(0, 1), (1, 2)], node_labels="CCN", edge_labels=["-", "="])
    found = match_graphs(first, second)
    # Shared: two nodes and two edges of ten in all.
    assert shared_part(found) == 4 / 6
    assert match_lines(found)[:3] == [
        "3 of 3 nodes have a partner among 3",
        "2 of 2 edges are kept; the other graph has 2",
        "labels differ: 2 (O) to 2 (N)",
    ]
    assert shared_part(match_graphs(first, first)) == 1.0


def test_a_directed_graph_is_aligned_with_an_undirected_one():
    from ddgk.similarity import match_graphs

    path = Graph(4, [(0, 1), (1, 2), (2, 3)], edge_weights=[1.0, 2.0, 3.0])
    arrows = Graph(
        4, [(0, 1), (2, 1), (1, 2), (3, 2)], edge_weights=[1.0, 2.0, 2.0, 3.0], directed=True
    )
    for found in (match_graphs(arrows, path), match_graphs(path, arrows)):
        assert (found.target.n_edges, found.source.n_edges) == (3, 3)
        assert found.n_kept_edges == 3
        assert found.target == found.source
