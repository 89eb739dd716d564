"""Verify a run: read everything that is stored once, and check it against its checksums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ddgk.errors import RunError
from ddgk.store.files import TEMPORARY, Folder, LocalFolder
from ddgk.store.locks import NAME as LOCK
from ddgk.store.locks import PLANNING, WHOLE_RUN, Locks
from ddgk.store.models import MODEL

if TYPE_CHECKING:
    from ddgk.store.run import Run


@dataclass(frozen=True)
class Damage:
    """A file of a run that is not what it should be.

    mendable: the run makes it again when it is removed and the command that began it is run.
    """

    name: str
    message: str
    mendable: bool
    folder: Folder = field(repr=False, compare=False)

    def remove(self) -> None:
        """Remove the file."""
        self.folder.remove(self.name)


def inspect(run: Run) -> list[Damage]:
    """Return what is damaged: the model, targets, rows; and files that were never completed.

    The manifest and the indices are checked when a run is opened.
    """
    from ddgk.store.run import LOG, ROWS, TARGETS, file_name

    found: list[Damage] = []

    def check(name: str, look: Callable[[], object]) -> None:
        try:
            look()
        except (RunError, OSError) as error:
            found.append(Damage(name, str(error), mendable=True, folder=run.folder))

    check(MODEL, run.model_content)
    check(LOG, run.log)
    check(LOCK, lambda: run.folder.has(LOCK))
    for kind, read in ((TARGETS, run.graphs), (ROWS, run.read_tile)):
        try:
            stored = run.folder.names(kind)
        except RunError as error:
            found.append(Damage(kind, str(error), mendable=False, folder=run.folder))
            continue
        for tile in range(run.n_tiles):
            name = file_name(kind, tile)
            if kind == TARGETS or stored.get(name.partition("/")[2], 0) != 0:
                check(name, lambda read=read, tile=tile: read(tile))  # type: ignore[misc]
    for folder in ("", TARGETS, ROWS, "index"):
        try:
            stored = run.folder.names(folder)
        except RunError:
            continue
        for name, size in stored.items():
            path = f"{folder}/{name}".removeprefix("/")
            if name.startswith(TEMPORARY):
                found.append(Damage(path, f"{path} was never completed", True, run.folder))
            elif folder == ROWS and size == 0:
                found.append(Damage(path, f"{path} is empty", True, run.folder))
    return found


def is_busy(run: Run) -> bool | None:
    """Return whether a process is at work in the folder; None where that cannot be known."""
    if not isinstance(run.folder, LocalFolder):
        return None
    if not run.folder.has(LOCK):
        return False
    with Locks(run.folder) as locks:
        free = [locks.take(byte) for byte in (WHOLE_RUN, PLANNING)]
        for byte, taken in zip((WHOLE_RUN, PLANNING), free, strict=True):
            if taken:
                locks.give_back(byte)
    return not all(free)


def begun_again(run: Run) -> dict[int, int]:
    """Return the tiles that were begun more than once, and how often."""
    if not isinstance(run.folder, LocalFolder) or not run.folder.has(LOCK):
        return {}
    with Locks(run.folder) as locks:
        counts = {tile: locks.counted(tile) for tile in range(run.n_tiles)}
    return {tile: count for tile, count in counts.items() if count > 1}
