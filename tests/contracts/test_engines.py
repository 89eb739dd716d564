"""The fused engine and the reference engine agree wherever both apply."""

from __future__ import annotations

import numpy as np
import pytest

from ddgk.engine import engine_name, make_engine
from ddgk.errors import ParameterError
from scoring import scorer_of
from specimens import random_graph

pytest.importorskip("torch", reason="the torch engine needs torch")

from ddgk.engine.torch import TorchEngine

ENGINES = [TorchEngine("float64"), make_engine("fused")]
# Nodes that are alike and nodes that are not, sparse and dense, two edges on seven nodes, no edge.
SEEDS = (3, 5, 6, 8, 11)
GRAPHS = [random_graph(seed, labels=True) for seed in SEEDS]
HOW = {"checkpoints": (1, 5, 12)}

# Every pair of values of two options at least once.
COVERING = [
    ("adjacency", "equivariant", "linear", "mean", "pooled"),
    ("adjacency", "glorot", "tanh", "sum", "two_hop"),
    ("closeness", "glorot", "linear", "sum", "pooled"),
    ("closeness", "equivariant", "tanh", "mean", "pooled"),
    ("adjacency", "equivariant", "tanh", "sum", "two_hop"),
    ("closeness", "glorot", "linear", "mean", "two_hop"),
]
NAMES = ("target", "initialisation", "scores", "reduction", "edge_label_neighbourhood")


def test_the_choice_covers_every_pair_of_values():
    for one in range(len(NAMES)):
        for other in range(one):
            values = [{case[place] for case in COVERING} for place in (one, other)]
            seen = {(case[one], case[other]) for case in COVERING}
            assert len(seen) == len(values[0]) * len(values[1]), (NAMES[one], NAMES[other])


@pytest.mark.parametrize("case", COVERING, ids=str)
def test_engines_agree(case):
    changes = dict(zip(NAMES, case, strict=True)) | HOW
    encoders = scorer_of(GRAPHS, ENGINES[1], **changes).encode_sources(GRAPHS[:2])
    pairs = [(t, s) for t in range(len(GRAPHS)) for s in range(2)]
    found = []
    for engine in ENGINES:
        scorer = scorer_of(GRAPHS, engine, **changes)
        encoded = [scorer.encode(graph) for graph in GRAPHS]
        found.append(scorer.losses(encoded, encoders, pairs))
    scale = np.abs(found[0]).max()
    np.testing.assert_allclose(*found, atol=1e-3 * scale, rtol=0)
    assert np.ptp(found[0]) > 0.5


@pytest.mark.parametrize("target", ["adjacency", "closeness", "edge_to_nodes"])
@pytest.mark.parametrize("scores", ["linear", "tanh"])
def test_engines_train_the_same_encoders(target, scores):
    both = [
        scorer_of(GRAPHS, engine, target=target, scores=scores, **HOW).encode_sources(GRAPHS)
        for engine in ENGINES
    ]
    for mine, theirs in zip(*both, strict=True):
        left, right = mine.source.weights, theirs.source.weights
        for a, b in zip(left.arrays(), right.arrays(), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-3)


def test_which_engine_is_chosen():
    assert engine_name("auto", "cpu") == "fused"
    assert engine_name("auto", "cpu", "it needs torch") == "torch"
    assert type(make_engine("auto", reason="it needs torch")).__name__ == "TorchEngine"
    with pytest.raises(ParameterError, match="it needs torch; pass engine='auto'"):
        make_engine("fused", reason="it needs torch")
    with pytest.raises(ParameterError, match="runs on the CPU, not on 'cuda'"):
        make_engine("fused", device="cuda")
    with pytest.raises(ParameterError, match="engine must be one of 'auto', 'fused', 'torch'"):
        make_engine("quick")
