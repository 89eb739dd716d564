"""Convert lists of edges with any hashable node names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import GraphError, ParameterError
from ddgk.graphs.edges import build_graph, number_ends
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.policies import Policies
from ddgk.graphs.validation import is_hashable, plain

THIRD = ("label", "weight")


def from_edges(
    edges: Iterable[tuple[Any, ...]] | NDArray[Any],
    *,
    nodes: Iterable[Hashable] = (),
    node_labels: Mapping[Any, Hashable] | None = None,
    third: str | None = None,
    directed: bool = False,
    name: str | None = None,
    policies: Policies | None = None,
) -> Graph:
    """Convert pairs of node names, or triples with an edge's label or weight.

    Nodes are numbered in the order of `nodes`; endpoints that `nodes` leaves out follow, sorted,
    so that the order of the edges never matters.

    Parameters
    ----------
    edges : iterable of (u, v) or (u, v, value), or array of shape (n_edges, 2)
        Each undirected edge once. Names are any hashables.
    nodes : iterable of hashables
        Nodes without edges, or all nodes, to fix their order.
    node_labels : mapping, optional
        From every node's name to its label.
    third : {"label", "weight"}, optional
        What the third item of a triple is; needed when there are triples.
    directed : bool
        Whether (u, v) runs from u to v.
    name : str, optional
    policies : Policies, optional
        How to read what can be read in more than one way.

    Examples
    --------
    >>> from ddgk.graphs import from_edges
    >>> bonds = from_edges([("O", "H1", "single"), ("O", "H2", "single")], third="label")
    >>> bonds.node_names, bonds.edge_labels
    (('H1', 'H2', 'O'), ('single', 'single'))
    >>> from_edges([(0, 1)], nodes=range(4)).n_nodes
    4
    """
    if third is not None and third not in THIRD:
        listed = ", ".join(map(repr, THIRD))
        raise ParameterError(f"third must be one of {listed}, or None, not {third!r}")
    who = describe(name)
    rows = _checked_rows(edges, third, who)
    ends = _hashables((end for row in rows for end in row[:2]), who)
    names, pairs = number_ends(ends, _hashables(nodes, who))
    carried = {} if third is None else {f"edge_{third}s": [row[2] for row in rows]}
    return build_graph(
        len(names),
        pairs,
        listing="directed" if directed else "once",
        policies=policies,
        name=name,
        node_names=names,
        node_labels=labels_by_name(node_labels, names, who),
        **carried,
    )


def labels_by_name(
    labels: Mapping[Any, Hashable] | None, names: list[Hashable], who: str
) -> list[Hashable] | None:
    """Return labels in node order out of a mapping that must name every node and no other."""
    if labels is None:
        return None
    if not isinstance(labels, Mapping):
        raise GraphError(f"{who}: node_labels must map names to labels, not be {labels!r}")
    known = {plain(name): label for name, label in labels.items()}
    for node in names:
        if node not in known:
            raise GraphError(f"{who}: node {node!r} has no label, but others have; give it one")
    for unknown in known.keys() - set(names):
        raise GraphError(
            f"{who}: {unknown!r} has a label, but there is no such node; "
            "remove the label, or add the node"
        )
    return [known[node] for node in names]


def _checked_rows(edges: Iterable[Any], third: str | None, who: str) -> list[Sequence[Any]]:
    """Return pairs, or triples where a third item is announced, and nothing else."""
    rows = edges.tolist() if isinstance(edges, np.ndarray) else list(edges)
    fix = f"give it a {third}"
    if third is None:
        fix = 'say what the third is with third="label" or third="weight"'
    for row in rows:
        if not isinstance(row, tuple | list) or len(row) not in (2, 3):
            raise GraphError(f"{who}: an edge is a pair of node names, not {row!r}")
        if len(row) != (2 if third is None else 3):
            raise GraphError(f"{who}: edge {tuple(row)!r} has {len(row)} items; {fix}")
    return rows


def _hashables(names: Iterable[Any], who: str) -> list[Hashable]:
    listed = list(map(plain, names))
    for name in listed:
        if not is_hashable(name):
            raise GraphError(f"{who}: the node name {name!r} is not hashable")
    return listed
