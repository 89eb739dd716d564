"""The folder of a run in a bucket, through fsspec.

An object is there whole or not at all, since that is how buckets take them; nothing can be appended
or locked, so a log is an object per line, and processes that share a run may compute a tile twice.
"""

from __future__ import annotations

from typing import Any

from ddgk.errors import MissingExtraError, RunError


class Bucket:
    """A folder at an address such as s3://bucket/run."""

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
            raise MissingExtraError(f"a run at {address} needs a library more: {error}") from error
        except ValueError as error:
            raise RunError(f"{address} is no address that fsspec knows: {error}") from error
        self.system, self.root = found

    def has(self, name: str) -> bool:
        """Say whether an object is there."""
        return bool(self.system.isfile(f"{self.root}/{name}"))

    def size(self, name: str) -> int:
        """Return how many bytes an object has."""
        return int(self.system.size(f"{self.root}/{name}"))

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        return bytes(self.system.cat_file(f"{self.root}/{name}"))

    def head(self, name: str, n_bytes: int) -> bytes:
        """Return the first bytes of an object."""
        return bytes(self.system.cat_file(f"{self.root}/{name}", start=0, end=n_bytes))

    def write(self, name: str, content: bytes) -> None:
        """Write an object."""
        path = f"{self.root}/{name}"
        self.system.makedirs(path.rpartition("/")[0], exist_ok=True)
        self.system.pipe_file(path, content)

    def remove(self, name: str) -> None:
        """Remove an object, if it is there."""
        if self.has(name):
            self.system.rm_file(f"{self.root}/{name}")

    def names(self, folder: str) -> dict[str, int]:
        """List the objects right in a folder, with their sizes."""
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
        self.write(f"{name}/{key}", line.encode())

    def lines(self, name: str) -> list[str]:
        """Return the lines of a log in order of time, with which they begin."""
        return sorted(self.read(f"{name}/{key}").decode() for key in self.names(name))
