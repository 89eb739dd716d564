"""The grid of divergences as a Zarr array: axes (row, source, column), a chunk per tile.

Chunks carry a checksum. A chunk is written beside its name and renamed when it is on the disk, so
what has the name is whole, unless something damaged it later.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import RunError, shown
from ddgk.store.files import Folder, LocalFolder
from ddgk.store.manifest import Manifest
from ddgk.tiling import Tile

if TYPE_CHECKING:
    from zarr.abc.store import Store

NAME = "divergences"
BYTES_OF_A_NUMBER = 8


class Grid:
    """The array of a run, opened by what the manifest says it is."""

    def __init__(self, folder: Folder, manifest: Manifest, array: Any) -> None:
        self.folder, self.manifest, self._array = folder, manifest, array

    @classmethod
    def describe(cls, folder: Folder, manifest: Manifest) -> None:
        """Describe the array in the folder, also when it was smaller before."""
        folder.write(f"{NAME}/zarr.json", _description(manifest))

    @classmethod
    def open(cls, folder: Folder, manifest: Manifest, *, writable: bool = False) -> Grid:
        """Open the array; its own description is read by us first, and must be as we write it."""
        import zarr

        where = f"{folder.address}/{NAME}/zarr.json"
        try:
            content = folder.read(f"{NAME}/zarr.json")
        except FileNotFoundError:
            raise RunError(f"{where} is missing") from None
        try:
            found, expected = json.loads(content), json.loads(_description(manifest))
            n_rows = found["shape"].pop(0)
            wanted = expected["shape"].pop(0)
        except (LookupError, TypeError, ValueError, RecursionError, AttributeError) as error:
            raise RunError(f"{where} is damaged: {shown(repr(error))}") from error
        # Rows may have been added a moment before the manifest was to say so.
        fits = isinstance(n_rows, int) and wanted <= n_rows < 2**63
        if found != expected or not fits:
            raise RunError(f"{where} does not describe the grid of this run; it was changed")
        return cls(
            folder, manifest, zarr.open_array(_store(folder), mode="r+" if writable else "r")
        )

    def finished(self) -> set[int]:
        """Return the numbers of the tiles that are stored; an empty file is none."""
        plan = self.manifest.plan
        known = {chunk_name(tile): tile.number for tile in plan.tiles()}
        stored = self.folder.names(NAME)
        return {known[name] for name, size in stored.items() if name in known and size > 0}

    def has(self, tile: Tile) -> bool:
        """Say whether a tile is stored."""
        name = f"{NAME}/{chunk_name(tile)}"
        return self.folder.has(name) and self.folder.size(name) > 0

    def write(self, tile: Tile, values: NDArray[np.float64]) -> None:
        """Store a tile, (n_targets, n_sources, n_columns)."""
        rows = np.full((self.manifest.shape.targets, *values.shape[1:]), np.nan)
        rows[: len(values)] = values
        self._array[tile.first : tile.first + len(rows), tile.sources] = rows

    def read(self, tile: Tile) -> NDArray[np.float64]:
        """Return a tile; a damaged one is named."""
        name = chunk_name(tile)
        where = f"tile {tile.number} ({self.folder.address}/{NAME}/{name})"
        if not self.has(tile):
            raise RunError(f"{where} is not finished; run the same command again")
        self._refuse_bombs(name, where)
        try:
            rows = self._array[tile.first : tile.first + tile.n_targets, tile.sources]
        except (RuntimeError, ValueError) as error:
            raise RunError(
                f"{where} is damaged ({shown(str(error))}); remove it with `ddgk status --repair "
                f"{self.folder.address}` and run the same command again: the rest is kept"
            ) from error
        found: NDArray[np.float64] = np.asarray(rows)
        if not np.isfinite(found).all():
            raise RunError(f"{where} is damaged: it holds numbers that are not finite")
        return found

    def remove(self, tile: Tile) -> None:
        """Forget a tile, so that it is computed again."""
        self.folder.remove(f"{NAME}/{chunk_name(tile)}")

    def _refuse_bombs(self, name: str, where: str) -> None:
        """Refuse a chunk that says that it unpacks to more than a tile; Blosc would believe it."""
        expected = BYTES_OF_A_NUMBER * int(np.prod(self._array.chunks))
        head = self.folder.head(f"{NAME}/{name}", 16)
        if len(head) < 16 or int.from_bytes(head[4:8], "little") != expected:
            raise RunError(
                f"{where} is damaged (it does not hold {expected} bytes); remove it with `ddgk "
                f"status --repair {self.folder.address}` and run the same command again: the rest "
                "is kept"
            )


def chunk_name(tile: Tile) -> str:
    """Return the name of the chunk that holds a tile."""
    return f"c.{tile.block}.{tile.column}.0"


def _description(manifest: Manifest) -> bytes:
    """Return what zarr.json says of the array, as Zarr itself writes it."""
    import zarr
    from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec
    from zarr.storage import MemoryStore

    n_columns = len(manifest.columns)
    held: dict[str, Any] = {}
    zarr.create_array(
        MemoryStore(held),
        shape=(manifest.plan.n_rows, len(manifest.source_sizes), n_columns),
        chunks=(manifest.shape.targets, manifest.shape.sources, n_columns),
        dtype="float64",
        fill_value=float("nan"),
        filters=None,
        serializer=BytesCodec(endian="little"),
        compressors=[
            BloscCodec(cname="lz4", clevel=1, shuffle="shuffle", typesize=BYTES_OF_A_NUMBER),
            Crc32cCodec(),
        ],
        chunk_key_encoding={"name": "default", "separator": "."},
        dimension_names=("target", "source", "column"),
    )
    return bytes(held["zarr.json"].to_bytes())


def _store(folder: Folder) -> Store:
    from zarr.storage import FsspecStore, LocalStore

    if not isinstance(folder, LocalFolder):
        return FsspecStore.from_url(f"{folder.address}/{NAME}")

    class DurableStore(LocalStore):
        """Zarr's store of files, but a file is on the disk before it has its name."""

        async def set(self, key: str, value: Any) -> None:
            await asyncio.to_thread(self.set_sync, key, value)

        def set_sync(self, key: str, value: Any) -> None:
            folder.write(f"{NAME}/{key}", value.to_bytes())

    return DurableStore(folder.path / NAME)
