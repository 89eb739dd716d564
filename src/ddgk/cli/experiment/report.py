"""`ddgk experiment report`: one page of what several experiments found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddgk.cli import options
from ddgk.cli.outputs import check_output


def report(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="Results that experiments wrote as .json."),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write: .md.")],
    force: options.Force = False,
) -> None:
    """Write a page of tables, each with the command that makes it.

    \b
    ddgk experiment report mutag.json nci1.json -o RESULTS.md
    """  # noqa: D301
    from ddgk.evaluation.results import load, render
    from ddgk.store import write_atomically

    check_output(out, (".md",), force=force)
    write_atomically(out, render([load(path) for path in files]).encode())
    typer.echo(f"{out}: {len(files)} experiments")
