"""The file of a search index: a sealed header, then arrays that are mapped into memory.

Layout: 8 bytes magic, 8 bytes length of the header (little-endian), the header (JSON), the SHA-256
of all before, then sections, each beginning at a multiple of 64 bytes. The header holds place, size
and SHA-256 of every section. Nothing in the file is executed or unpickled.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from ddgk.errors import DDGKError, shown
from ddgk.store.files import replacing

MAGIC = b"DDGKIDX1"
ALIGNMENT = 64
MAX_HEADER = 1 << 20
CHUNK = 1 << 24
DIGEST = 32


class IndexFileError(DDGKError, ValueError):
    """A search index is damaged, foreign, or from a newer version."""


Section = Iterable[bytes | memoryview]


def write_sections(
    path: str | os.PathLike[str], description: Mapping[str, Any], sections: Mapping[str, Section]
) -> None:
    """Write a file, which takes its name when it is complete and on the disk.

    The checksums are known only at the end, so the header is written last, into space left for it.

    Parameters
    ----------
    path : path
    description : mapping
        Plain values for the header.
    sections : mapping of str to iterable of bytes
        The content of every section, in chunks.
    """
    target = Path(path)
    space = len(_header(description, dict.fromkeys(sections, (1 << 62, 1 << 62, "0" * 64))))
    with replacing(target) as file:
        file.write(b"\0" * space)
        places = {}
        for name, chunks in sections.items():
            begin = _pad(file)
            digest = hashlib.sha256()
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
            places[name] = (begin, file.tell() - begin, digest.hexdigest())
        header = _header(description, places)
        header = _header(description, places, fill=space - len(header))
        file.seek(0)
        file.write(header)


def _header(
    description: Mapping[str, Any], places: Mapping[str, tuple[int, int, str]], fill: int = 0
) -> bytes:
    sections = {
        name: {"offset": offset, "size": size, "sha256": digest}
        for name, (offset, size, digest) in places.items()
    }
    text = json.dumps({"description": description, "sections": sections}).encode() + b" " * fill
    head = MAGIC + len(text).to_bytes(8, "little") + text
    return head + hashlib.sha256(head).digest()


def _pad(file: IO[bytes]) -> int:
    place = file.tell()
    padding = -place % ALIGNMENT
    file.write(b"\0" * padding)
    return place + padding


class IndexFile:
    """An open file: its description, and its sections without a copy.

    Parameters
    ----------
    path : path
    verify : bool
        Compare the checksums of all sections. The header is always checked.
    """

    def __init__(self, path: str | os.PathLike[str], *, verify: bool = True) -> None:
        self.path = os.fspath(path)
        if not os.path.isfile(self.path):
            raise FileNotFoundError(f"there is no index file {shown(repr(self.path))}")
        with open(self.path, "rb") as file:
            self._size = os.fstat(file.fileno()).st_size
            whole = self._read_header(file)
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._content = memoryview(self._map)
        try:
            self.description: dict[str, Any] = dict(whole["description"])
            self._places = {
                str(name): (int(own["offset"]), int(own["size"]), str(own["sha256"]))
                for name, own in whole["sections"].items()
            }
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self.damaged("its header is incomplete") from error
        for name, (offset, size, digest) in self._places.items():
            if offset < 0 or size < 0 or offset + size > self._size:
                raise self.damaged(f"the section {shown(name)!r} lies outside the file")
            if verify and self._digest(offset, size) != digest:
                raise self.damaged(f"the checksum of the section {shown(name)!r} does not match")

    def damaged(self, what: str) -> IndexFileError:
        """Return the error to raise for damaged content."""
        return IndexFileError(
            f"{shown(repr(self.path))} is not a search index, or it is damaged: {what}; "
            "build it again"
        )

    def section(self, name: str) -> memoryview:
        """Return the content of a section."""
        if name not in self._places:
            raise self.damaged(f"it has no section {name!r}")
        offset, size, _ = self._places[name]
        return self._content[offset : offset + size]

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def _read_header(self, file: IO[bytes]) -> Any:
        start = file.read(16)
        length = int.from_bytes(start[8:], "little")
        if start[:8] != MAGIC or not 2 <= length <= MAX_HEADER:
            raise self.damaged("it does not begin as one")
        text, seal = file.read(length), file.read(DIGEST)
        if len(text) != length or hashlib.sha256(start + text).digest() != seal:
            raise self.damaged("the checksum of its header does not match")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.damaged("its header is not JSON") from error

    def _digest(self, offset: int, size: int) -> str:
        digest = hashlib.sha256()
        for first in range(offset, offset + size, CHUNK):
            digest.update(self._content[first : min(first + CHUNK, offset + size)])
        return digest.hexdigest()
