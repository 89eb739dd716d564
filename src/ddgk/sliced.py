"""Sliced Wasserstein distance between the nodes of two graphs.

Nodes are points, and x_ir is the coordinate of node i along direction r. F_r(x; G) is the share of
the nodes of G with x_ir <= x. The distance is the mean over R directions of the Wasserstein
distance on the line [1]_:

    W(G, H) = (1/R) sum_r integral |F_r(x; G) - F_r(x; H)| dx

The integral is a sum over thresholds x_q, quantiles of the fitted nodes, and each direction is
divided by the range of its thresholds. So W is an L1 distance of columns F_r(x_q; G) dx_q / R, and
conditionally negative definite. A column counts nodes, so node order and batches change no bit.

References
----------
.. [1] Bonneel, Rabin, Peyre, Pfister. Sliced and Radon Wasserstein barycenters of measures. Journal
   of Mathematical Imaging and Vision 51, 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.compiling import kept

Integers = NDArray[np.int64]
Singles = NDArray[np.float32]

N_THRESHOLDS = 16


@dataclass(frozen=True)
class SlicedDistance:
    """Thresholds of the sliced Wasserstein distance, learned at `fit`.

    thresholds: x_q, (R, Q), ascending. widths: dx_q / R, (R, Q).
    """

    thresholds: Singles
    widths: Singles

    @classmethod
    def fit(cls, points: Singles, counts: Integers) -> SlicedDistance:
        """Take thresholds from fitted nodes: `counts` nodes at each of `points`, (n_points, R)."""
        n_directions = points.shape[1]
        levels = (np.arange(N_THRESHOLDS) + 0.5) / N_THRESHOLDS * counts.sum()
        thresholds = np.empty((n_directions, N_THRESHOLDS), np.float32)
        for direction in range(n_directions):
            order = np.argsort(points[:, direction], kind="stable")
            below = np.cumsum(counts[order])
            thresholds[direction] = points[order[np.searchsorted(below, levels)], direction]
        ranges = thresholds[:, -1:].astype(np.float64) - thresholds[:, :1]
        widths = np.gradient(thresholds.astype(np.float64), axis=1)
        widths /= n_directions * np.where(ranges > 0, ranges, 1.0)
        return cls(thresholds, widths.astype(np.float32))

    @property
    def n_columns(self) -> int:
        """Number of columns of a graph."""
        return int(self.thresholds.size)

    def columns(self, points: Singles, ids: Integers, starts: Integers) -> Singles:
        """Return F_r(x_q; G) dx_q / R of every graph, (n_graphs, n_columns).

        Node i is at points[ids[i]]; graph g has the nodes starts[g]..starts[g + 1].
        """
        found = np.zeros((len(starts) - 1, *self.thresholds.shape), np.float32)
        _count_below(points, ids, starts, self.thresholds, found)
        sizes = np.maximum(np.diff(starts), 1).astype(np.float32)[:, None, None]
        found *= self.widths
        found /= sizes
        return found.reshape(len(found), -1)

    def check(self, n_directions: int) -> None:
        """Raise where the arrays do not fit each other."""
        shape = (n_directions, N_THRESHOLDS)
        for array in (self.thresholds, self.widths):
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError("thresholds of a sliced distance do not fit")


@kept()
def _count_below(points: Any, ids: Any, starts: Any, thresholds: Any, found: Any) -> None:
    """Count the nodes of every graph at or below each threshold, along each direction."""
    n_directions, n_thresholds = thresholds.shape
    bins = np.empty((len(points), n_directions), np.uint8)
    for p in range(len(points)):
        for r in range(n_directions):
            above = 0
            for q in range(n_thresholds):
                above += points[p, r] > thresholds[r, q]
            bins[p, r] = above
    for g in range(len(starts) - 1):
        for i in range(starts[g], starts[g + 1]):
            for r in range(n_directions):
                if bins[ids[i], r] < n_thresholds:
                    found[g, r, bins[ids[i], r]] += 1
        for r in range(n_directions):
            for q in range(1, n_thresholds):
                found[g, r, q] += found[g, r, q - 1]
