"""`ddgk tune`: search the paper's grid of parameters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ddgk.cli import inputs, options
from ddgk.cli.experiment import files
from ddgk.cli.experiment.showing import PAGES, continued, stated_command
from ddgk.cli.options import choice


def tune(
    dataset: options.DataSet,
    run: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="The folder that keeps all trials; the same command continues."
        ),
    ],
    trials: Annotated[
        int, typer.Option(min=1, help="How many trials there may be, earlier ones included.")
    ] = 50,
    seconds: Annotated[
        float | None,
        typer.Option(min=0, help="Begin no trial after so long.", show_default=False),
    ] = None,
    out: files.Pages = None,
    preset: Annotated[
        str | None,
        choice("preset", "What parameters outside the grid are.", default="default"),
    ] = None,
    sources: Annotated[int, typer.Option(min=2, help="How many graphs become sources.")] = 16,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Search the paper's grid for the parameters that classify the dev splits best.

    A tenth of the graphs is held out and has no say. Trials that fall behind end early.

    \b
    ddgk tune MUTAG --run tuning --trials 50 --seconds 600
    """  # noqa: D301
    files.check(out or [], PAGES, force=force)
    from ddgk.evaluation.tuning import Budget, summarise
    from ddgk.evaluation.tuning import tune as search

    graphs = inputs.read_graphs(dataset)
    setting = {"preset": preset or "default", "n_sources": sources, "seed": seed}
    with continued(run):
        found = search(
            graphs,
            run,
            Budget(trials, seconds),
            preset=preset or "default",
            n_sources=sources,
            seed=seed,
            n_jobs=jobs,
            verbose=not quiet and sys.stderr.isatty(),
        )
    results = summarise(found, graphs, stated_command(), setting)
    files.publish(results, out or [], None, quiet=quiet)
