"""`python -m experiments COMMAND`: run one experiment, the whole table, or the report."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from experiments import storage

Run = Callable[[argparse.Namespace], None]


def main(given: Sequence[str] | None = None) -> None:
    """Run a command."""
    arguments = parser().parse_args(given)
    arguments.run(arguments)


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    from experiments.data import SETS
    from experiments.methods import METHODS

    top = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Run, about: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=about, description=about)
        found.add_argument("--seed", type=int, default=0)
        found.add_argument("--jobs", type=int, default=1, help="threads of the embedding")
        found.add_argument("--results", type=Path, default=storage.RESULTS, metavar="DIR")
        found.add_argument("--cache", type=Path, default=storage.CACHE, metavar="DIR")
        found.add_argument("--fresh", action="store_true", help="do not use the cache")
        found.set_defaults(run=run)
        return found

    def add_sets(command: argparse.ArgumentParser, default: Sequence[str]) -> None:
        command.add_argument("sets", nargs="*", default=list(default), metavar="SET")

    command = add("classification", classification, "Measure rows of the table on some sets.")
    add_sets(command, SETS)
    command.add_argument("--rows", default="ddgk,sizes,histogram", help="names, or all")
    command.add_argument("--repeats", type=int, help="default 10; above 1,000 graphs 3")
    command.add_argument("--limit", type=float, default=math.inf, help="seconds per row")
    command = add("neighbours", neighbours, "Nearest neighbours and clusters without classes.")
    add_sets(command, ("MUTAG", "PTC_MR", "ENZYMES", "NCI1", "30-graphs"))
    command.add_argument("--only", action="append", default=[], metavar="TITLE")
    command = add("clustering", clustering, "Cluster the paper's 30 graphs (5.2).")
    command.add_argument("--seeds", type=_numbers, default=list(range(10)))
    command.add_argument("--figure", help="draw the first seed's tree")
    command = add("attention", attention, "Align barbells and karate clubs with copies (5.1).")
    command.add_argument("--restarts", type=int, default=8)
    command.add_argument("--figure", help="draw the alignments")
    command = add("sampling", sampling, "Accuracy against the share of sources (5.4).")
    add_sets(command, ("MUTAG", "PTC_MR", "NCI1", "DD"))
    command.add_argument("--seeds", type=_numbers, default=[0, 1, 2, 3, 4])
    command.add_argument("--preset", default="default")
    command.add_argument("--figure", help="draw accuracy against share")
    command = add("ablation", ablation, "Single changes of the default embedding.")
    add_sets(command, ("MUTAG", "PTC_MR", "NCI1"))
    command.add_argument("--only", action="append", default=[], metavar="TITLE")
    command.add_argument("--repeats", type=int)
    command = add("classifiers", classifiers, "Ordinary classifiers on the columns as they come.")
    add_sets(command, SETS)
    command = add("invariance", invariance, "Relabelling noise of the presets.")
    add_sets(command, ("MUTAG", "PTC_MR", "ENZYMES"))
    command.add_argument("--graphs", type=int, default=30)
    command = add("families", families, "Nearest neighbours among kinds of networks.")
    command.add_argument("--nodes", type=int, default=20_000)
    command = add("regression", regression, "Solubility of ESOL's molecules.")
    command.add_argument("--repeats", type=int, default=3)
    command.add_argument("--only", action="append", default=[], metavar="TITLE")
    command = add("published", published, "The paper's presets under the paper's protocols.")
    add_sets(command, ("MUTAG",))
    command = add("tune", tune, "Search the grid of hyper-parameters with Optuna.")
    add_sets(command, ("MUTAG",))
    command.add_argument("--preset", default="default")
    command.add_argument("--trials", type=int, default=50)
    command.add_argument("--seconds", type=float)
    command = add("table", table, "Run everything that is missing; resumes.")
    add_sets(command, SETS)
    command.add_argument("--rows", default="all", help=f"some of {','.join(METHODS)}")
    command.add_argument("--rows-only", action="store_true", help="no other experiments")
    command.add_argument("--limit", type=float, default=4 * 3600.0, help="seconds per row")
    command = add("report", report, "Write experiments/RESULTS.md from the results files.")
    command.add_argument("--readme", action="store_true", help="print README's table instead")
    return top


def classification(given: argparse.Namespace) -> None:
    """Measure rows."""
    from experiments.classification import run_rows

    for name in given.sets:
        run_rows(
            name,
            _rows(given.rows),
            repeats=given.repeats,
            seed=given.seed,
            n_jobs=given.jobs,
            cache_in=_cache(given),
            limit=given.limit,
            folder=given.results,
            say=_say,
        )


def neighbours(given: argparse.Namespace) -> None:
    """Measure neighbours of every set."""
    from experiments.clustering import thirty_graphs
    from experiments.data import load
    from experiments.neighbours import measure

    for name in given.sets:
        began = perf_counter()
        data = thirty_graphs(given.seed)[0] if name == "30-graphs" else load(name)
        found = measure(data, seed=given.seed, n_jobs=given.jobs, only=given.only)
        protocol = "no classes used; the description's own distance; WL kernels with 4 rounds"
        _publish(given, f"neighbours-{name}", found, protocol, began)


def clustering(given: argparse.Namespace) -> None:
    """Cluster the 30 graphs."""
    from experiments.clustering import draw, measure_seed

    began = perf_counter()
    seeds = [measure_seed(seed, given.jobs) for seed in given.seeds]
    protocol = "structure alone, Ward's linkage, six clusters; every seed draws other graphs"
    _publish(given, "clustering", {"seeds": seeds}, protocol, began)
    if given.figure:
        draw(given.seeds[0], given.figure)


def attention(given: argparse.Namespace) -> None:
    """Align graphs with copies."""
    from experiments.attention import draw, measure

    began = perf_counter()
    pairs = measure(given.restarts, given.seed)
    protocol = f"shuffled copies, at most {given.restarts} restarts"
    _publish(given, "attention", {"pairs": pairs}, protocol, began)
    if given.figure:
        draw(given.figure, given.restarts, given.seed)


def sampling(given: argparse.Namespace) -> None:
    """Measure accuracy against the share of sources."""
    from experiments.data import load
    from experiments.sampling import draw, measure

    measured = []
    for name in given.sets:
        began = perf_counter()
        found = measure(load(name), seeds=given.seeds, preset=given.preset, n_jobs=given.jobs)
        protocol = "nested, one repeat per seed; sources of the training part; divergences"
        _publish(given, f"sampling-{name}", found, protocol, began)
        measured.append(found)
    if given.figure:
        draw(measured, given.figure)


def ablation(given: argparse.Namespace) -> None:
    """Measure single changes."""
    from experiments.ablation import measure
    from experiments.data import load
    from experiments.protocols import NESTED, default_repeats

    for name in given.sets:
        began, data = perf_counter(), load(name)
        found = measure(
            data,
            only=given.only,
            repeats=given.repeats or default_repeats(len(data.graphs)),
            seed=given.seed,
            n_jobs=given.jobs,
            cache_in=_cache(given),
            say=_say,
        )
        _publish(given, f"ablation-{name}", found, NESTED, began)


def classifiers(given: argparse.Namespace) -> None:
    """Measure ordinary classifiers."""
    from experiments.classifiers import measure
    from experiments.data import load

    for name in given.sets:
        began = perf_counter()
        found = measure(load(name), seed=given.seed, n_jobs=given.jobs, cache_in=_cache(given))
        protocol = "10 folds of nested, one repeat; columns as they come, nothing tuned"
        _publish(given, f"classifiers-{name}", found, protocol, began)


def invariance(given: argparse.Namespace) -> None:
    """Measure relabelling noise."""
    from experiments.data import load
    from experiments.invariance import measure

    began = perf_counter()
    sets = [load(name) for name in given.sets]
    found = measure(sets, n_graphs=given.graphs, seed=given.seed, n_jobs=given.jobs)
    _publish(given, "invariance", found, "graphs drawn from each set, renumbered", began)


def families(given: argparse.Namespace) -> None:
    """Measure nearest neighbours among networks."""
    from experiments.families import measure

    began = perf_counter()
    found = measure(n_nodes=given.nodes, seed=given.seed, n_jobs=given.jobs)
    _publish(given, "families", found, "structure alone, plain distances", began)


def regression(given: argparse.Namespace) -> None:
    """Measure regression errors."""
    from experiments.regression import measure

    began = perf_counter()
    found = measure(repeats=given.repeats, seed=given.seed, n_jobs=given.jobs, only=given.only)
    protocol = "5 folds, repeated; embedding and regressor fitted on the training part"
    _publish(given, "regression", found, protocol, began)


def published(given: argparse.Namespace) -> None:
    """Measure the paper's presets."""
    from experiments.data import load
    from experiments.published import measure

    for name in given.sets:
        began = perf_counter()
        found = measure(load(name), seed=given.seed, n_jobs=given.jobs)
        _publish(given, f"published-{name}", found, "nested, paper, authors; one repeat", began)


def tune(given: argparse.Namespace) -> None:
    """Search the grid."""
    from experiments.data import load
    from experiments.tuning import tune as search

    for name in given.sets:
        began = perf_counter()
        found = search(
            load(name),
            given.cache / "tuning",
            preset=given.preset,
            trials=given.trials,
            seconds=given.seconds,
            seed=given.seed,
            n_jobs=given.jobs,
        )
        protocol = "mean accuracy on five dev parts; a tenth held out"
        _publish(given, f"tune-{name}-{given.preset}", found, protocol, began)


def table(given: argparse.Namespace) -> None:
    """Run what is missing, then write the page."""
    from experiments.table import run

    run(
        sets=given.sets,
        rows=_rows(given.rows),
        others=not given.rows_only,
        limit=given.limit,
        seed=given.seed,
        n_jobs=given.jobs,
        folder=given.results,
        say=_say,
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
        _say(f"wrote {path}")


def _publish(
    given: argparse.Namespace, name: str, measured: Any, protocol: str, began: float
) -> None:
    path = storage.publish(
        name,
        measured,
        protocol=protocol,
        seed=getattr(given, "seeds", given.seed),
        seconds=perf_counter() - began,
        folder=given.results,
    )
    _say(f"wrote {path}")


def _cache(given: argparse.Namespace) -> storage.Cache:
    return storage.Cache(None if given.fresh else given.cache)


def _rows(text: str) -> list[str]:
    from experiments.methods import METHODS

    names = list(METHODS) if text == "all" else text.split(",")
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise SystemExit(f"there is no row {unknown[0]!r}; there are {', '.join(METHODS)}")
    return names


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    main()
