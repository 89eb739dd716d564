"""Everything the page shows: places, names, colours, neighbours, drawings, alignments."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.comparison import Comparison
from ddgk.errors import DDGKError, MissingExtraError, ParameterError
from ddgk.graphs import Graph
from ddgk.graphs.display import bond_orders, frequent_values, lay_out
from ddgk.plain import visible
from ddgk.similarity import match_graphs, match_lines
from ddgk.traits import measure
from ddgk.vectors import principal_axes

Array = NDArray[np.float64]

METHODS = ("auto", "umap", "pca")
MIN_UMAP = 200  # graphs of a UMAP by itself: it compiles for several seconds in every process
N_NEIGHBORS = 5  # of a new graph, whose places it is put between
MAX_ALIGNED = 3_000  # pairs of graphs whose alignment a static page holds
MAX_ALIGNED_NODES = 200
MAX_CATEGORIES = 200
MAX_NAME = 80
MAX_DRAWN_NODES = 1_000  # above, the page tells the size in place of a drawing
MAX_DRAWN_EDGES = 5_000
SCALE = 500  # coordinates of drawings are whole numbers from -500 to 500
PLACES = 65_535  # coordinates on the map are whole numbers from 0 to this


@dataclass(frozen=True)
class Atlas:
    """A collection of graphs, ready to be shown.

    Attributes
    ----------
    title : str
    comparison : Comparison
    method : str
        How the map was made, "UMAP" or "PCA".
    places : array of shape (n_graphs, 2)
        Where graphs are on the map, in the unit square.
    columns : list of dict
        What points can be coloured by: "name", "kind" ("category" or "number"), "values", and
        "labels" of categories.
    """

    title: str
    comparison: Comparison
    method: str
    places: Array = field(repr=False)
    columns: list[dict[str, Any]] = field(repr=False)

    @property
    def graphs(self) -> list[Graph]:
        """All graphs."""
        return self.comparison.graphs

    def map_values(self) -> dict[str, Any]:
        """Return places, names, columns and neighbours as plain values."""
        found, places = self.comparison, np.rint(self.places * PLACES).astype(int)
        return {
            "title": visible(self.title, MAX_NAME),
            "projection": self.method,
            "x": places[:, 0].tolist(),
            "y": places[:, 1].tolist(),
            "names": [visible(name, MAX_NAME) for name in found.names],
            "columns": self.columns,
            "neighbors": found.neighbors.tolist(),
            "distances": [[_short(value) for value in row] for row in found.neighbor_distances],
        }

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

    def matches(self, n_aligned: int, *, n_jobs: int = 1) -> dict[str, dict[str, Any]]:
        """Align every graph with its nearest ones; keys are "i-j" with i < j."""
        from concurrent.futures import ThreadPoolExecutor

        graphs, by_rank = self.graphs, self.comparison.neighbors.T[:n_aligned].tolist()
        every = (tuple(sorted(pair)) for others in by_rank for pair in enumerate(others))
        small = (
            pair for pair in every if max(graphs[k].n_nodes for k in pair) <= MAX_ALIGNED_NODES
        )
        pairs = list(dict.fromkeys(small))[:MAX_ALIGNED]

        def work(pair: tuple[int, ...]) -> dict[str, Any]:
            return match_values(graphs[pair[0]], graphs[pair[1]], self.comparison.model)

        with ThreadPoolExecutor(n_jobs) as threads:
            found = threads.map(work, pairs)
            return {f"{i}-{j}": match for (i, j), match in zip(pairs, found, strict=True)}


def make_atlas(
    comparison: Comparison,
    *,
    title: str = "graphs",
    attributes: Mapping[str, Sequence[Any]] | None = None,
    projection: str = "auto",
    random_state: int = 0,
) -> Atlas:
    """Put compared graphs on a map.

    Parameters
    ----------
    comparison : Comparison
        What `ddgk.compare` returned.
    title : str
    attributes : mapping of str to sequence, optional
        More to colour by: a value per graph, text or numbers.
    projection : {"auto", "umap", "pca"}
        "auto" is UMAP for 200 graphs or more where umap-learn is installed, else principal
        components.
    random_state : int
        Seed of UMAP.

    Examples
    --------
    >>> import ddgk, networkx
    >>> graphs = [networkx.cycle_graph(n) for n in (4, 5, 6)]
    >>> atlas = make_atlas(ddgk.compare(graphs, embedding=np.eye(3)))
    >>> [column["name"] for column in atlas.columns][:3]
    ['cluster', 'nodes', 'edges']
    """
    classes = comparison.classes
    columns = [] if classes is None else [_category("class", classes)]
    columns.append(_category("cluster", comparison.labels.tolist()))
    for name, values in (attributes or {}).items():
        if len(values) != len(comparison.names):
            raise ParameterError(
                f"{len(comparison.names)} graphs need as many values of {name!r}, not {len(values)}"
            )
        numbers = all(isinstance(value, int | float | np.number) for value in values)
        columns.append(_number(name, values) if numbers else _category(name, values))
    traits, measured = measure(comparison.graphs)
    columns += [
        _number(name, measured[:, place])
        for place, name in enumerate(traits)
        if len(np.unique(measured[:, place])) > 1
    ]
    columns.append(_number("outlier score", comparison.outlier_scores))
    method, places = project(comparison.embedding, method=projection, random_state=random_state)
    return Atlas(title, comparison, method, places, columns)


def project(
    embedding: NDArray[Any], *, method: str = "auto", random_state: int = 0
) -> tuple[str, Array]:
    """Compute a map: UMAP [1]_ of 200 graphs or more where umap-learn is installed, else PCA.

    Returns what it is, "UMAP" or "PCA", and places in the unit square, (n_graphs, 2).

    .. [1] McInnes, L., Healy, J., and Melville, J. "UMAP: Uniform Manifold Approximation and
       Projection for Dimension Reduction." arXiv:1802.03426 (2018).

    >>> project(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), method="pca")[1].shape
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
        return "UMAP", _fit(_umap(rows, random_state))
    mean, axes = principal_axes(rows, 2)
    places = np.zeros((len(rows), 2))
    places[:, : axes.shape[1]] = (rows - mean) @ axes
    return "PCA", _fit(places)


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


def drawing_values(graph: Graph) -> dict[str, Any]:
    """Return a drawing of a graph.

    "n", "m": numbers of nodes and edges. Unless it is too large: "p": coordinates, x and y of each
    node in turn; "e": ends of each edge in turn; "l": node labels as text, "t": node names as text,
    "o": bond orders (4 is aromatic) where it is a molecule, "b": edge labels as text where it is
    not, "d": 1 where it is directed.

    >>> drawing_values(Graph(2, [(0, 1)]))
    {'n': 2, 'm': 1, 'p': [-500, 0, 500, 0], 'e': [0, 1]}
    """
    drawn: dict[str, Any] = {"n": graph.n_nodes, "m": graph.n_edges}
    if graph.n_nodes > MAX_DRAWN_NODES or graph.n_edges > MAX_DRAWN_EDGES:
        return drawn
    orders = bond_orders(graph)
    drawn["p"] = np.rint(lay_out(graph) * SCALE).astype(int).ravel().tolist()
    drawn["e"] = graph.edges.ravel().tolist()
    if graph.node_labels is not None:
        drawn["l"] = [visible(label, 12) for label in graph.node_labels]
    if graph.node_names != tuple(range(graph.n_nodes)):
        drawn["t"] = [visible(name, 40) for name in graph.node_names]
    if orders:
        drawn["o"] = orders
    elif graph.edge_labels is not None:
        drawn["b"] = [visible(label, 12) for label in graph.edge_labels]
    if graph.directed:
        drawn["d"] = 1
    return drawn


def match_values(target: Graph, source: Graph, model: Any = None) -> dict[str, Any]:
    """Align two graphs and explain their similarity.

    "p": partner of every target node, -1 for none; "c": confidence in percent; "lines": what is
    shared and what differs, in words. With a model that explains similarities, "s" and "z": what
    every node of the target and of the source contributes to the similarity, in percent of the
    largest; "why": the kernel in words.

    >>> path = Graph(3, [(0, 1), (1, 2)], node_labels="abc")
    >>> match_values(path, path)["p"]
    [0, 1, 2]
    """
    match = match_graphs(target, source)
    partners, sure = [-1] * target.n_nodes, [0] * target.n_nodes
    for (t, s), confidence in zip(match.pairs.tolist(), match.sureness.tolist(), strict=True):
        partners[t], sure[t] = s, round(100 * confidence)
    found: dict[str, Any] = {"p": partners, "c": sure, "lines": match_lines(match)}
    if hasattr(model, "explain_similarity"):
        try:
            why = model.explain_similarity(target, source)
        except DDGKError:  # a model of the paper's preset explains no pairs
            return found
        for key, shares in (("s", why.pairs.sum(axis=1)), ("z", why.pairs.sum(axis=0))):
            largest = max(float(shares.max()), 1e-12)
            found[key] = np.rint(100 * shares / largest).astype(int).tolist()
        found["why"] = why.summary()
    return found


def _category(name: str, values: Sequence[Any]) -> dict[str, Any]:
    kept, rest = frequent_values(values, MAX_CATEGORIES)
    code = {value: place for place, value in enumerate(kept)}
    labels = [visible(value, 40) for value in kept] + (["other"] if rest else [])
    return {
        "name": visible(name, 40),
        "kind": "category",
        "values": [code.get(value, MAX_CATEGORIES) for value in values],
        "labels": labels,
    }


def _number(name: str, values: Iterable[Any]) -> dict[str, Any]:
    return {
        "name": visible(name, 40),
        "kind": "number",
        "values": [_short(value) for value in values],
    }


def _short(value: Any) -> float | None:
    """Return a number with four significant digits, as JSON can hold it."""
    number = float(value)
    return float(f"{number:.4g}") if np.isfinite(number) else None
