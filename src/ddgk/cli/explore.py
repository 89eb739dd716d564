"""`ddgk explore`: a page with a map of graphs."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from ddgk.cli import inputs, options
from ddgk.cli.compare import load_model
from ddgk.cli.outputs import check_output


def explore(
    graphs: Annotated[
        str, typer.Argument(metavar="GRAPHS", help="A data set's name, a file, folder or pattern.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Write the page to this .html file.",
            show_default=False,
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page on this machine, with all functions.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to serve on; other than loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="DDGK_TOKEN",
            help="Token that requests must carry; 'new' makes one.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A saved model. Default: one is fitted to the graphs.", metavar="FILE"),
    ] = None,
    projection: Annotated[
        str, typer.Option(help="The map: auto, umap or pca; auto is umap where it is installed.")
    ] = "auto",
    aligned: Annotated[
        int, typer.Option(min=0, help="Nearest graphs that the file aligns each graph with.")
    ] = 3,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a page with a map of graphs: one file, or served on this machine.

    \b
    ddgk explore MUTAG -o map.html
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

    dataset = inputs.read_graphs(graphs)
    atlas = make_atlas(
        dataset.graphs,
        title=dataset.name or graphs,
        model=None if model is None else load_model(model),
        classes=None if dataset.classes is None else dataset.classes.tolist(),
        projection=projection,
        random_state=seed,
        n_jobs=jobs,
    )
    if out is not None:
        write_page(atlas, out, n_aligned=aligned)
        if not quiet:
            typer.echo(f"wrote {out}: {len(atlas.graphs):,} graphs, {out.stat().st_size:,} bytes")
    if serve:
        from ddgk.explorer.server import serve as run

        if not quiet:
            suffix = f"?token={token}" if token else ""
            typer.echo(f"serving http://{host}:{port}/{suffix} (Ctrl-C ends it)")
        run(atlas, host=host, port=port, token=token)
