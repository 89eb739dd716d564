"""The command `ddgk`: one file per command; none of them imports what is slow before it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from ddgk import __version__
from ddgk.cli import align, datasets, demo, embed, experiment, relations, status, tune
from ddgk.cli.failures import Commands, stop

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(embed.embed)
app.command()(status.status)
app.command()(align.align)
app.command()(relations.relations)
app.command()(tune.tune)
app.add_typer(datasets.datasets, name="datasets")
app.add_typer(experiment.experiment, name="experiment")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ddgk {__version__}")
        raise typer.Exit


@app.callback()
def describe(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """How similar are these graphs, and which node corresponds to which?

    \b
    ddgk demo                             see what it does, without any data
    ddgk embed MUTAG -o mutag.npz         graphs in, one row of numbers per graph out
    ddgk status DIR                       how far a run with --run DIR is
    ddgk align a.gml b.gml                match the nodes of two graphs
    ddgk datasets list                    what graphs there are
    ddgk relations                        what an encoder may learn to predict
    ddgk experiment classification MUTAG  redo the paper's experiments
    ddgk tune MUTAG --run tuning          search the paper's grid
    """  # noqa: D301, D400


def main() -> None:
    """Run the command line; errors become one line and an exit code."""
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(stop()) from None
