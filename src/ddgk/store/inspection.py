"""Is a run whole? Everything stored is read once and held against its checksums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ddgk.errors import RunError
from ddgk.store.files import TEMPORARY, LocalFolder
from ddgk.store.grid import NAME as GRID
from ddgk.store.grid import chunk_name
from ddgk.store.locks import NAME as LOCK
from ddgk.store.locks import PLANNING, WHOLE_RUN, Locks
from ddgk.store.manifest import block_name, index_name
from ddgk.store.models import identify_model
from ddgk.store.run import MODEL, Run


@dataclass(frozen=True)
class Damage:
    """A file that is not what it should be; mendable: a run makes it again when it is removed."""

    run: Run
    name: str
    message: str
    mendable: bool

    def remove(self) -> None:
        """Remove the file."""
        self.run.folder.remove(self.name)


def inspect(run: Run) -> list[Damage]:
    """Return what is damaged: the model, indices, packed graphs, tiles; and leftovers."""
    found: list[Damage] = []

    def check(name: str, look: Callable[[], object], *, mendable: bool) -> None:
        try:
            look()
        except (RunError, OSError) as error:
            found.append(Damage(run, name, str(error), mendable))

    check(MODEL, lambda: _check_model(run), mendable=True)
    n_known = len(found)
    for batch in range(run.n_batches):
        check(index_name(batch), lambda batch=batch: run.index(batch), mendable=False)  # type: ignore[misc]
    if len(found) > n_known:
        return found  # graphs and tiles are found through the indices
    plan = run.manifest.plan
    for block in range(len(plan.block_counts)):
        check(block_name(block), lambda block=block: run.graphs(block), mendable=True)  # type: ignore[misc]
    for number in sorted(run.finished):
        tile = plan.tile(number)
        name = f"{GRID}/{chunk_name(tile)}"
        check(name, lambda tile=tile: run.grid.read(tile), mendable=True)  # type: ignore[misc]
    for folder in ("", "graphs", "targets", GRID):
        for name, size in run.folder.names(folder).items():
            path = f"{folder}/{name}".removeprefix("/")
            if name.startswith(TEMPORARY):
                found.append(Damage(run, path, f"{path} was never completed", mendable=True))
            elif folder == GRID and size == 0:
                found.append(Damage(run, path, f"{path} is empty", mendable=True))
    return found


def _check_model(run: Run) -> None:
    if identify_model(run.model())["encoders"] != run.manifest.identity["encoders"]:
        raise RunError(f"{run.model_path} is not the model that this run began with")


def is_busy(run: Run) -> bool | None:
    """Say whether a process is at work in the folder; None where that cannot be known."""
    if not isinstance(run.folder, LocalFolder):
        return None
    if not run.folder.has(LOCK):
        return False
    with Locks(run.folder) as locks:
        free = [locks.take(byte) for byte in (WHOLE_RUN, PLANNING)]
        for byte, taken in zip((WHOLE_RUN, PLANNING), free, strict=True):
            if taken:
                locks.give_back(byte)
    return not all(free)


def begun_again(run: Run) -> dict[int, int]:
    """Return the tiles that were begun more than once, and how often."""
    if not isinstance(run.folder, LocalFolder) or not run.folder.has(LOCK):
        return {}
    with Locks(run.folder) as locks:
        counts = {number: locks.counted(number) for number in range(run.n_tiles)}
    return {number: count for number, count in counts.items() if count > 1}
