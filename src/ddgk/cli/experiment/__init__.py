"""`ddgk experiment`: the paper's experiments, one file each."""

from __future__ import annotations

import typer

from ddgk.cli.experiment import (
    ablation,
    attention,
    classification,
    clustering,
    families,
    invariance,
    relations,
    report,
    sampling,
)

experiment = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Redo the paper's experiments.\n\n\b\n"
    "ddgk experiment attention\n"
    "ddgk experiment clustering\n"
    "ddgk experiment families\n"
    "ddgk experiment classification MUTAG\n"
    "ddgk experiment sampling MUTAG\n"
    "ddgk experiment ablation MUTAG\n"
    "ddgk experiment relations MUTAG\n"
    "ddgk experiment invariance MUTAG PTC_MR",
)
experiment.command("attention")(attention.attention)
experiment.command("clustering")(clustering.clustering)
experiment.command("families")(families.families)
experiment.command("classification")(classification.classification)
experiment.command("sampling")(sampling.sampling)
experiment.command("ablation")(ablation.ablation)
experiment.command("relations")(relations.relations)
experiment.command("invariance")(invariance.invariance)
experiment.command("report")(report.report)
