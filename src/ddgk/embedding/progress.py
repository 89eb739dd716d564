"""What is done and how long it will take, for who watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.store.run import Run

Advance = Callable[[int], None]


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


def tell(text: str) -> None:
    """Say something to who watches."""
    from rich.console import Console

    Console(stderr=True).print(text, soft_wrap=True, highlight=False, markup=False)


class TileProgress:
    """Counts tiles: a bar with tiles, pairs a second and the time left, or a line at the end.

    seconds: what every tile is estimated to take; finished: those that were there.
    """

    def __init__(self, run: Run, seconds: NDArray[np.float64], finished: set[int]) -> None:
        self.n_tiles, self.n_done = run.n_tiles, len(finished)
        self._plan, self._seconds = run.manifest.plan, seconds
        self._left = float(seconds.sum() - seconds[sorted(finished)].sum())
        self._n_pairs = 0
        self._began = perf_counter()
        self._bar: tuple[Any, Any] | None = None

    def advance(self, tile: int) -> None:
        """Count a tile, whoever computed it."""
        self.n_done += 1
        self._n_pairs += self._plan.tile(tile).n_pairs
        self._left -= self._seconds[tile]
        if self._bar is not None:
            bar, task = self._bar
            speed = self._n_pairs / max(1e-9, perf_counter() - self._began)
            bar.update(
                task,
                completed=self._seconds.sum() - self._left,
                done=self.n_done,
                speed=f"{speed:.0f} pairs/s",
            )

    @contextmanager
    def shown(self, verbose: bool) -> Iterator[TileProgress]:
        """Show the bar while the block runs, if it is wanted and somebody can watch it."""
        if not verbose:
            yield self
            return
        from rich.console import Console

        console = Console(stderr=True)
        if console.is_terminal:
            with self._drawn(console):
                yield self
            return
        already = self.n_done
        yield self
        took = perf_counter() - self._began
        tell(
            f"Scoring: {self.n_done - already} of {self.n_tiles} tiles, {self._n_pairs} pairs "
            f"in {took:.1f} s"
        )

    @contextmanager
    def _drawn(self, console: Any) -> Iterator[None]:
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("Scoring"),
            BarColumn(),
            TextColumn("{task.fields[done]}/" + str(self.n_tiles) + " tiles"),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        total = float(self._seconds.sum())
        # A few tiles may lie minutes back, so the estimate looks at more than the last half minute.
        with Progress(*columns, console=console, speed_estimate_period=600) as bar:
            task = bar.add_task("", total=total, done=self.n_done, speed="")
            bar.update(task, completed=total - self._left)
            self._bar = bar, task
            yield
        self._bar = None
