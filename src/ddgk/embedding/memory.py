"""Rows of graphs in memory: the same plan and the same work as in a run, without a folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.embedding.checks import check_n_jobs, parse_memory
from ddgk.embedding.embedder import Embedder
from ddgk.embedding.plan import plan_tiles
from ddgk.embedding.progress import progress
from ddgk.embedding.tiles import compute_rows
from ddgk.embedding.workers import in_threads
from ddgk.graphs.graph import Graph

PATIENCE = 1.0  # seconds before progress is shown


def embed_graphs(
    embedder: Embedder,
    graphs: Iterable[Graph],
    *,
    n_jobs: int | None = None,
    max_memory: str | int | None = None,
    verbose: bool = False,
) -> NDArray[np.floating]:
    """Return the rows of graphs.

    Parameters
    ----------
    embedder : Embedder
    graphs : iterable of Graph
        Read once.
    n_jobs : int or None
        Threads; -1 for all processors. Results do not depend on it.
    max_memory : str, int or None
        Memory of each thread for the tile that it computes, such as "500MB"; None: "1GB".
    verbose : bool
        Show progress.

    Returns
    -------
    array of shape (n_graphs, n_columns)
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
