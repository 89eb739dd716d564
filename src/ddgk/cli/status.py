"""`ddgk status`: how far a run is, and whether what it holds is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ddgk.cli.commands import FAILED
from ddgk.cli.options import option

if TYPE_CHECKING:
    from ddgk.store.run import Damage, Run


def status(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A run folder, or its address in a bucket.")
    ],
    verify: Annotated[
        bool, option(None, "Read everything and check it against its checksums.", "--verify")
    ] = False,
    repair: Annotated[
        bool,
        option(
            None,
            "Verify, and remove what is damaged and can be made again by running the command that "
            "began the run.",
            "--repair",
        ),
    ] = False,
) -> None:
    """Show how far a run is: graphs, tiles, when it began; with --verify, what is damaged.

    The exit code is 1 when something is damaged.

    \b
    ddgk status nci1-run
    ddgk status --verify nci1-run
    """  # noqa: D301
    from ddgk.errors import RunError, shown
    from ddgk.store.run import open_run

    run = open_run(folder)
    _show(run)
    if not verify and not repair:
        return
    damages, left = run.verify(), []
    for damage in damages:
        typer.echo(f"damaged: {shown(damage.message, 1000)}", err=True)
        try:
            if repair and damage.mendable:
                damage.remove()
                typer.echo(f"removed: {shown(damage.name)}", err=True)
                continue
        except (OSError, RunError) as error:
            typer.echo(f"not removed: {shown(str(error))}", err=True)
        left.append(damage)
    if not damages:
        typer.echo("verified: everything that is stored is whole")
        return
    typer.echo(_advice(left, repaired=repair), err=True)
    raise typer.Exit(FAILED if left else 0)


def _show(run: Run) -> None:
    from ddgk.errors import shown
    from ddgk.store.run import begun_again, is_busy
    from ddgk.tables import print_parts, text_table

    manifest, finished, again, log = run.manifest, run.finished, begun_again(run), run.log()
    counts = run.index.counts
    n_rows, n_done = int(counts.sum()), int(counts[sorted(finished)].sum())
    whole = len(finished) == run.n_tiles
    versions = ", ".join(f"{name} {text}" for name, text in manifest.versions.items())
    rows = [
        ("finished", "yes" if whole else f"{run.progress:.0%} of the work"),
        ("graphs", f"{run.n_graphs}, {n_rows} of them different, {n_done} finished"),
        ("tiles", f"{len(finished)} of {run.n_tiles}"),
        ("columns", f"{len(run.columns)} of {manifest.dtype}"),
        ("begun", shown(f"{manifest.created} by {versions}")),
        ("engine", shown(manifest.engine)),
        ("at work now", {True: "yes", False: "no", None: "unknown"}[is_busy(run)]),
    ]
    if again:
        rows.append(("begun again", f"{len(again)} tiles, after a worker died or failed"))
    if log:
        rows.append(("last", shown(log[-1])))
    print_parts(text_table(("", ""), rows, title=shown(run.address)))


def _advice(left: list[Damage], *, repaired: bool) -> str:
    if not left:
        return "run the command that began the run: it makes what was removed, and nothing else"
    if repaired or not left[0].mendable:
        return f"{left[0].name} cannot be removed from here: remove it, or begin a new run"
    return "remove what is damaged with --repair; all else is kept"
