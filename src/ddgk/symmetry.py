"""Which nodes no refinement can tell apart: the coarsest equitable partition, in canonical order.

From an equivariant start, nodes of one class move identically, so one row per class is enough. The
order of the classes depends on the structure and the codes alone, never on the numbering of the
nodes; arrays taken to the quotient are therefore equal, to the bit, for isomorphic graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ddgk.refinement import Network, make_network, ordered, refined

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Arcs:
    """Coded arcs i -> j; a code says of what kind an arc is, and equal codes are alike.

    tails, heads, codes: (n_arcs,) each.
    """

    tails: Integers
    heads: Integers
    codes: Integers

    def beside(self, other: Arcs) -> Arcs:
        """Return both sets of arcs, with codes that cannot be confused."""
        shift = 1 + int(self.codes.max(initial=-1))
        return Arcs(
            np.concatenate([self.tails, other.tails]),
            np.concatenate([self.heads, other.heads]),
            np.concatenate([self.codes, other.codes + shift]),
        )


@dataclass(frozen=True)
class Partition:
    """Nodes in classes, numbered in canonical order.

    classes: (n_nodes,) the class of every node.
    """

    classes: Integers

    @classmethod
    def discrete(cls, n_nodes: int) -> Partition:
        """Return the partition in which every node is a class of its own, in the given order."""
        return cls(np.arange(n_nodes))

    @classmethod
    def inverse(cls, order: Integers) -> Partition:
        """Return the partition in which every node is alone, in that order."""
        classes = np.empty(len(order), dtype=np.int64)
        classes[order] = np.arange(len(order))
        return cls(classes)

    @cached_property
    def sizes(self) -> Integers:
        """How many nodes each class has, (n_classes,)."""
        return np.bincount(self.classes).astype(np.int64)

    @cached_property
    def representatives(self) -> Integers:
        """Some node of each class, (n_classes,)."""
        return np.unique(self.classes, return_index=True)[1].astype(np.int64)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.sizes)


def equitable_partition(colours: Integers, arcs: Arcs) -> Partition:
    """Find the coarsest partition that respects the colours and in which classes see classes alike.

    Two nodes stay together when they have one colour and, for every class and code, the same number
    of arcs of that code into that class (1-dimensional Weisfeiler-Leman refinement).

    colours: (n_nodes,) whole numbers that do not depend on the numbering of the nodes.
    """
    return Partition(refined(colours, _network(colours, arcs)))


def canonical_order(colours: Integers, arcs: Arcs) -> Integers:
    """List the nodes in an order that does not depend on how they were numbered.

    Refines, singles out a node of the first class that is not yet alone, and refines again. Where
    the nodes of a class are images of each other under automorphisms, as in nearly every graph met
    in practice, any choice leads to the same matrices, so the order is canonical; where they are
    not (regular graphs that are not vertex-transitive), it is merely an order.

    Returns (n_nodes,): the node that comes first, second, ...
    """
    return ordered(colours, _network(colours, arcs))


def block_sums(values: NDArray[np.float64], partition: Partition) -> NDArray[np.float64]:
    """Sum rows over the nodes of each class, in an order that the numbering cannot change.

    values: (rows, n_nodes). Returns (rows, n_classes). Values are sorted within a class before they
    are added, so that equal multisets give equal bits.
    """
    by_class = np.argsort(partition.classes, kind="stable")
    blocks = np.split(values[:, by_class], np.cumsum(partition.sizes)[:-1], axis=1)
    sums = [np.cumsum(np.sort(block, axis=1), axis=1)[:, -1] for block in blocks]
    return np.stack(sums, axis=1)


def _network(colours: Integers, arcs: Arcs) -> Network:
    return make_network(len(colours), arcs.tails, arcs.heads, arcs.codes)
