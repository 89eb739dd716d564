"""The image of a target in a source: what its units see there, as a distribution.

With Q the attention of units and nodes to regions of the source (rows sum to 1), w what nodes
count, and B the relation, the view of a unit is where it lies and where its neighbours lie:

    view_i = (Q_i,  sum_j w_j B_ij Q_j / sqrt(sum_j w_j B_ij))

An image is the sum of some random waves over the views of all units, cos(view_i . direction +
phase). Two images are near each other where views are distributed alike: their product is an
estimate of the sum of exp(-|view_i - view_j|^2 / (2 WIDTH^2)) over units of one and of the other
target (Rahimi and Recht 2007).

The divergence says how badly a target is reconstructed from where nodes attend; the image says what
it looks like from there. Waves are a source's own, so that no two sources ask the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import factorial, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from ddgk.engine.compiling import compiled
from ddgk.engine.problem import Problem
from ddgk.engine.starts import IMAGES, uniform

Array = NDArray[np.float64]

N_WAVES = 128
WIDTH = 0.3  # of attention, in which a unit lies at distances from 0 to sqrt(2) of another
# sin(2 pi x) = x (SINE[0] + SINE[1] x^2 + SINE[2] x^4 + ...)
SINE = tuple((-1) ** k * (2.0 * pi) ** (2 * k + 1) / factorial(2 * k + 1) for k in range(8))


def draw_waves(seed: int, n_regions: int, n_waves: int = N_WAVES) -> Array:
    """Draw the waves of a source, (2 n_regions + 1, n_waves): directions, and below them phases.

    A height of 1 is a whole turn.
    """
    drawn = uniform(seed, IMAGES, 2 * n_regions + 1, n_waves)
    return np.vstack([ndtri(drawn[:-1]) / (2.0 * pi * WIDTH), drawn[-1:]])


def read_images(problem: Problem, regional: Iterable[tuple[Array, Array]]) -> Array:
    """Return images of a target in sources, (n_sources, n_images, n_waves).

    regional: of every source, attention to its regions, (n_images, rows that attend, n_regions),
    and its waves.
    """
    related: Any = sparse.csr_array(problem.relation)
    rows = (
        related.indptr.astype(np.int64),
        related.indices.astype(np.int64),
        related.data.astype(np.float64),
    )
    unit_weights = np.asarray(problem.unit_weights, dtype=np.float64)
    node_weights = np.asarray(problem.node_weights, dtype=np.float64)
    images = []
    for attention, waves in regional:
        found = np.zeros((len(attention), waves.shape[1]))
        units = _means_of_rows(problem.gathers, attention)
        nodes = _means_of_rows(problem.spreads, attention)
        _add_waves(*rows, unit_weights, node_weights, units, nodes, waves, found)
        images.append(found)
    return np.stack(images)


def _means_of_rows(averaging: Any, attention: Array) -> Array:
    """Return the attention of what has means of rows of others, or of what attends itself."""
    if averaging is None:
        return np.ascontiguousarray(attention)
    means = sparse.csr_array(averaging)
    return np.stack([np.asarray(means @ image) for image in attention])


@compiled
def _cosine(turns: float) -> float:
    """Return cos(2 pi turns), by its series to 1e-11: a loop of these goes several lanes at a time.

    It is sin(2 pi x) for an x of at most a quarter turn.
    """
    x = 0.25 - abs(turns - np.floor(turns + 0.5))
    square = x * x
    value = SINE[-1]
    for place in range(len(SINE) - 2, -1, -1):
        value = value * square + SINE[place]
    return float(x * value)


@compiled
def _add_waves(
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    values: Array,
    unit_weights: Array,
    node_weights: Array,
    units: Array,
    nodes: Array,
    waves: Array,
    images: Array,
) -> None:
    """Add up waves, unit after unit.

    starts, places, values: B row by row; units, nodes: Q, (n_images, n, r); waves: (2 r + 1,
    n_waves); images: (n_images, n_waves), 0 to begin with.
    """
    n_images, _, n_regions = nodes.shape
    n_waves = waves.shape[1]
    view = np.empty(2 * n_regions)
    heights = np.empty(n_waves)
    for k in range(n_images):
        for i in range(len(unit_weights)):
            view[:n_regions] = units[k, i]
            view[n_regions:] = 0.0
            related = 0.0
            for entry in range(starts[i], starts[i + 1]):
                j = places[entry]
                share = values[entry] * node_weights[j]
                related += share
                for a in range(n_regions):
                    view[n_regions + a] += share * nodes[k, j, a]
            if related > 0.0:
                view[n_regions:] /= np.sqrt(related)
            heights[:] = waves[2 * n_regions]
            for a in range(2 * n_regions):
                for wave in range(n_waves):
                    heights[wave] += view[a] * waves[a, wave]
            for wave in range(n_waves):
                images[k, wave] += unit_weights[i] * _cosine(heights[wave])
