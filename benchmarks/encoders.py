"""What the encoders of 32 random sources know of them: python benchmarks/encoders.py MUTAG.

One line per setting: mean loss over all entries, entries on the right side of 1/2, edges among
them, and how many sources are reconstructed without a mistake. Weights are those of random_state 0.
"""

from __future__ import annotations

import sys

import numpy as np

from ddgk import DDGK
from ddgk.datasets import load

SETTINGS = [
    {},
    {"encoder_drop": 0.1},
    {"encoder_drop": 0.3},
    {"encoder_decay": 0.01},
    {"encoder_decay": 0.1},
    {"encoder_decay": 1},
    {"encoder_patience": 50},
    {"encoder_epochs": 100},
]


def describe(model: DDGK) -> str:
    """Return the figures of one fitted model, means over its sources."""
    found = []
    for encoder in model._model.encoders:
        ordered = encoder.graph.permuted(encoder.order)
        relation = model._model.reader.read(ordered, quotient=False).problem.dense_relation()
        weights = encoder.source.weights
        hidden = weights.table
        for matrix, bias in weights.hidden:
            hidden = np.tanh(hidden @ matrix + bias)
        scores = hidden @ weights.output[0] + weights.output[1]
        costs = np.logaddexp(0, scores) - relation * scores
        right = (scores > 0) == (relation > 0)
        found.append((costs.mean(), right.mean(), right[relation > 0].mean(), right.all()))
    loss, entries, edges, whole = np.array(found).T
    return (
        f"loss {loss.mean():.3f}, entries {100 * entries.mean():.1f} %, "
        f"edges {100 * edges.mean():.0f} %, whole {int(whole.sum())} of {len(found)}"
    )


def main() -> None:
    """Fit and describe every setting on the set that is named."""
    graphs = load(sys.argv[1]).graphs
    for changes in SETTINGS:
        quick = {"baseline": "none", "curve": (1,), "regions": 0, "random_state": 0}
        print(changes or "default", describe(DDGK(**quick, **changes).fit(graphs)), sep=": ")


if __name__ == "__main__":
    main()
