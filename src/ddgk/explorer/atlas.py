"""Everything the page shows: places, names, colours, neighbours, drawings, alignments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ddgk.comparison import Comparison
from ddgk.errors import DDGKError, ParameterError
from ddgk.explorer.coordinates import Projection, project
from ddgk.graphs import Graph
from ddgk.graphs.display import bond_orders, frequent_values, lay_out
from ddgk.plain import visible
from ddgk.similarity import match_graphs, match_lines
from ddgk.traits import measure

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
    projection : Projection
    columns : list of dict
        What points can be coloured by: "name", "kind" ("category" or "number"), "values", and
        "labels" of categories.
    """

    title: str
    comparison: Comparison
    projection: Projection
    columns: list[dict[str, Any]] = field(repr=False)

    @property
    def graphs(self) -> list[Graph]:
        """All graphs."""
        return self.comparison.graphs

    def map_values(self) -> dict[str, Any]:
        """Return places, names, columns and neighbours as plain values."""
        found, places = self.comparison, np.rint(self.projection.places * PLACES).astype(int)
        return {
            "title": visible(self.title, MAX_NAME),
            "projection": self.projection.method,
            "x": places[:, 0].tolist(),
            "y": places[:, 1].tolist(),
            "names": [visible(name, MAX_NAME) for name in found.names],
            "columns": self.columns,
            "neighbors": found.neighbors.tolist(),
            "distances": [[_short(value) for value in row] for row in found.neighbor_distances],
        }

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
    where = project(comparison.embedding, method=projection, random_state=random_state)
    return Atlas(title, comparison, where, columns)


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
