"""The grid of all targets against all sources, tile by tile, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ddgk.divergence import Scorer, plan_tiles
from ddgk.encoder import Encoder
from ddgk.graphs.graph import Graph

Advance = Callable[[int], None]


def embed(
    scorer: Scorer,
    targets: Sequence[Graph],
    encoders: Sequence[Encoder],
    baselines: NDArray[np.float64],
    *,
    verbose: bool = False,
) -> NDArray[np.float64]:
    """Return Psi of every target (paper eq. 11), (n_targets, n_sources, n_channels, n_steps).

    A row depends on its target and the sources alone, never on the other targets.
    """
    shape = (len(encoders), len(scorer.channels), len(scorer.method.curve))
    grid = np.empty((len(targets), *shape))
    with progress("Scoring", len(targets) * len(encoders), "pairs", verbose) as advance:
        for tile in plan_tiles([graph.n_nodes for graph in targets], len(encoders)):
            chosen = [targets[i] for i in tile]
            grid[tile] = scorer.divergences(chosen, encoders, baselines, tile)
            advance(len(tile) * len(encoders))
    return grid


@contextmanager
def progress(
    what: str, total: int, unit: str, verbose: bool, *, patience: float = 0.0
) -> Iterator[Advance]:
    """Show a bar with what is done and the time left, if it is wanted.

    Where nobody can watch a bar move, in a log file or a notebook's output, a line at the end says
    what was done. patience: seconds below which nothing is shown.
    """
    if not verbose:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        began = perf_counter()
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more

        yield count
        spent = perf_counter() - began
        if spent >= patience:
            console.print(f"{what}: {done} {unit} in {spent:.1f} s")
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console)
    task = bar.add_task(what, total=total)
    later = Timer(patience, bar.start)
    later.start()
    try:
        yield lambda done: bar.advance(task, done)
    finally:
        later.cancel()
        later.join()  # a bar that is just being started must not be stopped before
        bar.stop()


def column_names(
    sources: Sequence[Graph], channels: Sequence[str], steps: Sequence[int]
) -> list[str]:
    """Name the columns of a flattened grid: source, channel, step."""
    return [
        f"source{place}/{channel}/{step}"
        for place in range(len(sources))
        for channel in channels
        for step in steps
    ]
