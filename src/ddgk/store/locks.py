"""Who works on what: locks of single bytes of one file, which end with the process that holds them.

Byte 0 is the whole run's, byte 1 is for whoever plans, byte 2 + k is tile k's; what is written in
that byte counts how often the tile was begun. The system drops the locks of a process that
dies, however it dies. Locks are between processes; threads of one divide the tiles themselves.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ddgk.store.files import Folder, LocalFolder

try:
    import fcntl
except ImportError:  # Windows: no locks; tiles are written whole all the same
    fcntl = None  # type: ignore[assignment]

NAME = "run.lock"
WHOLE_RUN, PLANNING, FIRST_TILE = 0, 1, 2
MOST_COUNTED = 255

# A process loses its locks of a file when it closes any handle of it, so there is one for all.
_handles: dict[Path, tuple[int, int]] = {}
_guard = threading.Lock()


class Locks:
    """The locks of a run folder; none in a bucket, nor where the file system knows none."""

    def __init__(self, folder: Folder) -> None:
        local = isinstance(folder, LocalFolder) and fcntl is not None
        self._path = folder.path / NAME if local and isinstance(folder, LocalFolder) else None
        self._handle = None if self._path is None else _open(self._path)
        if self._path is not None:
            self._closing = weakref.finalize(self, _close, self._path)

    def close(self) -> None:
        """Close the file, and with it give back its locks, once nobody in this process needs it."""
        if self._handle is not None:
            self._handle = None
            self._closing()

    def __enter__(self) -> Locks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, byte: int) -> bool:
        """Take a lock if nobody else has it, and say so."""
        if self._handle is None:
            return True
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # this file system has no locks
            return True
        return True

    def give_back(self, byte: int) -> None:
        """Give a lock back."""
        if self._handle is not None:
            try:
                fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, byte)
            except OSError:
                return

    @contextmanager
    def held(self, byte: int) -> Iterator[None]:
        """Hold a lock; wait until it is free."""
        while not self.take(byte):
            time.sleep(0.1)
        try:
            yield
        finally:
            self.give_back(byte)

    def count(self, tile: int) -> int:
        """Count one more beginning of a tile that is locked, and return how many that makes."""
        if self._handle is None:
            return 1
        begun = min(MOST_COUNTED, self.counted(tile) + 1)
        # Not being able to count keeps nobody from working: on a full disk say so where it matters.
        with suppress(OSError):
            os.pwrite(self._handle, bytes([begun]), FIRST_TILE + tile)
        return begun

    def counted(self, tile: int) -> int:
        """Return how often a tile was begun."""
        if self._handle is None:
            return 0
        found = os.pread(self._handle, 1, FIRST_TILE + tile)
        return found[0] if found else 0


def _open(path: Path) -> int:
    with _guard:
        handle, users = _handles.get(path, (-1, 0))
        if users == 0:
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError:
                # Who may only read the folder can still read what is finished.
                if not path.exists():
                    raise
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        _handles[path] = handle, users + 1
        return handle


def _close(path: Path) -> None:
    with _guard:
        handle, users = _handles[path]
        if users > 1:
            _handles[path] = handle, users - 1
        else:
            del _handles[path]
            os.close(handle)
