"""The plan of tiles: graphs of similar cost together, a few seconds each, within memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ddgk.embedding.embedder import Embedder
from ddgk.graphs.graph import Graph

LANES = 8  # graphs that engines process together; tiles hold multiples where they can
MOST_ROWS = 4096
WANTED_SECONDS = 3.0  # of a tile: long compared with the hundredths that storing one takes
WANTED_TILES = 32  # so that workers end at about the same time
SHORTEST_SECONDS = 0.5  # below which storing a tile would be felt
LONGEST_SECONDS = 30.0  # of graphs that could be apart: what a power cut may cost


@dataclass(frozen=True)
class Tile:
    """Positions of the graphs of a tile, and its estimated seconds."""

    positions: tuple[int, ...]
    cost: float


def plan_tiles(embedder: Embedder, graphs: Sequence[Graph], max_memory: int) -> list[Tile]:
    """Divide graphs into tiles, the most expensive first.

    Parameters
    ----------
    embedder : Embedder
        Estimates cost and memory of each graph.
    graphs : sequence of Graph
    max_memory : int
        Bytes that the graphs of a tile may take together; a single graph may take more.

    Returns
    -------
    list of Tile
        Together they hold each position once.
    """
    costs = [max(0.0, float(embedder.cost(graph))) for graph in graphs]
    order = sorted(range(len(graphs)), key=lambda position: (-costs[position], position))
    memory = [row_memory(embedder, graphs[position]) for position in order]
    wanted = min(WANTED_SECONDS, max(SHORTEST_SECONDS, sum(costs) / WANTED_TILES))
    tiles = []
    for part in _parts([costs[position] for position in order], wanted):
        for rows in cut_rows(memory[part], max_memory):
            members = order[part][rows]
            tiles.append(Tile(tuple(members), sum(costs[position] for position in members)))
    return tiles


def row_memory(embedder: Embedder, graph: Graph) -> int:
    """Return the bytes of a row and of what computing it takes."""
    return max(0, int(embedder.memory(graph))) + len(embedder.columns) * embedder.dtype.itemsize


def _parts(costs: Sequence[float], wanted: float) -> list[slice]:
    """Cut rows, in order, into parts of about the wanted cost, multiples of lanes if possible."""
    parts, first = [], 0
    while first < len(costs):
        last, total = first, 0.0
        while last < len(costs) and last - first < MOST_ROWS:
            lanes = costs[last : last + LANES]
            if last > first and total + sum(lanes) > wanted:
                break
            # Lanes that take too long together are split.
            n_lanes = len(lanes) if sum(lanes) <= LONGEST_SECONDS else 1
            total += sum(lanes[:n_lanes])
            last += n_lanes
            if n_lanes == 1:
                break
        parts.append(slice(first, last))
        first = last
    return parts


def cut_rows(sizes: Sequence[int], limit: int) -> list[slice]:
    """Cut rows into parts whose sizes add up to at most a limit; at least one row each.

    >>> cut_rows([1, 1, 5, 9], 6)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    parts, first, held = [], 0, 0
    for place, size in enumerate(sizes):
        if place > first and held + size > limit:
            parts.append(slice(first, place))
            first, held = place, 0
        held += size
    return [*parts, slice(first, len(sizes))] if sizes else []
