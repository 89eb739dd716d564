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

from ddgk.store.files import Folder
from ddgk.store.graphs import text_as_array, texts_from_array
from ddgk.store.sealed import Arrays, canonical, damage_named, pack, seal_json, unpack, unseal_json

MANIFEST, KIND = "manifest.json", "run"
INDEX = "index"
RESTORE = "restore it, or begin a new run in another folder"
DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Manifest:
    """Everything that is fixed when a run begins, and the checksums of its indices.

    identity: of the model; engine, dtype and columns are those of the embedder. indices: checksums
    of the index of each batch of targets.
    """

    run: str
    created: str
    versions: dict[str, str]
    identity: str
    engine: str
    dtype: str
    columns: tuple[str, ...]
    indices: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """Hash of what is fixed when a run begins."""
        return hashlib.sha256(canonical(asdict(self) | {"indices": []}).encode()).hexdigest()

    def as_bytes(self) -> bytes:
        """Return the content of the file."""
        return seal_json(KIND, asdict(self))


def read_manifest(folder: Folder) -> Manifest | None:
    """Return the manifest of a folder, if there is one."""
    if not folder.has(MANIFEST):
        return None
    with damage_named(f"{folder.address}/{MANIFEST}", RESTORE):
        return _manifest(unseal_json(KIND, folder.read(MANIFEST)))


def _manifest(values: dict[str, Any]) -> Manifest:
    listed = {name: values.pop(name) for name in ("columns", "indices")}
    if not all(isinstance(items, list) and items for items in listed.values()):
        raise ValueError("it lists no columns, or no graphs")
    texts = [*values["versions"].values(), *listed["columns"], *listed["indices"]]
    texts += [value for name, value in values.items() if name != "versions"]
    if values["dtype"] not in DTYPES or not all(isinstance(text, str) for text in texts):
        raise TypeError("a name or checksum is not text")
    return Manifest(**values | {name: tuple(items) for name, items in listed.items()})


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


# The owner of every array of an index, its type, and the shape of an item.
ARRAYS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "digests": ("digests", "uint8", (32,)),
    "rows": ("digests", "int64", ()),
    "counts": ("counts", "int64", ()),
    "costs": ("counts", "float64", ()),
    "targets": ("counts", "uint8", (32,)),
}


def read_index(folder: Folder, manifest: Manifest) -> Index:
    """Read the indices of all batches, each checked against the manifest, as one."""
    arrays = {name: [np.empty((0, *shape), kind)] for name, (_, kind, shape) in ARRAYS.items()}
    names: list[str | None] = []
    n_rows = 0
    for number, sha256 in enumerate(manifest.indices):
        name = index_name(number)
        with damage_named(f"{folder.address}/{name}", f"{MANIFEST} may be another's; {RESTORE}"):
            content = folder.read(name)
            if hashlib.sha256(content).hexdigest() != sha256:
                raise ValueError("its checksum does not match")
            found, _ = unpack(INDEX, content, f"{manifest.key} {name}")
            names += texts_from_array(found.pop("names"), len(found["digests"]))
            n_rows += _check_index(found, n_rows)
        for key, parts in arrays.items():
            parts.append(found[key])
    return Index(**{key: np.concatenate(parts) for key, parts in arrays.items()}, names=names)


def _check_index(arrays: Arrays, first_row: int) -> int:
    """Return the number of rows of a batch; raise if its arrays are not an index."""
    if set(arrays) != set(ARRAYS):
        raise ValueError("it lacks an array, or has one too many")
    for name, (owner, dtype, shape) in ARRAYS.items():
        expected = (len(arrays[owner]), *shape)
        if (str(arrays[name].dtype), arrays[name].shape) != (dtype, expected):
            raise ValueError(f"its {name} are {arrays[name].dtype} of shape {arrays[name].shape}")
    counts, rows, costs = arrays["counts"], arrays["rows"], arrays["costs"]
    if (counts < 1).any() or (counts > len(rows)).any():
        raise ValueError("a tile has no rows, or too many")
    if (rows < 0).any() or (rows >= first_row + counts.sum()).any():
        raise ValueError("it names rows that do not exist")
    if not np.isfinite(costs).all() or (costs < 0).any():
        raise ValueError("its costs are not finite and positive")
    return int(counts.sum())


def index_name(number: int) -> str:
    """Return the name of the index of a batch."""
    return f"{INDEX}/{number:06d}.safetensors"
