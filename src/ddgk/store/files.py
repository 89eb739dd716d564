"""Files written atomically, the folder of a run on a disk or in a bucket, and its locks.

In a bucket, read through fsspec, an object exists whole or not at all. Nothing can be appended or
locked there: a log has one object per line.

Locks are single bytes of one file: byte 0 is the whole run's, byte 1 is held while targets are
added, byte 2 + k is tile k's, whose value counts how often the tile was begun. The system drops the
locks of a process that dies. They are between processes; threads divide the tiles themselves.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ddgk.errors import MissingExtraError, RunError, shown

try:
    import fcntl
except ImportError:  # Windows: no locks; tiles are written whole all the same
    fcntl = None  # type: ignore[assignment]


ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
MOST_BYTES = 1 << 33  # of a file
TEMPORARY = ".writing-"  # prefix of files that are not complete


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that its name only ever refers to the whole content."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name when it is complete and on the disk."""
    temporary = path.parent / f"{TEMPORARY}{path.name[:100]}.{secrets.token_hex(4)}"
    try:
        # Opened like any file, so that it gets the mode of the user's umask.
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        # The error names the file that was meant; of a full disk the system names none.
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    with suppress(OSError):  # not every system opens folders, or syncs them
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # so that a power cut cannot undo the new name
        finally:
            os.close(folder)


class LocalFolder:
    """The folder of a run on a disk; names have slashes and never leave the folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self.address = str(self.path)

    def create(self) -> None:
        """Make the folder, if it does not exist."""
        if not _is_there(self.path, folder=True):
            try:
                self.path.mkdir(parents=True, exist_ok=True)
            except NotADirectoryError as error:
                raise RunError(f"{self.path} lies below a file; name another folder") from error

    def has(self, name: str) -> bool:
        """Return whether a file exists; raise if something else has its name."""
        return _is_there(self.path / name)

    def size(self, name: str) -> int:
        """Return the number of bytes of a file; 0 if it does not exist."""
        return (self.path / name).stat().st_size if self.has(name) else 0

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        path = self.path / name
        if not self.has(name):
            raise FileNotFoundError(2, "No such file", str(path))
        check_size(str(path), path.stat().st_size)
        return path.read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically; it is on the disk when this returns."""
        path = self.path / name
        if not self.has(name) and not _is_there(path.parent, folder=True):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)

    def remove(self, name: str) -> None:
        """Remove a file or a link, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def names(self, folder: str) -> dict[str, int]:
        """List what is directly in a folder, with sizes; -1 for what is not a file.

        Empty if there is no such folder. Sub-folders of the root are left out.
        """
        path = self.path / folder
        if not _is_there(path, folder=True):
            return {}
        found = {}
        with os.scandir(path) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # another process has renamed it meanwhile
                    if entry.is_file():
                        found[entry.name] = entry.stat().st_size
                    elif folder or not entry.is_dir():
                        found[entry.name] = -1
        return found

    def append(self, name: str, key: str, line: str) -> None:  # noqa: ARG002
        """Add a line to a log, in one piece also when several processes write.

        key: what the line is about.
        """
        self.has(name)
        handle = os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(handle, f"{line}\n".encode("utf-8", "backslashreplace"))
        finally:
            os.close(handle)

    def lines(self, name: str) -> list[str]:
        """Return the lines of a log; a line that a power cut left unfinished is none."""
        if not self.has(name):
            return []
        return self.read(name).decode("utf-8", "replace").split("\n")[:-1]


def check_size(path: str, n_bytes: int) -> None:
    """Raise for a file that is too large to be a model, or part of a run."""
    if n_bytes > MOST_BYTES:
        raise RunError(f"{shown(path)} has {n_bytes} bytes, which no such file has")


def _is_there(path: Path, *, folder: bool = False) -> bool:
    """Return whether a file or folder exists; raise if something else has its name.

    It looks once: another process may make the file meanwhile.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        if isinstance(error, OSError) and error.errno not in ABSENT:
            raise
        if not os.path.islink(path):
            return False
        kind = "a link to nothing"
    else:
        if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
            return True
        kind = "a folder" if stat.S_ISDIR(mode) else "not a file"
    raise RunError(f"{path} is {kind}, where a run keeps a file or folder of its own; remove it")


class Bucket:
    """The folder of a run at an address such as s3://bucket/run; methods as of `LocalFolder`."""

    def __init__(self, address: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise MissingExtraError(
                f"a run at {address} needs fsspec: pip install 'ddgk[cloud]'"
            ) from error
        self.address = address.rstrip("/")
        try:
            found: tuple[Any, str] = url_to_fs(self.address)
        except ImportError as error:
            raise MissingExtraError(f"a run at {address} needs another library: {error}") from error
        except ValueError as error:
            raise RunError(f"{address} is not an address that fsspec knows: {error}") from error
        self.system, self.root = found

    def has(self, name: str) -> bool:
        """Return whether an object exists."""
        return bool(self.system.isfile(f"{self.root}/{name}"))

    def size(self, name: str) -> int:
        """Return the number of bytes of an object; 0 if it does not exist."""
        return int(self.system.size(f"{self.root}/{name}")) if self.has(name) else 0

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        check_size(f"{self.root}/{name}", self.size(name))
        return bytes(self.system.cat_file(f"{self.root}/{name}"))

    def write(self, name: str, content: bytes) -> None:
        """Write an object."""
        path = f"{self.root}/{name}"
        self.system.makedirs(path.rpartition("/")[0], exist_ok=True)
        self.system.pipe_file(path, content)

    def remove(self, name: str) -> None:
        """Remove an object, if it exists."""
        if self.has(name):
            self.system.rm_file(f"{self.root}/{name}")

    def names(self, folder: str) -> dict[str, int]:
        """List the objects directly in a folder, with their sizes."""
        self.system.invalidate_cache()
        try:
            found = self.system.ls(f"{self.root}/{folder}".rstrip("/"), detail=True)
        except FileNotFoundError:
            return {}
        return {
            entry["name"].rpartition("/")[2]: int(entry["size"])
            for entry in found
            if entry["type"] == "file"
        }

    def append(self, name: str, key: str, line: str) -> None:
        """Keep a line as an object of its own."""
        self.write(f"{name}/{key}", line.encode("utf-8", "backslashreplace"))

    def lines(self, name: str) -> list[str]:
        """Return the lines of a log in order of time, with which they begin."""
        found = [self.read(f"{name}/{key}") for key in self.names(name)]
        return sorted(line.decode("utf-8", "replace") for line in found)


Folder = LocalFolder | Bucket


def open_folder(where: str | os.PathLike[str]) -> Folder:
    """Return the folder that a path or an address such as s3://bucket/run refers to."""
    text = os.fspath(where)
    if text.startswith("file://"):
        return LocalFolder(text.removeprefix("file://"))
    if "://" in text:
        return Bucket(text)
    return LocalFolder(text)


LOCK = "run.lock"
WHOLE_RUN, PLANNING, FIRST_TILE = 0, 1, 2
MOST_COUNTED = 255


class _LockFile:
    """An open lock file. A process loses its locks when it closes any handle, so there is one."""

    def __init__(self, path: Path) -> None:
        try:
            _is_there(path)
            self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:
            # A user who may only read the folder can still read what is finished.
            if not path.exists():
                raise
            self.handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self.handle)


_lock_files: weakref.WeakValueDictionary[Path, _LockFile] = weakref.WeakValueDictionary()
_guard = threading.Lock()


class Locks:
    """The locks of a run folder, which is made if it does not exist.

    They have no effect in a bucket, or on a file system without locks.
    """

    def __init__(self, folder: Folder) -> None:
        self._file: _LockFile | None = None
        if fcntl is not None and isinstance(folder, LocalFolder):
            folder.create()
            path = folder.path / LOCK
            with _guard:
                self._file = _lock_files.get(path) or _LockFile(path)
                _lock_files[path] = self._file

    def __enter__(self) -> Locks:
        return self

    def __exit__(self, *_: object) -> None:
        with _guard:  # the file is closed once nothing in this process uses it
            self._file = None

    def take(self, byte: int) -> bool:
        """Take a lock if no other process has it; return whether it was taken."""
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file.handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # this file system has no locks
            return True
        return True

    def give_back(self, byte: int) -> None:
        """Release a lock."""
        if self._file is not None:
            with suppress(OSError):
                fcntl.lockf(self._file.handle, fcntl.LOCK_UN, 1, byte)

    def wait(self, byte: int) -> None:
        """Take a lock as soon as it is free."""
        while not self.take(byte):
            time.sleep(0.1)

    def count(self, tile: int) -> int:
        """Count another start of a locked tile, and return how often it was begun."""
        if self._file is None:
            return 1
        begun = min(MOST_COUNTED, self.counted(tile) + 1)
        # A full disk is reported where rows are written, not here.
        with suppress(OSError):
            os.pwrite(self._file.handle, bytes([begun]), FIRST_TILE + tile)
        return begun

    def counted(self, tile: int) -> int:
        """Return how often a tile was begun."""
        if self._file is None:
            return 0
        found = os.pread(self._file.handle, 1, FIRST_TILE + tile)
        return found[0] if found else 0
