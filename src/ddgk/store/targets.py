"""Targets take their rows in a run: given graphs are packed into the folder, batch by batch.

Graphs may come one by one and are not kept; in memory stay their hashes. A graph that has a row, in
this run or earlier in the list, gets no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ddgk.attributes import EdgeLabels, NodeLabels, check_families
from ddgk.errors import RunError
from ddgk.graphs.graph import Graph, at_position, describe
from ddgk.reading import Reader
from ddgk.store.files import TEMPORARY, Folder
from ddgk.store.graphs import pack_graphs
from ddgk.store.grid import NAME as GRID
from ddgk.store.grid import Grid
from ddgk.store.locks import NAME as LOCK
from ddgk.store.manifest import NAME as MANIFEST
from ddgk.store.manifest import Batch, Index, Manifest, block_name, index_name
from ddgk.store.run import LOG, MODEL, Run

GRAPHS_AT_ONCE = 8192  # sorted together
EDGES_AT_ONCE = 1 << 22  # which keeps a batch of large graphs within some hundred megabytes

Begin = Callable[[Sequence[Graph]], Manifest]


def place_targets(
    run: Run | Folder, begin: Begin, graphs: Iterable[Graph], reader: Reader, *, add: bool
) -> Run:
    """Give every graph a row; return the run, with the rows of these graphs as its chosen ones.

    run: the run, or the folder where one begins. begin: makes the manifest of a new run, from the
    first of the graphs. add: whether a run that exists takes graphs it does not have.
    """
    existing = run if isinstance(run, Run) else None
    folder = run.folder if isinstance(run, Run) else run
    manifest = None if existing is None else existing.manifest
    known = {} if existing is None else known_rows(existing)
    lost = {} if existing is None else _lost_rows(existing)
    rows: list[int] = []
    grown = False
    for batch in batches(_checked(graphs, reader)):
        digests = [bytes.fromhex(graph.digest) for graph in batch]
        new = [place for place, digest in enumerate(digests) if digest not in known]
        if existing is not None and new and not add:
            raise RunError(_strangers(existing, batch[new[0]], len(rows) + new[0]))
        if manifest is None:
            manifest = begin(batch)
        if existing is None or new:
            recorded = range(len(batch)) if existing is None else new
            manifest = _store(folder, manifest, batch, digests, list(recorded), known, len(rows))
            grown = True
        for place, digest in enumerate(digests):
            if lost.get(known[digest], ()) is None:
                lost[known[digest]] = batch[place], len(rows) + place
        rows += [known[digest] for digest in digests]
    if existing is not None and lost:
        _restore(existing, lost)
    if manifest is None:
        raise RunError("a list of graphs is needed, but this one is empty")
    if grown:
        Grid.describe(folder, manifest)
        folder.write(MANIFEST, manifest.as_bytes())
    return Run(folder, manifest, np.asarray(rows, dtype=np.int64))


def refuse_foreign(folder: Folder) -> None:
    """Refuse to begin a run among files that are not its own, or that would pass for its own."""
    ours = {MODEL, LOG, LOCK}
    strangers = [
        name
        for name in folder.names("")
        if name not in ours and not name.startswith((TEMPORARY, "."))
    ]
    if strangers:
        raise RunError(
            f"{folder.address} is not empty: it holds {sorted(strangers)[0]!r}; name a new folder"
        )
    if any(name.startswith("c.") for name in folder.names(GRID)):
        raise RunError(
            f"{folder.address} holds tiles, but no {MANIFEST} that says of what; name a new folder"
        )


def known_rows(run: Run) -> dict[bytes, int]:
    """Return the row of every target of a run, by content."""
    known: dict[bytes, int] = {}
    for number in range(run.n_batches):
        index = run.index(number)
        content = index.digests.tobytes()
        for place, row in enumerate(index.rows.tolist()):
            known[content[32 * place : 32 * place + 32]] = row
    return known


def _lost_rows(run: Run) -> dict[int, tuple[Graph, int] | None]:
    """Return the rows whose packed graphs are missing, to be filled in with the graphs."""
    plan, there = run.manifest.plan, run.folder.names("graphs")
    return {
        block * plan.shape.targets + row: None
        for block, count in enumerate(plan.block_counts)
        if block_name(block).partition("/")[2] not in there
        for row in range(count)
    }


def _restore(run: Run, lost: dict[int, tuple[Graph, int] | None]) -> None:
    """Pack graphs again that were removed since they were damaged, if they were given again."""
    per_block = run.manifest.shape.targets
    families = [family["name"] for family in run.manifest.identity["families"]]
    for block in sorted({row // per_block for row in lost}):
        held = [graph for row, graph in sorted(lost.items()) if row // per_block == block]
        members = [one for one in held if one is not None]
        chosen, places = [graph for graph, _ in members], [place for _, place in members]
        content = pack_graphs(chosen, places, families) if members else b""
        if not run.is_packed(block, content):
            raise RunError(
                f"{run.address}/{block_name(block)} is missing, and these graphs are not the ones "
                "it was made of; run the command that began the run"
            )
        run.folder.write(block_name(block), content)


def batches(graphs: Iterable[Graph]) -> Iterator[list[Graph]]:
    """Collect graphs until there are enough of them."""
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


def _checked(graphs: Iterable[Graph], reader: Reader) -> Iterator[Graph]:
    """Refuse a graph that the model cannot read now, by the place its owner has it at."""
    alphabets = {
        family.name: frozenset(family.alphabet.labels)
        for family in reader.families
        if isinstance(family, NodeLabels | EdgeLabels)
    }
    for place, graph in enumerate(graphs):
        with at_position(place):
            check_families(graph, reader.families)
            known = all(
                alphabet.issuperset(getattr(graph, name) or ())
                for name, alphabet in alphabets.items()
            )
            if not known or len(alphabets) < len(reader.families):
                reader.attended(graph)  # which says what is wrong
        yield graph


def _store(
    folder: Folder,
    manifest: Manifest,
    batch: list[Graph],
    digests: list[bytes],
    recorded: list[int],
    known: dict[bytes, int],
    offset: int,
) -> Manifest:
    """Write the graphs of a batch and its index; the manifest is for the caller to write."""
    first_of: dict[bytes, int] = {}
    for place in recorded:
        if digests[place] not in known:
            first_of.setdefault(digests[place], place)
    # Sorted by size, so that a tile holds pairs of like size.
    order = sorted(first_of.values(), key=lambda place: (batch[place].n_nodes, place))
    first_row, per_block = manifest.plan.n_rows, manifest.shape.targets
    known.update({digests[place]: first_row + row for row, place in enumerate(order)})
    families = [family["name"] for family in manifest.identity["families"]]
    hashes = []
    for first in range(0, len(order), per_block):
        members = order[first : first + per_block]
        chosen = [batch[place] for place in members]
        content = pack_graphs(chosen, [offset + place for place in members], families)
        folder.write(block_name((first_row + first) // per_block), content)
        hashes.append(hashlib.sha256(content).digest())
    index = Index(
        np.frombuffer(b"".join(digests[place] for place in recorded), np.uint8).reshape(-1, 32),
        np.asarray([known[digests[place]] for place in recorded], dtype=np.int64),
        np.asarray([batch[place].n_nodes for place in order], dtype=np.int64),
        np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, 32),
        [batch[place].name for place in recorded],
    )
    content = index.as_bytes()
    folder.write(index_name(len(manifest.batches)), content)
    sha256 = hashlib.sha256(content).hexdigest()
    return manifest.with_batch(Batch(len(recorded), len(order), sha256))


def _strangers(run: Run, graph: Graph, place: int) -> str:
    return (
        f"{run.address} is a run of other graphs: {describe(graph.name, place)} is not among its "
        f"{run.manifest.n_graphs}. Name a new folder; or, to add to the run what it does not have, "
        "pass add=True (--add)"
    )
