"""The estimators under test. The only module that constructs `ddgk` models.

Everything here uses the public interface: `DDGK`, `Config`, `align`, `kernels.distances`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk import DDGK, Graph

Array = NDArray[np.float64]
EXECUTION = ("n_jobs", "verbose", "max_memory")  # parameters that change no result

# Single changes of the default embedding: title -> (parameters of DDGK, fields of Config).
Change = tuple[dict[str, Any], dict[str, Any]]
CHANGES: dict[str, Change] = {
    "node views alone": ({}, {"neighbourhood_weight": 0.0}),
    "neighbourhoods alone": ({}, {"neighbourhood_weight": 1.0}),
    "equal weights": ({}, {"neighbourhood_weight": 0.5}),
    "without size": ({}, {"size_weight": 0.0}),
    "global attention, divergences": (
        {},
        {"attention": "global", "learning_rate": 0.15, "checkpoints": (1, 2, 5, 12, 35, 60)},
    ),
    "without edge labels": ({}, {"attributes": ("node_labels",)}),
    "without any labels": ({}, {"attributes": "none"}),
    **{f"{n} sources": ({"n_sources": n}, {}) for n in (1, 2, 4, 8, 16)},
    **{f"{n} columns": ({"n_features": n}, {}) for n in (256, 512, 1024, 2048)},
    **{f"{n} anchors": ({}, {"n_anchors": n}) for n in (256, 512, 1024, 2048, 4096)},
    **{f"{n} steps": ({}, {"checkpoints": tuple(range(n + 1))}) for n in (1, 2, 3, 4, 5, 6)},
}

# What `tune` searches, by preset: fields of Config. For "paper" the grid of the paper.
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "default": {
        "dimension": (2, 4, 8, 16),
        "depth": (1, 2, 3, 4),
        "learning_rate": (0.03, 0.1, 0.3),
        "neighbourhood_weight": (0.0, 0.25, 0.5, 0.75, 1.0),
        "size_weight": (0.0, 0.05, 0.2),
    },
    "paper": {
        "dimension": (2, 4, 8, 16, 32),
        "depth": (1, 2, 3, 4),
        "learning_rate": (1e-4, 1e-3, 1e-2, 1e-1, 1.0),
        "encoder_epochs": (100, 300, 600),
        "coefficients": (0.0, 0.5, 1.0, 1.5, 2.0),
    },
}


def make(
    seed: int,
    *,
    preset: str = "default",
    changes: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    **parameters: Any,
) -> Any:
    """Return an unfitted DDGK: a preset, changed fields of Config, parameters of DDGK."""
    from ddgk import Config

    config = Config.preset(preset)
    if changes:
        config = config.replace(**changes)
    return DDGK(config=config, random_state=seed, n_jobs=n_jobs, **parameters)


def distances(columns: Array) -> Array:
    """Return the embedding's own distances, (n_graphs, n_graphs)."""
    from ddgk.kernels import distances as euclidean

    return np.asarray(euclidean(columns), dtype=np.float64)


def align(target: Graph, source: Graph, *, restarts: int, seed: int) -> Any:
    """Align two graphs."""
    from ddgk import AlignmentOptions
    from ddgk import align as align_graphs

    return align_graphs(
        target, source, random_state=seed, options=AlignmentOptions(max_restarts=restarts)
    )


def source_columns(model: Any, graphs: Sequence[Graph]) -> tuple[Array, NDArray[np.int64]]:
    """Return divergences as columns, and the position of the source behind each column.

    (n_graphs, n_sources * n_terms * n_checkpoints), and (n_columns,).
    """
    values = np.asarray(model.divergences(graphs), dtype=np.float64)
    n_sources = values.shape[1]
    columns = values.reshape(len(values), -1)
    return columns, np.repeat(np.arange(n_sources), columns.shape[1] // n_sources)


def fingerprint(model: Any) -> str:
    """Return a hash of a model's results on a few small graphs.

    Cached embeddings are named by it, so that they are not used after a change of the method.
    """
    from sklearn.base import clone

    graphs = [
        Graph(n, [(i, (i + 1) % n) for i in range(n)], node_labels=["ab"[i % 2] for i in range(n)])
        for n in range(3, 9)
    ]
    graphs += [Graph(n, [(0, i) for i in range(1, n)], node_labels="a" * n) for n in range(3, 9)]
    probe = clone(model)
    if isinstance(probe.get_params()["n_sources"], int):
        probe.set_params(n_sources=min(4, probe.n_sources))
    given = model.get_params(deep=False)
    decisive = {name: value for name, value in given.items() if name not in EXECUTION}
    content = hashlib.sha256(repr(sorted(decisive.items())).encode())
    for n_features in (given["n_features"], 4):  # all graphs are anchors, or some
        probe.set_params(n_features=n_features)
        values = np.ascontiguousarray(probe.fit_transform(graphs))
        content.update(str(values.dtype).encode() + values.tobytes())
    return content.hexdigest()[:16]
