"""Two coordinates for every graph, and for graphs that come later."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import MissingExtraError, ParameterError
from ddgk.vectors import principal_axes

Array = NDArray[np.float64]

METHODS = ("auto", "umap", "pca")
MIN_UMAP = 200  # graphs of a UMAP by itself: it compiles for several seconds in every process
N_NEIGHBORS = 5  # of a new graph, whose places it is put between


@dataclass(frozen=True)
class Projection:
    """A map of embeddings: places in the unit square, (n_graphs, 2), by "UMAP" or "PCA"."""

    method: str
    places: Array

    def place(self, neighbors: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
        """Return where a new graph belongs: between its nearest neighbours, the nearest most.

        neighbors: "position" and "distance" of each, nearest first.
        """
        near = [own["position"] for own in neighbors[:N_NEIGHBORS]]
        distances = np.array([own["distance"] for own in neighbors[:N_NEIGHBORS]])
        if distances[0] == 0:
            x, y = self.places[near[0]]
        else:
            weights = 1 / distances**2
            x, y = (weights[:, None] * self.places[near]).sum(axis=0) / weights.sum()
        return float(x), float(y)


def project(embedding: NDArray[Any], *, method: str = "auto", random_state: int = 0) -> Projection:
    """Compute a map: UMAP [1]_ of 200 graphs or more where umap-learn is installed, else PCA.

    .. [1] McInnes, L., Healy, J., and Melville, J. "UMAP: Uniform Manifold Approximation and
       Projection for Dimension Reduction." arXiv:1802.03426 (2018).

    >>> project(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), method="pca").places.shape
    (3, 2)
    """
    if method not in METHODS:
        raise ParameterError(
            f"a map must be one of {', '.join(map(repr, METHODS))}, not {method!r}"
        )
    rows = np.ascontiguousarray(embedding, dtype=np.float32)
    has_umap = find_spec("umap") is not None
    if method == "umap" and not has_umap:
        raise MissingExtraError("a UMAP needs umap-learn: pip install 'ddgk[explore]'")
    least = {"umap": 15, "auto": MIN_UMAP, "pca": math.inf}[method]
    if has_umap and len(rows) >= least and len(np.unique(rows, axis=0)) >= 5:
        return Projection("UMAP", _fit(_umap(rows, random_state)))
    mean, axes = principal_axes(rows, 2)
    places = np.zeros((len(rows), 2))
    places[:, : axes.shape[1]] = (rows - mean) @ axes
    return Projection("PCA", _fit(places))


def _umap(rows: NDArray[np.float32], random_state: int) -> Array:
    with warnings.catch_warnings():
        # It warns that a seed leaves one thread, and about its own use of scikit-learn.
        warnings.simplefilter("ignore")
        reduce = import_module("umap").UMAP(
            n_neighbors=min(15, len(rows) - 1), min_dist=0.1, random_state=random_state, n_jobs=1
        )
        found: Array = np.asarray(reduce.fit_transform(rows), dtype=np.float64)
    return found


def _fit(places: Array) -> Array:
    """Scale both axes alike into the unit square; outlying graphs do not squeeze the others."""
    if not np.isfinite(places).all():
        raise ParameterError("the map has coordinates that are not finite")
    low, high = np.quantile(places, (0.001, 0.999), axis=0)
    reach = float((high - low).max()) or 1.0
    centred = (np.clip(places, low - 0.05 * reach, high + 0.05 * reach) - (low + high) / 2) / reach
    fitted: Array = np.clip(0.5 + 0.9 * centred, 0.0, 1.0)
    return fitted
