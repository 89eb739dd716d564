"""What a run is: its configuration, its targets by content, and how the grid is cut into tiles.

The manifest is small JSON, written when all it speaks of is on the disk. It names no files: their
names follow from numbers. Each batch of targets has an index, a safetensors file whose hash the
manifest holds, with the content hash, the row and the name of every graph in the caller's order,
and with the hash of every file of packed graphs.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import RunError, shown
from ddgk.method import MOST_REGIONS, readout_names
from ddgk.store.files import Folder, naming_damage
from ddgk.tiling import Plan, TileShape

FORMAT = 3  # 1 had a grid of four axes, channel and step apart; 2 had other images
NAME = "manifest.json"
LARGEST = 1 << 26  # bytes; a manifest of a million graphs and a thousand sources has far fewer
MOST_ROWS = 1 << 26


@dataclass(frozen=True)
class Batch:
    """Targets that were given together: how many, on how many rows, and the hash of the index."""

    n_graphs: int
    n_rows: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """Everything that is fixed when a run begins, and its batches of targets.

    identity: what the model is, see `identify_model`, and the engine. columns: the names of what a
    source says of a target, the last axis of the grid. source_sizes: nodes of every source.
    """

    run: str
    versions: dict[str, str]
    identity: dict[str, Any]
    columns: tuple[str, ...]
    channels: tuple[str, ...]
    steps: tuple[int, ...]
    source_names: tuple[str | None, ...]
    source_sizes: tuple[int, ...]
    shape: TileShape
    batches: tuple[Batch, ...] = ()
    regions: int = 0
    created: str = ""
    engine: dict[str, str] = field(default_factory=dict)

    @cached_property
    def plan(self) -> Plan:
        """Return how the grid is cut."""
        rows = tuple(batch.n_rows for batch in self.batches)
        return Plan(self.shape, len(self.source_sizes), rows)

    @property
    def readouts(self) -> tuple[str, ...]:
        """Name what is read of every channel."""
        return readout_names(self.steps, self.regions)

    @property
    def n_graphs(self) -> int:
        """How many targets were given, repeated ones included."""
        return sum(batch.n_graphs for batch in self.batches)

    @property
    def token(self) -> str:
        """Tell one run from all others, and how many batches it has."""
        return f"{self.run}:{len(self.batches)}"

    def covers(self, token: str) -> bool:
        """Say whether this is the run that a token is of, with its batches or with more.

        Adding a batch changes no tile of the others, so who began before it can go on.
        """
        run, _, n_batches = token.rpartition(":")
        return run == self.run and int(n_batches) <= len(self.batches)

    def with_batch(self, batch: Batch) -> Manifest:
        """Return the manifest with a batch more."""
        return replace(self, batches=(*self.batches, batch))

    def as_bytes(self) -> bytes:
        """Return the content of the file."""
        values = {
            "format": FORMAT,
            "run": self.run,
            "created": self.created,
            "versions": self.versions,
            "engine": self.engine,
            "identity": self.identity,
            "columns": self.columns,
            "channels": self.channels,
            "steps": self.steps,
            "regions": self.regions,
            "source_names": self.source_names,
            "source_sizes": self.source_sizes,
            "tile": {"targets": self.shape.targets, "sources": self.shape.sources},
            "batches": [vars(batch) for batch in self.batches],
        }
        return json.dumps(values, indent=1).encode() + b"\n"


def read_manifest(folder: Folder) -> Manifest | None:
    """Return the manifest of a folder, or None where there is none; refuse what is not ours."""
    if not folder.has(NAME):
        return None
    where = f"{folder.address}/{NAME}"
    if folder.size(NAME) > LARGEST:
        raise RunError(f"{where} has more than {LARGEST} bytes; that is no manifest")
    try:
        values = json.loads(folder.read(NAME))
        number = values["format"]
        if not isinstance(number, int):
            raise TypeError(f"its format is {number!r}")
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise RunError(
            f"{where} is damaged, or not a manifest of ddgk: {shown(repr(error))}"
        ) from error
    if number > FORMAT:
        by = values.get("versions")
        version = by.get("ddgk", "?") if isinstance(by, dict) else "?"
        raise RunError(
            f"{where} was written by ddgk {shown(str(version))}, whose format {shown(str(number))} "
            f"is newer than {FORMAT}; "
            "upgrade ddgk"
        )
    if number < FORMAT:
        raise RunError(
            f"{where} is of format {number}, and this ddgk goes on with runs of format {FORMAT}; "
            "begin a new run in another folder"
        )
    try:
        manifest = _manifest(values)
        for number, batch in enumerate(manifest.batches):
            # Before anything is laid out by these numbers: are there as many graphs at all?
            if folder.size(index_name(number)) < 40 * batch.n_graphs + 8 * batch.n_rows:
                raise ValueError(f"batch {number} has fewer than {batch.n_graphs} graphs")
        return manifest
    except FileNotFoundError as error:
        raise RunError(f"{where} speaks of a file that is missing: {error.filename}") from error
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise RunError(f"{where} is damaged: {shown(repr(error))}") from error


def _manifest(values: dict[str, Any]) -> Manifest:
    shape = TileShape(_count(values["tile"]["targets"]), _count(values["tile"]["sources"]))
    batches = tuple(
        Batch(_count(batch["n_graphs"], least=0), _count(batch["n_rows"], least=0), batch["sha256"])
        for batch in values["batches"]
    )
    sizes = tuple(map(_count, values["source_sizes"]))
    names = tuple(values["source_names"])
    steps = tuple(_count(step, least=0) for step in values["steps"])
    regions = _count(values.get("regions", 0), least=0)
    columns, channels = tuple(values["columns"]), tuple(values["channels"])
    identity = dict(values["identity"])
    if not sizes or not columns or not channels or not steps or len(names) != len(sizes):
        raise ValueError("its sources, channels and steps do not fit together")
    if regions > MOST_REGIONS:
        raise ValueError(f"it has {regions} regions")
    if len(identity["sources"]) != len(sizes) or shape.sources > len(sizes):
        raise ValueError(f"it lists {len(sizes)} sources, and others elsewhere")
    if not isinstance(identity["encoders"], str):
        raise TypeError("the hash of its encoders is not text")
    if any(batch.n_rows > batch.n_graphs for batch in batches):
        raise ValueError("a batch has more rows than graphs")
    if sum(batch.n_rows for batch in batches) + shape.targets * len(batches) > MOST_ROWS:
        raise ValueError("it has more rows than a grid can have")
    texts = [
        values["run"],
        values["created"],
        *columns,
        *channels,
        *(batch.sha256 for batch in batches),
    ]
    texts += [name for name in names if name is not None]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a name is not text")
    return Manifest(
        values["run"],
        dict(values["versions"]),
        identity,
        columns,
        channels,
        steps,
        names,
        sizes,
        shape,
        batches,
        regions,
        values["created"],
        dict(values["engine"]),
    )


def _count(value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < MOST_ROWS:
        raise ValueError(f"{value!r} is not a count")
    return value


@dataclass(frozen=True)
class Index:
    """The targets of a batch.

    digests: content hashes in the caller's order, (n_graphs, 32). rows: where in the grid each one
    is, (n_graphs,). sizes: nodes of the graphs in planned order, (n_rows,). blocks: hashes of the
    files of packed graphs, (n_blocks, 32). names: in the caller's order.
    """

    digests: NDArray[np.uint8]
    rows: NDArray[np.int64]
    sizes: NDArray[np.int64]
    blocks: NDArray[np.uint8]
    names: list[str | None]

    def as_bytes(self) -> bytes:
        """Return the content of the file."""
        from safetensors.numpy import save

        arrays = {
            "digests": self.digests,
            "rows": self.rows,
            "sizes": self.sizes,
            "blocks": self.blocks,
            "names": np.frombuffer(json.dumps(self.names).encode(), dtype=np.uint8),
        }
        return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def read_index(folder: Folder, manifest: Manifest, number: int) -> Index:
    """Read the index of a batch; everything in it is checked against the manifest."""
    from safetensors.numpy import load

    batch, where = manifest.batches[number], f"{folder.address}/{index_name(number)}"
    try:
        content = folder.read(index_name(number))
    except FileNotFoundError:
        raise RunError(f"{where} is missing; the run cannot be continued without it") from None
    if hashlib.sha256(content).hexdigest() != batch.sha256:
        raise RunError(f"{where} is damaged: its checksum does not match")
    with naming_damage(where):
        arrays = load(content)
        names = json.loads(arrays.pop("names").tobytes())
        index = Index(**arrays, names=names)
        n_blocks = -(-batch.n_rows // manifest.shape.targets)
        shapes = [index.digests.shape, index.rows.shape, index.sizes.shape, index.blocks.shape]
        if shapes != [(batch.n_graphs, 32), (batch.n_graphs,), (batch.n_rows,), (n_blocks, 32)]:
            raise ValueError(f"its arrays have the shapes {shapes}")
        kinds = [array.dtype.kind for array in (index.rows, index.sizes)]
        if len(names) != batch.n_graphs or kinds != ["i", "i"]:
            raise ValueError("its arrays are of other kinds")
        inside = (index.rows >= 0) & (index.rows < manifest.plan.n_rows)
        if not inside.all() or (index.sizes < 1).any():
            raise ValueError("it names rows that do not exist")
    return index


def index_name(number: int) -> str:
    """Return the name of the index of a batch."""
    return f"targets/{number:06d}.safetensors"


def block_name(block: int) -> str:
    """Return the name of the file with the graphs of a row of tiles."""
    return f"graphs/{block:06d}.safetensors"
