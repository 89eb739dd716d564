"""`ddgk relations`: what an encoder may learn to predict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddgk.cli import inputs, options
from ddgk.cli.matches import FIGURES
from ddgk.cli.outputs import check_output


def relations(
    graph: Annotated[
        str | None,
        typer.Argument(
            metavar="GRAPH",
            help="Draw them for this graph: a file with one, or one of many, as in MUTAG:3. "
            "Without it a barbell.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help=f"Draw the matrices: {', '.join(FIGURES)}.", show_default=False
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """List what an encoder may learn to predict, and draw it.

    \b
    ddgk relations
    ddgk relations -o barbell.svg
    ddgk relations MUTAG:0 -o molecule.png
    """  # noqa: D301
    if out is not None:
        check_output(out, FIGURES, force=force)
    elif graph is not None:
        raise typer.BadParameter("a graph is drawn into a file; name one with -o")
    from rich.console import Console
    from rich.table import Table

    from ddgk.relations import RELATIONS

    table = Table()
    for title in ("relation", "what a unit is related to"):
        table.add_column(title)
    for name, build in RELATIONS.items():
        table.add_row(name, (build.__doc__ or "").partition("\n")[0].removesuffix("."))
    Console(highlight=False, markup=False).print(table)
    if out is not None:
        from ddgk.datasets import barbell
        from ddgk.plots import relations as draw

        draw(barbell() if graph is None else inputs.read_graph(graph), path=out)
        typer.echo(f"wrote {out}", err=True)
