"""The image of a target in a source: which of its regions meet around the target's units.

With Q the attention of nodes to regions of the source (rows sum to 1), w what units and nodes
count, and B the relation, a unit sees regions by the nodes it is related to, and the image counts
which two are seen together:

    seen[i, a] = sum_j w_j B_ij Q_ja,      image[a, b] = sum_i w_i seen[i, a] seen[i, b]

The divergence says how badly the relation is reconstructed from where nodes attend; the image says
what it looks like there. It is symmetric, so a <= b alone are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.engine.compiling import compiled
from ddgk.engine.problem import Problem

Array = NDArray[np.float64]


def image_size(n_regions: int) -> int:
    """Return how many numbers an image has.

    >>> image_size(2)
    3
    """
    return n_regions * (n_regions + 1) // 2


def image_names(n_regions: int) -> list[str]:
    """Name the numbers of an image.

    >>> image_names(2)
    ['0.0', '0.1', '1.1']
    """
    return [f"{a}.{b}" for a in range(n_regions) for b in range(a, n_regions)]


def carry_relation(problem: Problem, regional: Array) -> Array:
    """Return images of a target, one for each attention to regions.

    regional: (n_images, rows that attend, n_regions). Returns (n_images, `image_size`).
    """
    n_images, _, n_regions = regional.shape
    images = np.zeros((n_images, image_size(n_regions)))
    if not images.size:
        return images
    nodes = _of_nodes(problem.spreads, regional)
    related: Any = sparse.csr_array(problem.relation)
    _carry(
        related.indptr.astype(np.int64),
        related.indices.astype(np.int64),
        related.data.astype(np.float64),
        np.asarray(problem.unit_weights, dtype=np.float64),
        np.asarray(problem.node_weights, dtype=np.float64),
        nodes,
        images,
    )
    return images


def _of_nodes(spreads: Any, regional: Array) -> Array:
    """Return the attention of nodes: means of rows of units, where these attend."""
    if spreads is None:
        return np.ascontiguousarray(regional)
    rows = sparse.csr_array(spreads)
    return np.stack([np.asarray(rows @ image) for image in regional])


@compiled
def _carry(
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    values: Array,
    unit_weights: Array,
    node_weights: Array,
    nodes: Array,
    images: Array,
) -> None:
    """Add up images, unit after unit.

    starts, places, values: B row by row; nodes: Q, (n_images, n_nodes, r); images: (n_images,
    r (r + 1) / 2), 0 to begin with.
    """
    n_images, _, n_regions = nodes.shape
    seen = np.empty(n_regions)
    for k in range(n_images):
        for i in range(len(unit_weights)):
            seen[:] = 0.0
            for entry in range(starts[i], starts[i + 1]):
                j = places[entry]
                share = values[entry] * node_weights[j]
                for a in range(n_regions):
                    seen[a] += share * nodes[k, j, a]
            at = 0
            for a in range(n_regions):
                weighted = unit_weights[i] * seen[a]
                for b in range(a, n_regions):
                    images[k, at] += weighted * seen[b]
                    at += 1
