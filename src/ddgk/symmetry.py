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
path of n nodes takes n / 2 rounds, each of which visits a handful of nodes. Graphs of up to `SMALL`
nodes are refined in numpy, all nodes in every round, with the same result: there is nothing to
compile, which takes longer than most uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.compiling import compiled, inner
from ddgk.hashing import scramble

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

# Two words: with 128 bits, a collision among a million nodes has a chance of about 1e-27.
SALTS = np.array([0x243F6A8885A308D3, 0x13198A2E03707344], dtype=np.uint64)

SMALL = 128  # nodes

_scramble: Any = inner(scramble)


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

    @classmethod
    def inverse(cls, order: Integers) -> Partition:
        """Return the partition in which every node is a class of its own, in that order."""
        classes = np.empty(len(order), dtype=np.int64)
        classes[order] = np.arange(len(order))
        return cls(classes)

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
    return Partition(refined(colours, sort_arcs(len(colours), arcs)))


def canonical_order(colours: Integers, arcs: Arcs) -> Integers:
    """List the nodes in an order that does not depend on how they were numbered.

    Refines, gives a node of the first shared class a class of its own, and refines again. Where
    automorphisms map the nodes of a class onto each other, any choice leads to the same matrices,
    so the order is canonical; in regular graphs that are not vertex-transitive it may not be.

    Returns (n_nodes,): the node that comes first, second, ...
    """
    return ordered(colours, sort_arcs(len(colours), arcs))


def block_sums(values: NDArray[np.float64], partition: Partition) -> NDArray[np.float64]:
    """Sum rows over the nodes of each class, in an order that the numbering cannot change.

    values: (rows, n_nodes). Returns (rows, n_classes). Values are sorted within a class before they
    are added, so that equal multisets give bitwise identical sums.
    """
    by_class = np.argsort(partition.classes, kind="stable")
    blocks = np.split(values[:, by_class], np.cumsum(partition.sizes)[:-1], axis=1)
    sums = [np.cumsum(np.sort(block, axis=1), axis=1)[:, -1] for block in blocks]
    return np.stack(sums, axis=1)


class SortedArcs(NamedTuple):
    """Arcs sorted by their tails (row 0) and by their heads (row 1).

    starts: (2, n + 1). ends: (2, n_arcs): the arcs of node i lead to
    ends[0, starts[0, i] : starts[0, i + 1]]; those to it come from the same of row 1. words: the
    hash of the code of every arc by tails, (2, n_arcs).
    """

    starts: Integers
    ends: Integers
    words: Words


def sort_arcs(n_nodes: int, arcs: Arcs) -> SortedArcs:
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
    return SortedArcs(starts, ends, words[:, kinds.reshape(-1)[by_tail]].copy())


def refined(colours: Integers, arcs: SortedArcs) -> Integers:
    """Return the classes of the coarsest equitable partition, numbered in order, (n,)."""
    if len(colours) <= SMALL:
        return _stable(np.unique(colours, return_inverse=True)[1].reshape(-1), arcs)
    cells = _refined_cells(colours, arcs, False)
    starts = cells[START, cells[OWNER, : len(colours)]]
    begins = np.zeros(len(starts), dtype=np.int64)
    begins[starts] = 1
    return np.asarray((np.cumsum(begins) - 1)[starts], dtype=np.int64)


def ordered(colours: Integers, arcs: SortedArcs) -> Integers:
    """List nodes in the order of `canonical_order`, (n,)."""
    if len(colours) <= SMALL:
        return _small_order(refined(colours, arcs), arcs)
    cells = _refined_cells(colours, arcs, True)
    return np.asarray(cells[FIRST, cells[AT, : len(colours)]])


def _stable(classes: Integers, arcs: SortedArcs) -> Integers:
    """Split classes by the hashes of their nodes until none is split any more."""
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
        if found.max() == classes.max():
            break
        classes = found
    return classes


def _small_order(classes: Integers, arcs: SortedArcs) -> Integers:
    """Give a node of the first shared class a class of its own, and so on; list the nodes."""
    classes = classes.copy()
    while len(shared := np.flatnonzero(np.bincount(classes) > 1)):
        members = np.flatnonzero(classes == shared[0])
        classes[classes > shared[0]] += 1
        classes[members[1:]] += 1
        found = _stable(classes, arcs)
        if found.max() == classes.max():
            # Nothing else was split: the nodes that are left are interchangeable.
            classes[classes > shared[0] + 1] += len(members) - 2
            classes[members[1:]] += np.arange(len(members) - 1)
        else:
            classes = found.copy()
    return np.argsort(classes)


def _refined_cells(colours: Integers, arcs: SortedArcs, discrete: bool) -> Integers:
    """Return the state of a refinement at its end."""
    n_nodes = len(colours)
    known, owner = np.unique(colours, return_inverse=True)
    cells = np.zeros((N_ROWS, max(n_nodes + 1, 2)), dtype=np.int64)
    cells[OWNER, :n_nodes] = owner.reshape(-1)
    cells[COUNTS, :2] = len(known), 1
    seen = np.zeros((4, n_nodes), dtype=np.uint64)
    _refine(cells, seen, arcs.starts, arcs.ends, arcs.words, n_nodes, discrete)
    return cells


# The state of a refinement is one array, (N_ROWS, n + 1): a kernel of one array compiles several
# times as fast as one of sixteen. By node: OWNER (its class), AFTER and BEFORE (each class is a
# linked list of nodes, ascending), MARKS (the round in which it was touched). By class: FIRST,
# LAST, SIZE, START (how many nodes come before it), RANKS and DATES (its rank, and when it was
# computed). By position: AT (the class that starts there). Lists of nodes: TOUCHED, FRESH. Work
# space: SPARE, BOUNDS, REST. TREE: the starts in a Fenwick tree. COUNTS: number of classes, number
# of the round. The hashes of nodes are rows 0 and 1 of `seen`.
OWNER, AFTER, BEFORE, MARKS, FIRST, LAST, SIZE, START, RANKS, DATES = range(10)
AT, TOUCHED, FRESH, SPARE, BOUNDS, REST, TREE, COUNTS, N_ROWS = range(10, 19)


@compiled
def _refine(
    cells: Integers,
    seen: Words,
    starts: Integers,
    ends: Integers,
    words: Words,
    n_nodes: int,
    discrete: bool,
) -> None:
    """Refine until no class is split; then, if discrete, until every node has its own class.

    For that, a node of the first shared class gets a class of its own, and so on.
    """
    for own in range(n_nodes):
        cells[FIRST, own] = cells[LAST, own] = -1
    for node in range(n_nodes):
        _append(cells, cells[OWNER, node], node)
    position = 0
    for own in range(cells[COUNTS, 0]):
        _begin(cells, own, position)
        position += cells[SIZE, own]
    n_touched = 0
    for node in range(n_nodes):
        if cells[SIZE, cells[OWNER, node]] > 1:
            cells[TOUCHED, n_touched] = node
            cells[MARKS, node] = cells[COUNTS, 1]
            n_touched += 1
    position, own, n_classes = -1, 0, 0
    while True:
        n_fresh = _split(cells, seen, starts, ends, words, n_touched)
        if n_fresh == 0:
            if position >= 0 and cells[COUNTS, 0] == n_classes + 1:
                # Nothing else was split: the nodes that are left are interchangeable.
                while cells[SIZE, own] > 1:
                    _leave(cells, cells[FIRST, own])
            position += 1
            while position < n_nodes and cells[SIZE, cells[AT, position]] < 2:
                position += 1
            if not discrete or position >= n_nodes:
                return
            own, n_classes = cells[AT, position], cells[COUNTS, 0]
            node = cells[FIRST, own]
            _leave(cells, node)
            cells[FRESH, 0] = node
            n_fresh = 1
        n_touched = _touch(cells, starts, ends, n_fresh)


@inner
def _touch(cells: Integers, starts: Integers, ends: Integers, n_fresh: int) -> int:
    """Begin a round: list the nodes with an arc to a fresh one; return how many they are."""
    cells[COUNTS, 1] += 1
    n_touched = 0
    for place in range(n_fresh):
        node = cells[FRESH, place]
        for arc in range(starts[1, node], starts[1, node + 1]):
            near = ends[1, arc]
            if cells[MARKS, near] != cells[COUNTS, 1] and cells[SIZE, cells[OWNER, near]] > 1:
                cells[MARKS, near] = cells[COUNTS, 1]
                cells[TOUCHED, n_touched] = near
                n_touched += 1
    return n_touched


@inner
def _append(cells: Integers, own: int, node: int) -> None:
    """Put a node at the end of a class's list."""
    last = cells[LAST, own]
    cells[OWNER, node] = own
    cells[BEFORE, node] = last
    cells[AFTER, node] = -1
    cells[LAST, own] = node
    cells[SIZE, own] += 1
    if last < 0:
        cells[FIRST, own] = node
    else:
        cells[AFTER, last] = node


@inner
def _unlink(cells: Integers, node: int) -> None:
    """Take a node out of its class's list."""
    own = cells[OWNER, node]
    earlier, later = cells[BEFORE, node], cells[AFTER, node]
    if earlier < 0:
        cells[FIRST, own] = later
    else:
        cells[AFTER, earlier] = later
    if later < 0:
        cells[LAST, own] = earlier
    else:
        cells[BEFORE, later] = earlier
    cells[SIZE, own] -= 1


@inner
def _begin(cells: Integers, own: int, position: int) -> None:
    """Record a class that starts at a position where none did."""
    cells[START, own] = position
    cells[AT, position] = own
    place = position + 1
    while place < cells.shape[1]:
        cells[TREE, place] += 1
        place += place & -place


@inner
def _rank(cells: Integers, own: int) -> Any:
    """Count the classes before one; computed once a round."""
    if cells[DATES, own] != cells[COUNTS, 1]:
        cells[DATES, own] = cells[COUNTS, 1]
        found, place = 0, cells[START, own]
        while place > 0:
            found += cells[TREE, place]
            place -= place & -place
        cells[RANKS, own] = found
    return cells[RANKS, own]


@inner
def _see(
    cells: Integers,
    seen: Words,
    starts: Integers,
    ends: Integers,
    words: Words,
    node: int,
    row: int,
    column: int,
) -> None:
    """Hash the multiset of (kind, class) over a node's arcs; a sum does not depend on order.

    The two words go to that column of `seen`, from that row on.
    """
    first, second = np.uint64(0), np.uint64(0)
    for arc in range(starts[0, node], starts[0, node + 1]):
        rank = np.uint64(_rank(cells, cells[OWNER, ends[0, arc]]))
        first += _scramble(words[0, arc] + rank)
        second += _scramble(words[1, arc] + rank)
    seen[row, column], seen[row + 1, column] = first, second


@inner
def _comes_before(cells: Integers, seen: Words, one: int, other: int) -> bool:
    """Compare two nodes by class, hash and number."""
    if cells[OWNER, one] != cells[OWNER, other]:
        return bool(cells[OWNER, one] < cells[OWNER, other])
    if seen[0, one] != seen[0, other]:
        return bool(seen[0, one] < seen[0, other])
    if seen[1, one] != seen[1, other]:
        return bool(seen[1, one] < seen[1, other])
    return one < other


@inner
def _sort(cells: Integers, seen: Words, n_touched: int) -> None:
    """Sort the touched nodes, by merging."""
    width = 1
    here, there = TOUCHED, SPARE
    while width < n_touched:
        for first in range(0, n_touched, 2 * width):
            middle, last = min(first + width, n_touched), min(first + 2 * width, n_touched)
            one, other = first, middle
            for place in range(first, last):
                if one < middle and (
                    other >= last
                    or _comes_before(cells, seen, cells[here, one], cells[here, other])
                ):
                    cells[there, place] = cells[here, one]
                    one += 1
                else:
                    cells[there, place] = cells[here, other]
                    other += 1
        here, there = there, here
        width *= 2
    if here != TOUCHED:
        for place in range(n_touched):
            cells[TOUCHED, place] = cells[SPARE, place]


@inner
def _end(cells: Integers, first: int, n_touched: int) -> int:
    """Return where the nodes end that share the class of the first, among sorted touched ones."""
    last, own = first, cells[OWNER, cells[TOUCHED, first]]
    while last < n_touched and cells[OWNER, cells[TOUCHED, last]] == own:
        last += 1
    return last


@inner
def _split(
    cells: Integers, seen: Words, starts: Integers, ends: Integers, words: Words, n_touched: int
) -> int:
    """Split the classes of touched nodes by their hashes; return how many nodes are fresh."""
    # All hashes are computed before any class is split. REST: a node of each class not touched.
    for place in range(n_touched):
        node = cells[TOUCHED, place]
        _see(cells, seen, starts, ends, words, node, 0, node)
    _sort(cells, seen, n_touched)
    first = 0
    while first < n_touched:
        last = _end(cells, first, n_touched)
        own = cells[OWNER, cells[TOUCHED, first]]
        cells[REST, first] = -1
        if last - first < cells[SIZE, own]:
            node = cells[FIRST, own]
            while cells[MARKS, node] == cells[COUNTS, 1]:
                node = cells[AFTER, node]
            cells[REST, first] = node
            _see(cells, seen, starts, ends, words, node, 2, first)
        first = last
    n_fresh = first = 0
    while first < n_touched:
        last = _end(cells, first, n_touched)
        n_fresh = _cut(cells, seen, first, last, n_fresh)
        first = last
    return n_fresh


@inner
def _find_runs(cells: Integers, seen: Words, first: int, last: int) -> int:
    """List where runs of equal hashes begin, in BOUNDS; return how many they are."""
    n_runs = 0
    for place in range(first, last):
        here = cells[TOUCHED, place]
        there = cells[TOUCHED, max(place - 1, first)]
        if place == first or seen[0, here] != seen[0, there] or seen[1, here] != seen[1, there]:
            cells[BOUNDS, n_runs] = place
            n_runs += 1
    cells[BOUNDS, n_runs] = last
    return n_runs


@inner
def _cut(cells: Integers, seen: Words, first: int, last: int, n_fresh: int) -> int:
    """Split one class into parts of equal hashes, in the order of the hashes.

    first, last: where its touched nodes are. Nodes of all parts but the largest become fresh.
    """
    own = cells[OWNER, cells[TOUCHED, first]]
    n_runs = _find_runs(cells, seen, first, last)
    # The run that stays in the list: the one with the hash of the untouched, else the largest.
    stays, before_rest = -1, 0
    if cells[REST, first] >= 0:
        for run in range(n_runs):
            here = cells[TOUCHED, cells[BOUNDS, run]]
            same = seen[0, here] == seen[2, first]
            if seen[0, here] < seen[2, first] or (same and seen[1, here] < seen[3, first]):
                before_rest += 1
            if same and seen[1, here] == seen[3, first]:
                stays = run
    else:
        stays = longest = 0
        for run in range(n_runs):
            if cells[BOUNDS, run + 1] - cells[BOUNDS, run] > longest:
                longest = cells[BOUNDS, run + 1] - cells[BOUNDS, run]
                stays = run
        before_rest = stays
    if n_runs == (1 if stays >= 0 else 0):
        return n_fresh
    for run in range(n_runs):
        if run != stays:
            for place in range(cells[BOUNDS, run], cells[BOUNDS, run + 1]):
                _unlink(cells, cells[TOUCHED, place])
    n_parts = n_runs if stays >= 0 else n_runs + 1
    return _number_parts(cells, own, n_parts, before_rest, stays >= 0, n_fresh)


@inner
def _number_parts(
    cells: Integers, own: int, n_parts: int, before_rest: int, rest_has_run: bool, n_fresh: int
) -> int:
    """Make a class of every part but the one that stays; list the nodes that become fresh.

    before_rest: how many parts come before the one that stays, which has a run of its own or none.
    """
    origin = position = cells[START, own]
    largest, size = own, cells[SIZE, own]
    first_id = cells[COUNTS, 0]
    run = 0
    for part in range(n_parts):
        mine = own
        if part != before_rest:
            mine = cells[COUNTS, 0]
            cells[COUNTS, 0] += 1
            for place in range(cells[BOUNDS, run], cells[BOUNDS, run + 1]):
                _append(cells, mine, cells[TOUCHED, place])
            if cells[SIZE, mine] > size:
                largest, size = mine, cells[SIZE, mine]
        if part != before_rest or rest_has_run:
            run += 1
        if position == origin:
            cells[START, mine] = position
            cells[AT, position] = mine
        else:
            _begin(cells, mine, position)
        position += cells[SIZE, mine]
    for part in range(n_parts):
        mine = own if part == 0 else first_id + part - 1
        if mine != largest:
            node = cells[FIRST, mine]
            while node >= 0:
                cells[FRESH, n_fresh] = node
                n_fresh += 1
                node = cells[AFTER, node]
    return n_fresh


@inner
def _leave(cells: Integers, node: int) -> None:
    """Give a node a class of its own, before the one it leaves."""
    old = cells[OWNER, node]
    position = cells[START, old]
    _unlink(cells, node)
    mine = cells[COUNTS, 0]
    cells[COUNTS, 0] += 1
    _append(cells, mine, node)
    cells[START, mine] = position
    cells[AT, position] = mine
    _begin(cells, old, position + 1)
