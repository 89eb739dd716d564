"""Rows of graphs in memory: the plan of tiles, and the work of one.

Graphs of similar cost are put together, a few seconds a tile, within memory. Runs in folders and on
clusters take the same plan and do the same work.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ddgk.embedding.checks import check_n_jobs, parse_memory
from ddgk.embedding.progress import PATIENCE, progress
from ddgk.errors import DDGKError, NonFiniteLossError, TileError, shown
from ddgk.graphs.graph import Graph, at_position, describe

Result = TypeVar("Result")

LANES = 8  # graphs that engines process together; tiles hold multiples where they can
WANTED_SECONDS = 3.0  # of a tile: long compared with the hundredths that storing one takes
WANTED_TILES = 32  # so that workers end at about the same time
SHORTEST_SECONDS = 0.5  # below which storing a tile would be felt
LONGEST_SECONDS = 30.0  # of graphs that could be apart: what a power cut may cost
# After these errors no other tile could be stored either.
HALTING = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM),
    errno.ENOENT,
}


class Embedder(Protocol):
    """A fitted model, seen as a function from a graph to a row."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of a row: float32 or float64."""
        ...

    @property
    def engine_name(self) -> str:
        """Such as "fused" or "torch:cpu": rows of different engines are not mixed in one run."""
        ...

    def rows(self, graphs: Sequence[Graph], positions: Sequence[int]) -> NDArray[np.floating]:
        """Return the rows of graphs, (n_graphs, n_columns).

        A row does not depend on the other graphs. Called from several threads at once, so it
        should use one thread itself. positions: for error messages.
        """
        ...

    def cost(self, graph: Graph) -> float:
        """Estimate the seconds that a row takes on one core; proportions matter most."""
        ...

    def memory(self, graph: Graph) -> int:
        """Estimate the bytes that a row takes while it is computed, without the result."""
        ...

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return tensors and JSON metadata: everything that a model file holds."""
        ...

    @classmethod
    def from_parts(cls, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> Self:
        """Return the model from what `to_parts` returned, or raise if it does not fit."""
        ...


@dataclass(frozen=True)
class Tile:
    """Positions of the graphs of a tile, and its estimated seconds."""

    positions: tuple[int, ...]
    cost: float


def plan_tiles(embedder: Embedder, graphs: Sequence[Graph], max_memory: int) -> list[Tile]:
    """Divide graphs into tiles, the most expensive first; together they hold each position once.

    max_memory: bytes that the graphs of a tile may take together; a single graph may take more.
    """
    costs = [max(0.0, float(embedder.cost(graph))) for graph in graphs]
    order = sorted(range(len(graphs)), key=lambda position: (-costs[position], position))
    wanted = min(WANTED_SECONDS, max(SHORTEST_SECONDS, sum(costs) / WANTED_TILES))

    def cost(positions: Sequence[int]) -> float:
        return sum(costs[position] for position in positions)

    lanes: list[list[int]] = []
    for first in range(0, len(order), LANES):
        near = order[first : first + LANES]
        lanes += [near] if cost(near) <= LONGEST_SECONDS else [[position] for position in near]
    tiles = []
    for part in cut_rows([cost(near) for near in lanes], wanted):
        members = [position for near in lanes[part] for position in near]
        memory = [row_memory(embedder, graphs[position]) for position in members]
        cuts = [members[rows] for rows in cut_rows(memory, max_memory)]
        tiles += [Tile(tuple(chosen), cost(chosen)) for chosen in cuts]
    return tiles


def row_memory(embedder: Embedder, graph: Graph) -> int:
    """Return the bytes of a row and of what computing it takes."""
    return max(0, int(embedder.memory(graph))) + len(embedder.columns) * embedder.dtype.itemsize


def cut_rows(sizes: Sequence[float], limit: float) -> list[slice]:
    """Cut rows into parts whose sizes add up to at most a limit; at least one row each.

    >>> cut_rows([1, 1, 5, 9], 6)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    parts, first, held = [], 0, 0.0
    for place, size in enumerate(sizes):
        if place > first and held + size > limit:
            parts.append(slice(first, place))
            first, held = place, 0.0
        held += size
    return [*parts, slice(first, len(sizes))] if sizes else []


def compute_rows(
    embedder: Embedder, graphs: Sequence[Graph], positions: Sequence[int], max_memory: int
) -> NDArray[np.floating]:
    """Return the rows of a tile, computed as many at a time as memory allows.

    A graph without nodes has a row of NaN. If computing several graphs together fails, they are
    computed one by one, so that the error names the graph; with less memory in use this may also
    succeed.
    """
    found = np.full((len(graphs), len(embedder.columns)), np.nan, dtype=embedder.dtype)
    filled = [place for place, graph in enumerate(graphs) if graph.n_nodes]
    for part in cut_rows([row_memory(embedder, graphs[place]) for place in filled], max_memory):
        places = filled[part]
        members = [graphs[place] for place in places]
        found[places] = _rows(embedder, members, [positions[place] for place in places])
    for place in filled:
        if not np.isfinite(found[place]).all():
            called = shown(describe(graphs[place].name, positions[place]))
            raise NonFiniteLossError(f"{called}: its row is not finite; lower the learning rate")
    return found


def _rows(
    embedder: Embedder, graphs: Sequence[Graph], positions: Sequence[int]
) -> NDArray[np.floating]:
    try:
        with at_position(positions[0] if len(graphs) == 1 else None):
            return embedder.rows(graphs, positions)
    except DDGKError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in HALTING:
            raise
        if len(graphs) > 1:
            pairs = zip(graphs, positions, strict=True)
            return np.concatenate([_rows(embedder, [graph], [place]) for graph, place in pairs])
        called = shown(describe(graphs[0].name, positions[0]))
        raise TileError(f"{called}: {type(error).__name__}: {shown(error)}") from error


def in_threads(
    n_threads: int, work: Callable[[int], Result], tiles: Iterable[int]
) -> Iterator[Result]:
    """Compute tiles in threads; closing the iterator waits for the tiles being computed."""
    with ThreadPoolExecutor(n_threads, thread_name_prefix="ddgk-tile") as pool:
        try:
            for future in as_completed([pool.submit(work, tile) for tile in tiles]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def embed_graphs(
    embedder: Embedder,
    graphs: Iterable[Graph],
    *,
    n_jobs: int | None = None,
    max_memory: str | int | None = None,
    verbose: bool = False,
) -> NDArray[np.floating]:
    """Return the rows of graphs, (n_graphs, n_columns); the graphs are read once.

    n_jobs: threads, -1 for all processors; results do not depend on it. max_memory: of each thread
    for the tile that it computes, such as "500MB"; None: "1GB".
    """
    n_threads, n_bytes = check_n_jobs(n_jobs), parse_memory(max_memory)
    listed = list(graphs)
    found = np.empty((len(listed), len(embedder.columns)), dtype=embedder.dtype)
    tiles = plan_tiles(embedder, listed, n_bytes)

    def work(number: int) -> int:
        positions = tiles[number].positions
        chosen = [listed[position] for position in positions]
        found[list(positions)] = compute_rows(embedder, chosen, positions, n_bytes)
        return number

    order = sorted(range(len(tiles)), key=lambda number: -tiles[number].cost)
    options: dict[str, Any] = {"patience": PATIENCE, "work": sum(tile.cost for tile in tiles)}
    with progress("Embedding", len(listed), "graphs", verbose, **options) as advance:
        n_workers = min(n_threads, len(tiles))
        for number in in_threads(n_workers, work, order) if n_workers > 1 else map(work, order):
            advance(len(tiles[number].positions), tiles[number].cost)
    return found
