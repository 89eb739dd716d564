"""A run folder: what it holds, how far it is, and its rows, read as they are needed."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.columns import column_names
from ddgk.errors import ModelFileError, ModelNotFoundError, RunError, RunNotFoundError
from ddgk.graphs.graph import Graph
from ddgk.store.files import Folder, LocalFolder, open_folder
from ddgk.store.graphs import unpack_graphs
from ddgk.store.grid import Grid
from ddgk.store.manifest import Index, Manifest, block_name, read_index, read_manifest
from ddgk.store.models import StoredModel, load_model, save_model
from ddgk.tiling import Tile

MODEL = "model.safetensors"
LOG = "run.log"
BYTES_AT_ONCE = 1 << 26  # of rows that are read together


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run folder to look at it or to read its rows; nothing is computed.

    Parameters
    ----------
    path : path or str
        The folder, or an address such as s3://bucket/run.

    Examples
    --------
    >>> import networkx, tempfile, ddgk
    >>> graphs = [networkx.cycle_graph(n) for n in (4, 5, 6, 7)]
    >>> model = ddgk.DDGK(n_sources=2, encoder_epochs=50, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     embedding = model.fit_transform(graphs, run=folder)
    ...     run = ddgk.open_run(folder)
    ...     print(run.n_graphs, run.n_tiles, run.share)
    ...     print((run.rows() == embedding).all())
    4 1 1.0
    True
    """
    folder = open_folder(path)
    manifest = read_manifest(folder)
    if manifest is None:
        raise RunNotFoundError(f"{folder.address} is not a run folder: it has no manifest.json")
    return Run(folder, manifest)


@dataclass(frozen=True, eq=False)
class Run:
    """A run folder, which `open_run` opens.

    Of the run that `DDGK.embed_into` returns, the rows are those of the graphs given there, in that
    order.

    Attributes
    ----------
    address : str
        Where it is.
    n_graphs, n_sources : int
        Targets as they were given, and sources.
    channels : tuple of str
    steps : tuple of int
    readouts : tuple of str
        What is read of every channel: after each of the steps, then by region.
    columns : list of str
        The names of the columns of a row.
    names : list of str or None
        The names of the targets.
    n_tiles : int
        Into how many tiles the grid is cut.
    finished : set of int
        The numbers of those that are stored.
    share : float
        How much of the work is done, from 0 to 1.
    model_path : str
        The fitted model; `DDGK.load` reads it, and the folder likewise.
    """

    folder: Folder
    manifest: Manifest
    chosen: NDArray[np.int64] | None = None

    @property
    def address(self) -> str:
        """Return where the run is."""
        return self.folder.address

    @property
    def model_path(self) -> str:
        """Return where the fitted model is."""
        return f"{self.address}/{MODEL}"

    @property
    def n_graphs(self) -> int:
        """How many targets were given."""
        return self.manifest.n_graphs if self.chosen is None else len(self.chosen)

    @property
    def n_sources(self) -> int:
        """How many sources there are."""
        return len(self.manifest.source_sizes)

    @property
    def n_tiles(self) -> int:
        """How many tiles there are."""
        return self.manifest.plan.n_tiles

    @property
    def channels(self) -> tuple[str, ...]:
        """Return the names of the channels."""
        return self.manifest.channels

    @property
    def steps(self) -> tuple[int, ...]:
        """Return after which steps divergences are reported."""
        return self.manifest.steps

    @property
    def readouts(self) -> tuple[str, ...]:
        """Name what is read of every channel."""
        return self.manifest.readouts

    @property
    def columns(self) -> list[str]:
        """Name the columns of a row."""
        return column_names(self.n_sources, self.manifest.columns)

    @property
    def names(self) -> list[str | None]:
        """Return the names of the targets, in the order of the rows."""
        indices = [self.index(batch) for batch in range(self.n_batches)]
        if self.chosen is None:
            return [name for index in indices for name in index.names]
        pairs = [(i.rows.tolist(), i.names) for i in indices]
        known = {row: name for r, n in pairs for row, name in zip(r, n, strict=True)}
        return [known[row] for row in self.chosen.tolist()]

    @property
    def n_batches(self) -> int:
        """How many batches of targets there are."""
        return len(self.manifest.batches)

    @cached_property
    def grid(self) -> Grid:
        """Return the stored grid."""
        return Grid.open(self.folder, self.manifest)

    @property
    def finished(self) -> set[int]:
        """Return the numbers of the tiles that are stored now."""
        return self.grid.finished()

    @property
    def share(self) -> float:
        """Return how much of the work is done, by what tiles are estimated to take."""
        seconds = self.seconds()
        done = seconds[sorted(self.finished)].sum()
        return float(done / seconds.sum()) if len(seconds) else 1.0

    def seconds(self) -> NDArray[np.float64]:
        """Estimate what every tile takes on one core, (n_tiles,)."""
        plan, sizes = self.manifest.plan, []
        for number in range(self.n_batches):
            found = self.index(number).sizes
            sizes += np.split(found, range(plan.shape.targets, len(found), plan.shape.targets))
        sizes = [part for part in sizes if len(part)]
        return plan.seconds(sizes, self.manifest.source_sizes, max(self.steps))

    def index(self, batch: int) -> Index:
        """Return the targets of a batch."""
        return read_index(self.folder, self.manifest, batch)

    def rows(self, first: int = 0, last: int | None = None) -> NDArray[np.float64]:
        """Return rows of the embedding, in the order the graphs were given in.

        Parameters
        ----------
        first, last : int
            Which graphs, as in a slice. Default: all.

        Returns
        -------
        array of shape (n_graphs, n_columns)
        """
        return self.read(self.places()[first:last])

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield all rows in order, a few at a time, so that memory holds few."""
        rows = self.places()
        at_once = max(1, BYTES_AT_ONCE // (8 * len(self.columns)))
        for first in range(0, len(rows), at_once):
            yield self.read(rows[first : first + at_once])

    def places(self) -> NDArray[np.int64]:
        """Return the row of the grid that every given graph has, (n_graphs,)."""
        if self.chosen is not None:
            return self.chosen
        parts = [self.index(batch).rows for batch in range(self.n_batches)]
        return np.concatenate([np.empty(0, dtype=np.int64), *parts])

    def read(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return these rows of the grid, flattened."""
        plan = self.manifest.plan
        found = np.empty((len(places), self.n_sources, len(self.manifest.columns)))
        blocks = places // plan.shape.targets
        for block in np.unique(blocks).tolist():
            chosen = np.flatnonzero(blocks == block)
            within = places[chosen] - block * plan.shape.targets
            for column in range(plan.n_columns):
                tile = plan.tile(block * plan.n_columns + column)
                if within.max() >= tile.n_targets:
                    raise RunError(f"{self.address}: a target has a row that holds none")
                found[chosen, tile.sources] = self.grid.read(tile)[within]
        return found.reshape(len(places), len(self.columns))

    def graphs(self, block: int) -> tuple[list[Graph], list[int]]:
        """Return the targets of a row of tiles, and where the caller has them."""
        name = block_name(block)
        where = f"{self.address}/{name}"
        try:
            content = self.folder.read(name)
        except FileNotFoundError:
            raise RunError(
                f"{where} is missing; run the command that began the run, which packs it again"
            ) from None
        if not self.is_packed(block, content):
            raise RunError(f"{where} is damaged: its checksum does not match")
        graphs, places = unpack_graphs(content, where)
        if len(graphs) != self.manifest.plan.block_counts[block]:
            raise RunError(f"{where} is damaged: it holds {len(graphs)} graphs")
        return graphs, places

    def describe(self, tile: Tile) -> str:
        """Return how messages call a tile: by number, and by its graphs and sources."""
        called = f"tile {tile.number}"
        with suppress(RunError):
            plan, batch = self.manifest.plan, self._batch(tile.block)
            index = self.index(batch)
            members = np.flatnonzero(
                (index.rows >= tile.first) & (index.rows < tile.first + tile.n_targets)
            )
            first = tile.first - plan.first_block(batch) * plan.shape.targets
            sizes = index.sizes[first : first + tile.n_targets]
            names = [index.names[place] or f"graph {place}" for place in members[:3]]
            more = ", ..." if len(members) > len(names) else ""
            last = tile.left + tile.n_sources - 1
            called += (
                f" ({tile.n_targets} targets of {sizes.min()} to {sizes.max()} nodes: "
                f"{', '.join(names)}{more}; sources {tile.left} to {last})"
            )
        return called

    def _batch(self, block: int) -> int:
        firsts = [self.manifest.plan.first_block(batch) for batch in range(self.n_batches)]
        # A batch without rows begins where the next one does.
        return int(np.searchsorted(firsts, block, side="right")) - 1

    def is_packed(self, block: int, content: bytes) -> bool:
        """Say whether this is the content of a file of packed graphs."""
        batch = self._batch(block)
        first = self.manifest.plan.first_block(batch)
        return hashlib.sha256(content).digest() == bytes(self._hashes[batch][block - first])

    @cached_property
    def _hashes(self) -> list[NDArray[np.uint8]]:
        return [self.index(batch).blocks for batch in range(self.n_batches)]

    def model(self) -> StoredModel:
        """Return the fitted model."""
        found = read_model(self.folder)
        if found is None:
            raise RunError(
                f"{self.model_path} is missing; run the command that began the run, "
                "which trains it again"
            )
        return found[0]

    def log(self) -> Sequence[str]:
        """Return the lines of the log."""
        return self.folder.lines(LOG)


def read_model(folder: Folder) -> tuple[StoredModel, dict[str, Any]] | None:
    """Return the model in a folder and the estimator's parameters, or None where there is none."""
    if not folder.has(MODEL):
        return None
    try:
        if isinstance(folder, LocalFolder):
            return load_model(folder.path / MODEL)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / MODEL
            path.write_bytes(folder.read(MODEL))
            return load_model(path)
    except ModelFileError as error:
        raise RunError(
            f"{folder.address}/{MODEL} is damaged ({error}); remove this file and run the command "
            "that began the run, which trains it again; finished tiles are kept"
        ) from error


def write_model(folder: Folder, model: StoredModel, parameters: dict[str, Any]) -> None:
    """Keep a model in a folder."""
    if isinstance(folder, LocalFolder):
        save_model(folder.path / MODEL, model, parameters)
        return
    with tempfile.TemporaryDirectory() as scratch:
        save_model(Path(scratch) / MODEL, model, parameters)
        folder.write(MODEL, (Path(scratch) / MODEL).read_bytes())


def is_run(path: str | os.PathLike[str]) -> bool:
    """Say whether a path is that of a folder or bucket rather than that of a file."""
    # os.path answers False where pathlib raises, for names that no system has.
    return "://" in os.fspath(path) or os.path.isdir(path)


def load_from_run(path: str | os.PathLike[str]) -> tuple[StoredModel, dict[str, Any]]:
    """Read the model of a run folder, and the estimator's parameters."""
    folder = open_folder(path)
    found = read_model(folder)
    if found is None:
        raise ModelNotFoundError(f"{folder.address} is a folder without {MODEL}")
    return found
