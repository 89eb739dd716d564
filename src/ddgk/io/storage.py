"""Where data sets are stored locally: the user's own folder first, then the cache."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ddgk.errors import DatasetError, DatasetNotFoundError
from ddgk.io.limits import CHUNK

# Starts with a letter or digit and has no separator: it cannot climb out of a folder or a URL.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")


def data_folder() -> Path | None:
    """Return the user's own folder of data, from the environment variable DDGK_DATA, or None.

    Examples
    --------
    >>> from ddgk.io import data_folder
    >>> data_folder()  # doctest: +SKIP
    PosixPath('/home/me/graphs')
    """
    folder = os.environ.get("DDGK_DATA")
    return Path(folder).expanduser() if folder else None


def cache_folder() -> Path:
    """Return where downloads are kept: DDGK_CACHE, else the system's place for caches.

    Examples
    --------
    >>> from ddgk.io import cache_folder
    >>> cache_folder()  # doctest: +SKIP
    PosixPath('/home/me/.cache/ddgk')
    """
    chosen = os.environ.get("DDGK_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
        return Path(base or Path.home() / "AppData" / "Local") / "ddgk"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ddgk"
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The standard for that variable says to ignore relative paths.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "ddgk"


def folders() -> list[Path]:
    """Return the folders that are searched, in order."""
    own = data_folder()
    return [cache_folder()] if own is None else [own, cache_folder()]


def check_name(name: str) -> str:
    """Refuse names that are not plain words, before they become part of a path or a URL."""
    if not NAME.fullmatch(name):
        raise DatasetNotFoundError(
            f"{name[:100]!r} is neither an existing path nor the name of a data set; "
            "names have letters, digits and '_', '.', '+', '-'"
        )
    return name


def find_tu(name: str) -> Path | None:
    """Return the zip archive or unpacked folder of a set that is stored here, or None."""
    for folder in folders():
        archive, unpacked = folder / "tu" / f"{name}.zip", folder / "tu" / name
        if archive.is_file():
            return archive
        if unpacked.is_dir():
            return unpacked
    return None


def find_network(name: str) -> Path | None:
    """Return the GML file of a network that is stored here, or None."""
    for folder in folders():
        path = folder / "networks" / f"{name}.gml"
        if path.is_file():
            return path
    return None


def list_stored() -> list[str]:
    """Return the names of all sets and networks that are stored here."""
    names = set()
    for folder in folders():
        names |= {path.stem for path in folder.glob("tu/*.zip")}
        names |= {path.name for path in folder.glob("tu/*") if path.is_dir()}
        names |= {path.stem for path in folder.glob("networks/*.gml")}
    return sorted(name for name in names if NAME.fullmatch(name))


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal text."""
    content = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            content.update(chunk)
    return content.hexdigest()


def check_hash(path: Path, sha256: str | None) -> None:
    """Compare a stored file with the hash the caller gave, or the one noted at its download."""
    note = _note_beside(path)
    if sha256 is not None:
        if path.is_dir():
            raise DatasetError(f"{path}: a folder has no sha256; give a zip archive, or no hash")
        expected, promise = sha256.lower(), "the given sha256"
    elif path.is_file() and note.is_file():
        with note.open("rb") as stream:
            expected = stream.read(64).decode("ascii", "replace")
        promise = f"the one noted in {note.name} when it was downloaded"
    else:
        return
    found = file_hash(path)
    if found != expected:
        raise DatasetError(
            f"{path}: its SHA-256 is {found}, not {promise} ({expected}); "
            "delete the file and load the set again"
        )


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path next to `target`; at the end it takes its place, with its hash noted.

    If the block fails, nothing of it remains and `target` stays as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    os.close(handle)
    path = Path(temporary)
    note = path.with_suffix(".note")
    try:
        yield path
        note.write_text(file_hash(path) + "\n", encoding="ascii")
        # The note first: a crash in between leaves a note without a file, which does no harm.
        note.replace(_note_beside(target))
        path.replace(target)
    finally:
        path.unlink(missing_ok=True)
        note.unlink(missing_ok=True)


def _note_beside(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")
