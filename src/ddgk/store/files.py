"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
    _sync_folder(path.parent)


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
