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
    done: int = 0,
    work: float | None = None,
    work_done: float = 0.0,
) -> Iterator[Advance]:
    """Show progress while the block runs, with the time left; yield a function that counts.

    what, unit: what is done, and what is counted. patience: seconds during which nothing is shown.
    work, work_done: cost of all, and of what was done before, where units differ in cost. Call
    ``advance(count)``, or ``advance(count, cost)``; threads may.

    >>> with progress("Reading", 3, "files", verbose=False) as advance:
    ...     advance(1)
    """
    if not verbose:
        yield ignore_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    work = float(total) if work is None else work
    state = _State(what, total, unit, done, work, work_done)
    console = Console(stderr=True)
    bar = Progress(TextColumn("{task.description}", markup=False), BarColumn(), console=console)
    task = bar.add_task(what, total=max(work, 1e-9))
    every = BAR_EVERY if console.is_terminal else LINE_EVERY
    ended = Event()

    def show() -> None:
        if console.is_terminal:
            bar.start()
            bar.update(task, completed=state.work_done, description=state.line())
        else:
            tell(state.line())

    def watch() -> None:
        wait = max(patience, every)
        while not ended.wait(wait):
            show()
            wait = every

    thread = Thread(target=watch, name="ddgk-progress", daemon=True)
    thread.start()
    try:
        yield state.advance
    finally:
        ended.set()
        thread.join()
        if state.elapsed >= patience and console.is_terminal:
            show()
            bar.stop()
        elif state.elapsed >= patience:
            spent = _duration(state.elapsed)
            tell(f"{what}: {state.done - done} of {total} {unit} in {spent}")


class _State:
    """Counts what is done, and estimates the time left."""

    def __init__(
        self, what: str, total: int, unit: str, done: int, work: float, work_done: float
    ) -> None:
        self.what, self.total, self.unit, self.work, self.done = what, total, unit, work, done
        self.work_done = self.work_before = work_done if work_done else float(done)
        self.began = perf_counter()
        self._guard = Lock()

    def advance(self, count: int, cost: float | None = None) -> None:
        with self._guard:
            self.done += count
            self.work_done += count if cost is None else cost

    @property
    def elapsed(self) -> float:
        return perf_counter() - self.began

    def line(self) -> str:
        """Describe the state, with the time left if it can be estimated."""
        spent = self.work_done - self.work_before
        left = self.elapsed * (self.work - self.work_done) / spent if spent > 0 else None
        about = "" if left is None else f", about {_duration(max(0.0, left))} left"
        counted = f"{self.what}: {self.done} of {self.total} {self.unit}"
        return f"{counted} after {_duration(self.elapsed)}{about}"


def _duration(seconds: float) -> str:
    """Return seconds as people write them.

    >>> _duration(4.21), _duration(75), _duration(7300)
    ('4.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
