"""Targets of a run: graphs are given rows, and kept in the folder tile by tile.

Graphs may come from a generator and are not kept in memory, only their hashes. A graph that has a
row, in this run or earlier in the list, gets no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ddgk.embedding.tiles import Embedder, plan_tiles
from ddgk.errors import GraphError, RunError, shown
from ddgk.graphs.graph import Graph, describe
from ddgk.store.manifest import MANIFEST, Index, index_name
from ddgk.store.run import TARGETS, Run, file_name, pack_targets

GRAPHS_AT_ONCE = 8192  # planned together
EDGES_AT_ONCE = 1 << 22  # which keeps a batch of large graphs within some hundred megabytes


def place_targets(
    run: Run, graphs: Iterable[Graph], embedder: Embedder, *, add: bool, max_memory: int
) -> Run:
    """Give every graph a row, and return the run with the rows of these graphs chosen.

    run: one that is continued, or a new one, without a tile. add: whether a run that is continued
    takes graphs it does not have.
    """
    places = _Places(run, embedder, max_memory)
    for batch in _batches(graphs):
        places.take(batch, add=add)
    if not places.rows:
        raise GraphError("a list of graphs is needed, but this one is empty")
    places.restore()
    if places.manifest != run.manifest:
        run.folder.write(MANIFEST, places.manifest.as_bytes())  # last, when all else is on the disk
    return Run(run.folder, places.manifest, np.asarray(places.rows, dtype=np.int64))


def _batches(graphs: Iterable[Graph]) -> Iterator[list[Graph]]:
    batch: list[Graph] = []
    n_edges = 0
    for graph in graphs:
        batch.append(graph)
        n_edges += graph.n_edges
        if len(batch) == GRAPHS_AT_ONCE or n_edges > EDGES_AT_ONCE:
            yield batch
            batch, n_edges = [], 0
    if batch:
        yield batch


class _Places:
    """The rows that the graphs of a list have in a run, found or assigned batch by batch."""

    def __init__(self, run: Run, embedder: Embedder, max_memory: int) -> None:
        self.run, self.embedder, self.max_memory = run, embedder, max_memory
        self.manifest = run.manifest
        self.rows: list[int] = []
        self.n_tiles = run.n_tiles
        digests, rows = run.index.digests, run.index.rows.tolist()
        self.known = {digest.tobytes(): row for digest, row in zip(digests, rows, strict=True)}
        # Tiles whose targets were removed; of each the graphs found so far, by row, with positions.
        missing = set(range(run.n_tiles)) - run.stored(TARGETS)
        self.lost: dict[int, dict[int, tuple[Graph, int]]] = {tile: {} for tile in missing}

    def take(self, batch: Sequence[Graph], *, add: bool) -> None:
        """Find the rows of a batch; graphs that have none get one, if they may."""
        is_new = not self.run.n_tiles
        digests = [bytes.fromhex(graph.digest) for graph in batch]
        new = [place for place, digest in enumerate(digests) if digest not in self.known]
        if new and not (is_new or add):
            raise RunError(self._not_among(batch[new[0]], len(self.rows) + new[0]))
        recorded = list(range(len(batch))) if is_new else new
        if recorded:
            self._store(batch, {place: digests[place] for place in recorded})
        for graph, digest in zip(batch, digests, strict=True):
            row = self.known[digest]
            if self.lost and (tile := self.run.tile_of(row)) in self.lost:
                self.lost[tile].setdefault(row, (graph, len(self.rows)))
            self.rows.append(row)

    def _store(self, batch: Sequence[Graph], digests: dict[int, bytes]) -> None:
        """Write targets and index of a batch; digests: of the graphs that the index lists."""
        first_of = {digests[place]: place for place in reversed(digests)}
        places = sorted(place for digest, place in first_of.items() if digest not in self.known)
        tiles = plan_tiles(self.embedder, [batch[place] for place in places], self.max_memory)
        checksums = []
        for number, tile in enumerate(tiles, self.n_tiles):
            members = [places[position] for position in tile.positions]
            for place in members:
                self.known[digests[place]] = len(self.known)
            targets = [(batch[place], len(self.rows) + place) for place in members]
            content = pack_targets(self.manifest, number, targets)
            self.run.folder.write(file_name(TARGETS, number), content)
            checksums.append(hashlib.sha256(content).digest())
        index = Index(
            np.frombuffer(b"".join(digests.values()), np.uint8).reshape(-1, 32),
            np.asarray([self.known[digest] for digest in digests.values()], dtype=np.int64),
            np.asarray([len(tile.positions) for tile in tiles], dtype=np.int64),
            np.asarray([tile.cost for tile in tiles], dtype=np.float64),
            np.frombuffer(b"".join(checksums), np.uint8).reshape(-1, 32),
            [batch[place].name for place in digests],
        )
        indices = self.manifest.indices
        content = index.as_bytes(self.manifest, len(indices))
        self.run.folder.write(index_name(len(indices)), content)
        stored = hashlib.sha256(content).hexdigest()
        self.manifest = replace(self.manifest, indices=(*indices, stored))
        self.n_tiles += len(tiles)

    def restore(self) -> None:
        """Write targets again that were removed since they were damaged."""
        for tile, found in self.lost.items():
            name = file_name(TARGETS, tile)
            content = pack_targets(self.manifest, tile, [found[row] for row in sorted(found)])
            if not self.run.holds_targets(tile, content):
                raise RunError(
                    f"{self.run.address}/{name} is missing, and these graphs are not the ones it "
                    "was made of; run the command that began the run"
                )
            self.run.folder.write(name, content)

    def _not_among(self, graph: Graph, place: int) -> str:
        called = shown(describe(graph.name, place))
        return (
            f"{self.run.address} is a run of other graphs: {called} is not among its "
            f"{self.run.n_graphs}. Name a new folder; or, to add to the run what it does "
            "not have, pass add=True (--add)"
        )
