"""`ddgk explore`: a page with a map of graphs."""

from __future__ import annotations

import csv
import math
import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from ddgk.cli import options
from ddgk.cli.commands import elapsed
from ddgk.cli.compare import compared
from ddgk.cli.inputs import InputOptions, takes_graphs
from ddgk.cli.options import check_output, option
from ddgk.errors import DatasetError, shown

MAX_WORKERS = 4  # processes that embed and align for the server
VALUES = (
    "Colour by the columns of this .csv file, which has a row for every graph; it may be the table "
    "of the molecules."
)
PROJECTION = "The map; auto is umap from 200 graphs on where it is installed, else pca."
MAX_TEXTS = 50  # different texts of a column; with more, it says nothing on a map


@takes_graphs
def explore(
    ctx: typer.Context,
    graphs: options.Graphs,
    given: InputOptions,
    out: Annotated[
        Path | None, option("FILE", "Write the page to this .html file.", "-o", "--out")
    ] = None,
    serve: Annotated[
        bool, option(None, "Serve the page on this computer, with all functions.", "--serve")
    ] = False,
    host: Annotated[
        str, option("HOST", "Address to serve on; other than loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, option("PORT", "Port to serve on.", min=0, max=65535)] = 8000,
    token: Annotated[
        str | None,
        option("TOKEN", "Token that requests must carry; 'new' makes one.", envvar="DDGK_TOKEN"),
    ] = None,
    values: Annotated[Path | None, option("FILE", VALUES)] = None,
    projection: Annotated[str, options.choice("projection", PROJECTION, default="auto")] = "auto",
    aligned: Annotated[
        int, option("N", "Nearest graphs that the file aligns each graph with.", min=0)
    ] = 3,
    force: options.Force = False,
    quiet: options.Quiet = False,
    model: options.Model = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
) -> None:
    """Make a page with a map of graphs: one file, or served on this computer.

    \b
    ddgk explore MUTAG -o map.html
    ddgk explore molecules.csv -o map.html --values molecules.csv
    ddgk explore MUTAG --serve
    """  # noqa: D301
    if out is None and not serve:
        raise typer.BadParameter("name a file with -o map.html, or pass --serve")
    if out is not None:
        check_output(out, (".html",), force=force)
    token = secrets.token_urlsafe(24) if token == "new" else token  # noqa: S105
    if serve:
        from ddgk.explorer.server import check_address

        check_address(host, token)
    from ddgk.explorer.atlas import make_atlas
    from ddgk.explorer.page import write_page

    dataset = given.read(graphs, quiet=quiet)
    attributes = None if values is None else _read_values(values, len(dataset.graphs))
    found = compared(dataset, model, seed=seed, jobs=jobs, quiet=quiet)
    if not quiet:  # both can take long
        typer.echo("ddgk: placing the graphs on a map, aligning the nearest", err=True)
    atlas = make_atlas(
        found,
        title=dataset.name or graphs,
        attributes=attributes,
        projection=projection,
        random_state=seed,
    )
    if out is not None:
        write_page(atlas, out, n_aligned=aligned, n_jobs=jobs)
        if not quiet:
            typer.echo(
                f"wrote {shown(str(out))}: {len(atlas.graphs):,} graphs, "
                f"{out.stat().st_size:,} bytes, in {elapsed(ctx):.1f} s"
            )
    if serve:
        from ddgk.explorer.server import serve as run

        if not quiet:
            suffix = f"?token={token}" if token else ""
            typer.echo(f"serving http://{host}:{port}/{suffix} (Ctrl-C ends it)")
        run(atlas, host=host, port=port, token=token, n_workers=min(jobs, MAX_WORKERS))


def _read_values(path: Path, n_graphs: int) -> dict[str, list[Any]]:
    """Read what graphs are coloured by: numbers where a column has nothing else, or text."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        try:
            header, *rows = [row for row in csv.reader(file) if row]
        except (ValueError, csv.Error) as error:
            raise DatasetError(f"{shown(str(path))} is not a table with a header") from error
    if len(rows) != n_graphs or any(len(row) != len(header) for row in rows):
        raise DatasetError(
            f"{shown(str(path))} needs {n_graphs:,} rows of {len(header)} values below its header, "
            f"as many as there are graphs; it has {len(rows):,}"
        )
    found: dict[str, list[Any]] = {}
    for name, column in zip(header, zip(*rows, strict=True), strict=True):
        try:
            found[name] = [float(value) if value.strip() else math.nan for value in column]
        except ValueError:
            if len(set(column)) <= MAX_TEXTS:
                found[name] = list(column)
    return found
