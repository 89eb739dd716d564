"""`ddgk experiment relations`: accuracy by relation, alone and together."""

from __future__ import annotations

import sys
from functools import partial

from ddgk.cli import inputs, options
from ddgk.cli.experiment import files
from ddgk.cli.experiment.ablation import draw_lines
from ddgk.cli.experiment.showing import continued, stated_command


def relations(
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
    """Compare what encoders may learn to predict: each relation, the first beside another, all.

    Every line is measured on the same folds by the same machine, protocol `nested`.

    \b
    ddgk experiment relations MUTAG --jobs 2 --run relations -o relations.json -o relations.svg
    """  # noqa: D301
    files.check(out or [], force=force or run is not None)
    from ddgk.evaluation.ablation import measure
    from ddgk.evaluation.by_relation import settings_of, summarise
    from ddgk.evaluation.classification import Setting

    base = Setting(n_sources=sources, repeats=repeats, seed=seed)
    graphs = inputs.read_graphs(dataset)
    watched = not quiet and sys.stderr.isatty()
    with continued(run):
        lines = measure(graphs, settings_of(base), folder=run, n_jobs=jobs, verbose=watched)
    results = summarise(lines, graphs, base, stated_command())
    draw = partial(draw_lines, lines, f"{graphs.name}: accuracy by relation")
    files.publish(results, out or [], draw, quiet=quiet)
