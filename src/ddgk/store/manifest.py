"""The manifest of a run, and the index of each batch of its targets.

The manifest is sealed JSON, written when everything it refers to is on the disk. It names no
files: their names follow from numbers. `Manifest.key` is a hash of all that is fixed when a run
begins, and part of the checksum of every other file of the run: a file of another run does not
fit, nor do its own files fit a manifest that was changed and sealed again.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import RunError, shown
from ddgk.store.files import Folder
from ddgk.store.graphs import text_as_array, texts_from_array
from ddgk.store.sealed import DAMAGE, Arrays, canonical, pack, seal_json, unpack, unseal_json

MANIFEST, KIND = "manifest.json", "run"
INDEX = "index"
LARGEST = 1 << 24  # bytes of a manifest
MOST_COUNT = 1 << 40
DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class TargetBatch:
    """Targets that were given together: graphs, tiles, and the checksum of the index."""

    n_graphs: int
    n_tiles: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """Everything that is fixed when a run begins, and its batches of targets.

    identity, engine, dtype and columns are those of the embedder; model: checksum of the model
    file.
    """

    run: str
    created: str
    versions: dict[str, str]
    identity: str
    engine: str
    dtype: str
    columns: tuple[str, ...]
    model: str
    batches: tuple[TargetBatch, ...] = ()

    @cached_property
    def key(self) -> str:
        """Return the hash of what is fixed when a run begins."""
        fixed = {k: v for k, v in asdict(self).items() if k not in ("model", "batches")}
        return hashlib.sha256(canonical(fixed).encode()).hexdigest()

    @property
    def n_graphs(self) -> int:
        """Number of targets that were given, repeated ones included."""
        return sum(batch.n_graphs for batch in self.batches)

    @property
    def n_tiles(self) -> int:
        """Number of tiles."""
        return sum(batch.n_tiles for batch in self.batches)

    @property
    def token(self) -> str:
        """Identify the run and the number of its batches."""
        return f"{self.key}:{len(self.batches)}"

    def covers(self, token: str) -> bool:
        """Return whether a token is of this run, with at most as many batches.

        Adding a batch changes no tile of the others, so a worker that began before can go on.
        """
        key, _, n_batches = token.rpartition(":")
        return key == self.key and int(n_batches) <= len(self.batches)

    def as_bytes(self) -> bytes:
        """Return the content of the file."""
        return seal_json(KIND, asdict(self))


def read_manifest(folder: Folder) -> Manifest | None:
    """Return the manifest of a folder, or None if there is none."""
    where = f"{folder.address}/{MANIFEST}"
    if not folder.has(MANIFEST):
        return None
    try:
        return _manifest(unseal_json(KIND, folder.read(MANIFEST, LARGEST)))
    except DAMAGE as error:
        if isinstance(error, RunError):
            raise
        raise RunError(
            f"{where} is damaged, or not a manifest of this version: {shown(str(error))}; restore "
            "it, or begin a new run in another folder"
        ) from error


def _manifest(values: dict[str, Any]) -> Manifest:
    texts = {name: values[name] for name in ("run", "created", "identity", "engine", "model")}
    versions, columns = values["versions"], values["columns"]
    if not isinstance(values["batches"], list) or not values["batches"]:
        raise ValueError("it lists no graphs")
    batches = tuple(
        TargetBatch(_count(batch["n_graphs"]), _count(batch["n_tiles"]), batch["sha256"])
        for batch in values["batches"]
    )
    listed = [*texts.values(), *columns, *versions.values(), *(batch.sha256 for batch in batches)]
    if not all(isinstance(text, str) for text in listed):
        raise TypeError("a name or checksum is not text")
    if values["dtype"] not in DTYPES or not columns:
        raise ValueError(f"it has {len(columns)} columns of {shown(str(values['dtype']))}")
    return Manifest(
        **texts,
        versions=dict(versions),
        dtype=values["dtype"],
        columns=tuple(columns),
        batches=batches,
    )


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MOST_COUNT:
        raise ValueError(f"{shown(repr(value))} is not a count")
    return value


@dataclass(frozen=True)
class Index:
    """The targets of a batch, or of all batches of a run.

    digests: content hashes in the caller's order, (n_graphs, 32). rows: row of each in the run,
    (n_graphs,). counts, costs: rows and estimated seconds of each tile, (n_tiles,). targets:
    checksums of the files with the graphs of each tile, (n_tiles, 32). names: as digests.
    """

    digests: NDArray[np.uint8]
    rows: NDArray[np.int64]
    counts: NDArray[np.int64]
    costs: NDArray[np.float64]
    targets: NDArray[np.uint8]
    names: list[str | None]

    def as_bytes(self, manifest: Manifest, number: int) -> bytes:
        """Return the content of the file; number: which batch of the run it is."""
        arrays = vars(self) | {"names": text_as_array(self.names)}
        return pack(INDEX, arrays, context=f"{manifest.key} {index_name(number)}")


def read_index(folder: Folder, manifest: Manifest) -> Index:
    """Read the indices of all batches, each checked against the manifest, as one."""
    arrays: dict[str, list[NDArray[Any]]] = {
        name: [np.empty((0, *shape), dtype)] for name, (_, dtype, shape) in _arrays(0, 0).items()
    }
    names: list[str | None] = []
    n_rows = 0
    for number, batch in enumerate(manifest.batches):
        name = index_name(number)
        where = f"{folder.address}/{name}"
        try:
            content = folder.read(name)
            if hashlib.sha256(content).hexdigest() != batch.sha256:
                raise ValueError("its checksum does not match")
            found, _ = unpack(INDEX, content, f"{manifest.key} {name}")
            names += texts_from_array(found.pop("names"), batch.n_graphs)
            n_rows += _check_index(found, batch, n_rows)
        except FileNotFoundError:
            raise RunError(f"{where} is missing; restore it, or begin a new run") from None
        except DAMAGE as error:
            if isinstance(error, RunError):
                raise
            raise RunError(
                f"{where} is damaged, or {MANIFEST} is not of this run: {shown(str(error))}; "
                "restore it, or begin a new run in another folder"
            ) from error
        for key, parts in arrays.items():
            parts.append(found[key])
    return Index(**{key: np.concatenate(parts) for key, parts in arrays.items()}, names=names)


def _arrays(n_graphs: int, n_tiles: int) -> dict[str, tuple[int, str, tuple[int, ...]]]:
    """Return the length of every array of an index, its type, and the shape of an item."""
    return {
        "digests": (n_graphs, "uint8", (32,)),
        "rows": (n_graphs, "int64", ()),
        "counts": (n_tiles, "int64", ()),
        "costs": (n_tiles, "float64", ()),
        "targets": (n_tiles, "uint8", (32,)),
    }


def _check_index(arrays: Arrays, batch: TargetBatch, first_row: int) -> int:
    """Return the number of rows of a batch; raise if its arrays are not an index."""
    expected = _arrays(batch.n_graphs, batch.n_tiles)
    if set(arrays) != set(expected):
        raise ValueError("it lacks an array, or has one too many")
    for name, (length, dtype, shape) in expected.items():
        if (str(arrays[name].dtype), arrays[name].shape) != (dtype, (length, *shape)):
            raise ValueError(f"its {name} are {arrays[name].dtype} of shape {arrays[name].shape}")
    counts, rows, costs = arrays["counts"], arrays["rows"], arrays["costs"]
    if (counts < 1).any() or (counts > batch.n_graphs).any():
        raise ValueError("a tile has no rows, or too many")
    if (rows < 0).any() or (rows >= first_row + counts.sum()).any():
        raise ValueError("it names rows that do not exist")
    if not np.isfinite(costs).all() or (costs < 0).any():
        raise ValueError("its costs are not finite and positive")
    return int(counts.sum())


def index_name(number: int) -> str:
    """Return the name of the index of a batch."""
    return f"{INDEX}/{number:06d}.safetensors"
