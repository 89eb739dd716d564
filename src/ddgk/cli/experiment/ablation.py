"""`ddgk experiment ablation`: what each step away from the paper brings."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ddgk.cli import inputs, options
from ddgk.cli.experiment import files
from ddgk.cli.experiment.showing import continued, stated_command

if TYPE_CHECKING:
    from ddgk.evaluation.classification import Row


def ablation(
    dataset: options.DataSet,
    out: files.Out = None,
    run: files.KeptIn = None,
    sources: options.Sources = 32,
    repeats: options.Repeats = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Go from the paper's preset to the default one, step by step, then change one thing at a time.

    Every line is measured on the same folds by the same machine, protocol `nested`.

    \b
    ddgk experiment ablation MUTAG --jobs 2 --run ablation -o ablation.json -o ablation.svg
    """  # noqa: D301
    files.check(out or [], force=force or run is not None)
    from ddgk.evaluation.ablation import measure, settings_of, summarise
    from ddgk.evaluation.classification import Setting

    base = Setting(n_sources=sources, repeats=repeats, seed=seed)
    graphs = inputs.read_graphs(dataset)
    watched = not quiet and sys.stderr.isatty()
    with continued(run):
        lines = measure(graphs, settings_of(base), folder=run, n_jobs=jobs, verbose=watched)
    results = summarise(lines, graphs, base, stated_command())
    draw = partial(
        draw_lines, lines, f"{graphs.name}: from the paper to the default, and changes of it"
    )
    files.publish(results, out or [], draw, quiet=quiet)


def draw_lines(lines: list[tuple[str, Row]], title: str, path: Path) -> None:
    """Draw accuracy against time, a point per line."""
    from ddgk.plots.comparison import Measured, comparison

    measured = [Measured(name, *row.mean, row.describing + row.classifying) for name, row in lines]
    comparison(measured, title=title, path=path)
