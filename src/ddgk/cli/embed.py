"""`ddgk embed`: graphs in, one row of numbers per graph out."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli import options
from ddgk.cli.commands import elapsed
from ddgk.cli.inputs import InputOptions, read_graphs, takes_graphs
from ddgk.cli.options import LONG, MODEL, RUNNING, TABLES, check_output, choice, option
from ddgk.errors import shown

if TYPE_CHECKING:
    from ddgk.estimator import DDGK


N_SOURCES, N_FEATURES = 8, 1024
SHAPING = ("sources", "features", "preset", "settings", "seed")  # options that shape a new model


@takes_graphs
def embed(
    ctx: typer.Context,
    graphs: options.Graphs,
    given: InputOptions,
    out: Annotated[
        Path | None,
        option(
            "FILE",
            f"The file to write: {', '.join(TABLES)}. Not needed with --run.",
            "-o",
            "--out",
        ),
    ] = None,
    sources: Annotated[
        int | None, option("N", "How many graphs become sources.", default=str(N_SOURCES), min=1)
    ] = None,
    features: Annotated[
        int | None, option("N", "Columns at most; 0: all.", default=str(N_FEATURES), min=0)
    ] = None,
    preset: Annotated[
        str | None,
        choice(
            "preset",
            "The configuration: the compact embedding, or divergences as in the paper or in its "
            "authors' code.",
            default="default",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "Change a field of the configuration; `ddgk config` explains all. May be given "
            "several times.",
            "--set",
        ),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    model: options.Model = None,
    save_model: Annotated[
        Path | None, option("FILE", "Write the fitted model.", panel=MODEL)
    ] = None,
    unseen_labels: Annotated[
        str | None,
        choice(
            "unseen_labels",
            "Labels that no graph of the model's fit had; they carry no weight.",
            default="warn",
            panel=MODEL,
        ),
    ] = None,
    seed: Annotated[
        int | None, option("N", "Seed of every random draw.", default="0", **options.SEED)
    ] = None,
    jobs: options.Jobs = -1,
    engine: Annotated[
        str,
        choice(
            "engine",
            "fused is compiled for the CPU; torch has every option and runs on GPUs.",
            default="auto",
            panel=RUNNING,
        ),
    ] = "auto",
    device: Annotated[
        str, option("NAME", "cpu, or a device of torch such as cuda.", panel=RUNNING)
    ] = "cpu",
    max_memory: Annotated[
        str | None,
        option(
            "AMOUNT",
            "Memory of each thread or worker, such as 500MB.",
            default="1GB",
            panel=RUNNING,
        ),
    ] = None,
    run: Annotated[
        str | None,
        option(
            "DIR",
            "Keep finished rows in this folder, or at an address such as s3://bucket/run; the "
            "same command continues after an interruption.",
            panel=LONG,
        ),
    ] = None,
    add: Annotated[
        bool, option(None, "Add these graphs to a run that exists.", "--add", panel=LONG)
    ] = False,
    if_busy: Annotated[
        str | None,
        choice(
            "if_busy",
            "While another process works on the run: wait for it, compute other rows, or fail.",
            default="wait",
            panel=LONG,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Compute on the Dask cluster of this scheduler, such as tcp://scheduler:8786.",
            panel=LONG,
        ),
    ] = None,
) -> None:
    """Embed graphs: write one row of numbers per graph.

    Similar graphs get similar rows: the Euclidean distance of two rows is the distance of their
    graphs. The same graphs and seed give the same numbers.

    \b
    ddgk embed MUTAG -o mutag.csv
    ddgk embed graphs/ -o graphs.npz --save-model graphs.ddgk
    ddgk embed new.gml -o new.csv --model graphs.ddgk
    ddgk embed molecules.csv --smiles structure -o molecules.parquet
    ddgk embed NCI1 -o nci1.npz --run nci1-run
    ddgk embed MUTAG -o paper.csv --preset paper --set learning_rate=0.05
    """  # noqa: D301
    check_run(ctx, run, out, add=add, cluster=cluster, if_busy=if_busy)
    if out is not None:
        # A run's table may be written again if it is the same, which is seen at the end.
        check_output(out, TABLES, force=force or run is not None)
    if save_model is not None:
        check_output(save_model, (), force=force or run is not None)
    execution = {
        "n_jobs": jobs,
        "engine": engine,
        "device": device,
        "max_memory": max_memory,
        "verbose": not quiet,
        "policies": given.policies,
    }
    if unseen_labels is not None:
        execution["unseen_labels"] = unseen_labels
    saved = run if add and model is None else model
    if saved is None:
        estimator = _new_estimator(sources, features, preset, settings, seed, execution)
    else:
        _refuse_with_model(ctx, save_model)
        from ddgk.estimator import DDGK

        estimator = DDGK.load(saved).set_params(**execution)

    from ddgk.embedding.workers import connected
    from ddgk.tables import Table, write_table

    with resumable(run), connected(cluster) as client:
        found = read_graphs(graphs, **given.keywords(), quiet=quiet)
        busy = if_busy or "wait"
        if saved is None:
            estimator.fit(found.graphs, run=run, if_busy=busy)
        values = (
            estimator.transform(found.graphs)
            if run is None
            else estimator.embed_into(run, found.graphs, add=add, if_busy=busy, cluster=client)
        )
    names = [graph.name or f"graph-{place}" for place, graph in enumerate(found.graphs)]
    columns = [str(name) for name in estimator.get_feature_names_out()]
    if out is not None:
        table = Table(values, names, columns, found.classes)
        write_table(out, table, force=force or run is None)
    if save_model is not None:
        # The file is the same, however the rows were computed.
        estimator.set_params(n_jobs=None, verbose=False, max_memory=None).save(save_model)
    if not quiet:
        kept = "" if run is None or out is None else f", kept in {shown(run)}"
        typer.echo(
            f"{shown(str(run if out is None else out))}: {len(names):,} graphs x "
            f"{len(columns):,} columns{kept}, in {elapsed(ctx):.1f} s"
        )


def _new_estimator(
    sources: int | None,
    features: int | None,
    preset: str | None,
    settings: list[str] | None,
    seed: int | None,
    execution: dict[str, Any],
) -> DDGK:
    config = options.configured(preset, options.settings(settings))
    from ddgk.estimator import DDGK

    estimator = DDGK(
        n_sources=sources or N_SOURCES,
        n_features=None if features == 0 else features or N_FEATURES,
        config=config,
        random_state=seed or 0,
    )
    if config.torch_reason and execution["engine"] == "auto" and execution["verbose"]:
        typer.echo(f"note: {config.torch_reason}, which is slower", err=True)
    return estimator.set_params(**execution)


def _refuse_with_model(ctx: typer.Context, save_model: Path | None) -> None:
    """Refuse options that shape a new model, since a saved one is what it is."""
    spelled = {"settings": "--set"}
    names = [
        spelled.get(name, f"--{name}")
        for name in SHAPING
        if ctx.params.get(name) not in (None, [], ())
    ]
    names += [] if save_model is None else ["--save-model"]
    if names:
        raise typer.BadParameter(
            f"{', '.join(names)} would fit a new model, and this embeds with a saved one", ctx=ctx
        )


def check_run(
    ctx: typer.Context, run: str | None, out: Path | None, *, add: bool, **only_with_run: str | None
) -> None:
    """Refuse options that do not go together."""
    if run is None and out is None:
        raise typer.BadParameter("give a file with -o, or a folder with --run", ctx=ctx)
    given = ["--add"] if add else []
    given += ["--" + name.replace("_", "-") for name, value in only_with_run.items() if value]
    if run is None and given:
        raise typer.BadParameter(f"{given[0]} is about a run: name its folder with --run", ctx=ctx)


@contextmanager
def resumable(run: str | None) -> Iterator[None]:
    """Print, when the user stops a run, what is kept and the command that continues it."""
    if run is None:
        yield
        return
    from ddgk.embedding import RunStopped

    try:
        yield
    except KeyboardInterrupt as stopped:
        kept = str(stopped) if isinstance(stopped, RunStopped) else f"nothing was computed in {run}"
        typer.echo(f"{kept}; to continue:\n{_command()}", err=True)
        raise KeyboardInterrupt from None


def _command() -> str:
    """Return the command that started this process, for a shell."""
    program = Path(sys.argv[0])
    by_module = program.name == "__main__.py"
    words = [sys.executable, "-m", "ddgk"] if by_module else [os.fspath(program.name)]
    return shlex.join([*words, *sys.argv[1:]])
