"""`ddgk search`: find the most similar graphs of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ddgk.cli import options
from ddgk.cli.commands import Command, Commands, elapsed
from ddgk.cli.compare import fitted_model
from ddgk.cli.inputs import ONE_GRAPH, InputOptions, takes_graphs
from ddgk.cli.options import check_output, option
from ddgk.errors import shown

RERANK = "Align with this many of the nearest, and sort by what is shared."

search = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Find the most similar graphs of a collection.",
)


@search.command(cls=Command)
@takes_graphs
def build(
    ctx: typer.Context,
    graphs: options.Graphs,
    given: InputOptions,
    out: Annotated[Path, option("FILE", "The index to write.", "-o", "--out")],
    force: options.Force = False,
    quiet: options.Quiet = False,
    model: options.Model = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
) -> None:
    """Embed graphs and write a search index.

    \b
    ddgk search build MUTAG -o mutag.index
    """  # noqa: D301
    check_output(out, (), force=force)
    from ddgk.search import GraphIndex

    collection = given.read(graphs, quiet=quiet).graphs
    fitted = fitted_model(model, collection, seed=seed, jobs=jobs, quiet=quiet)
    index = GraphIndex.build(fitted, collection, n_jobs=jobs)
    index.save(out)
    if not quiet:
        typer.echo(f"wrote {shown(str(out))}: {len(index):,} graphs, in {elapsed(ctx):.1f} s")


@search.command(cls=Command)
@takes_graphs
def query(
    given: InputOptions,
    index: Annotated[
        Path, typer.Argument(metavar="INDEX", help="As `ddgk search build` wrote it.")
    ],
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help=f"The query: {ONE_GRAPH}")],
    k: Annotated[int, option("N", "How many graphs to return.", "-k", min=1)] = 10,
    rerank: Annotated[int, option("N", RERANK, min=0)] = 0,
    out: Annotated[
        Path | None, option("FILE", "Write the hits to a .csv file too.", "-o", "--out")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the graphs of an index that are most similar to a graph.

    \b
    ddgk search query mutag.index MUTAG:3 -k 5 --rerank 5
    ddgk search query molecules.index smiles:c1ccccc1O
    """  # noqa: D301
    if out is not None:
        check_output(out, (".csv",), force=force)
    from ddgk.plain import csv_bytes, visible
    from ddgk.search import GraphIndex
    from ddgk.similarity import match_lines
    from ddgk.tables import print_parts, text_table

    wanted = given.read_one(graph, quiet=quiet)
    opened = GraphIndex.load(index)
    hits = opened.query(wanted, k, rerank=rerank)
    if out is not None:
        from ddgk.store.files import write_atomically

        rows: list[Any] = [("rank", "id", "name", "distance", "shared_part")]
        for rank, hit in enumerate(hits, 1):
            rows.append((rank, hit.id, hit.name, hit.distance, hit.shared))
        write_atomically(out, csv_bytes(rows))
    if quiet:
        return
    headings = ("rank", "graph", "distance", *(["why"] if rerank else []))
    found = [
        (rank, visible(hit.name, 48), f"{hit.distance:.4g}",
         "\n".join(match_lines(hit.alignment)) if hit.alignment else "")[: len(headings)]
        for rank, hit in enumerate(hits, 1)
    ]  # fmt: skip
    print_parts(text_table(headings, found, right=("rank", "distance")))
