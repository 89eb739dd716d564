"""`ddgk status`: how far a run is, and whether what it holds is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ddgk.cli.failures import FAILED

if TYPE_CHECKING:
    from ddgk.store.inspection import Damage
    from ddgk.store.run import Run


def status(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A run folder, or its address in a bucket.")
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read everything and check it against its checksums.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Verify, and remove what is damaged and can be had again: by running the command "
            "that began the run.",
        ),
    ] = False,
) -> None:
    """Say how far a run is: tiles, pairs, who began it; with --verify, what is damaged.

    The exit code is 1 when something is damaged.

    \b
    ddgk status nci1-run
    ddgk status --verify nci1-run
    """  # noqa: D301
    from ddgk.store.inspection import inspect
    from ddgk.store.run import open_run

    run = open_run(folder)
    _show(run)
    if not verify and not repair:
        return
    damages = inspect(run)
    for damage in damages:
        typer.echo(f"damaged: {damage.message}", err=True)
        if repair and damage.mendable:
            damage.remove()
            typer.echo(f"removed: {damage.name}", err=True)
    if not damages:
        typer.echo("verified: everything that is stored is whole")
        return
    typer.echo(_advice(damages, repaired=repair), err=True)
    raise typer.Exit(0 if repair and all(damage.mendable for damage in damages) else FAILED)


def _show(run: Run) -> None:
    from rich.console import Console
    from rich.table import Table

    from ddgk.store.inspection import begun_again, is_busy

    manifest = run.manifest
    finished = run.finished
    plan = manifest.plan
    pairs = sum(plan.tile(number).n_pairs for number in finished)
    table = Table(title=run.address, title_justify="left", title_style="bold", show_header=False)
    share = run.share
    table.add_row("finished", "yes" if len(finished) == run.n_tiles else f"{share:.0%} of the work")
    table.add_row("tiles", f"{len(finished)} of {run.n_tiles}")
    table.add_row("pairs", f"{pairs} of {plan.n_pairs}")
    table.add_row("a tile", f"{plan.shape.targets} targets x {plan.shape.sources} sources")
    table.add_row("targets", f"{manifest.n_graphs}, {sum(plan.batches)} of them different")
    table.add_row("sources", str(run.n_sources))
    table.add_row("columns", str(len(run.columns)))
    table.add_row("channels", ", ".join(run.channels))
    table.add_row("steps", ", ".join(map(str, run.steps)))
    versions = ", ".join(f"{name} {text}" for name, text in manifest.versions.items())
    table.add_row("begun", f"{manifest.created} by {versions}")
    table.add_row("engine", f"{manifest.engine.get('name')} on {manifest.engine.get('device')}")
    table.add_row("at work now", {True: "yes", False: "no", None: "unknown"}[is_busy(run)])
    again = begun_again(run)
    if again:
        table.add_row("begun again", f"{len(again)} tiles, after a worker died or failed")
    log = run.log()
    if log:
        table.add_row("last", log[-1])
    Console(highlight=False, markup=False).print(table)


def _advice(damages: list[Damage], *, repaired: bool) -> str:
    lost = [damage for damage in damages if not damage.mendable]
    if lost:
        return f"{lost[0].name} cannot be had again from here: begin a new run, or restore the file"
    if repaired:
        return "run the command that began the run: it computes what was removed, and nothing else"
    return "remove what is damaged with --repair; all else is kept"
