"""Runs: begun or resumed, shared between processes, stopped, and their failures reported."""

from __future__ import annotations

import json
import os
import platform
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

from ddgk import __version__
from ddgk.embedding.checks import IF_BUSY, check_choice, check_n_jobs, parse_memory
from ddgk.embedding.progress import progress, tell
from ddgk.embedding.targets import place_targets
from ddgk.embedding.tiles import Embedder, in_threads
from ddgk.embedding.workers import (
    Model,
    Report,
    Workplace,
    attempt_elsewhere,
    connected,
    on_dask,
    refuse_other_embedder,
    stored_model,
)
from ddgk.errors import BusyError, ClusterError, RunError, TileError, shown
from ddgk.graphs.graph import Graph
from ddgk.store.files import (
    LOCK,
    PLANNING,
    TEMPORARY,
    WHOLE_RUN,
    Folder,
    Locks,
    open_folder,
)
from ddgk.store.manifest import MANIFEST, Manifest, read_manifest
from ddgk.store.run import LOG, ROWS, Run
from ddgk.store.sealed import (
    MODEL,
    MODEL_KIND,
    canonical,
    damage_named,
    model_identity,
    pack,
    seal_json,
    unseal_json,
)

SETTINGS = "settings.json"  # what a model in the folder is, or is going to be, trained with
MOST_FAILURES = 5  # tiles that fail for good before the others are not tried
PACKAGES = ("numpy", "scipy", "numba")

Path = str | os.PathLike[str]


class RunStopped(KeyboardInterrupt):
    """Ctrl-C during a run; the message says what is kept."""


def embed_into(
    run: Path,
    embedder: Embedder,
    graphs: Iterable[Graph],
    *,
    add: bool = False,
    if_busy: str = "wait",
    n_jobs: int | None = None,
    max_memory: str | int | None = None,
    cluster: Any = None,
    verbose: bool = False,
) -> Run:
    """Compute the rows of graphs into a run folder, and return the run, as `DDGK.embed_into`.

    The graphs are read once. n_jobs, max_memory: as of `embed_graphs`, of each worker.
    """
    check_choice("if_busy", if_busy, IF_BUSY)
    n_threads, n_bytes = check_n_jobs(n_jobs), parse_memory(max_memory)
    folder = open_folder(run)
    with connected(cluster) as client, Locks(folder) as locks:
        with _held(locks, PLANNING, folder, if_busy):
            begun = _begun(folder, embedder)
            placed = place_targets(begun, graphs, embedder, add=add, max_memory=n_bytes)
        if len(placed.finished) == placed.n_tiles:
            return placed
        _refuse_other_version(placed)
        if client is None:
            work = Workplace(placed, embedder, locks, n_bytes).attempt
            pool = partial(in_threads, n_threads, work)
        else:
            elsewhere = partial(
                attempt_elsewhere,
                address=placed.address,
                key=placed.manifest.key,
                n_tiles=placed.n_tiles,
                kind=type(embedder),
                max_memory=n_bytes,
            )
            pool = partial(on_dask, client, elsewhere)
        try:
            with _held(locks, WHOLE_RUN, folder, if_busy, verbose=verbose):
                compute(placed, pool, verbose)
        except KeyboardInterrupt:
            raise RunStopped(_kept(placed)) from None
        except ClusterError as error:
            raise ClusterError(
                f"{error}. {_kept(placed)}; it can be continued here or there"
            ) from error
    return placed


def train_into(
    run: Path,
    settings: Mapping[str, Any],
    train: Callable[[], Model],
    kind: type[Model],
    *,
    if_busy: str = "wait",
) -> Model:
    """Return the model of a run folder, or train it and keep it there.

    settings: everything known before training that changes a row; a folder with others is refused.
    if_busy: "wait" and "share" wait for another process that trains it.
    """
    check_choice("if_busy", if_busy, IF_BUSY)
    folder = open_folder(run)
    with Locks(folder) as locks, _held(locks, PLANNING, folder, if_busy):
        manifest = read_manifest(folder)
        if manifest is None:
            _refuse_foreign(folder)
        there = stored_settings(run)
        if there is None:
            folder.write(SETTINGS, seal_json("settings", settings))
        else:
            _refuse_other_settings(folder, there, json.loads(canonical(settings)))
            if folder.has(MODEL):
                return stored_model(folder, kind, manifest)
        model = train()
        if manifest is not None:
            refuse_other_embedder(folder, manifest, model)
        _write_model(folder, model)
        return model


def stored_settings(run: Path) -> dict[str, Any] | None:
    """Return the settings that `train_into` kept in a folder, or None."""
    folder = open_folder(run)
    if not folder.has(SETTINGS):
        return None
    with damage_named(f"{folder.address}/{SETTINGS}", "remove it to train again"):
        return unseal_json("settings", folder.read(SETTINGS))


def _begun(folder: Folder, embedder: Embedder) -> Run:
    """Return the run of a folder; a new one has no tiles, and its manifest is not written yet."""
    manifest = read_manifest(folder)
    if manifest is None:
        _refuse_foreign(folder)
        identity = _write_model(folder, embedder)
        manifest = Manifest(
            run=secrets.token_hex(8),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=_versions(),
            identity=identity,
            engine=embedder.engine_name,
            dtype=str(embedder.dtype),
            columns=tuple(map(str, embedder.columns)),
        )
        return Run(folder, manifest)
    refuse_other_embedder(folder, manifest, embedder)
    if not folder.has(MODEL):
        _write_model(folder, embedder)
    run = Run(folder, manifest)
    run.check_model()
    return run


def _write_model(folder: Folder, embedder: Embedder) -> str:
    """Keep a model in a folder, and return its identity."""
    parts = embedder.to_parts()
    folder.write(MODEL, pack(MODEL_KIND, *parts))
    return model_identity(*parts)


def compute(
    run: Run, pool: Callable[[Iterable[int]], Iterator[Report]], verbose: bool = False
) -> None:
    """Compute the tiles that are missing, the most expensive first, until none is."""
    costs, counts = run.index.costs, run.index.counts
    missing, failures = set(range(run.n_tiles)) - run.finished, dict[int, Report]()
    n_graphs, work = sum(counts[list(missing)].tolist()), sum(costs[list(missing)].tolist())

    def finish(tile: int) -> None:
        missing.remove(tile)
        advance(int(counts[tile]), float(costs[tile]))

    with progress("Embedding", n_graphs, "graphs", verbose, work=work) as advance:
        while missing:
            progressed = False
            order = sorted(missing, key=lambda tile: (-costs[tile], tile))
            with closing(pool(order)) as reports:  # type: ignore[type-var]
                for report in reports:
                    progressed |= report.state != "busy"
                    if report.state in ("computed", "stored"):
                        finish(report.tile)
                    elif report.state != "busy":
                        missing.remove(report.tile)
                        failures[report.tile] = report
                        if report.state == "halted" or len(failures) >= MOST_FAILURES:
                            raise TileError(_failed(run, failures))
            if not progressed:  # other processes have what is left
                time.sleep(0.3)
                for tile in run.finished & missing:
                    finish(tile)
    if failures:
        raise TileError(_failed(run, failures))


def _failed(run: Run, failures: dict[int, Report]) -> str:
    first = min(failures)
    others = f" (and {len(failures) - 1} other tiles)" if len(failures) > 1 else ""
    return f"{run.describe(first)} failed{others}: {failures[first].error}. {_kept(run)}"


def _kept(run: Run) -> str:
    return f"{len(run.finished)} of {run.n_tiles} tiles are kept in {run.address}"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    return found | {"ddgk": __version__} | {name: version(name) for name in PACKAGES}


def _refuse_foreign(folder: Folder) -> None:
    """Refuse to begin a run among files that are not its own, or tiles without a manifest."""
    ours = {MODEL, SETTINGS, LOG, LOCK}
    foreign = [name for name in folder.names("") if name not in ours and not name.startswith(".")]
    if foreign:
        first = shown(sorted(foreign)[0])
        raise RunError(f"{folder.address} is not empty: it holds {first!r}; name a new folder")
    if any(not name.startswith(TEMPORARY) for name in folder.names(ROWS)):
        raise RunError(
            f"{folder.address} holds tiles, but no {MANIFEST} that says of what; name a new folder"
        )


def _refuse_other_settings(folder: Folder, there: dict[str, Any], here: dict[str, Any]) -> None:
    differences = [
        f"{name} is {shown(repr(there.get(name)), 80)} there and {shown(repr(value), 80)} here"
        for name, value in here.items()
        if there.get(name) != value
    ]
    differences += [f"{shown(name, 80)} is set there" for name in there if name not in here]
    if differences:
        raise RunError(
            f"{folder.address} is a run of another configuration: {'; '.join(differences[:5])}. "
            "Give the same options and graphs to continue it, or name a new folder"
        )


def _refuse_other_version(run: Run) -> None:
    theirs = run.manifest.versions.get("ddgk")
    if theirs != __version__:
        raise RunError(
            f"{run.address} was begun by ddgk {shown(theirs)}, and this is {__version__}; versions "
            "may round differently: finish it with that one, or name a new folder"
        )


@contextmanager
def _held(
    locks: Locks, byte: int, folder: Folder, if_busy: str, *, verbose: bool = False
) -> Iterator[None]:
    """Hold a lock; if another process has it, wait, refuse, or share what is not planning."""
    taken = locks.take(byte)
    if not taken and if_busy == "fail":
        raise BusyError(
            f"another process is at work in {folder.address}; wait for it with if_busy='wait' "
            "(--if-busy wait), or help it with 'share'"
        )
    if not taken and (if_busy == "wait" or byte == PLANNING):
        if verbose:
            tell(f"waiting for another process that computes {folder.address}")
        locks.wait(byte)
    try:
        yield
    finally:
        locks.give_back(byte)
