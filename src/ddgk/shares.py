"""Distance of neighbourhoods: what share of its nodes two graphs have in common, hop by hop.

f_t(c; G) is the share of nodes of G whose t-hop neighbourhood is c, by structure and node labels,
and the distance at radius t is sum_c |f_t(c; G) - f_t(c; H)|: 0 for equal distributions, 2 where
nothing is in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ddgk.compiling import kept
from ddgk.engine.neighbourhoods import Adjacency, LocalTargets, colour

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
Hashes = NDArray[np.uint64]

MAX_ANCHOR_ENTRIES = 1 << 21  # of all anchors at one radius; more are sampled by their hash


@dataclass(frozen=True)
class Shares:
    """Which neighbourhoods of one radius some graphs have, and how many nodes have each.

    Graph g has the entries starts[g]:starts[g + 1], in the order of `hashes`, and sizes[g] nodes.
    """

    starts: Integers
    hashes: Hashes
    counts: Integers
    sizes: Integers

    def keep(self, bits: int) -> Shares:
        """Keep neighbourhoods whose hash begins with so many zeros: the same ones in all graphs."""
        if bits == 0:
            return self
        kept = self.hashes >> np.uint64(64 - bits) == 0
        before = np.concatenate([[0], np.cumsum(kept)])
        return Shares(before[self.starts], self.hashes[kept], self.counts[kept], self.sizes)

    @property
    def owners(self) -> Integers:
        """Return the graph of every entry."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.starts))

    @property
    def shares(self) -> Doubles:
        """Return f(c; G) of every entry."""
        return self.counts / self.sizes[self.owners]

    @property
    def totals(self) -> Doubles:
        """Return the sum of the shares of every graph; 1 where all are kept."""
        running = np.concatenate([[0], np.cumsum(self.counts)])
        return np.diff(running[self.starts]) / np.maximum(self.sizes, 1)


def node_neighbourhoods(
    targets: LocalTargets, node_labels: int | None, n_steps: int
) -> list[tuple[Integers, Hashes]]:
    """Return ids of the t-hop neighbourhoods of all nodes and their hashes, for t = 0 to n_steps.

    By structure, direction and node labels. Edge labels, weights and real attributes would make
    nearly every neighbourhood different; views and attributes compare those.
    """
    out = Adjacency(targets.out.starts, targets.out.nodes)
    same = targets.into is targets.out
    into = out if same else Adjacency(targets.into.starts, targets.into.nodes)
    kept = () if node_labels is None else (targets.attributes[node_labels],)
    levels = colour(LocalTargets(targets.starts, out, into, kept), n_steps)
    return [(level.ids, level.hashes) for level in levels]


def count_shares(ids: Integers, hashes: Hashes, graph: Integers, n_nodes: Integers) -> Shares:
    """Count the neighbourhoods of every graph; `graph` owns each node."""
    n_distinct = max(1, len(hashes))
    entries, counts = np.unique(graph * n_distinct + ids, return_counts=True)
    owner = entries // n_distinct
    starts = np.searchsorted(owner, np.arange(len(n_nodes) + 1))
    return Shares(starts, hashes[entries % n_distinct], counts, n_nodes)


@dataclass(frozen=True)
class AnchorShares:
    """Neighbourhoods of all anchors at one radius, by hash.

    Neighbourhood hashes[c] occurs in the anchors owners[starts[c]:starts[c + 1]] with these shares.
    bits: only hashes that begin with so many zeros are kept, one of 2^bits. totals: by anchor.
    """

    hashes: Hashes
    starts: Integers
    owners: Integers
    shares: Doubles
    totals: Doubles
    bits: int

    ARRAYS: ClassVar[tuple[str, ...]] = ("hashes", "starts", "owners", "shares", "totals")

    @classmethod
    def of(cls, shares: Shares) -> AnchorShares:
        """Sort by hash; sample where there are too many."""
        bits = max(0, (len(shares.hashes) - 1).bit_length() - MAX_ANCHOR_ENTRIES.bit_length() + 1)
        kept = shares.keep(bits)
        order = np.argsort(kept.hashes, kind="stable")
        hashes, first = np.unique(kept.hashes[order], return_index=True)
        starts = np.append(first, len(order)).astype(np.int64)
        return cls(hashes, starts, kept.owners[order], kept.shares[order], kept.totals, bits)

    def distances(self, graphs: Shares) -> Doubles:
        """Return sum_c |f(c; G) - f(c; H)| of graphs G and anchors H, (n_graphs, n_anchors)."""
        kept = graphs.keep(self.bits)
        found = np.add.outer(kept.totals, self.totals)
        if len(self.hashes):
            place = np.minimum(np.searchsorted(self.hashes, kept.hashes), len(self.hashes) - 1)
            place = np.where(self.hashes[place] == kept.hashes, place, -1)
            _subtract_common(
                kept.starts, place, kept.shares, self.starts, self.owners, self.shares, found
            )
        return np.maximum(found, 0.0) * float(1 << self.bits)

    def check(self, n_anchors: int) -> None:
        """Raise where the arrays do not fit each other."""
        n_entries = len(self.owners)
        fits = self.starts.shape == (len(self.hashes) + 1,) and self.starts[0] == 0
        fits = fits and self.starts[-1] == n_entries and bool((np.diff(self.starts) >= 0).all())
        fits = fits and self.shares.shape == (n_entries,) and self.totals.shape == (n_anchors,)
        fits = fits and bool((np.diff(self.hashes.astype(np.float64)) >= 0).all())
        fits = fits and (n_entries == 0 or 0 <= self.owners.min() <= self.owners.max() < n_anchors)
        fits = fits and bool(np.isfinite(self.shares).all() and np.isfinite(self.totals).all())
        if not fits or not 0 <= self.bits < 64:
            raise ValueError("the neighbourhoods of the anchors do not fit")


@kept()
def _subtract_common(
    starts: Any, places: Any, shares: Any, anchor_starts: Any, owners: Any, theirs: Any, found: Any
) -> None:
    """Subtract 2 sum_c min(f(c; G), f(c; H)); places: of each entry among the anchors' hashes."""
    for g in range(len(starts) - 1):
        for k in range(starts[g], starts[g + 1]):
            if places[k] >= 0:
                for other in range(anchor_starts[places[k]], anchor_starts[places[k] + 1]):
                    found[g, owners[other]] -= 2.0 * min(shares[k], theirs[other])
