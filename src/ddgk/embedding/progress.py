"""Progress: a bar on a terminal, a line every few seconds in a log or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import perf_counter
from typing import Any

Advance = Callable[..., None]

LINE_EVERY = 5.0  # seconds
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

    console = Console(stderr=True)
    state = _State(what, total, unit, done, float(total) if work is None else work, work_done)
    view = _Bar(console, state) if console.is_terminal else _Lines(console, state)
    ended = Event()

    def watch() -> None:
        wait = max(patience, view.every)
        while not ended.wait(wait):
            view.refresh()
            wait = view.every

    thread = Thread(target=watch, name="ddgk-progress", daemon=True)
    thread.start()
    try:
        yield state.advance
    finally:
        ended.set()
        thread.join()
        if state.elapsed >= patience:
            view.end()


class _State:
    """Counts what is done, and estimates the time left."""

    def __init__(
        self, what: str, total: int, unit: str, done: int, work: float, work_done: float
    ) -> None:
        self.what, self.total, self.unit, self.work = what, total, unit, work
        self.done, self.already = done, done
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


class _Lines:
    """A line every few seconds, and one at the end."""

    def __init__(self, console: Any, state: _State) -> None:
        self.console, self.state, self.every = console, state, LINE_EVERY

    def refresh(self) -> None:
        self._print(self.state.line())

    def end(self) -> None:
        state = self.state
        now = f"{state.done - state.already} of {state.total} {state.unit}"
        self._print(f"{state.what}: {now} in {_duration(state.elapsed)}")

    def _print(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, highlight=False, markup=False)


class _Bar:
    """A bar, refreshed until the end."""

    def __init__(self, console: Any, state: _State) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"))
        self.bar = Progress(*columns, TimeElapsedColumn(), console=console)
        self.task = self.bar.add_task(state.what, total=max(state.work, 1e-9), text="")
        self.state, self.every = state, 0.2

    def refresh(self) -> None:
        self.bar.start()
        about = self.state.line().partition(" after ")[2].partition(", ")[2]
        text = f"{self.state.done}/{self.state.total} {self.state.unit} {about}"
        self.bar.update(self.task, completed=self.state.work_done, text=text)

    def end(self) -> None:
        self.refresh()
        self.bar.stop()
