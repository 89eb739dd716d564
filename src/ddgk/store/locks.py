"""Locks of a run: single bytes of one file, which end with the process that holds them.

Byte 0 is the whole run's, byte 1 is held while targets are added, byte 2 + k is tile k's; the value
of that byte counts how often the tile was begun. The system drops the locks of a process that
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

from ddgk.store.files import Folder, LocalFolder, naming_odd_files

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
    """The locks of a run folder; without effect in a bucket, or on a file system without locks."""

    def __init__(self, folder: Folder) -> None:
        local = isinstance(folder, LocalFolder) and fcntl is not None
        self._path = folder.path / NAME if local and isinstance(folder, LocalFolder) else None
        self._handle = None if self._path is None else _open(self._path)
        if self._path is not None:
            self._closing = weakref.finalize(self, _close, self._path)

    def close(self) -> None:
        """Close the file and release its locks, once nothing in this process uses it."""
        if self._handle is not None:
            self._handle = None
            self._closing()

    def __enter__(self) -> Locks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, byte: int) -> bool:
        """Take a lock if no other process has it; return whether it was taken."""
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
        """Release a lock."""
        if self._handle is not None:
            try:
                fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, byte)
            except OSError:
                return

    @contextmanager
    def held(self, byte: int) -> Iterator[None]:
        """Hold a lock while the block runs; wait until it is free."""
        while not self.take(byte):
            time.sleep(0.1)
        try:
            yield
        finally:
            self.give_back(byte)

    def count(self, tile: int) -> int:
        """Count another start of a locked tile, and return how often it was begun."""
        if self._handle is None:
            return 1
        begun = min(MOST_COUNTED, self.counted(tile) + 1)
        # A full disk is reported where rows are written, not here.
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
                with naming_odd_files(path):
                    LocalFolder(path.parent).has(path.name)
                    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError:
                # A user who may only read the folder can still read what is finished.
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
