"""The compact embedding: one kernel of graphs, and its feature map.

A graph is described by distributions over its nodes, and each becomes columns whose L1 distance
compares it with another graph.

Node views. The view of node i is a random projection of what its edges cost: of the structure terms
of local attention (`ddgk.engine.local`), against every source s, after every step t,

    v_i = sum_{s, t, term} log(1 + loss_{s, t, term}(i)) R_{s, t, term},      R Gaussian

and V(G, H) is the sliced Wasserstein distance of the views of G and of H (`ddgk.sliced`). Labels
of nodes and edges count through the attention, which is trained on them.

Neighbourhoods. f_t(c; G) is the share of nodes of G whose t-hop neighbourhood is c, by structure
and node labels, and

    N(G, H) = sum_{t = 0..n_steps} r_t sum_c |f_t(c; G) - f_t(c; H)|

with r_t the mean share that an anchor has in common with its nearest other anchor at radius t.
Radii at which all neighbourhoods differ would only add a constant to all distances; their weight is
near 0.

Labels. Where neighbourhoods hardly recur, the labels around nodes are compared softly. p_t(i, c) is
the probability that a random walk of t steps from node i ends at a node with label c, and

    L(G, H) = sum_{t = 1..n_steps} s_t W_t(G, H),      s_t = max(0, 1 - 3 r_t)

with W_t the Wasserstein distance on the line between the distributions of p_t(i, c) over the nodes
of G and of H, averaged over the `MAX_LABELS` most frequent labels c and scaled to the median
distance at radius t in N. Molecules share most of their neighbourhoods, and s_t is 0 or small; in
large proteins almost no two are equal.

Size. S(G, H) = |log n_G - log n_H| + |log(1 + m_G) - log(1 + m_H)|, with m arcs. It counts where
graphs that look alike agree in it. With G' the anchor nearest to G by V, N and L,

    u = 2 - 2 mean_G S(G, G') / mean_{G, H} S(G, H),        at least .1 and at most 1

is 1 where nearest anchors differ in size at most half as much as any two anchors, and .1 where they
differ as much as any two. It is never 0, so that graphs that differ only in size are not equal.

Real attributes. A(G, H) is the sliced Wasserstein distance of the standardised attributes and
labels of a node, followed by their means over its neighbours.

Each distance is divided by its median over the anchors; N + L counts as one. The kernel is

    K(G, H) = exp(-((1 - w) ((1 - a) V + a (N + L)) + w A + b u S)),
    a = neighbourhood_weight, b = size_weight, w = attribute_weight (0 without real attributes)

The exponent is an L1 distance, so K is positive definite: a Laplacian kernel. Columns are its
Nystroem map on anchors, a random sample of the fitted graphs:

    psi(G) = Q^T Lambda^(-1/2) U^T K(G, anchors) / c(G),    K(anchors, anchors) = U Lambda U^T

so that psi(G) . psi(H) is K(G, H) up to what the anchors do not span. Where all fitted graphs are
anchors, c(G) is 1 and inner products with them are exact. Where anchors are a sample, c(G) is the
length of the numerator, but at least .5: rows of graphs unlike the anchors would otherwise be
short, and short rows are near all others. The orthogonal Q changes no inner product. It lets
column a belong to anchor a (the symmetric square root of the kernel matrix where all anchors have a
column), so that columns have similar variances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ddgk.compiling import kept
from ddgk.engine.local import LocalOutcome
from ddgk.engine.neighbourhoods import REALS, Adjacency, LocalTargets
from ddgk.shares import AnchorShares, Shares, count_shares, node_neighbourhoods
from ddgk.sliced import SlicedDistance

Integers = NDArray[np.int64]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]

PARTS = ("views", "neighbourhoods", "labels", "size", "attributes")
DENSE = [0, 2, 3, 4]  # parts that have a column for every threshold
N_DIRECTIONS = 32  # of node views
N_ATTRIBUTE_DIRECTIONS = 64  # half of them look at a node alone, half at its neighbours, too
MAX_LABELS = 32  # the most frequent ones, whose shares around nodes are compared
LEAST_AGREEMENT = 0.1  # u where graphs that look alike do not agree in size
SMALLEST_EIGENVALUE = 1e-6  # relative to the largest
SHORTEST = 0.5  # rows at least so long are scaled to length one
# Attributes are fixed-point numbers, whose sums are exact.
POINT_UNIT, DIRECTION_UNIT = float(1 << 16), float(1 << 15)
LARGEST_POINT = 1 << 30  # about 16,000 standard deviations

_REASSOCIATE: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}}


@dataclass(frozen=True)
class Description:
    """What the kernel takes of some graphs.

    starts: graph g has the nodes starts[g]:starts[g + 1]. sizes: columns of S, (n_graphs, 2).
    views, ids: distinct node views, and the view of every node. neighbourhoods: one per radius.
    points: standardised attributes of every node and means over its neighbours, (n_nodes, 2 k).
    labels: indicators of the label of every node, (n_nodes, n_labels). out: neighbours of every
    node.
    """

    starts: Integers
    sizes: Doubles
    views: Singles
    ids: Integers
    neighbourhoods: tuple[Shares, ...]
    points: Integers
    labels: Doubles
    out: Adjacency


def describe_targets(
    targets: LocalTargets, outcome: LocalOutcome, node_labels: int | None, n_steps: int
) -> Description:
    """Collect what the kernel takes of trained targets.

    node_labels: position of the node labels among the attributes of the targets, or None.
    """
    starts, n_nodes = targets.starts, np.diff(targets.starts)
    n_arcs = np.diff(targets.out.starts[starts])
    bare = node_neighbourhoods(targets, node_labels, n_steps)
    graph = np.repeat(np.arange(len(n_nodes)), n_nodes)
    return Description(
        starts,
        np.log(np.column_stack([np.maximum(n_nodes, 1), 1 + n_arcs])),
        outcome.views,
        outcome.ids,
        tuple(count_shares(ids, hashes, graph, n_nodes) for ids, hashes in bare),
        attribute_points(targets),
        np.zeros((len(graph), 0)) if node_labels is None else targets.attributes[node_labels].own,
        targets.out,
    )


def count_anchors(n_graphs: int, n_features: int | None, most: int) -> int:
    """Return how many of the fitted graphs are anchors: all of them, or at most half.

    The anchors span their own rows better than those of other graphs. A classifier that is trained
    on anchors alone, or nearly, then fails on other graphs. There is no difference where every
    fitted graph has its column.

    >>> count_anchors(500, 1024, 2048), count_anchors(1500, 1024, 2048)
    (500, 750)
    """
    wanted = most if n_features is None else min(most, n_features)
    return n_graphs if n_graphs <= wanted else min(most, n_graphs // 2)


def attribute_points(targets: LocalTargets) -> Integers:
    """Return a point of every node, (n_nodes, 2 k); no columns where no attribute is real.

    Its standardised attributes and the indicators of its labels, and the means of both over its
    neighbours, in units of `POINT_UNIT`. Sums of integers do not depend on node order.
    """
    if not any(attribute.kind == REALS for attribute in targets.attributes):
        return np.zeros((targets.n_nodes, 0), np.int64)
    own = np.hstack([np.nan_to_num(attribute.own, nan=0.0) for attribute in targets.attributes])
    points = np.rint(np.clip(own * POINT_UNIT, -LARGEST_POINT, LARGEST_POINT)).astype(np.int64)
    return np.hstack([points, neighbour_means(points, targets.out)])


def neighbour_means(points: Integers, out: Adjacency) -> Integers:
    """Return the mean of the points of every node's neighbours; 0 where there are none."""
    means = np.zeros_like(points)
    _average(points, out.starts, out.nodes, means)
    return means


@dataclass(frozen=True)
class CompactMap:
    """The fitted feature map psi.

    Attributes
    ----------
    views : SlicedDistance
    attributes : SlicedDistance or None
        None without real attributes.
    directions : array of shape (2 k, n_directions)
        Directions along which attributes are compared.
    neighbourhoods : tuple of AnchorShares
        One per radius.
    label_columns : array of int
        The most frequent labels of the anchors.
    labels : dict from int to SlicedDistance
        Distances W_t by radius t, scaled; no radius where s_t is 0.
    radius_weights : array of shape (n_steps + 1,)
        r_t.
    scales : array of shape (5,)
        Weight of each of `PARTS` in the exponent, divided by its median.
    columns : array of shape (n_anchors, n_columns)
        Columns of views, labels, size and attributes of the anchors, times their scales.
    weights : array of shape (n_anchors, n_features)
        U Lambda^(-1/2) Q, as in psi above.
    sampled : bool
        Whether some fitted graphs are no anchors; rows then have length one.
    """

    views: SlicedDistance
    attributes: SlicedDistance | None
    directions: Integers
    neighbourhoods: tuple[AnchorShares, ...]
    label_columns: Integers
    labels: dict[int, SlicedDistance] = field(default_factory=dict)
    radius_weights: Doubles = field(default_factory=lambda: np.zeros(0))
    scales: Doubles = field(default_factory=lambda: np.ones(len(PARTS)))
    columns: Singles = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    weights: Singles = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    sampled: bool = False

    ARRAYS: ClassVar[Sequence[str]] = (
        "scales",
        "label_columns",
        "directions",
        "columns",
        "radius_weights",
        "weights",
    )

    @classmethod
    def fit(
        cls,
        anchors: Description,
        n_features: int | None,
        weights: Sequence[float],
        seed: int,
        *,
        sampled: bool = False,
    ) -> CompactMap:
        """Learn thresholds, medians and the projection.

        weights: of each of `PARTS`. sampled: there are fitted graphs that are no anchors.
        """
        directions = _directions(anchors.points.shape[1], seed)
        places = _places(anchors.points, directions)
        once = np.ones(len(places), np.int64)
        frequent = np.argsort(-anchors.labels.sum(axis=0), kind="stable")[:MAX_LABELS]
        blank = cls(
            SlicedDistance.fit(
                anchors.views, np.bincount(anchors.ids, minlength=len(anchors.views))
            ),
            SlicedDistance.fit(places, once) if places.shape[1] > 0 else None,
            directions,
            tuple(map(AnchorShares.of, anchors.neighbourhoods)),
            frequent,
        )
        apart = [
            own.distances(shares)
            for own, shares in zip(blank.neighbourhoods, anchors.neighbourhoods, strict=True)
        ]
        recurring = np.array([_recurrence(distances) for distances in apart])
        blank = replace(
            blank,
            radius_weights=recurring,
            labels=_label_distances(anchors, frequent, 1 - 3 * recurring, apart),
        )
        columns = blank.dense_columns(anchors)
        parts = [np.zeros((len(part), len(part))) for part in columns]
        for part, values in zip(parts, columns, strict=True):
            _absolute_differences(values, values, part)
        parts.insert(1, sum(r * part for r, part in zip(recurring, apart, strict=True)))
        views, shares, labels, size, own = parts
        common = shares + labels
        medians = [_median(part) for part in (views, common, common, size, own)]
        scales = np.array(weights) / medians
        scales[3] *= _size_agreement(scales[0] * views + scales[1] * common, size)
        exponent = sum(scale * part for scale, part in zip(scales, parts, strict=True))
        fitted = replace(blank, scales=scales)
        return replace(
            fitted,
            columns=fitted.scaled_columns(anchors),
            weights=_projection(np.exp(-exponent), n_features),
            sampled=sampled,
        )

    @property
    def n_features(self) -> int:
        """Number of columns of the embedding."""
        return int(self.weights.shape[1])

    def dense_columns(self, graphs: Description) -> list[Singles]:
        """Return the columns of the parts `DENSE`, (n_graphs, n_columns) each."""
        nodes = np.arange(graphs.starts[-1])
        attributes = np.zeros((len(graphs.sizes), 0), np.float32)
        if self.attributes is not None:
            places = _places(graphs.points, self.directions)
            attributes = self.attributes.columns(places, nodes, graphs.starts)
        views = self.views.columns(graphs.views, graphs.ids, graphs.starts)
        labels = [np.zeros((len(graphs.sizes), 0), np.float32)]
        for radius, points in label_points(graphs, self.label_columns, max(self.labels, default=0)):
            if radius in self.labels:
                labels.append(self.labels[radius].columns(points, nodes, graphs.starts))
        return [views, np.hstack(labels), graphs.sizes.astype(np.float32), attributes]

    def scaled_columns(self, graphs: Description) -> Singles:
        """Return all dense columns, so that their L1 distance is their part of the exponent."""
        scales = self.scales[DENSE].astype(np.float32)
        parts = zip(scales, self.dense_columns(graphs), strict=True)
        return np.ascontiguousarray(np.hstack([scale * columns for scale, columns in parts]))

    def neighbourhood_distances(self, graphs: Description) -> Doubles:
        """Return N of graphs and anchors, (n_graphs, n_anchors)."""
        found = np.zeros((len(graphs.sizes), len(self.neighbourhoods[0].totals)))
        radii = zip(self.radius_weights, self.neighbourhoods, graphs.neighbourhoods, strict=True)
        for weight, anchors, shares in radii:
            found += weight * anchors.distances(shares)
        return found

    def kernel(self, graphs: Description) -> Singles:
        """Return K of graphs and anchors, (n_graphs, n_anchors)."""
        exponent = np.empty((len(graphs.sizes), len(self.columns)))
        _absolute_differences(self.scaled_columns(graphs), self.columns, exponent)
        exponent += self.scales[1] * self.neighbourhood_distances(graphs)
        return np.exp(-exponent).astype(np.float32)

    def transform(self, graphs: Description) -> Singles:
        """Return psi, (n_graphs, n_features)."""
        kernel = self.kernel(graphs)
        found = np.zeros((len(kernel), self.n_features), np.float32)
        _project(kernel, self.weights, found)
        if self.sampled:
            _lengthen(found)
        return found

    def parts_of_pair(self, pair: Description) -> dict[str, float]:
        """Return what each of `PARTS` adds to the exponent of two graphs."""
        columns = self.dense_columns(pair)
        apart = [float(np.abs(values[0] - values[1]).sum()) for values in columns]
        shared = 0.0
        radii = zip(self.radius_weights, self.neighbourhoods, pair.neighbourhoods, strict=True)
        for weight, anchors, shares in radii:
            bits = anchors.bits
            first, second = (
                dict(zip(hashes.tolist(), values.tolist(), strict=True))
                for hashes, values in (_entries(shares.keep(bits), place) for place in (0, 1))
            )
            both = first.keys() | second.keys()
            gaps = [abs(first.get(key, 0.0) - second.get(key, 0.0)) for key in sorted(both)]
            shared += weight * float(sum(gaps)) * (1 << bits)
        apart.insert(1, shared)
        return {
            name: scale * part for name, scale, part in zip(PARTS, self.scales, apart, strict=True)
        }

    def check(self, n_steps: int, width: int, n_labels: int) -> None:
        """Raise where the arrays do not fit each other or the model.

        width: number of attribute columns; 0 without real attributes. n_labels: of nodes.
        """
        n_anchors = len(self.columns)
        if (self.attributes is None) != (width == 0):
            raise ValueError("the feature map has an attribute distance where the model has none")
        self.views.check(N_DIRECTIONS)
        n_columns = self.views.n_columns + 2
        for radius, distance in self.labels.items():
            distance.check(len(self.label_columns))
            n_columns += distance.n_columns
            if not 1 <= radius <= n_steps:
                raise ValueError("the feature map compares labels at another radius")
        if self.attributes is not None:
            self.attributes.check(N_ATTRIBUTE_DIRECTIONS)
            n_columns += self.attributes.n_columns
        shapes = {
            "scales": (len(PARTS),),
            "label_columns": (min(n_labels, MAX_LABELS),),
            "directions": (2 * width, N_ATTRIBUTE_DIRECTIONS if width else 0),
            "columns": (n_anchors, n_columns),
            "radius_weights": (n_steps + 1,),
            "weights": (n_anchors, self.n_features),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"{name} of the feature map does not fit")
        kept = self.label_columns
        if kept.dtype != np.int64 or not np.isin(kept, np.arange(n_labels)).all():
            raise ValueError("the feature map compares labels that the model does not have")
        if len(self.neighbourhoods) != n_steps + 1:
            raise ValueError("the feature map has another number of steps")
        for shares in self.neighbourhoods:
            shares.check(n_anchors)

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return all arrays by name, and the numbers."""
        tensors: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in self.ARRAYS}
        sliced = {f"labels{radius}": distance for radius, distance in self.labels.items()}
        for name, distance in (
            sliced | {"views": self.views, "attributes": self.attributes}
        ).items():
            if distance is not None:
                tensors |= {f"{name}.thresholds": distance.thresholds}
                tensors |= {f"{name}.widths": distance.widths}
        for radius, shares in enumerate(self.neighbourhoods):
            tensors |= {f"radius{radius}.{name}": getattr(shares, name) for name in shares.ARRAYS}
        bits = [shares.bits for shares in self.neighbourhoods]
        numbers = {"bits": bits, "label_radii": list(self.labels), "sampled": self.sampled}
        return tensors, numbers

    @classmethod
    def from_parts(
        cls, tensors: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]
    ) -> CompactMap:
        """Undo `to_parts`."""

        def sliced(name: str) -> SlicedDistance:
            return SlicedDistance(tensors[f"{name}.thresholds"], tensors[f"{name}.widths"])

        neighbourhoods = tuple(
            AnchorShares(
                **{name: tensors[f"radius{radius}.{name}"] for name in AnchorShares.ARRAYS},
                bits=int(bits),
            )
            for radius, bits in enumerate(numbers["bits"])
        )
        return cls(
            views=sliced("views"),
            labels={int(radius): sliced(f"labels{radius}") for radius in numbers["label_radii"]},
            attributes=sliced("attributes") if "attributes.thresholds" in tensors else None,
            neighbourhoods=neighbourhoods,
            sampled=bool(numbers["sampled"]),
            **{name: tensors[name] for name in cls.ARRAYS},
        )


def _entries(shares: Shares, place: int) -> tuple[NDArray[np.uint64], Doubles]:
    own = slice(shares.starts[place], shares.starts[place + 1])
    return shares.hashes[own], shares.shares[own]


def _directions(n_columns: int, seed: int) -> Integers:
    """Draw directions of attributes; half of them do not look at neighbours."""
    if n_columns == 0:
        return np.zeros((0, 0), np.int64)
    drawn = np.random.default_rng([seed, 2]).normal(size=(n_columns, N_ATTRIBUTE_DIRECTIONS))
    drawn[n_columns // 2 :, : N_ATTRIBUTE_DIRECTIONS // 2] = 0.0
    drawn /= np.linalg.norm(drawn, axis=0)
    return np.rint(drawn * DIRECTION_UNIT).astype(np.int64)


def _places(points: Integers, directions: Integers) -> Singles:
    """Return the coordinates of points along directions."""
    return ((points @ directions) / (POINT_UNIT * DIRECTION_UNIT)).astype(np.float32)


def label_points(
    graphs: Description, columns: Integers, n_steps: int
) -> Iterator[tuple[int, Singles]]:
    """Yield t and p_t(i, c) of every node i and the labels c of `columns`, for t = 1 to n_steps."""
    if n_steps == 0 or len(columns) == 0:
        return
    points = np.rint(graphs.labels[:, columns] * POINT_UNIT).astype(np.int64)
    for step in range(1, n_steps + 1):
        points = neighbour_means(points, graphs.out)
        yield step, (points / POINT_UNIT).astype(np.float32)


def _label_distances(
    anchors: Description, columns: Integers, weights: Doubles, apart: Sequence[Doubles]
) -> dict[int, SlicedDistance]:
    """Learn W_t where its weight is positive, scaled to the median of distances N_t, `apart`."""
    found = {}
    wanted = np.flatnonzero(weights > 0)
    nodes = np.arange(anchors.starts[-1])
    for step, points in label_points(anchors, columns, int(wanted.max(initial=0))):
        if weights[step] <= 0:
            continue
        plain = SlicedDistance.fit(points, np.ones(len(points), np.int64))
        values = plain.columns(points, nodes, anchors.starts)
        distances = np.zeros((len(values), len(values)))
        _absolute_differences(values, values, distances)
        scale = weights[step] * _median(apart[step]) / _median(distances)
        found[step] = replace(plain, widths=(scale * plain.widths).astype(np.float32))
    return found


def _recurrence(distances: Doubles) -> float:
    """Return r_t: the mean share that anchors have in common with the nearest other one."""
    if len(distances) < 2:
        return 1.0
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    return float(np.maximum(1 - others.min(axis=1) / 2, 0).mean())


def _size_agreement(apart: Doubles, sizes: Doubles) -> float:
    """Return u: whether the nearest other anchor is nearer in size than any other.

    Of anchors that look equally near, the nearest in size counts.
    """
    pairs = sizes[np.triu_indices(len(sizes), 1)]
    if not pairs.any():
        return 1.0
    others = apart.copy()
    np.fill_diagonal(others, np.inf)
    near = others <= others.min(axis=1, keepdims=True) * (1 + 1e-9)
    nearest = np.where(near, sizes, np.inf).min(axis=1)
    return float(np.clip(2.0 - 2.0 * nearest.mean() / pairs.mean(), LEAST_AGREEMENT, 1.0))


def _median(distances: Doubles) -> float:
    """Median over distinct pairs; 1 where all graphs are alike."""
    pairs = distances[np.triu_indices(len(distances), 1)]
    found = float(np.median(pairs)) if len(pairs) else 0.0
    return found if found > 0 else 1.0


def _projection(kernel: Doubles, n_features: int | None) -> Singles:
    """Return U Lambda^(-1/2) Q of the leading eigenvectors.

    The rotation Q makes the features of the first anchors a symmetric matrix. It changes no inner
    product and no distance, but column a then belongs to anchor a, and columns have similar
    variances: scaling them, or splitting on one of them, is sensible.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # the bits of an eigenvector depend on the number of threads
        values, vectors = np.linalg.eigh((kernel + kernel.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = int((values > SMALLEST_EIGENVALUE * values[0]).sum())
    kept = kept if n_features is None else min(kept, n_features)
    values, vectors = np.sqrt(values[:kept]), vectors[:, :kept]
    with threadpool_limits(1):
        left, _, right = np.linalg.svd(vectors[:kept] * values)
        rotation = (left @ right).T
        weights = (vectors / values) @ rotation
    return np.ascontiguousarray(weights, dtype=np.float32)


# --- kernels -------------------------------------------------------------------------------------


@kept(**_REASSOCIATE)
def _absolute_differences(rows: Any, anchors: Any, found: Any) -> None:
    """Sum of |rows - anchors| for every pair."""
    for r in range(len(rows)):
        for a in range(len(anchors)):
            total = np.float32(0.0)
            for c in range(rows.shape[1]):
                total += abs(rows[r, c] - anchors[a, c])
            found[r, a] = total


@kept()
def _average(points: Any, starts: Any, nodes: Any, means: Any) -> None:
    """Mean of the points of every node's neighbours, rounded; sums of integers are exact."""
    for i in range(len(starts) - 1):
        n_neighbours = starts[i + 1] - starts[i]
        for arc in range(starts[i], starts[i + 1]):
            for c in range(points.shape[1]):
                means[i, c] += points[nodes[arc], c]
        for c in range(points.shape[1] if n_neighbours > 0 else 0):
            means[i, c] = np.int64(np.rint(means[i, c] / n_neighbours))


@kept()
def _project(kernel: Any, weights: Any, found: Any) -> None:
    """Found = kernel weights, each row by itself in a fixed order."""
    block = 16  # rows, for the cache
    for first in range(0, len(kernel), block):
        last = min(first + block, len(kernel))
        for k in range(weights.shape[0]):
            for r in range(first, last):
                value = kernel[r, k]
                for c in range(weights.shape[1]):
                    found[r, c] += value * weights[k, c]


@kept()
def _lengthen(found: Any) -> None:
    """Scale rows to length one, and rows shorter than `SHORTEST` by as much as one of that."""
    for r in range(len(found)):
        square = 0.0
        for c in range(found.shape[1]):
            square += np.float64(found[r, c]) ** 2
        length = np.float32(max(np.sqrt(square), SHORTEST))
        for c in range(found.shape[1]):
            found[r, c] /= length
