"""`ddgk experiment sampling`: how few sources will do, and whether choosing them helps."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from ddgk.cli import inputs, options
from ddgk.cli.experiment import files
from ddgk.cli.experiment.showing import continued, stated_command
from ddgk.cli.options import choice


def sampling(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET", help="A set whose graphs have classes, as for `ddgk embed`."
        ),
    ],
    out: files.Out = None,
    run: files.KeptIn = None,
    sources: Annotated[
        int,
        typer.Option(min=1, help="How many graphs are all sources; drawn if there are more."),
    ] = 200,
    shares: Annotated[
        str,
        typer.Option(
            metavar="PERCENT",
            callback=options.checked(options.shares),
            help="Shares of all sources, in percent, ascending to 100.",
        ),
    ] = "2,5,10,20,50,100",
    seeds: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS",
            callback=options.checked(options.seeds),
            help="Each draws other folds, other random sources and other pilots.",
        ),
    ] = "0,1,2,3,4",
    preset: Annotated[
        str | None, choice("preset", "What the embedding is made with.", default="default")
    ] = None,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure accuracy against the share of sources, drawn at random or chosen.

    Graphs are embedded once against all sources; of these a share is kept, chosen in each fold from
    its training part without looking at classes. Accuracy is that of the protocol `nested`, one
    repeat per seed.

    \b
    ddgk experiment sampling MUTAG --run mutag-sampling -o mutag.json -o mutag.svg
    ddgk experiment sampling NCI1 --sources 100 --shares 5,20,100 --jobs 2
    """  # noqa: D301
    wanted, levels = options.seeds(seeds) or (), options.shares(shares) or ()
    files.check(out or [], force=force or run is not None)
    found = inputs.read_graphs(dataset)
    from ddgk import plots
    from ddgk.embedding.progress import progress
    from ddgk.evaluation import sampling as experiment

    setting = experiment.Setting(
        preset=preset or "default", n_sources=sources, shares=levels, seeds=wanted
    )
    show_progress = not quiet and sys.stderr.isatty()
    began = time.perf_counter()
    with continued(run):
        embedded = experiment.embed_all(
            found, setting, folder=run, n_jobs=jobs, verbose=show_progress
        )
        ready = time.perf_counter()
        with progress("Classifying", setting.n_folds, "folds", show_progress) as advance:
            measured = experiment.measure_sampling(
                embedded, setting, folder=run, n_jobs=jobs, progress=advance
            )
    ended = time.perf_counter()
    results = experiment.summarise(
        measured, found, setting, stated_command(), embedded.method, (ready - began, ended - ready)
    )
    lines = dict(zip(measured.choices, measured.by_seed, strict=True))
    title = f"{found.name}: accuracy against the share of {len(embedded.sources)} sources"
    files.publish(
        results,
        out or [],
        lambda path: plots.bands(measured.shares, lines, title=title, path=path),
        quiet=quiet,
    )
