"""`python -m experiments COMMAND`: run one experiment, the whole table, or the report."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from ddgk.errors import DatasetNotFoundError, DownloadError
from experiments import storage
from experiments.catalogue import EXPERIMENTS, SEED, Experiment, module_of
from experiments.data import SETS, GraphSet, PropertySet
from experiments.methods import METHODS

Run = Callable[[argparse.Namespace], None]


def main(given: Sequence[str] | None = None) -> None:
    """Run a command. Data sets are those of DDGK_DATA, or of shared/data beside the project."""
    arguments = parser().parse_args(given)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("DDGK_DATA", str(beside))
    try:
        arguments.run(arguments)
    except (DatasetNotFoundError, DownloadError, FileNotFoundError) as error:
        sys.exit(f"error: {error}")


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    top = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Run, about: str, sets: Sequence[str] = ()) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=about, description=about)
        found.add_argument("--jobs", type=int, default=1, help="threads of the embedding")
        found.add_argument("--results", type=Path, default=storage.RESULTS, metavar="DIR")
        found.add_argument("--cache", type=Path, default=storage.CACHE, metavar="DIR")
        found.add_argument("--fresh", action="store_true", help="do not use the cache")
        if sets:
            found.add_argument("sets", nargs="*", default=list(sets), metavar="SET")
        found.set_defaults(run=run, command=name)
        return found

    command = add("classification", classification, "Measure rows of the table.", SETS)
    command.add_argument("--seed", **SEED["seed"])
    command.add_argument("--rows", type=rows, default="ddgk,sizes,histogram", help="names, or all")
    command.add_argument("--repeats", type=int, help="default 10; above 1,000 graphs 3")
    command.add_argument("--limit", type=float, default=math.inf, help="seconds per row")
    for name, one in EXPERIMENTS.items():
        command = add(name, experiment, one.about, one.sets)
        for option, settings in one.options.items():
            command.add_argument(f"--{option.replace('_', '-')}", **settings)
        if one.figures:
            command.add_argument("--figure", help="draw the result")
    command = add("table", table, "Run everything that is missing; resumes.", SETS)
    command.add_argument("--seed", **SEED["seed"])
    command.add_argument("--rows", type=rows, default="all", help=f"some of {','.join(METHODS)}")
    command.add_argument("--rows-only", action="store_true", help="no other experiments")
    command.add_argument("--limit", type=float, default=4 * 3600.0, help="seconds per row")
    command = add("report", report, "Write experiments/RESULTS.md from the results files.")
    command.add_argument("--readme", action="store_true", help="print README's table instead")
    return top


def rows(text: str) -> list[str]:
    """Read names of rows."""
    names = list(METHODS) if text == "all" else text.split(",")
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise SystemExit(f"there is no row {unknown[0]!r}; there are {', '.join(METHODS)}")
    return names


def classification(given: argparse.Namespace) -> None:
    """Measure rows."""
    from experiments.classification import run_rows

    for name in given.sets:
        run_rows(
            name,
            given.rows,
            repeats=given.repeats,
            seed=given.seed,
            n_jobs=given.jobs,
            cache_in=_cache(given),
            limit=given.limit,
            folder=given.results,
            say=storage.say,
        )


def experiment(given: argparse.Namespace) -> None:
    """Measure one experiment, set by set, and draw its figure if one is asked for."""
    about = EXPERIMENTS[given.command]
    names = given.sets if about.sets else [None]
    found = [_measure(given, about, name) for name in names]
    if about.figures and given.figure:
        module_of(given.command).draw(given.figure, found)


def _measure(given: argparse.Namespace, about: Experiment, set_name: str | None) -> Any:
    began = perf_counter()
    options = {name: getattr(given, name) for name in about.options}
    known = {"cache_in": _cache(given)} if about.cached else {}
    data = [] if set_name is None else [_load(set_name)]
    measured = module_of(given.command).measure(*data, **options, **known, n_jobs=given.jobs)
    preset = options.get("preset", "default")
    parts = [given.command, set_name, None if preset == "default" else preset]
    path = storage.publish(
        "-".join(part for part in parts if part),
        measured,
        protocol=about.protocol,
        seed=options.get("seeds", options.get("seed")),
        seconds=perf_counter() - began,
        folder=given.results,
    )
    storage.say(f"wrote {path}")
    return measured


def _load(name: str) -> GraphSet | PropertySet:
    from experiments.clustering import thirty_graphs
    from experiments.data import PROPERTIES, load, load_properties

    if name in PROPERTIES:
        return load_properties(name)
    return thirty_graphs(0)[0] if name == "30-graphs" else load(name)


def table(given: argparse.Namespace) -> None:
    """Run what is missing, then write the page."""
    from experiments.table import run

    run(
        sets=given.sets,
        rows=given.rows,
        others=not given.rows_only,
        limit=given.limit,
        seed=given.seed,
        n_jobs=given.jobs,
        folder=given.results,
        say=storage.say,
    )
    given.readme = False
    report(given)


def report(given: argparse.Namespace) -> None:
    """Write the page, or print README's table."""
    from experiments.report import readme_table, write_pages

    if given.readme:
        sys.stdout.write(readme_table(given.results) + "\n")
        return
    for path in write_pages(given.results):
        storage.say(f"wrote {path}")


def _cache(given: argparse.Namespace) -> storage.Cache:
    return storage.Cache(None if given.fresh else given.cache)


if __name__ == "__main__":
    main()
