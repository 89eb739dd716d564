"""Explanations of similarity add up to the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from ddgk import DDGK
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
