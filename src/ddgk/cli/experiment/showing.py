"""What all experiments do with their results: show tables, write files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ddgk.cli.running import command

if TYPE_CHECKING:
    from ddgk.evaluation.results import Results

FIGURES = (".svg", ".png", ".pdf")
PAGES = (".json", ".md")
FILES = (*PAGES, *FIGURES)


def stated_command() -> str:
    """Return the command as anyone would type it, wherever the program is here."""
    return shlex.join(["ddgk", *sys.argv[1:]])


def show(results: Results) -> None:
    """Print the tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    for table in (*results.tables, *results.times):
        shown = Table(title=table.title, title_justify="left", title_style="bold")
        for place, column in enumerate(table.columns):
            shown.add_column(column, justify="right" if place else "left")
        for row in table.rows:
            shown.add_row(*row)
        console.print(shown)


def write(results: Results, path: Path) -> None:
    """Write results as a file that `ddgk experiment report` reads, or as Markdown."""
    from ddgk.evaluation.results import render
    from ddgk.store import write_atomically

    if path.suffix.lower() == ".json":
        results.save(path)
    else:
        write_atomically(path, render([results]).encode())


@contextmanager
def continued(folder: Path | None) -> Iterator[None]:
    """Say, when the user stops an experiment, what is kept and what continues it."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None:
            typer.echo(f"what is finished is kept in {folder}; to continue:\n{command()}", err=True)
        raise
