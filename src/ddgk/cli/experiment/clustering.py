"""`ddgk experiment clustering`: the paper's 30 graphs, and which families are found again."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli import options
from ddgk.cli.experiment import files
from ddgk.cli.experiment.showing import continued, stated_command

if TYPE_CHECKING:
    from ddgk.evaluation.clustering import Trial
    from ddgk.evaluation.results import Table


def clustering(
    out: files.Out = None,
    run: files.KeptIn = None,
    seeds: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS",
            callback=options.checked(options.seeds),
            help="Each draws other mutants, other graphs of the sets, and other starts.",
        ),
    ] = "0,1,2,3,4,5,6,7,8,9",
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Cluster the paper's 30 graphs of 6 families by structure alone.

    The neural network of C. elegans, the karate club and a network of words, each with four mutants
    of 50 steps, and five graphs each of D&D, PTC and NCI1. Labels are dropped. The trees are cut
    into six clusters and compared with the families, beside clusters by nodes and edges.

    \b
    ddgk experiment clustering -o clusters.json -o clusters.png
    ddgk experiment clustering --seeds 0,1 --run clusters-run
    """  # noqa: D301
    wanted = options.seeds(seeds) or ()
    files.check(out or [], force=force or run is not None)
    from ddgk import plots
    from ddgk.embedding.progress import progress
    from ddgk.evaluation import clustering as experiment
    from ddgk.evaluation.parts import Parts
    from ddgk.evaluation.results import Results

    parts = Parts(run, {"experiment": "clustering", **experiment.configuration()})
    show_progress = not quiet and sys.stderr.isatty()
    began = time.perf_counter()
    trials: list[Trial] = []
    first: dict[str, Any] = {}
    with (
        continued(run),
        progress("Clustering", 30 * len(wanted), "graphs", show_progress) as advance,
    ):
        for seed in wanted:
            measure = partial(experiment.measure, seed, n_jobs=jobs, advance=advance)
            kept = parts.get(f"seed-{seed}", measure)
            found = experiment.restored(kept)
            first = first or kept
            trials += experiment.as_trials(found, seed)
    took = time.perf_counter() - began
    results = Results(
        "clustering",
        stated_command(),
        {"dataset": "30 graphs", **experiment.configuration(), "seeds": list(wanted)},
        experiment.tables(trials),
        {"trials": [vars(trial) for trial in trials], "first": first["ddgk"]},
        [_times(took, len(wanted))],
    )
    shown = experiment.restored(first)["ddgk"]
    files.publish(
        results,
        out or [],
        lambda path: plots.clusters(
            shown.distances,
            shown.names,
            shown.families,
            linkage=experiment.LINKAGE,
            title=f"Six families of graphs by structure alone, seed {wanted[0]}",
            path=path,
        ),
        quiet=quiet,
    )


def _times(took: float, n_seeds: int) -> Table:
    from ddgk.evaluation.results import Table

    cells = (f"{took:.1f}", f"{took / n_seeds:.1f}")
    return Table("Seconds (they differ from run to run)", ("in all", "a seed"), (cells,))
