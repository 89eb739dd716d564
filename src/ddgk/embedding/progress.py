"""Progress: a bar on a terminal, a line every few seconds in a log or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import perf_counter

Advance = Callable[..., None]

LINE_EVERY, BAR_EVERY = 5.0, 0.2  # seconds
PATIENCE = 2.0  # seconds of a call before its progress is shown


def ignore_progress(*_: float) -> None:
    """Show nothing."""


def tell(text: str) -> None:
    """Print a line to stderr."""
    from rich.console import Console

    Console(stderr=True).print(text, soft_wrap=True, highlight=False, markup=False)


@contextmanager
def progress(
    what: str,
    total: int,
    unit: str,
    verbose: bool,
    *,
    patience: float = 0.0,
    work: float | None = None,
) -> Iterator[Advance]:
    """Show progress while the block runs, with the time left; yield a function that counts.

    what, unit: what is done, and what is counted. patience: seconds during which nothing is shown.
    work: cost of all, where units differ in cost. Call ``advance(count)``, or
    ``advance(count, cost)``; threads may.

    >>> with progress("Reading", 3, "files", verbose=False) as advance:
    ...     advance(1)
    """
    if not verbose:
        yield ignore_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    whole = max(float(total) if work is None else work, 1e-9)
    n_done, done, began, guard = 0, 0.0, perf_counter(), Lock()
    console = Console(stderr=True)
    bar = Progress(TextColumn("{task.description}", markup=False), BarColumn(), console=console)
    task = bar.add_task(what, total=whole)
    every = BAR_EVERY if console.is_terminal else LINE_EVERY
    ended = Event()

    def advance(count: int, cost: float | None = None) -> None:
        nonlocal n_done, done
        with guard:
            n_done += count
            done += count if cost is None else cost

    def show() -> None:
        spent = perf_counter() - began
        left = max(0.0, spent * (whole - done) / done) if done else None
        about = "" if left is None else f", about {_duration(left)} left"
        line = f"{what}: {n_done} of {total} {unit} after {_duration(spent)}{about}"
        if console.is_terminal:
            bar.start()
            bar.update(task, completed=done, description=line)
        else:
            tell(line)

    def watch() -> None:
        wait = max(patience, every)
        while not ended.wait(wait):
            show()
            wait = every

    thread = Thread(target=watch, name="ddgk-progress", daemon=True)
    thread.start()
    try:
        yield advance
    finally:
        ended.set()
        thread.join()
        spent = perf_counter() - began
        if spent >= patience and console.is_terminal:
            show()
            bar.stop()
        elif spent >= patience:
            tell(f"{what}: {n_done} of {total} {unit} in {_duration(spent)}")


def _duration(seconds: float) -> str:
    """Return seconds as people write them.

    >>> _duration(4.21), _duration(75), _duration(7300)
    ('4.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
