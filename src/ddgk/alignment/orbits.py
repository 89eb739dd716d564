"""Which nodes of a target could change places, so that a matching is one of several."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.encoding import code_graphs
from ddgk.graphs.graph import Graph
from ddgk.symmetry import equitable_partition

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Orbit:
    """Nodes of the target that refinement cannot tell apart, and what they were matched with.

    Attributes
    ----------
    nodes : tuple
        A class of the coarsest equitable partition (1-dimensional Weisfeiler-Leman, labels
        included), of two nodes at least. A true orbit always lies within one class.
    partners : tuple
        The source nodes they were matched with; any of them may as well be another one's.
    exchanged : bool
        Whether each of the nodes can be swapped with the others and nothing else changes (twins),
        in which case the class is an orbit.
    """

    nodes: tuple[Hashable, ...]
    partners: tuple[Hashable, ...]
    exchanged: bool


def find_orbits(
    target: Graph, source: Graph, used: Sequence[str], pairs: Integers
) -> tuple[Orbit, ...]:
    """List the classes of two nodes or more."""
    if not target.n_nodes:
        return ()
    codes = code_graphs([target], used)[0]
    classes = equitable_partition(codes.colours, codes.arcs).classes
    around: list[set[tuple[int, int]]] = [set() for _ in codes.colours]
    arcs = (codes.arcs.tails, codes.arcs.heads, codes.arcs.codes)
    for tail, head, code in zip(*(part.tolist() for part in arcs), strict=True):
        around[tail].add((head, code))

    def twins(one: int, other: int) -> bool:
        mine, theirs = (
            {arc for arc in around[node] if arc[0] not in (one, other)} for node in (one, other)
        )
        return mine == theirs

    partner = dict(pairs.tolist())
    found = []
    order = np.argsort(classes, kind="stable")
    for group in np.split(order, np.cumsum(np.bincount(classes))[:-1]):
        members = group.tolist()
        if len(members) > 1:
            found.append(
                Orbit(
                    tuple(target.node_names[i] for i in members),
                    tuple(source.node_names[partner[i]] for i in members if i in partner),
                    all(twins(members[0], node) for node in members[1:]),
                )
            )
    return tuple(found)
