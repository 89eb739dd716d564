"""Targets of a run: graphs are given rows, and kept in the folder tile by tile.

Graphs may come from a generator and are not kept in memory, only their hashes. A graph that has a
row, in this run or earlier in the list, gets no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ddgk.embedding.tiles import Embedder, plan_tiles
from ddgk.errors import GraphError, RunError, shown
from ddgk.graphs.graph import Graph, describe
from ddgk.store.files import Folder
from ddgk.store.manifest import MANIFEST, Index, Manifest, TargetBatch, index_name
from ddgk.store.run import TARGETS, Run, file_name, pack_targets

GRAPHS_AT_ONCE = 8192  # planned together
EDGES_AT_ONCE = 1 << 22  # which keeps a batch of large graphs within some hundred megabytes


def place_targets(
    folder: Folder,
    manifest: Manifest,
    graphs: Iterable[Graph],
    embedder: Embedder,
    *,
    existing: Run | None,
    add: bool,
    max_memory: int,
) -> Run:
    """Give every graph a row, and return the run with the rows of these graphs chosen.

    existing: the run that is continued, if any. add: whether it takes graphs it does not have.
    """
    known = {} if existing is None else _known_rows(existing)
    lost = {} if existing is None else _lost_tiles(existing)
    rows: list[int] = []
    before = manifest
    for batch in _batches(graphs):
        digests = [bytes.fromhex(graph.digest) for graph in batch]
        new = [place for place, digest in enumerate(digests) if digest not in known]
        if existing is not None and new and not add:
            raise RunError(_not_among(existing, batch[new[0]], len(rows) + new[0]))
        if existing is None or new:
            recorded = list(range(len(batch))) if existing is None else new
            manifest = _store_batch(
                folder, manifest, embedder, known, batch, recorded, len(rows), max_memory
            )
        if existing is not None and lost:
            _find_lost(existing, lost, batch, [known[digest] for digest in digests], len(rows))
        rows += [known[digest] for digest in digests]
    if not rows:
        raise GraphError("a list of graphs is needed, but this one is empty")
    if existing is not None and lost:
        _restore(existing, lost)
    if manifest != before or existing is None:
        folder.write(MANIFEST, manifest.as_bytes())
    return Run(folder, manifest, np.asarray(rows, dtype=np.int64))


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


def _known_rows(run: Run) -> dict[bytes, int]:
    """Return the row of every target of a run, by content."""
    return {
        digest.tobytes(): row
        for index in run.indices
        for digest, row in zip(index.digests, index.rows.tolist(), strict=True)
    }


def _store_batch(
    folder: Folder,
    manifest: Manifest,
    embedder: Embedder,
    known: dict[bytes, int],
    batch: Sequence[Graph],
    recorded: Sequence[int],
    offset: int,
    max_memory: int,
) -> Manifest:
    """Write targets and index of a batch; return the manifest with it, which is written last.

    known: row of every target by content, added to. recorded: places in the batch that the index
    lists. offset: the position of the first graph of the batch.
    """
    digests = {place: bytes.fromhex(batch[place].digest) for place in recorded}
    first_of = {digests[place]: place for place in reversed(recorded)}
    places = sorted(place for digest, place in first_of.items() if digest not in known)
    tiles = plan_tiles(embedder, [batch[place] for place in places], max_memory)
    row = max(known.values(), default=-1) + 1
    checksums = []
    for number, tile in enumerate(tiles, manifest.n_tiles):
        members = [places[position] for position in tile.positions]
        for place in members:
            known[digests[place]] = row
            row += 1
        chosen, positions = [batch[place] for place in members], [offset + p for p in members]
        content = pack_targets(manifest, number, chosen, positions)
        folder.write(file_name(TARGETS, number), content)
        checksums.append(hashlib.sha256(content).digest())
    index = Index(
        np.frombuffer(b"".join(digests.values()), np.uint8).reshape(-1, 32),
        np.asarray([known[digest] for digest in digests.values()], dtype=np.int64),
        np.asarray([len(tile.positions) for tile in tiles], dtype=np.int64),
        np.asarray([tile.cost for tile in tiles], dtype=np.float64),
        np.frombuffer(b"".join(checksums), np.uint8).reshape(-1, 32),
        [batch[place].name for place in recorded],
    )
    content = index.as_bytes(manifest, len(manifest.batches))
    folder.write(index_name(len(manifest.batches)), content)
    sha256 = hashlib.sha256(content).hexdigest()
    return manifest.with_batch(TargetBatch(len(recorded), len(tiles), sha256))


Lost = dict[int, dict[int, tuple[Graph, int]]]
"""Tiles whose targets are missing; of each the graphs found so far, by row, with positions."""


def _lost_tiles(run: Run) -> Lost:
    there = run.folder.names(TARGETS)
    names = (file_name(TARGETS, tile).partition("/")[2] for tile in range(run.n_tiles))
    return {tile: {} for tile, name in enumerate(names) if name not in there}


def _find_lost(
    run: Run, lost: Lost, batch: Sequence[Graph], rows: Sequence[int], offset: int
) -> None:
    for place, row in enumerate(rows):
        tile = int(np.searchsorted(run.starts, row, side="right")) - 1
        if tile in lost:
            lost[tile].setdefault(row, (batch[place], offset + place))


def _restore(run: Run, lost: Lost) -> None:
    """Write targets again that were removed since they were damaged."""
    for tile, found in lost.items():
        members = [found[row] for row in sorted(found)]
        content = pack_targets(
            run.manifest, tile, [graph for graph, _ in members], [place for _, place in members]
        )
        if not run.holds_targets(tile, content):
            raise RunError(
                f"{run.address}/{file_name(TARGETS, tile)} is missing, and these graphs are not "
                "the ones it was made of; run the command that began the run"
            )
        run.folder.write(file_name(TARGETS, tile), content)


def _not_among(run: Run, graph: Graph, place: int) -> str:
    called = shown(describe(graph.name, place))
    return (
        f"{run.address} is a run of other graphs: {called} is not among its "
        f"{run.manifest.n_graphs}. Name a new folder; or, to add to the run what it does not have, "
        "pass add=True (--add)"
    )
