"""`ddgk align`: which node of one graph corresponds to which of another."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any

import typer

from ddgk.cli import inputs, options
from ddgk.cli.inputs import InputOptions, takes_graphs
from ddgk.cli.matches import FIGURES, SUFFIXES, show, show_many, write, write_many
from ddgk.cli.outputs import check_output
from ddgk.errors import DatasetError

MOST_PAIRS = 1_000_000


@takes_graphs
def align(
    given: InputOptions,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="A", help="The target: a file with one graph, or one of many, as in MUTAG:3."
        ),
    ] = None,
    source: Annotated[str | None, typer.Argument(metavar="B", help="The source, likewise.")] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help=f"A file to write: {', '.join(SUFFIXES)}. May be given several times.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A .csv of pairs, a target and a source in each line, in place of A and B.",
        ),
    ] = None,
    labels: Annotated[
        str,
        options.choice(
            "labels", "Different labels cost, exclude a pair, or do not count.", default="soft"
        ),
    ] = "soft",
    max_seconds: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Return the best so far after this time, per pair."),
    ] = None,
    connected: Annotated[
        bool, typer.Option("--connected", help="Keep only the largest connected common part.")
    ] = False,
    groups: Annotated[
        str | None,
        options.choice(
            "groups",
            "Match groups of nodes too: communities found by Louvain's method, or nodes of one "
            "label.",
        ),
    ] = None,
    detail: Annotated[
        str | None,
        options.choice(
            "detail",
            "What a figure shows; without it nodes, and groups where there are more than 60.",
        ),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
) -> None:
    """Match the nodes of A to those of B, and say how sure each match is.

    \b
    ddgk align a.gml b.gml -o match.csv -o match.svg
    ddgk align MUTAG:3 MUTAG:7 --labels strict --connected
    ddgk align --pairs pairs.csv -o all.json --jobs 4
    """  # noqa: D301
    files = out or []
    for path in files:
        check_output(path, SUFFIXES, force=force)
    how = given.keywords()
    named = _named_pairs(target, source, pairs)
    if any(path.suffix.lower() in FIGURES for path in files):
        if pairs is not None:
            raise typer.BadParameter(
                "a figure shows one pair; with --pairs give .csv or .json files"
            )
        # A missing library should be said before the work, not after it.
        from ddgk.plots.canvas import style

        style()
    from ddgk.alignment import AlignmentOptions, align_many
    from ddgk.alignment import align as align_graphs

    graphs = {
        name: inputs.read_graph(name, **how, quiet=quiet) for name in dict.fromkeys(sum(named, ()))
    }
    chosen: dict[str, Any] = {
        "labels": labels,
        "max_seconds": max_seconds,
        "random_state": seed,
        "options": AlignmentOptions(connected=connected),
        "policies": given.policies,
    }
    if pairs is not None:
        every = align_many(((graphs[a], graphs[b]) for a, b in named), n_jobs=jobs, **chosen)
        for path in files:
            write_many(path, named, every)
        if not quiet:
            show_many(named, every, files)
        return
    pair = graphs[named[0][0]], graphs[named[0][1]]
    parts = None if groups is None else inputs.read_groups(groups, *pair)
    found = align_graphs(*pair, groups=parts, n_jobs=jobs, verbose=not quiet, **chosen)
    coarse = None if parts is None else found.coarsen(*parts)
    for path in files:
        write(path, found, coarse, detail or "auto")
    if not quiet:
        show(found, coarse, files)


def _named_pairs(
    target: str | None, source: str | None, pairs: Path | None
) -> list[tuple[str, str]]:
    """Return the pairs that are asked for, by the names of their graphs."""
    if pairs is None:
        if target is None or source is None:
            raise typer.BadParameter("give two graphs, A and B, or --pairs FILE.csv")
        return [(target, source)]
    if target is not None:
        raise typer.BadParameter("give either A and B or --pairs, not both")
    try:
        with pairs.open(newline="", encoding="utf-8") as lines:
            rows = [row for row in csv.reader(lines) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{pairs} cannot be read as .csv: {error}") from None
    if rows and [cell.strip().lower() for cell in rows[0]] == ["target", "source"]:
        rows = rows[1:]
    if not 0 < len(rows) <= MOST_PAIRS:
        raise DatasetError(f"{pairs} has {len(rows)} pairs; it needs 1 to {MOST_PAIRS:,}")
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise DatasetError(f"{pairs}, pair {number}: {len(row)} cells; give target,source")
    return [(row[0].strip(), row[1].strip()) for row in rows]
