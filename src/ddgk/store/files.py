"""Files that are there whole or not at all, and the folder of a run, on a disk or in a bucket."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from ddgk.errors import DDGKError, RunError, shown

TEMPORARY = ".writing-"  # how names of files begin that are not complete


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that its name only ever stands for the whole content."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file piece by piece; it takes its name when it is complete and on the disk."""
    temporary = path.parent / f"{TEMPORARY}{path.name}.{secrets.token_hex(4)}"
    # Opened like any file, so that it gets the mode that the user's umask says.
    with _naming(path, temporary):
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with _naming(path, temporary), os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(path.parent)


@contextmanager
def naming_damage(name: str) -> Iterator[None]:
    """Turn whatever damaged content raises while it is read into an error that names the file."""
    from safetensors import SafetensorError

    try:
        yield
    except (
        SafetensorError,
        DDGKError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise RunError(f"{name} is damaged: {shown(str(error))}") from error


@contextmanager
def _naming(path: Path, temporary: Path) -> Iterator[None]:
    """Let errors name the file that was meant; of a full disk the system names none."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _sync_folder(folder: Path) -> None:
    """Put the new name itself on the disk, so that a power cut cannot take it back."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # not every system opens folders
        return
    try:
        os.fsync(handle)
    except OSError:  # nor does every file system sync them
        pass
    finally:
        os.close(handle)


class Folder(Protocol):
    """Where a run keeps its files; names have slashes and never leave the folder."""

    address: str

    def has(self, name: str) -> bool:
        """Say whether a file is there."""
        ...

    def size(self, name: str) -> int:
        """Return how many bytes a file has."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        ...

    def head(self, name: str, n_bytes: int) -> bytes:
        """Return the first bytes of a file."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        ...

    def names(self, folder: str) -> dict[str, int]:
        """List the files right in a folder, with their sizes; none if there is no such folder."""
        ...

    def append(self, name: str, key: str, line: str) -> None:
        """Add a line to a log; key: what the line is about."""
        ...

    def lines(self, name: str) -> list[str]:
        """Return the lines of a log."""
        ...


class LocalFolder:
    """A folder on a disk."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self.address = str(self.path)

    def has(self, name: str) -> bool:
        """Say whether a file is there."""
        return (self.path / name).is_file()

    def size(self, name: str) -> int:
        """Return how many bytes a file has."""
        return (self.path / name).stat().st_size

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return (self.path / name).read_bytes()

    def head(self, name: str, n_bytes: int) -> bytes:
        """Return the first bytes of a file."""
        with open(self.path / name, "rb") as file:
            return file.read(n_bytes)

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all; it is on the disk when this returns."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def names(self, folder: str) -> dict[str, int]:
        """List the files right in a folder, with their sizes; none if there is no such folder."""
        try:
            with os.scandir(self.path / folder) as entries:
                return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
        except FileNotFoundError:
            return {}

    def append(self, name: str, key: str, line: str) -> None:  # noqa: ARG002
        """Add a line to a log, in one piece also when several processes write."""
        handle = os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(handle, f"{line}\n".encode())
        finally:
            os.close(handle)

    def lines(self, name: str) -> list[str]:
        """Return the lines of a log; one that a power cut left unfinished is no line."""
        if not self.has(name):
            return []
        return self.read(name).decode("utf-8", "replace").split("\n")[:-1]


def open_folder(where: str | os.PathLike[str]) -> Folder:
    """Return the folder that a path or an address such as s3://bucket/run stands for."""
    text = os.fspath(where)
    if text.startswith("file://"):
        return LocalFolder(text.removeprefix("file://"))
    if "://" in text:
        from ddgk.store.buckets import Bucket

        return Bucket(text)
    return LocalFolder(text)
