"""The folder of a run in a bucket, through fsspec.

An object exists whole or not at all, since that is how buckets work. Nothing can be appended or
locked there: a log has one object per line, and processes that share a run may compute a tile
twice.
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
            raise MissingExtraError(f"a run at {address} needs another library: {error}") from error
        except ValueError as error:
            raise RunError(f"{address} is not an address that fsspec knows: {error}") from error
        self.system, self.root = found

    def create(self) -> None:
        """Do nothing: buckets have no folders."""

    def has(self, name: str) -> bool:
        """Return whether an object exists."""
        return bool(self.system.isfile(f"{self.root}/{name}"))

    def size(self, name: str) -> int:
        """Return the number of bytes of an object; 0 if it does not exist."""
        return int(self.system.size(f"{self.root}/{name}")) if self.has(name) else 0

    def read(self, name: str, limit: int | None = None) -> bytes:
        """Return the content of an object; raise if it has more than `limit` bytes."""
        path = f"{self.root}/{name}"
        if limit is not None and self.size(name) > limit:
            raise RunError(f"{path} has more than {limit} bytes, which no such file of a run has")
        return bytes(self.system.cat_file(path))

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
