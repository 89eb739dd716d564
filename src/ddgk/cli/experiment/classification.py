"""`ddgk experiment classification`: accuracy beside baselines, on the same folds."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddgk.cli import inputs, options
from ddgk.cli.experiment import files
from ddgk.cli.experiment.showing import continued, stated_command
from ddgk.cli.options import choice

if TYPE_CHECKING:
    from ddgk.evaluation.classification import Row


def classification(
    dataset: options.DataSet,
    out: files.Out = None,
    run: files.KeptIn = None,
    preset: Annotated[
        str | None, choice("preset", "How graphs are embedded.", default="default")
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A parameter of the method that differs from the preset, such as reduction=mean. "
            "May be given several times.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str | None, choice("protocol", "How accuracy is measured.", default="nested")
    ] = None,
    sources: options.Sources = 32,
    repeats: options.Repeats = None,
    classifier: Annotated[
        str | None, choice("classifier", "What learns from the embedding.", default="svm")
    ] = None,
    baselines: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            callback=options.checked(options.baseline_names),
            help="What to compare with beside counting: all, or some of "
            f"{', '.join(options.BASELINES)}, with commas.",
            show_default=False,
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            callback=options.checked(options.baseline_names),
            help="Baselines to join the embedding to: what does it add to them?",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify the graphs of a set by their embedding, and by what it is compared with.

    All methods see the same folds, and no column whose source is not in the training part. The
    same command gives the same table; times stand apart.

    \b
    ddgk experiment classification MUTAG --jobs 2 -o mutag.json -o mutag.svg
    ddgk experiment classification NCI1 --run nci1 --baselines wl,wl-oa -o nci1.json
    ddgk experiment classification MUTAG --beside histogram,wl
    ddgk experiment classification MUTAG --preset paper --protocol paper
    """  # noqa: D301
    files.check(out or [], force=force or run is not None)
    from ddgk.evaluation.classification import Setting, classify, summarise

    setting = Setting(
        protocol=protocol or "nested",
        preset=preset or "default",
        n_sources=sources,
        repeats=repeats,
        classifier=classifier or "svm",
        seed=seed,
        baselines=options.baseline_names(baselines) or (),
        beside=options.baseline_names(beside) or (),
        changes=options.changes(change),
    )
    graphs = inputs.read_graphs(dataset)
    watched = not quiet and sys.stderr.isatty()
    with continued(run):
        rows = classify(graphs, setting, folder=run, n_jobs=jobs, verbose=watched)
    results = summarise(rows, graphs, setting, stated_command())
    draw = partial(_draw, rows, results.tables[0].title)
    files.publish(results, out or [], draw, quiet=quiet)


def _draw(rows: list[Row], title: str, path: Path) -> None:
    from ddgk.plots.comparison import Measured, comparison

    measured = [Measured(row.title, *row.mean, row.describing + row.classifying) for row in rows]
    comparison(measured, title=title, path=path)
