"""A run from its folder to its last tile: begun or continued, shared, stopped, failures named."""

from __future__ import annotations

import os
import platform
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ddgk.columns import reported_channels, source_columns
from ddgk.embedding.checks import (
    refuse_other_engine,
    refuse_other_identity,
    refuse_other_version,
)
from ddgk.embedding.progress import TileProgress, tell
from ddgk.embedding.tiles import Report, attempt_tile, forget_opened
from ddgk.embedding.workers import RETRIES, choose_pool
from ddgk.errors import BusyError, ClusterError, ParameterError, TileError
from ddgk.graphs.graph import Graph
from ddgk.store.files import Folder, LocalFolder, open_folder
from ddgk.store.locks import PLANNING, WHOLE_RUN, Locks
from ddgk.store.manifest import Manifest, read_manifest
from ddgk.store.models import StoredModel, identify_model
from ddgk.store.run import MODEL, Run, read_model, write_model
from ddgk.store.targets import place_targets, refuse_foreign
from ddgk.tiling import choose_shape

IF_BUSY = ("wait", "share", "fail")
MOST_FAILURES = 5  # tiles that fail for good before the rest is not tried
PACKAGES = ("ddgk", "numpy", "scipy", "numba", "zarr")


@dataclass(frozen=True)
class Setting:
    """How a run is computed; none of it changes a result but the engine.

    if_busy: what to do when another process is at it. add: take graphs that the run does not have.
    """

    engine: str
    device: str
    n_jobs: int | None
    max_memory: int
    if_busy: str = "wait"
    add: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.if_busy not in IF_BUSY:
            listed = ", ".join(map(repr, IF_BUSY))
            raise ParameterError(f"if_busy must be one of {listed}, not {self.if_busy!r}")


class RunStopped(KeyboardInterrupt):
    """Ctrl-C during a run; says what is kept."""


def embed_into(
    where: str | os.PathLike[str],
    model: StoredModel,
    parameters: dict[str, Any],
    graphs: Iterable[Graph],
    setting: Setting,
) -> Run:
    """Embed graphs into a run folder; return the run, opened at the rows of these graphs.

    What is there is kept. A row depends on its target and the sources alone, so it has the same
    bits as without a run, whatever the tiles and whoever computed them.
    """
    folder = open_folder(where)
    with opened_locks(folder) as locks:
        with _planning(locks, folder, setting.if_busy):
            manifest = read_manifest(folder)
            if manifest is not None:
                refuse_other_identity(folder, manifest.identity, identify_model(model))
                refuse_other_engine(folder, manifest, setting.engine, setting.device)
            else:
                refuse_foreign(folder)
            if not folder.has(MODEL):
                write_model(folder, model, parameters)
            begun = folder if manifest is None else Run(folder, manifest)
            begin = partial(_begin, model, setting)
            run = place_targets(begun, begin, graphs, model.reader, add=setting.add)
        if len(run.finished) < run.n_tiles:
            refuse_other_version(run)
            with _whole_run(locks, run, setting):
                compute(run, setting)
    return run


def keep_model(
    where: str | os.PathLike[str],
    expected: dict[str, Any],
    train: Callable[[], StoredModel],
    parameters: dict[str, Any],
    if_busy: str,
) -> StoredModel:
    """Return the model of a run folder, or train it and put it there.

    expected: the parts of `identify_model` that are known before training; a folder of another
    configuration is refused.
    """
    folder = open_folder(where)
    with opened_locks(folder) as locks, _planning(locks, folder, if_busy):
        manifest = read_manifest(folder)
        if manifest is None:
            refuse_foreign(folder)
        else:
            refuse_other_identity(folder, manifest.identity, expected)
        found = read_model(folder)
        if found is not None:
            refuse_other_identity(folder, identify_model(found[0]), expected)
            return found[0]
        model = train()
        if manifest is not None:
            refuse_other_identity(folder, manifest.identity, identify_model(model))
        write_model(folder, model, parameters)
        return model


def stored_seed(where: str | os.PathLike[str]) -> int | None:
    """Return the seed that a run was begun with, or None where there is no run yet."""
    folder = open_folder(where)
    manifest = read_manifest(folder)
    if manifest is not None:
        return int(manifest.identity["seed"])
    found = read_model(folder)
    return None if found is None else found[0].seed


def compute(run: Run, setting: Setting) -> None:
    """Compute the tiles that are missing, the dear ones first, until none is."""
    seconds = run.seconds()
    finished = run.finished
    shown = TileProgress(run, seconds, finished)
    work = partial(
        attempt_tile,
        address=run.address,
        token=run.manifest.token,
        max_memory=setting.max_memory,
    )
    failures: dict[int, Report] = {}
    attempts: Counter[int] = Counter()
    try:
        with shown.shown(setting.verbose):
            while True:
                given_up = {tile for tile, report in failures.items() if report.final}
                missing = sorted(set(range(run.n_tiles)) - finished - given_up)
                if not missing:
                    break
                missing.sort(key=lambda tile: -seconds[tile])
                progressed = False
                with closing(choose_pool(setting.n_jobs)(work, missing)) as reports:  # type: ignore[type-var]
                    for report in reports:
                        progressed |= report.state != "busy"
                        if report.state in ("computed", "stored"):
                            finished.add(report.tile)
                            failures.pop(report.tile, None)
                            shown.advance(report.tile)
                        elif report.state == "failed":
                            attempts[report.tile] += 1
                            _record(report, attempts[report.tile], failures)
                            _give_up_early(run, failures, report)
                if not progressed:
                    time.sleep(0.3)  # others have what is left
                    _notice_finished(run, finished, shown)
    except KeyboardInterrupt:
        raise RunStopped(_kept(run)) from None
    except ClusterError as error:
        raise ClusterError(f"{error}. {_kept(run)}; it can be continued here or there") from error
    finally:
        forget_opened()
    if failures:
        raise TileError(_failed(run, failures))


def _record(report: Report, n_attempts: int, failures: dict[int, Report]) -> None:
    """Remember a failure; after enough attempts it is final."""
    if not report.final and n_attempts > RETRIES:
        report = Report(report.tile, report.state, error=report.error, final=True)
    failures[report.tile] = report


def _give_up_early(run: Run, failures: dict[int, Report], report: Report) -> None:
    final = {tile: found for tile, found in failures.items() if found.final}
    if report.halting or len(final) >= MOST_FAILURES:
        raise TileError(_failed(run, final))


def _notice_finished(run: Run, finished: set[int], shown: TileProgress) -> None:
    for tile in sorted(run.finished - finished):
        finished.add(tile)
        shown.advance(tile)


def _failed(run: Run, failures: dict[int, Report]) -> str:
    first = min(failures)
    called = run.describe(run.manifest.plan.tile(first))
    others = f" (and {len(failures) - 1} other tiles)" if len(failures) > 1 else ""
    return f"{called} failed{others}: {failures[first].error}. {_kept(run)}"


def _kept(run: Run) -> str:
    return f"{len(run.finished)} of {run.n_tiles} tiles are kept in {run.address}"


def _begin(model: StoredModel, setting: Setting, graphs: Sequence[Graph]) -> Manifest:
    """Make the manifest of a new run, whose tiles are cut after the first batch of graphs."""
    method = model.method
    sources = [encoder.graph.n_nodes for encoder in model.encoders]
    shape = choose_shape(
        [graph.n_nodes for graph in graphs],
        sources,
        max(method.curve),
        whole_rows=method.symmetric or method.baseline == "target",
    )
    return Manifest(
        secrets.token_hex(8),
        _versions(),
        identify_model(model),
        tuple(source_columns(method, model.reader.family_names)),
        tuple(reported_channels(method, model.reader.family_names)),
        method.curve,
        tuple(encoder.graph.name for encoder in model.encoders),
        tuple(sources),
        shape,
        regions=method.split_regions,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        engine={"name": setting.engine, "device": setting.device},
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@contextmanager
def opened_locks(folder: Folder) -> Iterator[Locks]:
    """Open the locks of a folder, which is made if need be."""
    if isinstance(folder, LocalFolder):
        folder.path.mkdir(parents=True, exist_ok=True)
    with Locks(folder) as locks:
        yield locks


@contextmanager
def _planning(locks: Locks, folder: Folder, if_busy: str) -> Iterator[None]:
    """Hold the lock for what only one process may do; others wait, which takes seconds."""
    if if_busy == "fail" and not locks.take(PLANNING):
        raise BusyError(_busy(folder.address))
    with locks.held(PLANNING):
        yield


@contextmanager
def _whole_run(locks: Locks, run: Run, setting: Setting) -> Iterator[None]:
    """Wait until the run is ours; or share it; or refuse."""
    if locks.take(WHOLE_RUN) or setting.if_busy == "share":
        try:
            yield
        finally:
            locks.give_back(WHOLE_RUN)
        return
    if setting.if_busy == "fail":
        raise BusyError(_busy(run.address))
    if setting.verbose:
        tell(f"waiting for another process that is at work in {run.address}")
    try:
        with locks.held(WHOLE_RUN):
            yield
    except KeyboardInterrupt as error:
        raise error if isinstance(error, RunStopped) else RunStopped(_kept(run)) from None


def _busy(address: str) -> str:
    return (
        f"another process is at work in {address}; wait for it with if_busy='wait' "
        "(--if-busy wait), or help it with 'share'"
    )
