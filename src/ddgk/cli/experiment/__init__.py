"""`ddgk experiment`: the paper's experiments, one file each."""

from __future__ import annotations

import typer

from ddgk.cli.experiment import classification, report

experiment = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Redo the paper's experiments.\n\n\b\nddgk experiment classification MUTAG",
)
experiment.command("classification")(classification.classification)
experiment.command("report")(report.report)
