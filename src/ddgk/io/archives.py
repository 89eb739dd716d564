"""Read untrusted zip archives: in memory, within a budget, never onto the disk."""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
from collections.abc import Callable
from typing import IO

from ddgk.errors import DatasetError, DDGKError, shown
from ddgk.io.limits import Budget, budget

# Text of numbers packs 5 to 10 times; a bomb a thousand times. Small archives may exceed the ratio.
MAX_RATIO = 200
ALWAYS_ALLOWED = 1 << 24
MAX_DIRECTORY_BYTES = 1 << 20
END_OF_DIRECTORY, END_SIZE = b"PK\x05\x06", 22
LOCATOR_64, LOCATOR_64_SIZE = b"PK\x06\x07", 20


def read_archive(
    stream: IO[bytes], where: str, wanted: Callable[[str], bool], max_bytes: int
) -> dict[str, bytes]:
    """Return the content of the wanted members of a zip file, by member name.

    Every member's entry is checked, wanted or not: an archive with one hostile entry is not to be
    trusted with the rest. Nothing is extracted, so that no path in it can reach the disk.
    """
    try:
        size = stream.seek(0, os.SEEK_END)
        _refuse_large_directory(stream, size, where)
        with zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
            _check_entries(entries, where)
            by_ratio = max(ALWAYS_ALLOWED, MAX_RATIO * size)
            allowed = (
                budget(max_bytes)
                if max_bytes <= by_ratio
                else Budget(by_ratio, f"it unpacks to over {MAX_RATIO} times its size")
            )
            found = {}
            for entry in entries:
                if wanted(entry.filename):
                    with archive.open(entry) as member:
                        member_name = f"{where}: {shown(entry.filename)}"
                        found[entry.filename] = allowed.read(member, member_name)
            return found
    except DDGKError:
        raise
    # zipfile meets hostile bytes with a dozen kinds of error; all of them mean the same here.
    except Exception as error:
        raise DatasetError(
            f"{where}: not a complete zip archive "
            f"({shown(str(error)) or type(error).__name__}); fetch it again"
        ) from error


def _refuse_large_directory(stream: IO[bytes], size: int, where: str) -> None:
    """Look at the directory's size before zipfile makes an object of each of its entries."""
    stream.seek(max(0, size - (1 << 16) - END_SIZE - LOCATOR_64_SIZE))
    tail = stream.read()
    if tail[-END_SIZE:].startswith(END_OF_DIRECTORY) and tail.endswith(b"\0\0"):
        at = len(tail) - END_SIZE
    else:
        at = tail.rfind(END_OF_DIRECTORY)
    if at < 0 or at + END_SIZE > len(tail):
        raise DatasetError(f"{where}: not a zip archive, or its end is missing; fetch it again")
    (directory_bytes,) = struct.unpack_from("<L", tail, at + 12)
    has_64 = tail[max(0, at - LOCATOR_64_SIZE) : at].startswith(LOCATOR_64)
    if has_64 or directory_bytes > MAX_DIRECTORY_BYTES:
        raise DatasetError(f"{where}: the archive lists far more members than a data set has")


def _check_entries(entries: list[zipfile.ZipInfo], where: str) -> None:
    seen = set()
    for entry in entries:
        reason = _why_refused(entry)
        if reason is None and entry.filename in seen:
            reason = "is listed twice"
        if reason is not None:
            raise DatasetError(
                f"{where}: refused, its member {shown(repr(entry.orig_filename))} {reason}"
            )
        seen.add(entry.filename)


def _why_refused(entry: zipfile.ZipInfo) -> str | None:
    # zipfile cuts names at a NUL and, on some systems, turns backslashes: judge the original.
    name = entry.orig_filename
    if name.startswith("/") or "\\" in name or re.match(r"[A-Za-z]:", name):
        return "has an absolute path or a backslash"
    if ".." in name.split("/"):
        return "points outside the archive"
    if "\0" in name or not name.isprintable():
        return "has an unprintable name"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a symbolic link"
    if entry.flag_bits & 0x1:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is packed by a method other than deflate"
    return None
