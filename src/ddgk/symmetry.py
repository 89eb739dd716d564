"""Refinement, canonical order and equitable partitions: the symmetry of a graph.

Nodes that refinement cannot tell apart behave alike in every equivariant computation, so one row
per class is enough (the quotient). Classes are numbered in an order that depends on the structure
and the codes alone, never on the numbering of the nodes: arrays of quotients are bitwise identical
for isomorphic graphs. Direction is that of the arcs: for a directed graph, give every edge as an
arc of one code and its reverse as an arc of another.

The algorithm is partition refinement (1-dimensional Weisfeiler-Leman) in time that grows with the
edges. Each round splits every class by the hashed multiset of (code, class) over the arcs of its
nodes. Only nodes with an arc into a part that was split off in the round before are visited, and
never because of the largest part: who sees none of the smaller parts sees the same as before. A
path of n nodes takes n / 2 rounds, each of which visits a handful of nodes. The first rounds, which
split most, look at all nodes in numpy, with the same result.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.hashing import scramble

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

# Two words: with 128 bits, a collision among a million nodes has a chance of about 1e-27.
SALTS = np.array([0x243F6A8885A308D3, 0x13198A2E03707344], dtype=np.uint64)

MANY = 64  # a round looks at all nodes while it splits one class for so many of them


@dataclass(frozen=True)
class Arcs:
    """Coded arcs i -> j, (n_arcs,) each; arcs of equal codes are of one kind."""

    tails: Integers
    heads: Integers
    codes: Integers

    def concatenated(self, other: Arcs) -> Arcs:
        """Return both sets of arcs, with codes that cannot be confused."""
        shift = 1 + int(self.codes.max(initial=-1))
        return Arcs(
            np.concatenate([self.tails, other.tails]),
            np.concatenate([self.heads, other.heads]),
            np.concatenate([self.codes, other.codes + shift]),
        )


@dataclass(frozen=True)
class Partition:
    """Nodes in classes, numbered in canonical order; classes: that of every node, (n_nodes,)."""

    classes: Integers

    @classmethod
    def discrete(cls, n_nodes: int) -> Partition:
        """Return the partition in which every node is a class of its own, in the given order."""
        return cls(np.arange(n_nodes))

    @cached_property
    def sizes(self) -> Integers:
        """Number of nodes of each class, (n_classes,)."""
        return np.bincount(self.classes).astype(np.int64)

    @cached_property
    def representatives(self) -> Integers:
        """One node of each class, (n_classes,)."""
        return np.unique(self.classes, return_index=True)[1].astype(np.int64)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.sizes)


def equitable_partition(colours: Integers, arcs: Arcs) -> Partition:
    """Find the coarsest equitable partition that respects the colours.

    Two nodes are in one class when they have one colour and, for every class and code, the same
    number of arcs of that code into that class.

    colours: (n_nodes,) whole numbers that do not depend on the numbering of the nodes.
    """
    around = _sort_arcs(len(colours), arcs)
    classes, is_stable = _refined_at_large(colours, around)
    if not is_stable:
        cells = _Cells(classes, around)
        cells.refine()
        classes = np.unique(cells.positions(), return_inverse=True)[1].reshape(-1)
    return Partition(classes.astype(np.int64))


def canonical_order(colours: Integers, arcs: Arcs) -> Integers:
    """List the nodes in an order that does not depend on how they were numbered.

    Refines, gives a node of the first shared class a class of its own, and refines again. Where
    automorphisms map the nodes of a class onto each other, any choice leads to the same matrices,
    so the order is canonical; in regular graphs that are not vertex-transitive it may not be.

    Returns (n_nodes,): the node that comes first, second, ...
    """
    around = _sort_arcs(len(colours), arcs)
    classes, is_stable = _refined_at_large(colours, around)
    if classes.max(initial=-1) < len(classes) - 1:
        cells = _Cells(classes, around)
        if not is_stable:
            cells.refine()
        cells.separate()
        classes = cells.positions()
    return np.argsort(classes)


def block_sums(values: NDArray[np.float64], partition: Partition) -> NDArray[np.float64]:
    """Sum rows over the nodes of each class, in an order that the numbering cannot change.

    values: (rows, n_nodes). Returns (rows, n_classes). Values are sorted within a class before they
    are added, so that equal multisets give bitwise identical sums.
    """
    by_class = np.argsort(partition.classes, kind="stable")
    blocks = np.split(values[:, by_class], np.cumsum(partition.sizes)[:-1], axis=1)
    sums = [np.cumsum(np.sort(block, axis=1), axis=1)[:, -1] for block in blocks]
    return np.stack(sums, axis=1)


class _SortedArcs(NamedTuple):
    """Arcs sorted by their tails (row 0) and by their heads (row 1).

    starts: (2, n + 1). ends: (2, n_arcs): the arcs of node i lead to
    ends[0, starts[0, i] : starts[0, i + 1]]; those to it come from the same of row 1. words: the
    hash of the code of every arc by tails, (2, n_arcs).
    """

    starts: Integers
    ends: Integers
    words: Words


def _sort_arcs(n_nodes: int, arcs: Arcs) -> _SortedArcs:
    """Sort coded arcs by their tails and by their heads."""
    tails, heads = arcs.tails, arcs.heads
    known, kinds = np.unique(arcs.codes, return_inverse=True)
    words = np.stack([scramble(known.astype(np.uint64) ^ salt) for salt in SALTS])
    small = np.min_scalar_type(n_nodes)  # 16 bits are sorted without comparisons
    by_tail, by_head = (np.argsort(key.astype(small), kind="stable") for key in (tails, heads))
    starts = np.zeros((2, n_nodes + 1), dtype=np.int64)
    for row, key in enumerate((tails, heads)):
        np.cumsum(np.bincount(key, minlength=n_nodes), out=starts[row, 1:])
    ends = np.stack([heads[by_tail], tails[by_head]]).astype(np.int64, copy=False)
    return _SortedArcs(starts, ends, words[:, kinds.reshape(-1)[by_tail]].copy())


def _refined_at_large(colours: Integers, arcs: _SortedArcs) -> tuple[Integers, bool]:
    """Split all classes by the hashes of their nodes, while rounds split many of them.

    Returns the classes, and whether no round would split any more.
    """
    classes = np.unique(colours, return_inverse=True)[1].reshape(-1).astype(np.int64)
    first = arcs.starts[0, :-1]
    has_arcs = first < arcs.starts[0, 1:]
    seen = np.zeros((2, len(classes)), dtype=np.uint64)
    while len(classes):
        hashed = scramble(arcs.words + classes[arcs.ends[0]].astype(np.uint64))
        if has_arcs.any():
            seen[:, has_arcs] = np.add.reduceat(hashed, first[has_arcs], axis=1)
        keys = np.stack([classes.astype(np.uint64), *seen])
        order = np.lexsort(keys[::-1])
        begins = (keys[:, order[1:]] != keys[:, order[:-1]]).any(axis=0)
        found = np.zeros_like(classes)
        found[order[1:]] = np.cumsum(begins)
        n_split = found.max() - classes.max()
        classes = found
        if MANY * n_split < len(classes):
            return classes, bool(n_split == 0)
    return classes, True


class _Cells:
    """A partition whose rounds visit only nodes with an arc into what was split off before.

    A class has a number of its own, and the positions start, start + 1, ... in the order of all
    nodes. By node: owner, its class. By class: start, size, and its nodes in ascending order, among
    which may be some that have left it. By position: at, the class that starts there, or -1; tree,
    the number of such positions as a Fenwick tree.
    """

    def __init__(self, classes: Integers, arcs: _SortedArcs) -> None:
        n_nodes = len(classes)
        sizes = np.bincount(classes)
        starts = np.cumsum(sizes) - sizes
        nodes = np.split(np.argsort(classes, kind="stable"), starts[1:])
        self.owner: list[int] = classes.tolist()
        self.start: list[int] = starts.tolist()
        self.size: list[int] = sizes.tolist()
        self.nodes = [deque(own.tolist()) for own in nodes]
        self.at = [-1] * (n_nodes + 1)
        self.tree = [0] * (n_nodes + 1)
        for own, start in enumerate(self.start):
            self._begin(own, start)
        self.words = arcs.words
        (self.out, self.into), (self.heads, self.tails) = arcs.starts.tolist(), arcs.ends.tolist()

    def refine(self, fresh: Iterable[int] | None = None) -> None:
        """Refine until no class is split, after some nodes, or all, were put into new classes."""
        found = list(range(len(self.owner)) if fresh is None else fresh)
        while found:
            found = self._split(self._touched(found))

    def separate(self) -> None:
        """Give a node of the first shared class a class of its own, refine, and so on."""
        for position in range(len(self.owner)):
            own = self.at[position]
            if self.size[own] > 1:
                n_classes = len(self.start)
                self.refine([self._leave(own)])
                if len(self.start) == n_classes + 1:
                    # Nothing else was split: the nodes that are left are interchangeable.
                    while self.size[own] > 1:
                        self._leave(own)

    def positions(self) -> Integers:
        """Return where the class of every node starts, (n_nodes,)."""
        return np.asarray(self.start, dtype=np.int64)[self.owner]

    def _touched(self, fresh: list[int]) -> list[int]:
        """Return the nodes of shared classes with an arc to a fresh node, ascending."""
        arcs = (arc for node in fresh for arc in range(self.into[node], self.into[node + 1]))
        near = {self.tails[arc] for arc in arcs}
        return sorted(node for node in near if self.size[self.owner[node]] > 1)

    def _split(self, touched: list[int]) -> list[int]:
        """Split the classes of touched nodes by hashes; return all parts but the largest."""
        by_class: defaultdict[int, list[int]] = defaultdict(list)
        for node in touched:
            by_class[self.owner[node]].append(node)
        marked, rest = set(touched), {}
        for own, nodes in by_class.items():
            if len(nodes) < self.size[own]:
                rest[own] = next(n for n in self._members(own) if n not in marked)
        # All hashes are computed before any class is split.
        seen = self._hashes([*touched, *rest.values()])
        fresh: list[int] = []
        for own, nodes in by_class.items():
            parts: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
            for node in nodes:
                parts[seen[node]].append(node)
            # The part that keeps the number: that of the untouched, or else the largest.
            stays = seen[rest[own]] if own in rest else max(parts, key=lambda h: len(parts[h]))
            parts.setdefault(stays, [])
            if len(parts) > 1:
                fresh += self._cut(own, [parts[h] if h != stays else None for h in sorted(parts)])
        return fresh

    def _cut(self, own: int, parts: list[list[int] | None]) -> list[int]:
        """Make a class of every part, None for the one that stays; return all but the largest."""
        position = self.start[own]
        self.size[own] -= sum(len(part) for part in parts if part is not None)
        mine = [own if part is None else self._add(part) for part in parts]
        for place, cell in enumerate(mine):
            if place == 0:
                self.start[cell], self.at[position] = position, cell
            else:
                self._begin(cell, position)
            position += self.size[cell]
        largest = max(mine, key=lambda cell: self.size[cell])
        return [node for cell in mine if cell != largest for node in self._members(cell)]

    def _add(self, nodes: list[int]) -> int:
        """Put nodes into a class of their own, without a position yet."""
        for node in nodes:
            self.owner[node] = len(self.start)
        self.start.append(-1)
        self.size.append(len(nodes))
        self.nodes.append(deque(nodes))
        return len(self.start) - 1

    def _leave(self, own: int) -> int:
        """Give the first node of a class a class of its own, before the others; return the node."""
        node = next(iter(self._members(own)))
        position = self.start[own]
        single = self._add([node])
        self.size[own] -= 1
        self.start[single], self.at[position] = position, single
        self._begin(own, position + 1)
        return node

    def _members(self, own: int) -> Iterator[int]:
        """Yield the nodes of a class; forget those that have left it, once they are many."""
        nodes = self.nodes[own]
        while self.owner[nodes[0]] != own:
            nodes.popleft()
        if len(nodes) > 2 * self.size[own]:
            nodes = self.nodes[own] = deque(n for n in nodes if self.owner[n] == own)
        return (node for node in nodes if self.owner[node] == own)

    def _begin(self, own: int, position: int) -> None:
        """Record a class that starts at a position where none did."""
        self.start[own], self.at[position] = position, own
        place = position + 1
        while place < len(self.tree):
            self.tree[place] += 1
            place += place & -place

    def _rank(self, own: int) -> int:
        """Count the classes before one."""
        found, place = 0, self.start[own]
        while place > 0:
            found += self.tree[place]
            place -= place & -place
        return found

    def _hashes(self, nodes: list[int]) -> dict[int, tuple[int, int]]:
        """Hash the multiset of (kind, class) over every node's arcs."""
        out = self.out
        arcs = [arc for node in nodes for arc in range(out[node], out[node + 1])]
        owners = [self.owner[self.heads[arc]] for arc in arcs]
        ranks = {own: self._rank(own) for own in set(owners)}
        given = np.array([ranks[own] for own in owners], dtype=np.uint64)
        sums = np.zeros((2, len(arcs) + 1), dtype=np.uint64)
        np.cumsum(scramble(self.words[:, arcs] + given), axis=1, out=sums[:, 1:])
        ends = np.cumsum([0, *(out[node + 1] - out[node] for node in nodes)])
        first, second = (sums[:, ends[1:]] - sums[:, ends[:-1]]).tolist()
        return dict(zip(nodes, zip(first, second, strict=True), strict=True))
