"""The command `ddgk`: one file per command; none of them imports what is slow before it runs."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated

STARTED = perf_counter()

import typer  # noqa: E402

from ddgk import __version__  # noqa: E402
from ddgk.cli import (  # noqa: E402
    align,
    compare,
    config,
    datasets,
    demo,
    doctor,
    embed,
    explore,
    search,
    status,
)
from ddgk.cli.commands import (  # noqa: E402
    BEGAN,
    Command,
    Commands,
    stop,
)

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command(cls=Command)(embed.embed)
app.command("align", cls=Command)(align.align_command)
app.command("compare", cls=Command)(compare.compare_command)
app.add_typer(search.search, name="search")
app.command(cls=Command)(explore.explore)
app.add_typer(datasets.datasets, name="datasets")
for command in (status.status, config.config, doctor.doctor, demo.demo):
    app.command(cls=Command)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ddgk {__version__}")
        raise typer.Exit


@app.callback()
def overview(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """How similar are these graphs, and which node corresponds to which?

    \b
    ddgk demo                        see what it does, without any data
    ddgk embed MUTAG -o mutag.csv    graphs in, one row of numbers per graph out
    ddgk compare graphs/             nearest graphs, clusters, outliers
    ddgk align a.gml b.gml           match the nodes of two graphs
    ddgk explore MUTAG -o map.html   a map of graphs to click through
    """  # noqa: D301, D400


def main() -> None:
    """Run the command line; errors become one line and an exit code."""
    try:
        app(obj={BEGAN: STARTED})
    except KeyboardInterrupt:
        raise SystemExit(stop()) from None
