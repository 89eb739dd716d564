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
path of n nodes takes n / 2 rounds, each of which visits a handful of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddgk.compiling import compiled
from ddgk.hashing import scramble

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

# Two words: with 128 bits, a collision among a million nodes has a chance of about 1e-27.
SALTS = np.array([0x243F6A8885A308D3, 0x13198A2E03707344], dtype=np.uint64)

_scramble: Any = compiled(scramble)


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
    return Partition(refined(colours, _network(colours, arcs)))


def canonical_order(colours: Integers, arcs: Arcs) -> Integers:
    """List the nodes in an order that does not depend on how they were numbered.

    Refines, gives a node of the first shared class a class of its own, and refines again. Where
    automorphisms map the nodes of a class onto each other, any choice leads to the same matrices,
    so the order is canonical; in regular graphs that are not vertex-transitive it may not be.

    Returns (n_nodes,): the node that comes first, second, ...
    """
    return ordered(colours, _network(colours, arcs))


def block_sums(values: NDArray[np.float64], partition: Partition) -> NDArray[np.float64]:
    """Sum rows over the nodes of each class, in an order that the numbering cannot change.

    values: (rows, n_nodes). Returns (rows, n_classes). Values are sorted within a class before they
    are added, so that equal multisets give bitwise identical sums.
    """
    by_class = np.argsort(partition.classes, kind="stable")
    blocks = np.split(values[:, by_class], np.cumsum(partition.sizes)[:-1], axis=1)
    sums = [np.cumsum(np.sort(block, axis=1), axis=1)[:, -1] for block in blocks]
    return np.stack(sums, axis=1)


def _network(colours: Integers, arcs: Arcs) -> Network:
    return make_network(len(colours), arcs.tails, arcs.heads, arcs.codes)


class Network(NamedTuple):
    """Arcs sorted by their tails and by their heads.

    starts, heads, kinds: the arcs of node i are at starts[i]..starts[i + 1]. words: the hash of
    every kind of arc, (2, n_kinds). back_starts, tails: the nodes with an arc to node i.
    """

    starts: Integers
    heads: Integers
    kinds: Integers
    words: Words
    back_starts: Integers
    tails: Integers


class Cells(NamedTuple):
    """State of a refinement; all arrays have n entries but for the last two.

    owner: the class of every node. first, last, after, before: each class is a linked list of
    nodes, ascending. size, start: of every class; start: how many nodes come before it. at: the
    class that starts at a position. touched, fresh, marks, slots, ranks, dates: work space. tree:
    the starts in a Fenwick tree, (n + 1,). counts: number of classes, number of the round, (2,).
    """

    owner: Integers
    first: Integers
    last: Integers
    after: Integers
    before: Integers
    size: Integers
    start: Integers
    at: Integers
    touched: Integers
    fresh: Integers
    marks: Integers
    slots: Integers
    ranks: Integers
    dates: Integers
    tree: Integers
    counts: Integers


def make_network(n_nodes: int, tails: Integers, heads: Integers, codes: Integers) -> Network:
    """Sort coded arcs by their tails and by their heads."""
    known, kinds = np.unique(codes, return_inverse=True)
    words = np.stack([scramble(known.astype(np.uint64) ^ salt) for salt in SALTS])
    tails, heads = (np.ascontiguousarray(ends, dtype=np.int64) for ends in (tails, heads))
    starts, by_tail = group(tails, n_nodes)
    back_starts, by_head = group(heads, n_nodes)
    kinds = kinds.reshape(-1).astype(np.int64)[by_tail]
    return Network(starts, heads[by_tail], kinds, words, back_starts, tails[by_head])


def first_cells(colours: Integers) -> Cells:
    """Return the classes of equal colours, in the order of the colours."""
    n_nodes = len(colours)
    known, owner = np.unique(colours, return_inverse=True)
    work: dict[str, Integers] = {
        name: np.zeros(n_nodes, dtype=np.int64) for name in Cells._fields[1:-2]
    }
    cells = Cells(
        owner=owner.reshape(-1).astype(np.int64),
        tree=np.zeros(n_nodes + 1, dtype=np.int64),
        counts=np.array([len(known), 1]),
        **work,
    )
    _list_members(cells)
    return cells


def refined(colours: Integers, network: Network) -> Integers:
    """Return the classes of the coarsest equitable partition, numbered in order, (n,)."""
    cells = first_cells(colours)
    settle_all(cells, network)
    return numbered(cells)


def ordered(colours: Integers, network: Network) -> Integers:
    """List nodes in the order of `canonical_order`, (n,)."""
    cells = first_cells(colours)
    settle_all(cells, network)
    _single_out_all(cells, network)
    return cells.first[cells.at]


def numbered(cells: Cells) -> Integers:
    """Return the class of every node, numbered in the order of the classes, (n,)."""
    starts = cells.start[cells.owner]
    begins = np.zeros(len(starts), dtype=np.int64)
    begins[starts] = 1
    return np.asarray((np.cumsum(begins) - 1)[starts], dtype=np.int64)


@compiled
def group(keys: Integers, n_keys: int) -> tuple[Integers, Integers]:
    """Sort by small whole numbers: where each key starts, (n_keys + 1,), and the places, (n,)."""
    starts = np.zeros(n_keys + 1, dtype=np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(n_keys):
        starts[key + 1] += starts[key]
    ends = starts[:-1].copy()
    places = np.empty(len(keys), dtype=np.int64)
    for place in range(len(keys)):
        places[ends[keys[place]]] = place
        ends[keys[place]] += 1
    return starts, places


@compiled
def _list_members(cells: Cells) -> None:
    """Chain the nodes of every class, ascending, and give each class its start."""
    cells.first[:] = -1
    cells.last[:] = -1
    for node in range(len(cells.owner)):
        append(cells, cells.owner[node], node)
    position = 0
    for own in range(cells.counts[0]):
        begin(cells, own, position)
        position += cells.size[own]


@compiled
def append(cells: Cells, own: int, node: int) -> None:
    """Put a node at the end of a class's list."""
    last = cells.last[own]
    cells.owner[node] = own
    cells.before[node] = last
    cells.after[node] = -1
    cells.last[own] = node
    cells.size[own] += 1
    if last < 0:
        cells.first[own] = node
    else:
        cells.after[last] = node


@compiled
def unlink(cells: Cells, node: int) -> None:
    """Take a node out of its class's list."""
    own = cells.owner[node]
    earlier, later = cells.before[node], cells.after[node]
    if earlier < 0:
        cells.first[own] = later
    else:
        cells.after[earlier] = later
    if later < 0:
        cells.last[own] = earlier
    else:
        cells.before[later] = earlier
    cells.size[own] -= 1


@compiled
def begin(cells: Cells, own: int, position: int) -> None:
    """Record a class that starts at a position where none did."""
    cells.start[own] = position
    cells.at[position] = own
    place = position + 1
    while place < len(cells.tree):
        cells.tree[place] += 1
        place += place & -place


@compiled
def _rank(cells: Cells, own: int) -> Any:
    """Count the classes before one; computed once a round."""
    if cells.dates[own] != cells.counts[1]:
        cells.dates[own] = cells.counts[1]
        found, place = 0, cells.start[own]
        while place > 0:
            found += cells.tree[place]
            place -= place & -place
        cells.ranks[own] = found
    return cells.ranks[own]


@compiled
def _see(cells: Cells, network: Network, node: int, word: int) -> Any:
    """Hash the multiset of (kind, class) over a node's arcs; a sum does not depend on order."""
    total = np.uint64(0)
    for arc in range(network.starts[node], network.starts[node + 1]):
        rank = np.uint64(_rank(cells, cells.owner[network.heads[arc]]))
        total += _scramble(network.words[word, network.kinds[arc]] + rank)
    return total


@compiled
def settle_all(cells: Cells, network: Network) -> None:
    """Refine until no class is split, beginning with all nodes."""
    n_touched = 0
    for node in range(len(cells.owner)):
        if cells.size[cells.owner[node]] > 1:
            cells.touched[n_touched] = node
            cells.marks[node] = cells.counts[1]
            n_touched += 1
    settle(cells, network, _split(cells, network, n_touched))


@compiled
def settle(cells: Cells, network: Network, n_fresh: int) -> None:
    """Refine until no class is split, beginning with `n_fresh` nodes of parts just split off."""
    while n_fresh > 0:
        cells.counts[1] += 1
        n_touched = 0
        for place in range(n_fresh):
            node = cells.fresh[place]
            for arc in range(network.back_starts[node], network.back_starts[node + 1]):
                near = network.tails[arc]
                if cells.marks[near] != cells.counts[1] and cells.size[cells.owner[near]] > 1:
                    cells.marks[near] = cells.counts[1]
                    cells.touched[n_touched] = near
                    n_touched += 1
        n_fresh = _split(cells, network, n_touched)


@compiled
def _split(cells: Cells, network: Network, n_touched: int) -> int:
    """Split the classes of touched nodes by their hashes; return how many nodes are fresh."""
    nodes = np.sort(cells.touched[:n_touched])
    owners = cells.owner[nodes]  # a copy: classes change below
    n_slots = 0
    slot_of = np.empty(n_touched, dtype=np.int64)
    classes = np.empty(n_touched, dtype=np.int64)
    for place in range(n_touched):
        own = owners[place]
        slot = cells.slots[own]
        if slot >= n_slots or classes[slot] != own:
            slot = n_slots
            cells.slots[own] = slot
            classes[slot] = own
            n_slots += 1
        slot_of[place] = slot
    starts, places = group(slot_of, n_slots)
    # All hashes are computed before any class is split. rest: a node of each class not touched.
    seen = np.empty((2, n_touched), dtype=np.uint64)
    for place in range(n_touched):
        for word in range(2):
            seen[word, place] = _see(cells, network, nodes[place], word)
    rest = np.full(n_slots, -1, dtype=np.int64)
    rest_seen = np.zeros((2, n_slots), dtype=np.uint64)
    for slot in range(n_slots):
        if starts[slot + 1] - starts[slot] < cells.size[classes[slot]]:
            node = cells.first[classes[slot]]
            while cells.marks[node] == cells.counts[1]:
                node = cells.after[node]
            rest[slot] = node
            for word in range(2):
                rest_seen[word, slot] = _see(cells, network, node, word)
    n_fresh = 0
    for slot in range(n_slots):
        own = places[starts[slot] : starts[slot + 1]]
        own = own[np.argsort(seen[1][own], kind="mergesort")]
        own = own[np.argsort(seen[0][own], kind="mergesort")]
        n_fresh = _cut(
            cells, classes[slot], nodes, own, seen, rest[slot], rest_seen[:, slot], n_fresh
        )
    return n_fresh


@compiled
def _cut(
    cells: Cells,
    own: int,
    nodes: Integers,
    by_sight: Integers,
    seen: Words,
    rest: int,
    rest_seen: Words,
    n_fresh: int,
) -> int:
    """Split one class into parts of equal hashes, in the order of the hashes.

    by_sight: places of its touched nodes, sorted. rest: one that was not touched, or -1.
    """
    n_touched = len(by_sight)
    bounds = np.empty(n_touched + 1, dtype=np.int64)  # where runs of equal hashes begin
    n_runs = 0
    for place in range(n_touched):
        here, last = by_sight[place], by_sight[place - 1]
        if place == 0 or seen[0, here] != seen[0, last] or seen[1, here] != seen[1, last]:
            bounds[n_runs] = place
            n_runs += 1
    bounds[n_runs] = n_touched
    # The run that stays in the list: the one with the hash of the untouched, else the largest.
    stays, before_rest = -1, 0
    if rest >= 0:
        for run in range(n_runs):
            here = by_sight[bounds[run]]
            same = seen[0, here] == rest_seen[0]
            before_rest += seen[0, here] < rest_seen[0] or (same and seen[1, here] < rest_seen[1])
            if same and seen[1, here] == rest_seen[1]:
                stays = run
    else:
        stays = 0
        for run in range(n_runs):
            if bounds[run + 1] - bounds[run] > bounds[stays + 1] - bounds[stays]:
                stays = run
        before_rest = stays
    if n_runs == (1 if stays >= 0 else 0):
        return n_fresh
    origin = position = cells.start[own]
    for run in range(n_runs):
        if run != stays:
            for place in range(bounds[run], bounds[run + 1]):
                unlink(cells, nodes[by_sight[place]])
    n_parts = n_runs + (stays < 0)
    largest, size = own, cells.size[own]
    first_id = cells.counts[0]
    run = 0
    for part in range(n_parts):
        if part == before_rest:
            mine = own
            run += stays >= 0
        else:
            mine = cells.counts[0]
            cells.counts[0] += 1
            for place in range(bounds[run], bounds[run + 1]):
                append(cells, mine, nodes[by_sight[place]])
            if cells.size[mine] > size:
                largest, size = mine, cells.size[mine]
            run += 1
        if position == origin:
            cells.start[mine] = position
            cells.at[position] = mine
        else:
            begin(cells, mine, position)
        position += cells.size[mine]
    for part in range(n_parts):
        mine = own if part == 0 else first_id + part - 1
        if mine != largest:
            node = cells.first[mine]
            while node >= 0:
                cells.fresh[n_fresh] = node
                n_fresh += 1
                node = cells.after[node]
    return n_fresh


@compiled
def _leave(cells: Cells, node: int) -> None:
    """Give a node a class of its own, before the one it leaves."""
    old = cells.owner[node]
    position = cells.start[old]
    unlink(cells, node)
    mine = cells.counts[0]
    cells.counts[0] += 1
    append(cells, mine, node)
    cells.start[mine] = position
    cells.at[position] = mine
    begin(cells, old, position + 1)


@compiled
def _single_out_all(cells: Cells, network: Network) -> None:
    """Give a node of the first shared class a class of its own and refine, until all have one."""
    position = 0
    while position < len(cells.owner):
        own = cells.at[position]
        if cells.size[own] > 1:
            n_classes = cells.counts[0]
            node = cells.first[own]
            _leave(cells, node)
            cells.fresh[0] = node
            settle(cells, network, 1)
            if cells.counts[0] == n_classes + 1:
                # Nothing else was split: the nodes that are left are interchangeable.
                while cells.size[own] > 1:
                    _leave(cells, cells.first[own])
        position += 1
