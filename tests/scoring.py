"""What contract tests share: divergences without the estimator."""

from __future__ import annotations

import pytest

from ddgk.config import Config
from ddgk.divergence import GlobalDivergences
from ddgk.engine import make_engine
from ddgk.targets import Encoding


def scorer_of(graphs, engine=None, **changes):
    """Learn an encoding of graphs and return what computes their divergences."""
    defaults = {"attention": "global", "reverse": "free", "encoder_epochs": 30}
    config = Config(**{**defaults, **changes})
    encoding = Encoding.learn(graphs, config)
    reason = config.torch_reason or encoding.torch_reason
    if reason:
        pytest.importorskip("torch", reason="this option needs torch")
    found = engine or make_engine(reason=reason)
    return GlobalDivergences(config, encoding, found, seed=0)


def divergences(graphs, n_sources=2, targets=None, engine=None, **changes):
    """Return D of graphs from the first few of them."""
    scorer = scorer_of(graphs, engine, **changes)
    encoders = scorer.encode_sources(graphs[:n_sources])
    chosen = graphs if targets is None else targets
    return scorer.divergences(chosen, encoders, scorer.baselines(encoders))
