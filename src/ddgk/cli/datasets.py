"""`ddgk datasets`: list, fetch and describe data sets."""

from __future__ import annotations

from typing import Annotated

import typer

from ddgk.cli.commands import Command, Commands
from ddgk.cli.inputs import InputOptions, takes_graphs
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
    from ddgk.io import list_datasets
    from ddgk.tables import print_parts, text_table

    rows = [
        (row.name, "?" if row.n_graphs is None else row.n_graphs,
         "built in" if row.built_in else "no" if row.path is None else "yes", row.what)
        for row in list_datasets()
    ]  # fmt: skip
    print_parts(text_table(("name", "graphs", "here", "what"), rows, right=("graphs",)))


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
    from ddgk.io import NETWORKS, list_datasets, read
    from ddgk.io import get as get_set

    if name not in NETWORKS:
        typer.echo(str(get_set(name, sha256=sha256)))
        return
    read(name)  # says where it should be, if it is nowhere
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
    from ddgk.io import DATASETS, NETWORKS
    from ddgk.tables import print_parts, text_table

    summary = given.read(name).summary()
    known = DATASETS.get(name) or NETWORKS.get(name)
    before = [] if known is None else [("what", known.what)]
    after = [] if known is None else [("from", known.citation)]
    rows = [*before, *summary.rows(), *after]
    print_parts(text_table(("", ""), rows, title=shown(summary.name)))
