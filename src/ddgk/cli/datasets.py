"""`ddgk datasets`: list, fetch and describe data sets."""

from __future__ import annotations

from typing import Annotated

import typer

from ddgk.cli.commands import Command, Commands
from ddgk.cli.inputs import InputOptions, read_graphs, takes_graphs
from ddgk.cli.options import option
from ddgk.errors import shown

datasets = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, fetch and describe data sets.\n\n\b\nddgk datasets list\nddgk datasets show MUTAG",
)


@datasets.command("list", cls=Command)
def list_all() -> None:
    """List the sets and networks known by name, and where they are.

    \b
    ddgk datasets list
    """  # noqa: D301
    from rich.console import Console
    from rich.table import Table

    from ddgk.io import list_datasets

    table = Table()
    for title in ("name", "graphs", "here", "what"):
        table.add_column(title, justify="right" if title == "graphs" else "left")
    for row in list_datasets():
        here = "built in" if row.built_in else "no" if row.path is None else "yes"
        count = "?" if row.n_graphs is None else str(row.n_graphs)
        table.add_row(row.name, count, here, row.what)
    Console(highlight=False, markup=False).print(table)


@datasets.command("get", cls=Command)
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of a set.")],
    sha256: Annotated[str | None, option("HASH", "Accept only a file of this hash.")] = None,
) -> None:
    """Make sure that a set is on this computer, and print where.

    It is looked for in the folder that DDGK_DATA names and in the cache (DDGK_CACHE), then fetched.

    \b
    ddgk datasets get MUTAG
    """  # noqa: D301
    from ddgk.io import NETWORKS, list_datasets, load_network
    from ddgk.io import get as get_set

    if name not in NETWORKS:
        typer.echo(str(get_set(name, sha256=sha256)))
        return
    load_network(name)  # says where it should be, if it is nowhere
    (row,) = [row for row in list_datasets() if row.name == name]
    typer.echo(f"{name} is built in" if row.path is None else str(row.path))


@datasets.command(cls=Command)
@takes_graphs
def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A name, or files as for `ddgk embed`.")
    ],
    given: InputOptions,
) -> None:
    """Count what is in a set: sizes, classes, labels, attributes, isolated nodes.

    \b
    ddgk datasets show MUTAG
    ddgk datasets show "runs/*.gml" --self-loops drop
    ddgk datasets show molecules.csv --smiles structure
    """  # noqa: D301
    from rich.console import Console
    from rich.table import Table

    from ddgk.io import DATASETS, NETWORKS

    summary = read_graphs(name, **given.keywords()).summary()
    known = DATASETS.get(name) or NETWORKS.get(name)
    table = Table(
        title=shown(summary.name), title_justify="left", title_style="bold", show_header=False
    )
    if known is not None:
        table.add_row("what", known.what)
    for row in summary.rows():
        table.add_row(*row)
    if known is not None:
        table.add_row("from", known.citation)
    Console(highlight=False, markup=False).print(table)
