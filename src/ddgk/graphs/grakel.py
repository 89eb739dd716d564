"""Convert GraKeL's triples: (edges or adjacency, node labels, edge labels)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ddgk.errors import GraphError
from ddgk.graphs.edgelist import labels_by_name
from ddgk.graphs.edges import build_graph, number_ends
from ddgk.graphs.foreign import describe_type
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.matrices import is_sparse, matrix_entries
from ddgk.graphs.policies import Policies
from ddgk.graphs.validation import plain


def from_grakel(
    graph: Sequence[Any], *, name: str | None = None, policies: Policies | None = None
) -> Graph:
    """Convert a graph as GraKeL writes it: up to three items, of which the last two are optional.

    GraKeL lists an undirected edge in both directions; one that stands in one direction only
    makes the graph directed. A label may be given for either direction or for both. Nodes are the
    keys of the node labels and all endpoints; without labels they are sorted.

    Parameters
    ----------
    graph : sequence of 1 to 3 items
        First the structure: a set or list of tuples (u, v) or (u, v, weight), a dict from (u, v)
        to weight, or an adjacency matrix (numpy, scipy sparse, or a list of lists), read as by
        `from_matrix`.
        Then a dict from node to label (or to a vector, read as attributes),
        and a dict from (u, v) to edge label.
    name : str, optional
    policies : Policies, optional
        How to read what can be read in more than one way.

    Examples
    --------
    >>> from ddgk.graphs import from_grakel
    >>> edges = {(1, 2), (2, 1), (2, 3), (3, 2)}
    >>> path = from_grakel([edges, {1: "C", 2: "O", 3: "C"}, {}])
    >>> path.node_names, path.node_labels
    ((1, 2, 3), ('C', 'O', 'C'))
    """
    who = describe(name)
    names: list[Hashable]
    weights: Any
    structure, node_labels, edge_labels = _items(graph, who)
    if _is_matrix(structure):
        matrix = np.array(structure) if isinstance(structure, list) else structure
        n_nodes, pairs, weights = matrix_entries(matrix, who)
        names = list(range(n_nodes))
    else:
        ends, weights = _rows(structure, who)
        names, pairs = number_ends(ends, map(plain, node_labels))
    if weights is not None and all(weight == 1 for weight in weights):
        weights = None  # GraKeL writes 1 where there is an edge
    by_name = labels_by_name(node_labels, names, who) if node_labels else None
    # GraKeL's attributed graphs carry vectors in the place of labels.
    vectors: Any = None
    if by_name is not None and all(isinstance(label, list | np.ndarray) for label in by_name):
        vectors, by_name = by_name, None
    return build_graph(
        len(names),
        pairs,
        edge_labels=_labels_by_ends(edge_labels, pairs.tolist(), names, who),
        edge_weights=weights,
        listing="both",
        policies=policies,
        name=name,
        node_names=names,
        node_labels=by_name,
        node_attributes=vectors,
    )


def is_grakel(thing: list[Any] | tuple[Any, ...]) -> bool:
    """Tell whether a sequence looks like GraKeL's, rather than like a list of edges or graphs.

    >>> is_grakel([{(0, 1), (1, 0)}, {0: "a", 1: "b"}]), is_grakel([(0, 1), (1, 2)])
    (True, False)
    """
    if not 1 <= len(thing) <= 3:
        return False
    structure, *labels = thing
    known = isinstance(structure, dict | set | frozenset | np.ndarray) or is_sparse(structure)
    listed = isinstance(structure, list) and len(thing) > 1
    return (known or listed) and all(item is None or _is_dict(item) for item in labels)


def _is_dict(thing: object) -> bool:
    # One of scipy's sparse formats is a subclass of dict.
    return isinstance(thing, dict) and not is_sparse(thing)


def _items(graph: Any, who: str) -> tuple[Any, dict[Any, Any], dict[Any, Any]]:
    if not isinstance(graph, list | tuple) or not 1 <= len(graph) <= 3:
        raise GraphError(
            f"{who}: from_grakel reads [structure, node labels, edge labels], "
            f"not {describe_type(graph)}"
        )
    structure, node_labels, edge_labels = (*graph, None, None)[:3]
    for labels, what in ((node_labels, "node"), (edge_labels, "edge")):
        if labels is not None and not _is_dict(labels):
            found = describe_type(labels)
            raise GraphError(f"{who}: {what} labels must be a dict or None, not {found}")
    return structure, node_labels or {}, edge_labels or {}


def _is_matrix(structure: Any) -> bool:
    """Tell matrices from edges as GraKeL does: rows of a matrix are lists, edges are tuples."""
    nested = isinstance(structure, list) and bool(structure) and isinstance(structure[0], list)
    return nested or isinstance(structure, np.ndarray) or is_sparse(structure)


def _rows(structure: Any, who: str) -> tuple[list[Hashable], list[Any] | None]:
    """Return the ends and weights of all edges listed."""
    if not isinstance(structure, list | tuple | set | frozenset | dict):
        raise GraphError(f"{who}: cannot read edges from {describe_type(structure)}")
    rows = list(structure)
    for row in rows:
        if not isinstance(row, tuple) or len(row) not in (2, 3):
            raise GraphError(f"{who}: an edge is a tuple (u, v) or (u, v, weight), not {row!r}")
    ends = [plain(end) for row in rows for end in row[:2]]
    if isinstance(structure, dict):
        return ends, list(structure.values())
    weights = [row[2] for row in rows if len(row) == 3]
    if 0 < len(weights) < len(rows):
        bare = next(row for row in rows if len(row) == 2)
        raise GraphError(
            f"{who}: edge {bare!r} has no weight, but others have; give all one, or none"
        )
    return ends, weights or None


def _labels_by_ends(
    labels: dict[Any, Any], pairs: list[list[int]], names: list[Hashable], who: str
) -> list[Hashable] | None:
    """Return edge labels in row order; a label serves both directions if only one is named."""
    if not labels:
        return None
    known = {plain(key): label for key, label in labels.items()}
    ends = [(names[u], names[v]) for u, v in pairs]
    for u, v in ends:
        if (u, v) not in known and (v, u) not in known:
            raise GraphError(f"{who}: edge ({u!r}, {v!r}) has no label, but others have")
    for key in known.keys() - {*ends, *((v, u) for u, v in ends)}:
        raise GraphError(f"{who}: {key!r} has an edge label, but there is no such edge")
    return [known.get((u, v), known.get((v, u))) for u, v in ends]
