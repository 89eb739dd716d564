"""`ddgk experiment`: the paper's experiments, one file each."""

from __future__ import annotations

import typer

from ddgk.cli.experiment import attention, clustering, sampling

experiment = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Redo the paper's experiments.\n\n\b\n"
    "ddgk experiment attention\n"
    "ddgk experiment clustering\n"
    "ddgk experiment sampling MUTAG",
)
experiment.command("attention")(attention.attention)
experiment.command("clustering")(clustering.clustering)
experiment.command("sampling")(sampling.sampling)
