"""Sliced Wasserstein distance between the attributes of two graphs' nodes.

A node i is a point a_i: its standardised real attributes and the indicators of its labels, followed
by the means of both over its neighbours. Along a direction theta_r the points of a graph G have the
cumulative distribution F_r(x; G), and the distance is the mean over directions of the Wasserstein
distance on the line [1]_:

    W(G, H) = (1/R) sum_r integral |F_r(x; G) - F_r(x; H)| dx

The integral is a sum over thresholds x_q, quantiles of the fitted nodes, so W is an L1 distance of
columns F_r(x_q; G) dx_q / R. It is therefore conditionally negative definite. Half of the
directions look at a node alone, half at a node and its neighbours.

Points, directions and thresholds are integers (fixed-point numbers). Sums of integers are exact, so
node order and batches change no bit.

References
----------
.. [1] Bonneel, Rabin, Peyre, Pfister. Sliced and Radon Wasserstein barycenters of measures. Journal
   of Mathematical Imaging and Vision 51, 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.local import REALS, LocalTargets

Integers = NDArray[np.int64]
Singles = NDArray[np.float32]

N_DIRECTIONS, N_THRESHOLDS = 64, 16
POINT_UNIT, DIRECTION_UNIT = float(1 << 16), float(1 << 15)
LARGEST = 1 << 30  # of a coordinate of a point, about 16,000 standard deviations


def node_points(targets: LocalTargets) -> Integers:
    """Return a_i of every node, (n_nodes, 2 k); no columns where no attribute is real."""
    if not any(attribute.kind == REALS for attribute in targets.attributes):
        return np.zeros((targets.n_nodes, 0), np.int64)
    own = np.hstack([np.nan_to_num(attribute.own, nan=0.0) for attribute in targets.attributes])
    points = np.rint(np.clip(own * POINT_UNIT, -LARGEST, LARGEST)).astype(np.int64)
    sums = _segment_sums(points[targets.out.nodes], targets.out.starts)
    degrees = np.maximum(np.diff(targets.out.starts), 1)[:, None]
    return np.hstack([points, np.rint(sums / degrees).astype(np.int64)])


def _segment_sums(rows: Integers, starts: Integers) -> Integers:
    """Sum rows[starts[g]:starts[g + 1]] for every g."""
    running = np.zeros((len(rows) + 1, rows.shape[1]), np.int64)
    np.cumsum(rows, axis=0, out=running[1:])
    return np.diff(running[starts], axis=0)


@dataclass(frozen=True)
class SlicedDistance:
    """Directions and thresholds of the sliced Wasserstein distance, learned at `fit`.

    directions: (2 k, R). thresholds: (R, Q), ascending. widths: dx_q / R, (R, Q).
    """

    directions: Integers
    thresholds: Integers
    widths: Singles
    ARRAYS: ClassVar[tuple[str, ...]] = ("directions", "thresholds", "widths")

    @classmethod
    def fit(cls, points: Integers, seed: int) -> SlicedDistance | None:
        """Draw directions and take thresholds from the nodes of fitted graphs."""
        n_columns = points.shape[1]
        if n_columns == 0 or len(points) == 0:
            return None
        drawn = np.random.default_rng([seed, 2]).normal(size=(n_columns, N_DIRECTIONS))
        drawn[n_columns // 2 :, : N_DIRECTIONS // 2] = 0.0
        drawn /= np.linalg.norm(drawn, axis=0)
        directions = np.rint(drawn * DIRECTION_UNIT).astype(np.int64)
        levels = (np.arange(N_THRESHOLDS) + 0.5) / N_THRESHOLDS
        ordered = np.sort(points @ directions, axis=0)
        thresholds = ordered[(levels * len(points)).astype(np.int64)].T
        widths = np.gradient(thresholds / (POINT_UNIT * DIRECTION_UNIT), axis=1) / N_DIRECTIONS
        return cls(directions, np.ascontiguousarray(thresholds), widths.astype(np.float32))

    @property
    def n_columns(self) -> int:
        """Number of columns of a graph."""
        return int(self.thresholds.size)

    def columns(self, points: Integers, starts: Integers) -> Singles:
        """Return F_r(x_q; G) dx_q / R of every graph, (n_graphs, n_columns)."""
        places = points @ self.directions
        sizes = np.maximum(np.diff(starts), 1)[:, None].astype(np.float64)
        found = np.empty((len(starts) - 1, *self.thresholds.shape), np.float32)
        for q in range(self.thresholds.shape[1]):
            below = (places <= self.thresholds[:, q]).astype(np.int64)
            found[:, :, q] = _segment_sums(below, starts) / sizes * self.widths[:, q]
        return found.reshape(len(found), -1)

    def check(self, width: int) -> None:
        """Raise where the arrays do not fit each other or `width` attribute columns."""
        n_directions = self.directions.shape[-1]
        fits = self.directions.shape == (2 * width, n_directions)
        fits = fits and self.thresholds.ndim == 2 and len(self.thresholds) == n_directions
        fits = fits and self.widths.shape == self.thresholds.shape
        if not fits or not np.isfinite(self.widths).all():
            raise ValueError("directions or thresholds of the attribute distance do not fit")

    def to_tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return {f"sliced.{name}": getattr(self, name) for name in self.ARRAYS}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> SlicedDistance | None:
        """Undo `to_tensors`; None where there are none."""
        if "sliced.directions" not in tensors:
            return None
        return cls(*(tensors[f"sliced.{name}"] for name in cls.ARRAYS))
