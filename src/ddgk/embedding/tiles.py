"""One tile of a run, from the folder and back into it: what every worker does, wherever it is.

A worker is told the address of the run and the number of a tile, nothing else; it reads the model
once and the graphs of the tile, and stores what it found.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ddgk.divergence import Scorer
from ddgk.encoder import Encoder
from ddgk.engine import make_engine
from ddgk.errors import DDGKError, ParameterError, RunError
from ddgk.graphs.graph import Graph
from ddgk.store.grid import Grid
from ddgk.store.locks import FIRST_TILE, Locks
from ddgk.store.models import StoredModel, identify_model
from ddgk.store.run import LOG, Run, open_run
from ddgk.tiling import LANES, Tile, cut_rows

# After these, no other tile could be stored either.
HALTING = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENOENT,
}
OPENED_AT_ONCE = 2
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
MEMORY = "1GB"


@dataclass(frozen=True)
class Report:
    """What became of a tile.

    state: "computed", "stored" (it was there), "busy" (another process has it), or "failed".
    final: trying again would not help. halting: nor would other tiles fare better.
    """

    tile: int
    state: str
    seconds: float = 0.0
    error: str = ""
    final: bool = False
    halting: bool = False


@dataclass(frozen=True)
class Workplace:
    """A run as a worker has opened it."""

    run: Run
    grid: Grid
    model: StoredModel
    scorer: Scorer
    locks: Locks


def attempt_tile(
    number: int, *, address: str, token: str, max_memory: int, raising: bool = False
) -> Report:
    """Compute a tile and store it, unless it is there or another process is at it.

    token: which state of which run the caller means. raising: let errors out that another attempt
    may mend, for who repeats what raises.
    """
    try:
        return _compute(_open(address, token), number, max_memory)
    except DDGKError as error:
        return Report(number, "failed", error=str(error), final=True)
    except OSError as error:
        if error.errno in HALTING:
            return Report(number, "failed", error=_spoken(error), final=True, halting=True)
        if raising:
            raise
        return Report(number, "failed", error=_spoken(error))
    except Exception as error:
        if raising:
            raise
        return Report(number, "failed", error=f"{type(error).__name__}: {error}")


def memory_in_bytes(memory: str | int | None) -> int:
    """Read an amount of memory.

    >>> memory_in_bytes("1.5GB"), memory_in_bytes(2000), memory_in_bytes(None)
    (1500000000, 2000, 1000000000)
    """
    if memory is None:
        memory = MEMORY
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)B?\s*", str(memory), re.IGNORECASE)
    amount = 0 if found is None else int(float(found[1]) * UNITS[found[2].upper()])
    if isinstance(memory, bool) or amount < 1:
        raise ParameterError(f"max_memory must be an amount such as '500MB', not {memory!r}")
    return amount


def _compute(place: Workplace, number: int, max_memory: int) -> Report:
    tile = place.run.manifest.plan.tile(number)
    if place.grid.has(tile):
        return Report(number, "stored")
    if not place.locks.take(FIRST_TILE + number):
        return Report(number, "busy")
    try:
        if place.grid.has(tile):  # while we were asking
            return Report(number, "stored")
        begun = place.locks.count(number)
        began = perf_counter()
        place.grid.write(tile, _values(place, tile, max_memory))
        seconds = perf_counter() - began
        place.run.folder.append(LOG, f"tile-{number:08d}", _line(tile, seconds, begun))
        return Report(number, "computed", seconds)
    finally:
        place.locks.give_back(FIRST_TILE + number)


def _values(place: Workplace, tile: Tile, max_memory: int) -> NDArray[np.float64]:
    """Compute a tile, as many rows at a time as memory allows."""
    graphs, places = place.run.graphs(tile.block)
    encoders = place.model.encoders[tile.sources]
    baselines = place.model.baselines[tile.sources]
    values = np.empty((tile.n_targets, tile.n_sources, len(place.scorer.columns)))
    for rows in _pieces(graphs, encoders, place.scorer, max_memory):
        values[rows] = place.scorer.divergences(graphs[rows], encoders, baselines, places[rows])
    return values


def _pieces(
    graphs: Sequence[Graph], encoders: Sequence[Encoder], scorer: Scorer, max_memory: int
) -> list[slice]:
    """Cut the rows of a tile so that each piece fits into memory; lanes stay together."""
    width = sum(family.width for family in scorer.reader.families)
    dense = set(scorer.method.relations) != {"node_to_edges"}
    per_pair = 100 * len(scorer.columns)

    def n_bytes(graph: Graph) -> int:
        n = graph.n_nodes
        square = 60 * n * n if dense else 0
        return 4000 + square + n * (400 + 100 * width) + 200 * graph.n_edges

    sizes = [n_bytes(graph) + per_pair * len(encoders) for graph in graphs]
    groups = [sum(sizes[first : first + LANES]) for first in range(0, len(sizes), LANES)]
    pieces = cut_rows(groups, max_memory)
    return [slice(LANES * p.start, min(LANES * p.stop, len(sizes))) for p in pieces]


def _line(tile: Tile, seconds: float, begun: int) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    again = f", begun {begun} times" if begun > 1 else ""
    return (
        f"{now} tile {tile.number}: rows {tile.first} to {tile.first + tile.n_targets - 1}, "
        f"sources {tile.left} to {tile.left + tile.n_sources - 1}, {tile.n_pairs} pairs in "
        f"{seconds:.2f} s on {socket.gethostname()}:{os.getpid()}{again}"
    )


def _spoken(error: OSError) -> str:
    named = error.filename is not None
    return f"{error.filename}: {error.strerror}" if named else f"{type(error).__name__}: {error}"


_opened: OrderedDict[tuple[str, str], Workplace] = OrderedDict()
_guard = threading.Lock()


def _open(address: str, token: str) -> Workplace:
    """Open a run, or take the one that this process has opened."""
    with _guard:
        found = _opened.get((address, token))
        if found is None:
            found = _opened[address, token] = _opened_now(address, token)
            while len(_opened) > OPENED_AT_ONCE:
                _opened.popitem(last=False)
        return found


def forget_opened() -> None:
    """Close what this process keeps open between tiles, also where an error still refers to it."""
    with _guard:
        for place in _opened.values():
            place.locks.close()
        _opened.clear()


def _opened_now(address: str, token: str) -> Workplace:
    try:
        run = open_run(address)
    except FileNotFoundError as error:
        raise RunError(
            f"a worker on {socket.gethostname()} finds no run at {address}; workers need the same "
            "folder under the same name, or a bucket"
        ) from error
    if not run.manifest.covers(token):
        raise RunError(
            f"a worker on {socket.gethostname()} finds another run at {address}; "
            "it was changed meanwhile, or is not the same folder there"
        )
    model = run.model()
    identity = run.manifest.identity
    if identify_model(model)["encoders"] != identity["encoders"]:
        raise RunError(f"{run.model_path} is not the model that this run began with")
    reader = replace(model.reader, unseen=str(identity["unseen_labels"]))
    engine = make_engine(
        run.manifest.engine["name"],
        precision=model.method.precision,
        device=run.manifest.engine["device"],
        threads=1,
    )
    grid = Grid.open(run.folder, run.manifest, writable=True)
    scorer = Scorer(model.method, reader, engine, model.seed)
    return Workplace(run, grid, model, scorer, Locks(run.folder))
