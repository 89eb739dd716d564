"""The whole table: every row on every set, and the other experiments. Resumes where it stopped.

Each row runs in a process of its own with a time limit. A row that does not finish one repeat is
recorded with the time tried; one that does not finish all is recorded with those it finished, and
the next run continues it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from experiments import storage
from experiments.catalogue import EXPERIMENTS
from experiments.classification import add_row, row_key, usual_repeats
from experiments.data import SETS
from experiments.methods import METHODS

ROW_LIMIT = 4 * 3600.0
PATIENCE = 1.2  # a row is given this many times its limit before its process is ended
OURS = "ddgk"
OTHER_SEEDS = (1, 2, 3, 4)  # of our row: other folds, other sources
# What `table` runs after the rows: name of the results file -> command.
OTHERS: dict[str, list[str]] = {
    "-".join(given): given
    for name, one in EXPERIMENTS.items()
    for given in ([[name, set_name] for set_name in one.sets] or [[name]])
    if name != "tuning"
}


def run(
    *,
    sets: Sequence[str] = SETS,
    rows: Sequence[str] = tuple(METHODS),
    others: bool = True,
    limit: float = ROW_LIMIT,
    seed: int = 0,
    n_jobs: int = 1,
    folder: Path = storage.RESULTS,
    say: Callable[[str], None] = print,
) -> None:
    """Run what is missing."""
    shared = ["--jobs", str(n_jobs), "--results", str(folder)]
    wanted = [(seed, name) for name in rows]
    wanted += [(other, OURS) for other in OTHER_SEEDS if OURS in rows]
    missing = [
        (own_seed, name, set_name)
        for own_seed, name in wanted
        for set_name in sets
        if is_missing(set_name, name, seed=own_seed, folder=folder)
    ]
    say(f"{len(missing)} rows, each at most {limit * PATIENCE / 3600:.2g} h")
    for own_seed, name, set_name in missing:
        say(f"{set_name}: {METHODS[name].title}, seed {own_seed}")
        given = ["classification", set_name, "--rows", name, "--seed", str(own_seed)]
        given += ["--limit", str(limit)]
        seconds, problem = _run([*given, *shared], PATIENCE * limit)
        if problem:
            say(f"  {problem}")
            add_failure(set_name, name, seconds, problem, seed=own_seed, folder=folder)
    for name, given in OTHERS.items() if others else ():
        if storage.read_results(folder / f"{name}.json") is None:
            say(name)
            _, problem = _run([*given, *shared], limit)
            if problem:
                say(f"  {problem}")


def is_missing(set_name: str, name: str, *, seed: int, folder: Path) -> bool:
    """Say whether a set has no row of this name and seed with all its repeats."""
    content = storage.read_results(folder / f"{set_name}.json") or {"rows": {}}
    row = content["rows"].get(row_key(name, seed))
    return not row or not row["accuracies"] or row["repeats"] < usual_repeats(content, row)


def add_failure(
    set_name: str, name: str, seconds: float, problem: str, *, seed: int, folder: Path
) -> None:
    """Record a row that did not finish, unless repeats of it are recorded already."""
    content = storage.read_results(folder / f"{set_name}.json") or {"rows": {}}
    known = content["rows"].get(row_key(name, seed))
    if known and known["accuracies"]:
        return
    row = {
        "title": METHODS[name].title,
        "supervised": METHODS[name].supervised,
        "accuracies": [],
        "seed": seed,
        "tried": round(seconds),
        "problem": problem,
    }
    add_row(set_name, name, row, folder=folder)


def _run(given: Sequence[str], limit: float) -> tuple[float, str]:
    """Run a command; return seconds and what went wrong, if anything."""
    began = perf_counter()
    command = [sys.executable, "-m", "experiments", *given]
    try:
        subprocess.run(command, check=True, timeout=limit)  # noqa: S603
    except subprocess.TimeoutExpired:
        return perf_counter() - began, f"not finished within {limit:.0f} s"
    except subprocess.CalledProcessError as error:
        return perf_counter() - began, f"failed with exit status {error.returncode}"
    return perf_counter() - began, ""
