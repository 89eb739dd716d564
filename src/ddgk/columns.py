"""What the columns of an embedding are, by name and by place.

A source says of a target: every channel after every step of the curve, the last time also by region
of the source (readouts); then images. Of several relations, each says all of it in turn. The
columns of an embedding are those of the first source, then of the second, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.engine.images import N_WAVES
from ddgk.errors import ParameterError
from ddgk.method import Method


def channel_names(families: Iterable[str]) -> list[str]:
    """Name what the engine reports.

    >>> channel_names(["node_labels"])
    ['edges', 'non_edges', 'node_labels.attention', 'node_labels.reverse']
    """
    parts = [f"{family}.{part}" for family in families for part in ("attention", "reverse")]
    return ["edges", "non_edges", *parts]


def reported_channels(method: Method, families: Iterable[str]) -> list[str]:
    """Name what is reported of them.

    >>> reported_channels(Method(output="total", reduction="both"), [])
    ['total', 'total.sum']
    """
    names = channel_names(families) if method.output == "channels" else [method.output]
    if method.reduction == "both":
        names = names + [f"{name}.sum" for name in names]
    if len(method.relations) == 1:
        return names
    return [f"{relation}.{name}" for relation in method.relations for name in names]


def source_columns(method: Method, families: Iterable[str]) -> list[str]:
    """Name what a source says of a target: channel and readout, then images.

    >>> names = source_columns(Method(curve=(3,), images=1, output="total"), [])
    >>> names[:3], names[-1]
    (['total/3', 'total.sum/3', 'image3/0'], 'image3.sum/127')
    """
    if len(method.relations) > 1:
        alone = source_columns(method.changed(relation=method.relations[0]), families)
        return [f"{relation}.{name}" for relation in method.relations for name in alone]
    channels = reported_channels(method, families)
    endings = ["", ".sum"] if method.reduction == "both" else [""]
    images = [f"image{step}{ending}" for ending in endings for step in method.image_steps]
    return [
        *(f"{channel}/{readout}" for channel in channels for readout in method.readouts),
        *(f"{image}/{wave}" for image in images for wave in range(N_WAVES)),
    ]


def channel_places(method: Method, families: Sequence[str]) -> NDArray[np.int64]:
    """Return where among the columns of a source channels are, (n_channels, n_readouts).

    >>> channel_places(Method(curve=(3, 9), regions=0, reduction="mean"), [])
    array([[0, 1],
           [2, 3]])
    """
    n_relations = len(method.relations)
    shape = (len(reported_channels(method, families)) // n_relations, len(method.readouts))
    each = len(source_columns(method, families)) // n_relations
    alone = np.arange(shape[0] * shape[1]).reshape(shape)
    return np.concatenate([alone + each * place for place in range(n_relations)])


def column_names(n_sources: int, columns: Sequence[str]) -> list[str]:
    """Name the columns of a flattened grid, given those of a source.

    >>> column_names(2, ["edges/3"])
    ['source0/edges/3', 'source1/edges/3']
    """
    return [f"source{place}/{column}" for place in range(n_sources) for column in columns]


def split_by_channel(
    rows: ArrayLike, n_sources: int, method: Method, families: Sequence[str]
) -> NDArray[np.float64]:
    """Take the divergences out of rows, (n_rows, n_sources, n_channels, n_readouts).

    >>> method = Method(curve=(3, 9), regions=0, reduction="mean")
    >>> split_by_channel([[1, 2, 3, 4]], 1, method, []).tolist()
    [[[[1.0, 2.0], [3.0, 4.0]]]]
    """
    grid = np.asarray(rows, dtype=np.float64)
    n_columns = len(source_columns(method, families))
    if grid.ndim != 2 or grid.shape[1] != n_sources * n_columns:
        raise ParameterError(
            f"rows must be (n_graphs, {n_sources * n_columns}), as transform returns them, "
            f"not {grid.shape}"
        )
    by_source = grid.reshape(len(grid), n_sources, n_columns)
    return by_source[:, :, channel_places(method, families)]
