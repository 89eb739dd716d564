"""The work of one tile: what every worker does, in memory, in a run, on a cluster."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ddgk.embedding.embedder import Embedder
from ddgk.embedding.plan import cut_rows, row_memory
from ddgk.errors import DDGKError, NonFiniteLossError, RunError, RunNotFoundError, TileError, shown
from ddgk.graphs.graph import Graph, at_position, describe
from ddgk.store.locks import FIRST_TILE, Locks
from ddgk.store.models import MODEL, model_from
from ddgk.store.run import LOG, ROWS, Run, file_name, open_run

# After these errors no other tile could be stored either.
HALTING = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM),
    errno.ENOENT,
}
OPENED_AT_ONCE = 2


def compute_rows(
    embedder: Embedder, graphs: Sequence[Graph], positions: Sequence[int], max_memory: int
) -> NDArray[np.floating]:
    """Return the rows of a tile, computed as many at a time as memory allows.

    If computing several graphs together fails, they are computed one by one, so that the error
    names the graph; with less memory in use this may also succeed.
    """
    found = np.empty((len(graphs), len(embedder.columns)), dtype=embedder.dtype)
    for part in cut_rows([row_memory(embedder, graph) for graph in graphs], max_memory):
        try:
            found[part] = embedder.rows(graphs[part], positions[part])
        except DDGKError:
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in HALTING:
                raise
            for place in range(part.start, part.stop):
                found[place] = _one_row(embedder, graphs[place], positions[place])
    finite = np.isfinite(found).all(axis=1)
    if not finite.all():
        place = int(np.argmin(finite))
        called = shown(describe(graphs[place].name, positions[place]))
        raise NonFiniteLossError(f"{called}: its row is not finite; lower the learning rate")
    return found


def _one_row(embedder: Embedder, graph: Graph, position: int) -> NDArray[np.floating]:
    try:
        with at_position(position):
            row: NDArray[np.floating] = embedder.rows([graph], [position])[0]
            return row
    except DDGKError:
        raise
    except Exception as error:
        raise TileError(
            f"{shown(describe(graph.name, position))}: {type(error).__name__}: {shown(str(error))}"
        ) from error


@dataclass(frozen=True)
class Report:
    """What became of a tile of a run.

    state: "computed", "stored" (it was there), "busy" (another process has it), or "failed".
    final: trying again would not help. halting: other tiles would fail likewise.
    """

    tile: int
    state: str
    error: str = ""
    final: bool = False
    halting: bool = False


@dataclass(frozen=True)
class Workplace:
    """A run as a worker has opened it."""

    run: Run
    embedder: Embedder
    locks: Locks
    max_memory: int

    def attempt(self, tile: int) -> Report:
        """Compute a tile and store it, unless it is stored or another process computes it."""
        try:
            return self._attempt(tile)
        except TileError as error:  # one of its graphs fails; another attempt may succeed
            return Report(tile, "failed", str(error))
        except DDGKError as error:
            return Report(tile, "failed", str(error), final=True)
        except OSError as error:
            halting = error.errno in HALTING
            return Report(tile, "failed", _spoken(error), final=halting, halting=halting)
        except Exception as error:
            return Report(tile, "failed", f"{type(error).__name__}: {shown(str(error))}")

    def _attempt(self, tile: int) -> Report:
        if self._is_stored(tile):
            return Report(tile, "stored")
        if not self.locks.take(FIRST_TILE + tile):
            return Report(tile, "busy")
        try:
            if self._is_stored(tile):  # meanwhile
                return Report(tile, "stored")
            begun = self.locks.count(tile)
            began = perf_counter()
            graphs, positions = self.run.graphs(tile)
            rows = compute_rows(self.embedder, graphs, positions, self.max_memory)
            self.run.write_tile(tile, rows)
            line = _line(tile, len(graphs), perf_counter() - began, begun)
            self.run.folder.append(LOG, f"tile-{tile:08d}", line)
            return Report(tile, "computed")
        finally:
            self.locks.give_back(FIRST_TILE + tile)

    def _is_stored(self, tile: int) -> bool:
        return self.run.folder.size(file_name(ROWS, tile)) > 0


def _line(tile: int, n_graphs: int, seconds: float, begun: int) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    again = f", begun {begun} times" if begun > 1 else ""
    where = f"{socket.gethostname()}:{os.getpid()}"
    return f"{now} tile {tile}: {n_graphs} graphs in {seconds:.2f} s on {where}{again}"


def _spoken(error: OSError) -> str:
    named = error.filename is not None
    return f"{error.filename}: {error.strerror}" if named else f"{type(error).__name__}: {error}"


_opened: OrderedDict[tuple[str, str, int], Workplace] = OrderedDict()
_guard = threading.Lock()


def attempt_elsewhere(
    tile: int, *, address: str, token: str, kind: type[Embedder], max_memory: int
) -> Report:
    """Compute a tile in another process, which opens the run and its model by itself.

    Raises
    ------
    Exception
        If another attempt may succeed, so that the cluster repeats it.
    """
    try:
        with _guard:
            key = (address, token, max_memory)
            place = _opened.get(key)
            if place is None:
                place = _opened[key] = _open(address, token, kind, max_memory)
                while len(_opened) > OPENED_AT_ONCE:
                    _opened.popitem(last=False)[1].locks.close()
    except DDGKError as error:
        return Report(tile, "failed", str(error), final=True)
    report = place.attempt(tile)
    if report.state == "failed" and not report.final:
        raise TileError(report.error)
    return report


def _open(address: str, token: str, kind: type[Embedder], max_memory: int) -> Workplace:
    host = socket.gethostname()
    try:
        run = open_run(address)
    except RunNotFoundError as error:
        raise RunError(
            f"a worker on {host} finds no run at {address}; workers need the same folder under the "
            "same name, or a bucket"
        ) from error
    if not run.manifest.covers(token):
        raise RunError(
            f"a worker on {host} finds another run at {address}; it was changed meanwhile, or is "
            "not the same folder there"
        )
    try:
        embedder = model_from(run.model_content(), kind.from_parts)
    except ValueError as error:
        if isinstance(error, DDGKError):
            raise
        raise RunError(f"{address}/{MODEL} is damaged: {error}") from error
    expected = (run.manifest.identity, run.manifest.engine)
    if (embedder.identity, embedder.engine_name) != expected:
        raise RunError(
            f"{address}/{MODEL} is not the model that this run began with, or the engine on {host} "
            f"is {embedder.engine_name} in place of {run.manifest.engine}"
        )
    return Workplace(run, embedder, Locks(run.folder), max_memory)
