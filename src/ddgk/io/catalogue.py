"""Sets and networks known by name, and where they are stored: the user's folder, then the cache."""

from __future__ import annotations

import csv
import difflib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ddgk.errors import DatasetNotFoundError
from ddgk.graphs import Policies

# Starts with a letter or digit and has no separator: it cannot climb out of a folder or a URL.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
BUILT_IN = "karate"


@dataclass(frozen=True)
class DatasetInfo:
    """A set or a network that is known by name, or stored here.

    Parameters
    ----------
    name : str
    what : str
        What a graph and its class stand for.
    n_graphs : int or None
        1 for a network; None when it has not been counted.
    fingerprint : str, optional
        `Dataset.fingerprint` of the published content of a set.
    citation : str
        Where the data was first published.
    policies : Policies, optional
        How the published file of a network becomes an undirected simple graph.
    edge_weights : str or None
        The key of the edge weights in that file.
    """

    name: str
    what: str
    n_graphs: int | None = None
    fingerprint: str | None = None
    citation: str = ""
    policies: Policies | None = None
    edge_weights: str | None = "weight"

    @property
    def path(self) -> Path | None:
        """Where it is stored, or None."""
        return find_tu(self.name) or find_network(self.name)

    @property
    def built_in(self) -> bool:
        """Whether it needs no file."""
        return self.name == BUILT_IN


def _known_sets() -> Iterator[DatasetInfo]:
    with Path(__file__).with_name("sets.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield DatasetInfo(**row | {"n_graphs": int(row["n_graphs"])})  # type: ignore[arg-type]


DATASETS: dict[str, DatasetInfo] = {row.name: row for row in _known_sets()}
NETWORKS: dict[str, DatasetInfo] = {
    "karate": DatasetInfo(
        "karate",
        "friendships in a karate club",
        1,
        citation="Zachary, J. Anthropol. Res. 33:452-473, 1977",
        policies=Policies(weights="ignore"),
    ),
    "celegansneural": DatasetInfo(
        "celegansneural",
        "neurons of the worm C. elegans",
        1,
        citation="Watts & Strogatz, Nature 393:440-442, 1998",
        policies=Policies(directed="undirected", parallel_edges="merge", weights="ignore"),
        edge_weights="value",
    ),
    "adjnoun": DatasetInfo(
        "adjnoun",
        "adjectives and nouns that stand side by side in David Copperfield",
        1,
        citation="Newman, Phys. Rev. E 74:036104, 2006",
    ),
}


def data_folder() -> Path | None:
    """Return the user's own folder of data, from the environment variable DDGK_DATA, or None."""
    folder = os.environ.get("DDGK_DATA")
    return Path(folder).expanduser() if folder else None


def cache_folder() -> Path:
    """Return where downloads are kept: DDGK_CACHE, else ddgk in XDG_CACHE_HOME or ~/.cache."""
    chosen = os.environ.get("DDGK_CACHE")
    if chosen:
        return Path(chosen).expanduser()
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
    return _first(f"tu/{name}.zip", f"tu/{name}")


def find_network(name: str) -> Path | None:
    """Return the GML file of a network that is stored here, or None."""
    return _first(f"networks/{name}.gml")


def _first(*places: str) -> Path | None:
    paths = (folder / place for folder in folders() for place in places)
    return next((path for path in paths if path.exists()), None)


def list_stored() -> list[str]:
    """Return the names of all sets and networks that are stored here."""
    names = set()
    for folder in folders():
        names |= {path.stem for path in folder.glob("tu/*.zip")}
        names |= {path.name for path in folder.glob("tu/*") if path.is_dir()}
        names |= {path.stem for path in folder.glob("networks/*.gml")}
    return sorted(name for name in names if NAME.fullmatch(name))


def list_datasets() -> list[DatasetInfo]:
    """Return the known sets and networks, then others that are stored here.

    Examples
    --------
    >>> from ddgk import io
    >>> io.list_datasets()[0].name
    'MUTAG'
    """
    known = DATASETS | NETWORKS
    others = [DatasetInfo(name, "stored here") for name in list_stored() if name not in known]
    return [*known.values(), *others]


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the known names that `name` may have meant.

    >>> suggest("mutga", DATASETS)
    "did you mean 'MUTAG'?"
    >>> suggest("qqq", ["one", "two"])
    'known here: one, two.'
    """
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold()[:100], by_folded, n=3)
    if close:
        return "did you mean " + " or ".join(repr(by_folded[match]) for match in close) + "?"
    return f"known here: {', '.join(by_folded.values())}."
