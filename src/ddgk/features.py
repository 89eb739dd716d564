"""The compact embedding: a kernel of local attention, and its feature map.

Local attention (`ddgk.engine.local`) describes a graph G by its divergences x(G), standardised by
`fit`, and after each step t by a view v_t(i) of every node. The kernel compares both:

    K(G, H) = exp(-(a D(G, H) + b d^2(G, H))),        a = divergence_weight, b = 1 - a
    D(G, H) = |x(G) - x(H)|_1 / median
    d^2(G, H) = sum_t [k_t(G, G) + k_t(H, H) - 2 k_t(G, H)] / median
    k_t(G, H) = sum_ij exp(-|v_t(i) - v_t(j)|^2 / 2 c^2) / sqrt(n_G n_H),      c = bandwidth

Local attention sees structure and labels here. Real attributes are compared by W, the sliced
Wasserstein distance between the attributes of nodes (`ddgk.attribute_distance`) / median:

    K(G, H) = exp(-((1 - w) (a D + b d^2) + w W)),        w = attribute_weight

D and W are sums of absolute differences and d^2 is a squared Euclidean distance, so all three are
conditionally negative definite and K is positive definite. Columns are its Nystroem map on anchors,
a random sample of the fitted graphs:

    psi(G) = Q^T Lambda^(-1/2) U^T K(G, anchors),        K(anchors, anchors) = U Lambda U^T

so that psi(G) . psi(H) is K(G, H) up to what the anchors do not span. The orthogonal matrix Q
changes no inner product; it lets column a belong to anchor a (the symmetric square root of the
kernel matrix where all anchors have a column), so that columns have similar variances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ddgk.attribute_distance import SlicedDistance
from ddgk.engine.local import LocalOutcome

Integers = NDArray[np.int64]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]

RADIUS = 5.0  # bandwidths beyond which two views do not count: e^-12.5 = 4e-6
MAX_VIEWS = 1024  # nodes of a graph whose views enter the kernel; of larger graphs, a sample
MAX_ANCHOR_VIEWS, LEAST_ANCHOR_VIEWS = 1 << 15, 32  # of all anchors together; of each at least
NEAR = 8  # leading coordinates that decide first whether two views can be close
CELLS_A_ROW = 1 << 31  # more than a coordinate of a view divided by the search radius
SMALLEST_EIGENVALUE = 1e-6  # relative to the largest

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "cache": True}
_REASSOCIATE = {**_OPTIONS, "fastmath": {"reassoc", "contract", "nsz"}}


@dataclass(frozen=True)
class Views:
    """The distinct views of some graphs after one step.

    points: (n_points, view_dimension), in the order of `Grid` where they are anchors.
    starts, ids, weights: graph g has ids[starts[g]:starts[g + 1]], each standing for `weights`
    nodes, in an order that does not depend on node order.
    """

    points: Singles
    starts: Integers
    ids: Integers
    weights: Singles

    def check(self, n_graphs: int, view_dimension: int) -> None:
        """Raise where the arrays do not fit each other."""
        n_entries = len(self.ids)
        fits = self.points.ndim == 2 and self.points.shape[1] == view_dimension
        fits = fits and self.starts.shape == (n_graphs + 1,) and self.weights.shape == (n_entries,)
        fits = fits and self.starts[0] == 0 and self.starts[-1] == n_entries
        fits = fits and bool((np.diff(self.starts) >= 0).all())
        fits = fits and (n_entries == 0 or 0 <= self.ids.min() <= self.ids.max() < len(self.points))
        fits = fits and bool(np.isfinite(self.points).all() and np.isfinite(self.weights).all())
        if not fits:
            raise ValueError("the views of the anchors do not fit")


@dataclass(frozen=True)
class Description:
    """What the kernel takes of some graphs.

    divergences: (n_graphs, n_sources, n_terms, n_checkpoints), sums over nodes. views: one per
    step. sizes: numbers of nodes. points: attributes of all nodes (`node_points`), (n_nodes, 2 k).
    """

    divergences: Doubles
    views: tuple[Views, ...]
    sizes: Integers
    points: Integers

    @property
    def starts(self) -> Integers:
        """Where the nodes of every graph begin in `points`."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)


def describe_outcome(
    outcome: LocalOutcome, starts: Integers, points: Integers, max_views: int = MAX_VIEWS
) -> Description:
    """Collect the distinct views of every graph; of large graphs, those of a sample of nodes.

    The sample takes every (n / max_views)-th node of the nodes sorted by neighbourhood, so that it
    does not depend on node order and common neighbourhoods keep their share.
    """
    sizes = np.diff(starts)
    graph = np.repeat(np.arange(len(sizes)), sizes)
    last = outcome.levels[-1].ids
    order = np.lexsort((last, graph))
    large = sizes > max_views
    if large.any():
        places = (np.arange(max_views) + 0.5) / max_views
        chosen = [
            order[a:b][(places * (b - a)).astype(np.int64)] if b - a > max_views else order[a:b]
            for a, b in pairwise(starts)
        ]
        order = np.concatenate(chosen)
    weight = np.where(large, sizes / max_views, 1.0)
    views = []
    for level, found in zip(outcome.levels[1:], outcome.views, strict=False):
        keys = graph[order] * np.int64(len(found)) + level.ids[order]
        distinct, counts = np.unique(keys, return_counts=True)
        owner = distinct // len(found)
        first = np.searchsorted(owner, np.arange(len(sizes) + 1))
        weights = (counts * weight[owner]).astype(np.float32)
        views.append(Views(found, first, distinct % len(found), weights))
    return Description(outcome.terms, tuple(views), sizes, points)


@dataclass(frozen=True)
class Frame:
    """Where views of one step lie: mean, spread, and axes by decreasing variance."""

    mean: Singles
    axes: Singles  # (view_dimension, view_dimension), divided by the spread

    @classmethod
    def of(cls, views: Views) -> Frame:
        """Take them from the nodes of fitted graphs."""
        share = np.bincount(views.ids, views.weights, minlength=len(views.points))
        share = share / share.sum()
        points = views.points.astype(np.float64)
        mean = np.einsum("p,pk->k", share, points)
        centred = points - mean
        covariance = np.einsum("p,pk,pl->kl", share, centred, centred)
        spread = np.sqrt(np.trace(covariance))
        _, axes = np.linalg.eigh(covariance)
        scale = 1.0 / spread if spread > 0 else 1.0
        return cls(mean.astype(np.float32), (axes[:, ::-1] * scale).astype(np.float32))

    def place(self, views: Views) -> Views:
        """Express views in this frame."""
        found = np.empty_like(views.points)
        _rotate(views.points, self.mean, self.axes, found)
        return Views(found, views.starts, views.ids, views.weights)


@dataclass(frozen=True)
class Grid:
    """Where to look for anchor points that are close to a point.

    Points are sorted by cell, squares of the search radius in the first two coordinates, and within
    a cell by the third coordinate. keys, starts: the points of cell keys[c] are
    starts[c]..starts[c + 1]. leading: the first coordinates of all points, one row per coordinate.
    """

    keys: Integers
    starts: Integers
    leading: Singles

    @classmethod
    def of(cls, points: Singles, bandwidth: float) -> Grid:
        """Index points that are in order."""
        keys, first = np.unique(_cells(points, bandwidth), return_index=True)
        starts = np.append(first, len(points)).astype(np.int64)
        return cls(keys, starts, np.ascontiguousarray(points[:, :NEAR].T))

    @property
    def arrays(self) -> tuple[Integers, Integers, Singles]:
        """Return the arrays as a tuple."""
        return self.keys, self.starts, self.leading


def _cells(points: Singles, bandwidth: float) -> Integers:
    """Return the cell of every point as one number."""
    radius = np.float32(RADIUS * bandwidth)
    second = min(1, points.shape[1] - 1)
    x, y = (np.floor(points[:, c] / radius).astype(np.int64) for c in (0, second))
    return np.asarray(x * CELLS_A_ROW + y)


def _sorted_points(views: Views, bandwidth: float) -> Views:
    """Sort the points for `Grid`; drop those that no graph has."""
    used = np.unique(views.ids)
    third = min(2, views.points.shape[1] - 1)
    kept = views.points[used]
    order = used[np.lexsort((kept[:, third], _cells(kept, bandwidth)))]
    place = np.empty(len(views.points), dtype=np.int64)
    place[order] = np.arange(len(order))
    points = np.ascontiguousarray(views.points[order])
    return Views(points, views.starts, place[views.ids], views.weights)


@dataclass(frozen=True)
class CompactMap:
    """The fitted feature map psi.

    Attributes
    ----------
    bandwidth, divergence_weight, attribute_weight : float
        The last is 0 where graphs have no real attributes.
    mean, scale : array of shape (n_divergence_columns,)
        Standardisation; the scale of a constant column is 0, so that it does not count.
    units : array of shape (3,)
        Medians of D, d^2 and W over the anchors.
    frames : tuple of Frame
    anchors : tuple of Views
        Views of the anchors in these frames, one per step.
    anchor_divergences : array of shape (n_anchors, n_divergence_columns)
    anchor_norms : array of shape (n_anchors,)
        sum_t k_t(H, H) of every anchor H.
    anchor_sizes : array of shape (n_anchors,)
    weights : array of shape (n_anchors, n_features)
        U Lambda^(-1/2) Q, see `psi` above.
    anchor_attributes : array of shape (n_anchors, n_attribute_columns)
        Columns of `sliced`; none without real attributes.
    sliced : SlicedDistance or None
    """

    bandwidth: float
    divergence_weight: float
    attribute_weight: float
    mean: Doubles
    scale: Doubles
    units: Doubles
    frames: tuple[Frame, ...]
    anchors: tuple[Views, ...]
    anchor_divergences: Singles
    anchor_norms: Doubles
    anchor_sizes: Integers
    weights: Singles
    anchor_attributes: Singles
    sliced: SlicedDistance | None

    @classmethod
    def fit(
        cls,
        anchors: Description,
        samples: Description,
        n_features: int | None,
        *,
        bandwidth: float,
        divergence_weight: float,
        attribute_weight: float,
        seed: int,
    ) -> CompactMap:
        """Learn statistics and the projection from the anchors.

        samples: the same anchors with as many views as the map keeps (`anchor_views`).
        """
        columns = divergence_columns(anchors)
        mean, spread = columns.mean(axis=0), columns.std(axis=0)
        constant = spread <= 1e-9 * (np.abs(mean) + 1)
        scale = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread))
        frames = tuple(map(Frame.of, anchors.views))
        placed = tuple(
            _sorted_points(frame.place(views), bandwidth)
            for frame, views in zip(frames, samples.views, strict=True)
        )
        sliced = SlicedDistance.fit(anchors.points, seed)
        blank = cls(
            bandwidth,
            divergence_weight,
            attribute_weight if sliced is not None else 0.0,
            mean,
            scale,
            np.ones(3),
            frames,
            placed,
            ((columns - mean) * scale).astype(np.float32),
            np.zeros(len(anchors.sizes)),
            anchors.sizes.astype(np.int64),
            np.zeros((len(anchors.sizes), 0), np.float32),
            _attribute_columns(anchors, sliced),
            sliced,
        )
        norms = blank.norms(anchors)
        blank = replace(blank, anchor_norms=norms)
        parts = blank.distances(anchors)
        units = np.array([_median(part) for part in parts])
        kernel = blank.similarity(*(part / unit for part, unit in zip(parts, units, strict=True)))
        weights = _projection(kernel, n_features)
        return replace(blank, units=units, weights=weights)

    @cached_property
    def _owners(self) -> list[tuple[Integers, Integers, Singles]]:
        return [_owners(views, self.anchor_sizes) for views in self.anchors]

    @cached_property
    def _grids(self) -> list[Grid]:
        return [Grid.of(views.points, self.bandwidth) for views in self.anchors]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.weights.shape[1])

    def standardised(self, graphs: Description) -> Singles:
        """Return x, the standardised divergences, (n_graphs, n_divergence_columns)."""
        columns = (divergence_columns(graphs) - self.mean) * self.scale
        return columns.astype(np.float32)

    def node_views(self, outcome: LocalOutcome) -> list[Singles]:
        """Return the view of every node after each step, (n_nodes, view_dimension) each."""
        found = []
        for frame, level, points in zip(
            self.frames, outcome.levels[1:], outcome.views, strict=False
        ):
            placed = np.empty_like(points)
            _rotate(points, frame.mean, frame.axes, placed)
            found.append(placed[level.ids])
        return found

    def norms(self, graphs: Description) -> Doubles:
        """Return sum_t k_t(G, G), (n_graphs,)."""
        found = np.zeros(len(graphs.sizes))
        for frame, views in zip(self.frames, graphs.views, strict=True):
            placed = frame.place(views)
            _self_kernel(
                placed.points,
                placed.starts,
                placed.ids,
                placed.weights,
                graphs.sizes.astype(np.float64),
                np.float32(self.bandwidth),
                found,
            )
        return found

    def distances(self, graphs: Description) -> tuple[Doubles, Doubles, Doubles]:
        """Return D, d^2 and W of graphs and anchors, (n_graphs, n_anchors) each."""
        columns = self.standardised(graphs)
        first = np.zeros((len(columns), len(self.anchor_divergences)))
        _absolute_differences(columns, self.anchor_divergences, first)
        shared = np.zeros_like(first)
        steps = zip(self.frames, graphs.views, self.anchors, self._owners, self._grids, strict=True)
        for frame, views, anchors, owners, grid in steps:
            placed = frame.place(views)
            starts, near, values = _close_pairs(
                placed.points, anchors.points, *grid.arrays, np.float32(self.bandwidth)
            )
            _accumulate(
                (placed.starts, placed.ids, placed.weights),
                (starts, near, values),
                owners,
                graphs.sizes.astype(np.float64),
                shared,
            )
        norms = self.norms(graphs)
        second = np.maximum(norms[:, None] + self.anchor_norms - 2 * shared, 0.0)
        third = np.zeros_like(first)
        if self.sliced is not None:
            _absolute_differences(self.attribute_columns(graphs), self.anchor_attributes, third)
        return first / self.units[0], second / self.units[1], third / self.units[2]

    def attribute_columns(self, graphs: Description) -> Singles:
        """Return the columns whose L1 distance is W, (n_graphs, n_attribute_columns)."""
        return _attribute_columns(graphs, self.sliced)

    def kernel(self, graphs: Description) -> Singles:
        """Return K of graphs and anchors, (n_graphs, n_anchors)."""
        return self.similarity(*self.distances(graphs))

    def similarity(self, first: Doubles, second: Doubles, third: Doubles) -> Singles:
        """Return K of D, d^2 and W."""
        share, weight = self.divergence_weight, self.attribute_weight
        apart = share * first + (1 - share) * second
        if weight > 0:
            apart = (1 - weight) * apart + weight * third
        return np.exp(-apart).astype(np.float32)

    def transform(self, graphs: Description) -> Singles:
        """Return psi, (n_graphs, n_features)."""
        kernel = self.kernel(graphs)
        found = np.zeros((len(kernel), self.n_features), np.float32)
        _product(kernel, self.weights, found)
        return found

    def check(self, n_columns: int, view_dimension: int, n_steps: int, width: int) -> None:
        """Raise where the arrays do not fit each other or the model.

        width: number of attribute columns; 0 without real attributes.
        """
        n_anchors = len(self.anchor_sizes)
        if (self.sliced is None) != (width == 0):
            raise ValueError("the feature map has an attribute distance where the model has none")
        if self.sliced is not None:
            self.sliced.check(width)
        n_sliced = 0 if self.sliced is None else self.sliced.n_columns
        shapes = {
            "mean": (n_columns,),
            "scale": (n_columns,),
            "units": (3,),
            "anchor_divergences": (n_anchors, n_columns),
            "anchor_norms": (n_anchors,),
            "anchor_sizes": (n_anchors,),
            "weights": (n_anchors, self.n_features),
            "anchor_attributes": (n_anchors, n_sliced),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"{name} of the feature map does not fit")
        if len(self.frames) != n_steps or (self.anchor_sizes < 1).any():
            raise ValueError("the feature map has another number of steps, or empty anchors")
        for frame, views in zip(self.frames, self.anchors, strict=True):
            views.check(n_anchors, view_dimension)
            if frame.mean.shape != (view_dimension,) or frame.axes.shape != (view_dimension,) * 2:
                raise ValueError("a frame of the feature map does not fit")

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return all arrays by name, and the numbers."""
        tensors: dict[str, NDArray[Any]] = {
            name: getattr(self, name)
            for name in (
                "mean",
                "scale",
                "units",
                "anchor_divergences",
                "anchor_norms",
                "anchor_sizes",
                "weights",
                "anchor_attributes",
            )
        }
        tensors |= {} if self.sliced is None else self.sliced.to_tensors()
        for step, (frame, views) in enumerate(zip(self.frames, self.anchors, strict=True)):
            tensors |= {f"frame{step}.mean": frame.mean, f"frame{step}.axes": frame.axes}
            tensors |= {
                f"views{step}.{name}": getattr(views, name)
                for name in ("points", "starts", "ids", "weights")
            }
        numbers = {
            "bandwidth": self.bandwidth,
            "divergence_weight": self.divergence_weight,
            "attribute_weight": self.attribute_weight,
            "n_steps": len(self.frames),
        }
        return tensors, numbers

    @classmethod
    def from_parts(
        cls, tensors: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]
    ) -> CompactMap:
        """Undo `to_parts`."""
        steps = range(int(numbers["n_steps"]))
        frames = tuple(Frame(tensors[f"frame{s}.mean"], tensors[f"frame{s}.axes"]) for s in steps)
        anchors = tuple(
            Views(*(tensors[f"views{s}.{name}"] for name in ("points", "starts", "ids", "weights")))
            for s in steps
        )
        return cls(
            float(numbers["bandwidth"]),
            float(numbers["divergence_weight"]),
            float(numbers["attribute_weight"]),
            tensors["mean"],
            tensors["scale"],
            tensors["units"],
            frames,
            anchors,
            tensors["anchor_divergences"],
            tensors["anchor_norms"],
            tensors["anchor_sizes"],
            tensors["weights"],
            tensors["anchor_attributes"],
            SlicedDistance.from_tensors(tensors),
        )


def _attribute_columns(graphs: Description, sliced: SlicedDistance | None) -> Singles:
    if sliced is None:
        return np.zeros((len(graphs.sizes), 0), np.float32)
    return sliced.columns(graphs.points, graphs.starts)


def anchor_views(n_anchors: int) -> int:
    """Return how many views of each anchor a map keeps, so that they are bounded together."""
    return max(LEAST_ANCHOR_VIEWS, MAX_ANCHOR_VIEWS // max(1, n_anchors))


def divergence_columns(graphs: Description) -> Doubles:
    """Return every divergence as a sum and as a mean over nodes, (n_graphs, n_columns)."""
    flat = graphs.divergences.reshape(len(graphs.sizes), -1)
    return np.hstack([flat, flat / graphs.sizes[:, None]])


def _median(distances: Doubles) -> float:
    """Median over distinct pairs; 1 where all graphs are alike."""
    pairs = distances[np.triu_indices(len(distances), 1)]
    found = float(np.median(pairs)) if len(pairs) else 0.0
    return found if found > 0 else 1.0


def _projection(kernel: Singles, n_features: int | None) -> Singles:
    """Return U Lambda^(-1/2) Q of the leading eigenvectors.

    The rotation Q makes the features of the first anchors a symmetric matrix. It changes no inner
    product and no distance, but column a then belongs to anchor a, and columns have similar
    variances: scaling them, or splitting on one of them, is sensible.
    """
    from threadpoolctl import threadpool_limits

    symmetric = (kernel.astype(np.float64) + kernel.T) / 2
    with threadpool_limits(1):  # the bits of an eigenvector depend on the number of threads
        values, vectors = np.linalg.eigh(symmetric)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = int((values > SMALLEST_EIGENVALUE * values[0]).sum())
    kept = kept if n_features is None else min(kept, n_features)
    values, vectors = np.sqrt(values[:kept]), vectors[:, :kept]
    with threadpool_limits(1):
        left, _, right = np.linalg.svd(vectors[:kept] * values)
        rotation = (left @ right).T
        weights = (vectors / values) @ rotation
    return np.ascontiguousarray(weights, dtype=np.float32)


def _owners(anchors: Views, sizes: Integers) -> tuple[Integers, Integers, Singles]:
    """For every anchor point: which anchors have it, with weight / sqrt(n), as lists."""
    graph = np.repeat(np.arange(len(anchors.starts) - 1), np.diff(anchors.starts))
    order = np.argsort(anchors.ids, kind="stable")
    starts = np.searchsorted(anchors.ids[order], np.arange(len(anchors.points) + 1))
    weights = anchors.weights / np.sqrt(sizes[graph])
    return starts, graph[order], weights[order].astype(np.float32)


# --- kernels -------------------------------------------------------------------------------------


@numba.njit(**_OPTIONS)
def _rotate(points: Any, mean: Any, axes: Any, found: Any) -> None:
    n_columns = points.shape[1]
    for p in range(len(points)):
        for c in range(n_columns):
            found[p, c] = 0
        for k in range(n_columns):
            value = points[p, k] - mean[k]
            for c in range(n_columns):
                found[p, c] += value * axes[k, c]


@numba.njit(**_REASSOCIATE)
def _squared_distance(a: Any, b: Any, first: int) -> Any:
    """Squared distance in the coordinates from `first` on."""
    total = np.float32(0.0)
    for c in range(first, len(a)):
        gap = a[c] - b[c]
        total += gap * gap
    return total


@numba.njit(**_OPTIONS)
def _leading_gaps(point: Any, leading: Any, first: int, last: int, gaps: Any) -> None:
    """Squared distances in the leading coordinates, of many points at once.

    leading: the first coordinates of all points, one row per coordinate.
    """
    for q in range(first, last):
        gap = point[0] - leading[0, q]
        gaps[q - first] = gap * gap
    for c in range(1, leading.shape[0]):
        value = point[c]
        for q in range(first, last):
            gap = value - leading[c, q]
            gaps[q - first] += gap * gap


@numba.njit(**_OPTIONS)
def _close_pairs(
    points: Any, anchors: Any, keys: Any, cells: Any, leading: Any, bandwidth: Any
) -> Any:
    """For every point the anchor points within the radius and their kernel values, as lists.

    keys, cells, leading: the arrays of `Grid`. A point's list does not depend on other points.
    """
    radius = np.float32(RADIUS) * bandwidth
    limit = radius * radius
    scale = np.float32(-0.5) / (bandwidth * bandwidth)
    n_leading = leading.shape[0]
    second, third = min(1, n_leading - 1), min(2, n_leading - 1)
    starts = np.zeros(len(points) + 1, np.int64)
    room = 4 * len(points) + 1024
    found = np.empty(room, np.int32)
    values = np.empty(room, np.float32)
    gaps = np.empty(len(anchors), np.float32)
    n_found = 0
    for p in range(len(points)):
        x = np.int64(np.floor(points[p, 0] / radius))
        y = np.int64(np.floor(points[p, second] / radius))
        for neighbour in range(9):
            key = (x + neighbour // 3 - 1) * CELLS_A_ROW + y + neighbour % 3 - 1
            cell = np.searchsorted(keys, key)
            if cell == len(keys) or keys[cell] != key:
                continue
            inside = leading[third, cells[cell] : cells[cell + 1]]
            first = cells[cell] + np.searchsorted(inside, points[p, third] - radius)
            last = cells[cell] + np.searchsorted(inside, points[p, third] + radius)
            _leading_gaps(points[p], leading, first, last, gaps)
            for q in range(first, last):
                if gaps[q - first] > limit:
                    continue
                distance = gaps[q - first]
                distance += _squared_distance(points[p], anchors[q], n_leading)
                if distance > limit:
                    continue
                if n_found == room:
                    room *= 2
                    more, numbers = np.empty(room, np.int32), np.empty(room, np.float32)
                    for k in range(n_found):  # a slice would compile its error message, too
                        more[k], numbers[k] = found[k], values[k]
                    found, values = more, numbers
                found[n_found] = q
                values[n_found] = np.exp(scale * distance)
                n_found += 1
        starts[p + 1] = n_found
    return starts, found[:n_found].copy(), values[:n_found].copy()


@numba.njit(**_OPTIONS)
def _accumulate(graphs: Any, pairs: Any, owners: Any, sizes: Any, shared: Any) -> None:
    """Add k_t(G, H) of graphs G and anchors H to `shared`."""
    starts, ids, weights = graphs
    pair_starts, near, values = pairs
    owner_starts, owner, shares = owners
    for g in range(len(starts) - 1):
        scale = 1.0 / np.sqrt(sizes[g])
        for k in range(starts[g], starts[g + 1]):
            weight = weights[k] * scale
            for pair in range(pair_starts[ids[k]], pair_starts[ids[k] + 1]):
                value = weight * values[pair]
                for place in range(owner_starts[near[pair]], owner_starts[near[pair] + 1]):
                    shared[g, owner[place]] += value * shares[place]


@numba.njit(**_OPTIONS)
def _self_kernel(
    points: Any, starts: Any, ids: Any, weights: Any, sizes: Any, bandwidth: Any, found: Any
) -> None:
    """Add k_t(G, G) to `found`. Of a sample, pairs of different nodes stand for all such pairs."""
    scale = np.float32(-0.5) / (bandwidth * bandwidth)
    limit = np.float32(RADIUS) * np.float32(RADIUS) * bandwidth * bandwidth
    near = min(NEAR, points.shape[1])
    for g in range(len(starts) - 1):
        own = ids[starts[g] : starts[g + 1]]
        leading = np.empty((near, len(own)), np.float32)
        for i in range(len(own)):
            for c in range(near):
                leading[c, i] = points[own[i], c]
        gaps = np.empty(len(own), np.float32)
        total = 0.0
        for i in range(len(own)):
            weight = weights[starts[g] + i]
            _leading_gaps(points[own[i]], leading, 0, i, gaps)
            inner = 0.0
            for j in range(i):
                if gaps[j] <= limit:
                    distance = gaps[j] + _squared_distance(points[own[i]], points[own[j]], near)
                    if distance <= limit:
                        inner += weights[starts[g] + j] * np.exp(scale * distance)
            total += weight * (2.0 * inner + weight)
        n = sizes[g]
        if n > MAX_VIEWS:
            same = n * n / MAX_VIEWS  # every sampled node with itself
            total = (total - same) * ((n - 1) / n) * (MAX_VIEWS / (MAX_VIEWS - 1.0)) + n
        found[g] += total / n


@numba.njit(**_REASSOCIATE)
def _absolute_differences(rows: Any, anchors: Any, found: Any) -> None:
    """Sum of |rows - anchors| for every pair."""
    for r in range(len(rows)):
        for a in range(len(anchors)):
            total = np.float32(0.0)
            for c in range(rows.shape[1]):
                total += abs(rows[r, c] - anchors[a, c])
            found[r, a] = total


@numba.njit(**_OPTIONS)
def _product(left: Any, right: Any, found: Any) -> None:
    """Found = left right, each row by itself in a fixed order; rows in blocks for the cache."""
    block = 16
    for first in range(0, len(left), block):
        last = min(first + block, len(left))
        for k in range(right.shape[0]):
            for r in range(first, last):
                value = left[r, k]
                for c in range(right.shape[1]):
                    found[r, c] += value * right[k, c]
