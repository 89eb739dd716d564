"""A run folder: what it holds, how far it is, its rows, and what of it is damaged."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import RunError, RunNotFoundError, shown
from ddgk.graphs import display
from ddgk.graphs.graph import Graph
from ddgk.store.files import (
    LOCK,
    PLANNING,
    TEMPORARY,
    WHOLE_RUN,
    Folder,
    LocalFolder,
    Locks,
    open_folder,
)
from ddgk.store.graphs import graphs_from_tensors, graphs_to_tensors
from ddgk.store.manifest import INDEX, MANIFEST, Manifest, read_index, read_manifest
from ddgk.store.sealed import (
    MODEL,
    Arrays,
    Model,
    damage_named,
    model_from,
    model_identity,
    pack,
    unpack,
)

LOG = "run.log"
ROWS, TARGETS = "rows", "targets"
BYTES_AT_ONCE = 1 << 26  # of rows that are read together


@dataclass(frozen=True)
class Damage:
    """A file of a run that is not what it should be.

    mendable: the run makes it again when it is removed and the command that began it is run.
    """

    name: str
    message: str
    mendable: bool
    folder: Folder = field(repr=False, compare=False)

    def remove(self) -> None:
        """Remove the file."""
        self.folder.remove(self.name)


def is_busy(run: Run) -> bool | None:
    """Return whether a process is at work in the folder; None where that cannot be known."""
    if not isinstance(run.folder, LocalFolder):
        return None
    if run.folder.has(LOCK):
        with Locks(run.folder) as locks:
            for byte in (WHOLE_RUN, PLANNING):
                if not locks.take(byte):
                    return True
                locks.give_back(byte)
    return False


def begun_again(run: Run) -> dict[int, int]:
    """Return the tiles that were begun more than once, and how often."""
    if not isinstance(run.folder, LocalFolder) or not run.folder.has(LOCK):
        return {}
    with Locks(run.folder) as locks:
        counts = {tile: locks.counted(tile) for tile in range(run.n_tiles)}
    return {tile: count for tile, count in counts.items() if count > 1}


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run folder to look at it or to read its rows; nothing is computed.

    Parameters
    ----------
    path : str or path
        The folder, or an address such as s3://bucket/run.

    Returns
    -------
    Run

    Raises
    ------
    RunNotFoundError
        If there is no run.
    RunError
        If the manifest or an index is damaged, or of another version.
    """
    folder = open_folder(path)
    manifest = read_manifest(folder)
    if manifest is None:
        raise RunNotFoundError(f"{shown(folder.address)} is not a run folder: it has no {MANIFEST}")
    return Run(folder, manifest)


class Run:
    """A run: the rows of an embedding, kept in a folder or bucket; `open_run` opens one.

    Attributes
    ----------
    address : str
        The folder, or its address.
    names : list of str or None
        Names of the graphs.
    columns : list of str
        Names of the columns.
    n_graphs, n_tiles : int
        Number of graphs, and of tiles that their rows are divided into.
    finished : set of int
        Numbers of the tiles that are stored.
    progress : float
        Share of the work that is done, from 0 to 1.

    Examples
    --------
    >>> import networkx, tempfile, ddgk
    >>> graphs = [networkx.cycle_graph(n) for n in (4, 5, 6, 7)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = ddgk.DDGK(n_sources=2, random_state=0).fit_transform(graphs, run=folder)
    ...     run = ddgk.open_run(folder)
    ...     run.n_graphs, run.progress, bool((run.rows() == X).all()), run.verify()
    (4, 1.0, True, [])
    """

    def __init__(
        self, folder: Folder, manifest: Manifest, chosen: NDArray[np.int64] | None = None
    ) -> None:
        self.folder, self.manifest = folder, manifest
        self.index = read_index(folder, manifest)
        self.chosen = self.index.rows if chosen is None else chosen
        self.address, self.columns = folder.address, list(manifest.columns)
        self.n_graphs, self.n_tiles = len(self.chosen), len(self.index.counts)
        self.starts = np.concatenate([[0], np.cumsum(self.index.counts)])  # and the number of rows

    def __repr__(self) -> str:
        return (
            f"Run({shown(self.address)!r}: {self.n_graphs} graphs x {len(self.columns)} columns, "
            f"{len(self.finished)} of {self.n_tiles} tiles finished)"
        )

    def _repr_html_(self) -> str:
        """Show a notebook what is done."""
        rows = [
            ("folder", self.address),
            ("graphs", f"{self.n_graphs:,}"),
            ("columns", f"{len(self.columns):,}"),
            ("tiles finished", f"{len(self.finished):,} of {self.n_tiles:,}"),
            ("progress", f"{self.progress:.0%}"),
        ]
        bar = f'<progress max="1" value="{self.progress:.3f}"></progress>'
        return display.page(repr(self), display.table(("run", ""), rows, len(rows)) + bar)

    @property
    def names(self) -> list[str | None]:
        """Names of the graphs, in the order of the rows."""
        if self.chosen is self.index.rows:
            return list(self.index.names)
        known = dict(zip(self.index.rows.tolist(), self.index.names, strict=True))
        return [known[row] for row in self.chosen.tolist()]

    @property
    def finished(self) -> set[int]:
        """Numbers of the tiles that are stored now; an empty file is none."""
        return self.stored(ROWS)

    @property
    def progress(self) -> float:
        """Share of the work that is done, by the estimated cost of tiles."""
        finished, costs = self.finished, self.index.costs
        total, done = float(costs.sum()), float(costs[sorted(finished)].sum())
        return done / total if total else float(len(finished) == self.n_tiles)

    def stored(self, kind: str) -> set[int]:
        """Return the tiles that have a file of a kind, or something else in its place."""
        there = {f"{kind}/{name}" for name, size in self.folder.names(kind).items() if size}
        return {tile for tile in range(self.n_tiles) if file_name(kind, tile) in there}

    def tile_of(self, row: int) -> int:
        """Return the tile that a row is in."""
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    def rows(self, first: int = 0, last: int | None = None) -> NDArray[np.floating]:
        """Read rows, in the order in which the graphs were given.

        Parameters
        ----------
        first, last : int
            Positions of the graphs, as for a slice.

        Returns
        -------
        array of shape (n_graphs, n_columns)

        Raises
        ------
        RunError
            If a tile is not finished, or damaged; the message names it.
        """
        rows = self.chosen[slice(first, last)]
        found = np.empty((len(rows), len(self.columns)), dtype=self.manifest.dtype)
        tiles = np.searchsorted(self.starts, rows, side="right") - 1
        for tile in np.unique(tiles).tolist():
            chosen = np.flatnonzero(tiles == tile)
            found[chosen] = self.read_tile(tile)[rows[chosen] - self.starts[tile]]
        return found

    def blocks(self) -> Iterator[NDArray[np.floating]]:
        """Yield all rows, as many at a time as memory should hold."""
        dtype = np.dtype(self.manifest.dtype)
        at_once = max(1, BYTES_AT_ONCE // (dtype.itemsize * len(self.columns)))
        for first in range(0, self.n_graphs, at_once):
            yield self.rows(first, first + at_once)

    def verify(self) -> list[Damage]:
        """Read everything that is stored and check it against its checksums.

        Returns
        -------
        list of Damage
            Each names a file and says whether a run makes it again once it is removed. The manifest
            and the indices are checked when a run is opened.
        """
        found: list[Damage] = []

        def check(name: str, look: Callable[..., object], *given: object) -> None:
            try:
                look(*given)
            except (RunError, OSError) as error:
                found.append(Damage(name, str(error), True, self.folder))

        check(MODEL, self.check_model)
        check(LOG, self.log)
        check(LOCK, self.folder.has, LOCK)
        for kind, read in ((TARGETS, self.read_targets), (ROWS, self.read_tile)):
            try:
                there = self.stored(kind)
            except RunError as error:
                found.append(Damage(kind, str(error), False, self.folder))
                continue
            for tile in range(self.n_tiles) if kind == TARGETS else sorted(there):
                check(file_name(kind, tile), read, tile)
        for folder in ("", TARGETS, ROWS, INDEX):
            with suppress(RunError):
                for name, size in self.folder.names(folder).items():
                    path = f"{folder}/{name}".removeprefix("/")
                    if name.startswith(TEMPORARY):
                        found.append(Damage(path, f"{path} was never completed", True, self.folder))
                    elif folder == ROWS and size == 0:
                        found.append(Damage(path, f"{path} is empty", True, self.folder))
        return found

    def log(self) -> list[str]:
        """Return the lines of the log, one per stored tile."""
        return self.folder.lines(LOG)

    def check_model(self) -> None:
        """Raise if the model file is missing, damaged or another's."""

        def check(*parts: Any) -> None:
            if model_identity(*parts) != self.manifest.identity:
                raise ValueError("it is not the model of this run")

        read_model(self.folder, check)

    def read_tile(self, tile: int) -> NDArray[np.floating]:
        """Return the rows of a tile; raise if it is not finished or damaged."""
        name = file_name(ROWS, tile)
        where = f"tile {tile} ({self.address}/{name})"
        if not self.folder.size(name):
            raise RunError(f"{where} is not finished; run the same command again")
        shape = (int(self.index.counts[tile]), len(self.columns))
        with damage_named(where, mended(self.folder)):
            arrays, _ = unpack(ROWS, self.folder.read(name), self._context(tile))
            rows = arrays[ROWS]
            if (str(rows.dtype), rows.shape) != (self.manifest.dtype, shape):
                raise ValueError(f"it holds {rows.dtype} of shape {rows.shape}, not {shape}")
        return rows

    def write_tile(self, tile: int, rows: NDArray[np.floating]) -> None:
        """Store the rows of a tile."""
        content = pack(ROWS, {ROWS: rows}, context=self._context(tile))
        self.folder.write(file_name(ROWS, tile), content)

    def graphs(self, tile: int) -> tuple[list[Graph], list[int]]:
        """Return the targets of a tile, and their positions in the caller's list."""
        name = file_name(TARGETS, tile)
        content = self.read_targets(tile)
        with damage_named(f"{self.address}/{name}", mended(self.folder)):
            arrays, _ = unpack(TARGETS, content, f"{self.manifest.key} {name}")
            return graphs_from_tensors(arrays), arrays["positions"].tolist()

    def read_targets(self, tile: int) -> bytes:
        """Return the file with the targets of a tile; raise if it is missing or damaged."""
        name = file_name(TARGETS, tile)
        with damage_named(f"{self.address}/{name}", mended(self.folder)):
            content = self.folder.read(name)
            if not self.holds_targets(tile, content):
                raise ValueError("its checksum does not match")
        return content

    def holds_targets(self, tile: int, content: bytes) -> bool:
        """Return whether this is the content of the file with the targets of a tile."""
        return bool(hashlib.sha256(content).digest() == self.index.targets[tile].tobytes())

    def describe(self, tile: int) -> str:
        """Return a name of a tile for messages: its number and some of its graphs."""
        first, last = self.starts[tile : tile + 2]
        places = np.flatnonzero((self.index.rows >= first) & (self.index.rows < last)).tolist()
        members = [shown(self.index.names[place] or f"graph {place}", 60) for place in places[:3]]
        more = ", ..." if len(places) > 3 else ""
        return f"tile {tile} ({self.index.counts[tile]} graphs: {', '.join(members)}{more})"

    def _context(self, tile: int) -> str:
        """Return what binds the rows of a tile to this run, this tile and its targets."""
        name, targets = file_name(ROWS, tile), self.index.targets[tile].tobytes().hex()
        return f"{self.manifest.key} {name} {targets}"


def read_model(folder: Folder, build: Callable[[Arrays, dict[str, Any]], Model]) -> Model:
    """Read the model of a folder; raise if it is missing or damaged."""
    with damage_named(f"{folder.address}/{MODEL}", mended(folder)):
        return model_from(folder.read(MODEL), build)


def mended(folder: Folder) -> str:
    """Say how a run mends a file that is damaged or missing."""
    return (
        f"`ddgk status --repair {folder.address}` removes what is damaged, and the command that "
        "began the run makes it again; all else is kept"
    )


def file_name(kind: str, tile: int) -> str:
    """Return the name of a file of a tile; kind: `ROWS` or `TARGETS`."""
    return f"{kind}/{tile:06d}.safetensors"


def pack_targets(manifest: Manifest, tile: int, targets: Sequence[tuple[Graph, int]]) -> bytes:
    """Return the targets of a tile, graphs and their positions, as the content of a file."""
    arrays = graphs_to_tensors([graph for graph, _ in targets], node_names=False)
    arrays["positions"] = np.asarray([position for _, position in targets], dtype=np.int64)
    return pack(TARGETS, arrays, context=f"{manifest.key} {file_name(TARGETS, tile)}")
