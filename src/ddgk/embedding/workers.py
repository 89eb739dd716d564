"""Workers of a run: what each does with a tile; threads of this process, or a Dask cluster."""

from __future__ import annotations

import os
import queue
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from time import monotonic, perf_counter
from typing import Any, TypeVar

from ddgk.embedding.progress import tell
from ddgk.embedding.tiles import HALTING, Embedder, compute_rows
from ddgk.errors import (
    ClusterError,
    DDGKError,
    MissingExtraError,
    RunError,
    RunNotFoundError,
    TileError,
    shown,
)
from ddgk.store.files import FIRST_TILE, Folder, Locks
from ddgk.store.manifest import Manifest
from ddgk.store.run import LOG, ROWS, Run, file_name, open_run, read_model
from ddgk.store.sealed import model_identity

Model = TypeVar("Model", bound=Embedder)

RETRIES = 2  # of a tile that failed
CONNECTING = 15.0  # seconds to reach a scheduler
WITHOUT_SCHEDULER = 10.0  # seconds after which a scheduler counts as gone
WARN_WITHOUT_WORKERS = 3.0  # seconds after which missing workers are reported
WITHOUT_WORKERS = 60.0  # seconds without workers after which a run ends
OPENED_AT_ONCE = 2  # runs that a worker of a cluster keeps open


@dataclass(frozen=True)
class Report:
    """What became of a tile of a run.

    state: "computed", "stored" (it was there), "busy" (another process has it), "failed", or
    "halted" (other tiles would fail likewise).
    """

    tile: int
    state: str
    error: str = ""


@dataclass(frozen=True)
class Workplace:
    """A run as a worker has opened it."""

    run: Run
    embedder: Embedder
    locks: Locks
    max_memory: int

    def attempt(self, tile: int) -> Report:
        """Compute a tile and store it, unless it is stored or another process computes it."""
        said = ""
        for _ in range(1 + RETRIES):
            try:
                return Report(tile, self._attempt(tile))
            except TileError as error:  # one of its graphs fails
                said = str(error)
            except DDGKError as error:  # as it would again
                return Report(tile, "failed", str(error))
            except OSError as error:
                named = error.filename is not None
                kind = str(error.filename) if named else type(error).__name__
                said = f"{kind}: {error.strerror if named else error}"
                if error.errno in HALTING:
                    return Report(tile, "halted", said)
            except Exception as error:
                said = f"{type(error).__name__}: {shown(str(error))}"
        return Report(tile, "failed", said)

    def _attempt(self, tile: int) -> str:
        if not self.locks.take(FIRST_TILE + tile):
            return "busy"
        try:
            if self.run.folder.size(file_name(ROWS, tile)):
                return "stored"
            begun = self.locks.count(tile)
            began = perf_counter()
            graphs, positions = self.run.graphs(tile)
            rows = compute_rows(self.embedder, graphs, positions, self.max_memory)
            self.run.write_tile(tile, rows)
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            line = (
                f"{now} tile {tile}: {len(graphs)} graphs in {perf_counter() - began:.2f} s on "
                f"{socket.gethostname()}:{os.getpid()}"
            )
            line += f", begun {begun} times" if begun > 1 else ""
            self.run.folder.append(LOG, f"tile-{tile:08d}", line)
            return "computed"
        finally:
            self.locks.give_back(FIRST_TILE + tile)


def attempt_elsewhere(
    tile: int, *, address: str, key: str, n_tiles: int, kind: type[Embedder], max_memory: int
) -> Report:
    """Compute a tile in another process, which opens the run and its model by itself."""
    try:
        place = _open(address, key, n_tiles, kind, max_memory)
    except DDGKError as error:
        return Report(tile, "failed", f"a worker on {socket.gethostname()}: {error}")
    return place.attempt(tile)


@lru_cache(maxsize=OPENED_AT_ONCE)
def _open(address: str, key: str, n_tiles: int, kind: type[Embedder], max_memory: int) -> Workplace:
    try:
        run = open_run(address)
    except RunNotFoundError as error:
        raise RunError(
            f"it finds no run at {address}; workers need the same folder under the same name, or a "
            "bucket"
        ) from error
    if run.manifest.key != key or run.n_tiles < n_tiles:  # it may have more, added meanwhile
        raise RunError(
            f"it finds another run at {address}; it was changed meanwhile, or is not the same "
            "folder there"
        )
    embedder = stored_model(run.folder, kind, run.manifest)
    return Workplace(run, embedder, Locks(run.folder), max_memory)


def stored_model(folder: Folder, kind: type[Model], manifest: Manifest | None) -> Model:
    """Read the model of a folder; raise if it is damaged, or not that of the run."""
    model = read_model(folder, kind.from_parts)
    if manifest is not None:
        refuse_other_embedder(folder, manifest, model)
    return model


def refuse_other_embedder(folder: Folder, manifest: Manifest, embedder: Embedder) -> None:
    """Refuse to mix rows of two models or two engines; what the model says is what counts."""
    if manifest.engine != embedder.engine_name:
        raise RunError(
            f"{folder.address} was begun with the engine {shown(manifest.engine)}, and this is "
            f"{embedder.engine_name}; engines round differently: continue with that one, or name a "
            "new folder"
        )
    identity = model_identity(*embedder.to_parts())
    here = (identity, str(embedder.dtype), tuple(map(str, embedder.columns)))
    if (manifest.identity, manifest.dtype, manifest.columns) != here:
        raise RunError(
            f"{folder.address} is a run of another configuration: its model differs in sources, "
            "options or seed. Give the same options and graphs to continue it, or name a new folder"
        )


@contextmanager
def connected(cluster: Any) -> Iterator[Any]:
    """Yield a Dask client: the one given, or one connected to an address; None for None."""
    if cluster is None:
        yield None
        return
    try:
        from distributed import Client
        from distributed.comm.addressing import parse_address
        from distributed.comm.registry import backends, get_backend
    except ImportError as error:
        raise MissingExtraError(
            "a cluster needs dask.distributed: pip install 'ddgk[cluster]'"
        ) from error
    if not isinstance(cluster, str):
        yield cluster
        return
    try:
        # A client that cannot be made leaves threads behind, so the address is looked at first.
        get_backend(parse_address(cluster)[0])
    except ValueError:
        kinds = ", ".join(f"{kind}://" for kind in sorted(backends) if kind != "inproc")
        raise ClusterError(
            f"{shown(cluster)!r} is no address of a scheduler; one begins with {kinds}"
        ) from None
    try:
        client = Client(cluster, timeout=CONNECTING, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ClusterError(f"no scheduler answers at {shown(cluster)}: {shown(reason)}") from error
    try:
        yield client
    finally:
        client.close(timeout=2)


def on_dask(client: Any, work: Callable[[int], Report], tiles: Iterable[int]) -> Iterator[Report]:
    """Compute tiles on a Dask cluster, which repeats what failed or whose worker died."""
    numbers = list(tiles)
    came: queue.SimpleQueue[Any] = queue.SimpleQueue()
    try:
        futures = client.map(work, numbers, pure=False, key="ddgk-tile")
        left = {future.key: number for future, number in zip(futures, numbers, strict=True)}
        for future in futures:
            future.add_done_callback(came.put)
    except (OSError, TimeoutError, RuntimeError) as error:
        raise _gone(client, error) from error
    patience = _Patience(client)
    try:
        while left:
            try:
                future = came.get(timeout=0.5)
            except queue.Empty:
                patience.check()
                continue
            if future.status in ("pending", "lost"):  # the worker that held its report died
                future.add_done_callback(came.put)
                patience.check()
                continue
            patience.forget()
            if future.status not in ("finished", "error"):  # cancelled
                raise _gone(client)
            try:
                yield _report(future, left.pop(future.key))
            except (OSError, TimeoutError, CancelledError) as error:  # between status and result
                raise _gone(client, error) from error
    finally:
        if client.status == "running":
            client.cancel(futures, force=True)


class _Patience:
    """Notices that a scheduler is gone, or has no workers that can work."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.forget()

    def forget(self) -> None:
        """Begin to count anew, since something came."""
        self.since: float | None = None
        self.told = False

    def check(self) -> None:
        """Raise `ClusterError` after too long without a scheduler, or without workers."""
        status, workers = self.client.status, list[Any]()
        if status == "running":
            with suppress(OSError, TimeoutError, RuntimeError):
                workers = list(self.client.scheduler_info()["workers"].values())
        if any(map(_can_work, workers)):
            self.forget()
            return
        self.since = self.since or monotonic()
        idle = monotonic() - self.since
        if status != "running":
            if status in ("closing", "closed") or idle >= WITHOUT_SCHEDULER:
                raise _gone(self.client)
            return
        lack, where = "no workers", f"the cluster at {_address(self.client)}"
        if workers:
            lack += " but some that are paused for want of memory"
        if idle >= WITHOUT_WORKERS:
            raise ClusterError(
                f"{where} has had {lack} for {idle:.0f} s; start some with `dask worker`"
            )
        if idle >= WARN_WITHOUT_WORKERS and not self.told:
            self.told = True
            tell(f"{where} has {lack}; waiting {WITHOUT_WORKERS:.0f} s for some")


def _can_work(worker: Mapping[str, Any]) -> bool:
    """Return whether a worker computes, or would take a task."""
    busy = worker.get("metrics", {}).get("executing", 0) > 0
    return busy or worker.get("status") != "paused"


def _report(future: Any, number: int) -> Report:
    if future.status == "finished":
        report: Report = future.result()
        future.release()
        return report
    error = future.exception()
    said = f"{type(error).__name__}: {shown(str(error))}"
    if type(error).__name__ == "KilledWorker":
        said = "every worker that began it died, as they do for want of memory (KilledWorker)"
    return Report(number, "failed", said)


def _address(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", None) or "its address")


def _gone(client: Any, error: Exception | None = None) -> ClusterError:
    why = f" ({shown(str(error))})" if error is not None else ""
    return ClusterError(f"the scheduler at {_address(client)} is gone{why}")
