"""Sets and networks known by name, and where they are stored: the user's folder, then the cache."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ddgk.errors import DatasetError, DatasetNotFoundError
from ddgk.graphs import Policies
from ddgk.io.reading import CHUNK

# Starts with a letter or digit and has no separator: it cannot climb out of a folder or a URL.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
BUILT_IN = "karate"


@dataclass(frozen=True)
class DatasetInfo:
    """A graph classification set of the TU collection.

    Parameters
    ----------
    name : str
    what : str
        What a graph and its class stand for.
    n_graphs : int
    fingerprint : str
        `Dataset.fingerprint` of the published content.
    citation : str
        Where the data was first published.
    """

    name: str
    what: str
    n_graphs: int
    fingerprint: str
    citation: str


@dataclass(frozen=True)
class NetworkInfo:
    """A single network.

    Parameters
    ----------
    name : str
        Its file is called ``name.gml``.
    what : str
    policies : Policies
        How the published file becomes an undirected simple graph.
    edge_weights : str or None
        The key of the edge weights in the file.
    citation : str
    """

    name: str
    what: str
    policies: Policies
    edge_weights: str | None
    citation: str


@dataclass(frozen=True)
class Listing:
    """A set or network: known by name, stored here, or both. `path` is None when not stored."""

    name: str
    what: str
    n_graphs: int | None
    path: Path | None
    built_in: bool = False


_SETS = (
    DatasetInfo(
        "MUTAG",
        "nitro compounds: is one mutagenic on a bacterium?",
        188,
        "f7ca6d5138c5054bca6b7676ba334ff9d8cde259c949ead92e328a1cca332a99",
        "Debnath et al., J. Med. Chem. 34(2):786-797, 1991",
    ),
    DatasetInfo(
        "PTC_MR",
        "compounds: is one carcinogenic in male rats?",
        344,
        "d4b878ffd072877eb86cfdb89f5d91d734c6f5de8eb36e0e3f9f332a8a4fb7f5",
        "Helma et al., Bioinformatics 17(1), 2001; Kriege & Mutzel, ICML 2012",
    ),
    DatasetInfo(
        "NCI1",
        "compounds: does one hold back lung cancer cells?",
        4110,
        "0d9b6209f68c133bb56ebb63dcebb7ec7d818b13e7518e4497c30167558bbb66",
        "Wale & Karypis, ICDM 2006; Shervashidze et al., JMLR 12:2539-2561, 2011",
    ),
    DatasetInfo(
        "NCI109",
        "compounds: does one hold back ovarian cancer cells?",
        4127,
        "d6ae35931697c877dfa46da764e82a6e824275197c57520f6f230e83f18b74a7",
        "Wale & Karypis, ICDM 2006; Shervashidze et al., JMLR 12:2539-2561, 2011",
    ),
    DatasetInfo(
        "DD",
        "proteins as near amino acids: is one an enzyme?",
        1178,
        "2eb726929e3f34d51fac7eb84186835c56a3e962c2d355404ebb04e917efa157",
        "Dobson & Doig, J. Mol. Biol. 330(4):771-783, 2003",
    ),
    DatasetInfo(
        "ENZYMES",
        "enzymes as secondary structure elements: which of 6 top classes?",
        600,
        "aa977fbd93a8b94de016856e7334698021a5e0eccee922437881043fdce80c6a",
        "Borgwardt et al., Bioinformatics 21(Suppl 1):i47-i56, 2005",
    ),
    DatasetInfo(
        "PROTEINS",
        "proteins as secondary structure elements: is one an enzyme?",
        1113,
        "757d1602e593a2c5c97b616dd9e0a6c85b706c3c103d767309b353c06df78a32",
        "Borgwardt et al., Bioinformatics 21(Suppl 1):i47-i56, 2005",
    ),
    DatasetInfo(
        "BZR",
        "ligands of the benzodiazepine receptor: is one active?",
        405,
        "377b2d9d8fe319e1c3956bbcae35fc676148d3eeb55304d528f416793331238c",
        "Sutherland et al., J. Chem. Inf. Comput. Sci. 43:1906-1915, 2003",
    ),
    DatasetInfo(
        "Letter-med",
        "drawn capital letters, distorted: which of 15?",
        2250,
        "dd020a07a1847e3af4e19b86e53b61e975dbf197b96e1924e9b2595e3a6e80da",
        "Riesen & Bunke, SSPR 2008",
    ),
    DatasetInfo(
        "IMDB-BINARY",
        "actors who played together, around one: action or romance?",
        1000,
        "688ff24c638cd3b112d751874e019efbb35cbcd31fd8ecb7325b387ce0e0ceb6",
        "Yanardag & Vishwanathan, KDD 2015",
    ),
)
_NETWORKS = (
    NetworkInfo(
        "karate",
        "friendships in a karate club",
        Policies(weights="ignore"),
        "weight",
        "Zachary, J. Anthropol. Res. 33:452-473, 1977",
    ),
    NetworkInfo(
        "celegansneural",
        "neurons of the worm C. elegans",
        Policies(directed="undirected", parallel_edges="merge", weights="ignore"),
        "value",
        "Watts & Strogatz, Nature 393:440-442, 1998",
    ),
    NetworkInfo(
        "adjnoun",
        "adjectives and nouns that stand side by side in David Copperfield",
        Policies(),
        None,
        "Newman, Phys. Rev. E 74:036104, 2006",
    ),
)
DATASETS: dict[str, DatasetInfo] = {row.name: row for row in _SETS}
NETWORKS: dict[str, NetworkInfo] = {row.name: row for row in _NETWORKS}


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


def list_datasets() -> list[Listing]:
    """Return the known sets and networks, then others that are stored here.

    Examples
    --------
    >>> from ddgk import io
    >>> io.list_datasets()[0].name
    'MUTAG'
    """
    known = [
        Listing(row.name, row.what, row.n_graphs, find_tu(row.name)) for row in DATASETS.values()
    ]
    known += [
        Listing(row.name, row.what, 1, find_network(row.name), built_in=row.name == BUILT_IN)
        for row in NETWORKS.values()
    ]
    others = [name for name in list_stored() if name not in DATASETS and name not in NETWORKS]
    return known + [
        Listing(name, "stored here", None, find_tu(name) or find_network(name)) for name in others
    ]


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the known names that `name` may have meant.

    >>> suggest("mutga", DATASETS)
    "did you mean 'MUTAG'?"
    >>> suggest("qqq", ["one", "two"])
    'known here: one, two'
    """
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold()[:100], by_folded, n=3)
    if close:
        return "did you mean " + " or ".join(repr(by_folded[match]) for match in close) + "?"
    return "known here: " + ", ".join(by_folded.values())


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
