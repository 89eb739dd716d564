"""`ddgk experiment invariance`: whether the numbering of nodes matters."""

from __future__ import annotations

from typing import Annotated

import typer

from ddgk.cli import inputs, options
from ddgk.cli.experiment import files
from ddgk.cli.experiment.showing import PAGES, stated_command


def invariance(
    datasets: Annotated[
        list[str],
        typer.Argument(metavar="DATASETS...", help="Names of data sets, or TU folders or zips."),
    ],
    out: files.Pages = None,
    graphs: Annotated[int, typer.Option(min=2, help="How many graphs of each set.")] = 100,
    sources: options.Sources = 8,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Renumber the nodes of graphs and see how far that moves them, for every preset.

    \b
    ddgk experiment invariance MUTAG PTC_MR ENZYMES -o invariance.json
    """  # noqa: D301
    files.check(out or [], PAGES, force=force)
    from ddgk.evaluation.invariance import measure_noise, summarise
    from ddgk.method import PRESETS

    sets, presets = [inputs.read_graphs(name) for name in datasets], list(PRESETS)
    setting = {"graphs": graphs, "sources": sources, "seed": seed}
    noise = measure_noise(sets, presets, n_graphs=graphs, n_sources=sources, seed=seed, n_jobs=jobs)
    results = summarise(noise, sets, presets, setting, stated_command())
    files.publish(results, out or [], None, quiet=quiet)
