"""Load sets by name: from the user's folder, from the cache, or from the web."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from ddgk.errors import (
    DatasetError,
    DatasetNotFoundError,
    DownloadError,
    ParameterError,
    warn_caller,
)
from ddgk.graphs.policies import Policies
from ddgk.io.catalogue import (
    DATASETS,
    NETWORKS,
    cache_folder,
    check_name,
    find_tu,
    folders,
    list_stored,
    suggest,
)
from ddgk.io.dataset import Dataset
from ddgk.io.reading import MAX_BYTES
from ddgk.io.tu import read_tu

COLLECTION = "https://www.chrsmrrs.com/graphkerneldatasets"


def load(name: str, *, policies: Policies | None = None, fetch: bool = True) -> Dataset:
    """Load a graph classification set by name.

    A name is looked for in the folder that the environment variable DDGK_DATA names, as
    ``tu/NAME.zip`` or ``tu/NAME/``, then in the cache (DDGK_CACHE, or ~/.cache/ddgk), and at last
    in the TU collection on the web (or the mirror at DDGK_MIRROR), from where it goes to the cache.
    The content of sets in `DATASETS` is compared with what was published.

    Parameters
    ----------
    name : str
    policies : Policies, optional
        See `read_tu`.
    fetch : bool
        False never opens a connection.

    Returns
    -------
    Dataset
        It unpacks as graphs and classes.

    Raises
    ------
    DatasetNotFoundError
        Nothing of that name is stored here or known; the message has the names that come close.
    DownloadError
        A known set could not be fetched; the message says where to put its file instead.
    DatasetError
        The files are damaged or not in TU format; the message names the file and line.

    Examples
    --------
    >>> from ddgk import io
    >>> graphs, classes = io.load("MUTAG")  # doctest: +SKIP
    >>> io.load("MUTGA", fetch=False)
    Traceback (most recent call last):
    ...
    ddgk.errors.DatasetNotFoundError: no data set 'MUTGA' here; did you mean 'MUTAG'?...
    """
    path = get(name, fetch=fetch)
    dataset = read_tu(path, name=name, policies=policies)
    known = DATASETS.get(name)
    if known is not None and dataset.fingerprint != known.fingerprint:
        warn_caller(
            f"{path} is not {name} as it was published: its content has fingerprint "
            f"{dataset.fingerprint}, not {known.fingerprint}; to fetch the published one, "
            "delete or rename the file",
        )
    return dataset


def get(name: str, *, sha256: str | None = None, fetch: bool = True) -> Path:
    """Make sure that a set is stored on this computer, and return where.

    What is downloaded is parsed before it is kept. A set in `DATASETS` must have the published
    content, whatever the bytes of its archive.

    Parameters
    ----------
    name : str
        Of a TU set.
    sha256 : str, optional
        The hash that the file must have.
    fetch : bool
        Download what is not stored; False raises instead.

    Returns
    -------
    Path

    Examples
    --------
    >>> from ddgk import io
    >>> io.get("MUTAG").name  # doctest: +SKIP
    'MUTAG.zip'
    """
    check_name(name)
    if name in NETWORKS:
        raise DatasetNotFoundError(f"{name!r} is a single network, not a set; use read({name!r})")
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise ParameterError(f"sha256 must be 64 hexadecimal digits, not {sha256!r}")
    path = find_tu(name)
    if path is None:
        return _fetch(name, sha256, fetch)
    if sha256 is not None and path.is_dir():
        raise DatasetError(f"{path}: a folder has no sha256; give a zip archive, or no hash")
    if sha256 is not None and _file_hash(path) != sha256.lower():
        raise DatasetError(f"{path}: its SHA-256 is {_file_hash(path)}, not the given {sha256}")
    return path


def _file_hash(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch(name: str, sha256: str | None, allowed: bool) -> Path:
    # The web libraries are slow to import, and most loads never need them.
    from ddgk.io.download import UnreachableError, download

    mirror = os.environ.get("DDGK_MIRROR") or COLLECTION
    url = f"{mirror.rstrip('/')}/{name}.zip"
    target = cache_folder() / "tu" / f"{name}.zip"
    try:
        if not allowed:
            raise UnreachableError(f"{url}: not tried, since fetch=False")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as folder:
            path = Path(folder, target.name)
            download(url, path, max_bytes=MAX_BYTES)
            _check_content(path, name, url, sha256)
            path.replace(target)
    except UnreachableError as error:
        raise not_stored(name, "data set", f"tu/{name}.zip", error) from error
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(
            f"cannot write {target} ({error}); set DDGK_CACHE to a folder you may write to"
        ) from error
    return target


def _check_content(path: Path, name: str, url: str, sha256: str | None) -> None:
    if sha256 is not None and _file_hash(path) != sha256.lower():
        raise DownloadError(
            f"{url}: what arrived has SHA-256 {_file_hash(path)}, not the given {sha256}"
        )
    try:
        # Whether graphs without nodes may be used is not decided here.
        every = Policies(empty="keep", missing="mask")
        found = read_tu(path, name=name, policies=every).fingerprint
    except DatasetError as error:
        raise DownloadError(f"{url}: what arrived is not a data set ({error})") from error
    if name in DATASETS and found != DATASETS[name].fingerprint:
        raise DownloadError(
            f"{url}: what arrived is not the published {name} (content {found}, "
            f"not {DATASETS[name].fingerprint}); check DDGK_MIRROR, or get the file by hand"
        )


def not_stored(
    name: str, kind: str, file: str, tried: DownloadError | None = None
) -> DatasetNotFoundError | DownloadError:
    """Return the error on a name that is not found, with where it was looked for and the fix.

    Of a name nobody knows the likely cause is a typo; of a known one, the connection.
    """
    folder, _, own = file.partition("/")
    looked = " and ".join(str(place / folder) for place in folders())
    then = "" if tried is None else f", then at {tried}"
    how = (
        f"Looked in {looked}{then}. To use it offline put {own} into the folder {folder}/ of a "
        "folder that DDGK_DATA names"
    )
    known = DATASETS.get(name) or NETWORKS.get(name)
    if known is None:
        every = [*DATASETS, *NETWORKS, *list_stored()]
        return DatasetNotFoundError(f"no {kind} {name!r} here; {suggest(name, every)} {how}")
    text = f"{kind} {name!r} is not on this computer ({known.citation}). {how}"
    return DatasetNotFoundError(text) if tried is None else DownloadError(text)
