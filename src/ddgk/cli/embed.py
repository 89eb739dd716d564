"""`ddgk embed`: graphs in, one row of numbers per graph out."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ddgk.cli import options
from ddgk.cli.commands import elapsed
from ddgk.cli.inputs import InputOptions, takes_graphs
from ddgk.cli.options import LONG, MODEL, RUNNING, TABLES, check_output, choice, option
from ddgk.errors import shown

# Options about a run, and options that shape a new model, as they are written.
OF_RUNS = {"add": "--add", "if_busy": "--if-busy", "cluster": "--cluster"}
SHAPING = {"sources": "--sources", "features": "--features", "preset": "--preset",
           "settings": "--set", "seed": "--seed", "save_model": "--save-model"}  # fmt: skip

OUT = f"The file to write: {', '.join(TABLES)}. Not needed with --run."
PRESET = (
    "The configuration: the compact embedding, or divergences as in the paper or in its authors' "
    "code."
)
SET = "Change a field of the configuration; `ddgk config` explains all. May be given several times."
UNSEEN = "Labels that no graph of the model's fit had; they carry no weight."
ENGINE = "fused is compiled for the CPU; torch has every option and runs on GPUs."
DEVICE = "cpu, or a device of torch such as cuda."
MEMORY = "Memory of each thread or worker, such as 500MB."
RUN = (
    "Keep finished rows in this folder, or at an address such as s3://bucket/run; the same command "
    "continues after an interruption."
)
ADD = "Add these graphs to a run that exists."
BUSY = "While another process works on the run: wait for it, compute other rows, or fail."
CLUSTER = "Compute on the Dask cluster of this scheduler, such as tcp://scheduler:8786."


@takes_graphs
def embed(
    ctx: typer.Context,
    graphs: options.Graphs,
    given: InputOptions,
    out: Annotated[Path | None, option("FILE", OUT, "-o", "--out")] = None,
    sources: Annotated[int, option("N", "How many graphs become sources.", min=1)] = 8,
    features: Annotated[int, option("N", "Columns at most; 0: all.", min=0)] = 1024,
    preset: Annotated[str, choice("preset", PRESET, default="default")] = "default",
    settings: Annotated[list[str] | None, option("NAME=VALUE", SET, "--set")] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    model: options.Model = None,
    save_model: Annotated[
        Path | None, option("FILE", "Write the fitted model.", panel=MODEL)
    ] = None,
    unseen_labels: Annotated[
        str | None, choice("unseen_labels", UNSEEN, default="warn", panel=MODEL)
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    engine: Annotated[str, choice("engine", ENGINE, default="auto", panel=RUNNING)] = "auto",
    device: Annotated[str, option("NAME", DEVICE, panel=RUNNING)] = "cpu",
    max_memory: Annotated[
        str | None, option("AMOUNT", MEMORY, default="1GB", panel=RUNNING)
    ] = None,
    run: Annotated[str | None, option("DIR", RUN, panel=LONG)] = None,
    add: Annotated[bool, option(None, ADD, "--add", panel=LONG)] = False,
    if_busy: Annotated[str, choice("if_busy", BUSY, default="wait", panel=LONG)] = "wait",
    cluster: Annotated[str | None, option("ADDRESS", CLUSTER, panel=LONG)] = None,
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
    saved = run if add and model is None else model
    _check_options(ctx, is_run=run is not None, is_saved=saved is not None)
    if out is not None:
        # A run's table may be written again if it is the same, which is seen at the end.
        check_output(out, TABLES, force=force or run is not None)
    if save_model is not None:
        check_output(save_model, (), force=force or run is not None)
    from ddgk.estimator import DDGK

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
    if saved is None:
        config = options.configured(preset, options.settings(settings))
        if config.torch_reason and engine == "auto" and not quiet:
            typer.echo(f"note: {config.torch_reason}, which is slower", err=True)
        estimator = DDGK(sources, n_features=features or None, config=config, random_state=seed)
    else:
        estimator = DDGK.load(saved)
    estimator.set_params(**execution)

    from ddgk.embedding.workers import connected
    from ddgk.tables import Table, write_table

    with resumable(run), connected(cluster) as client:
        found = given.read(graphs, quiet=quiet)
        if saved is None:
            estimator.fit(found.graphs, run=run, if_busy=if_busy)
        values = (
            estimator.transform(found.graphs)
            if run is None
            else estimator.embed_into(run, found.graphs, add=add, if_busy=if_busy, cluster=client)
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


def _check_options(ctx: typer.Context, *, is_run: bool, is_saved: bool) -> None:
    """Refuse options that do not go together."""

    def given(names: dict[str, str]) -> list[str]:
        sources = {name: ctx.get_parameter_source(name) for name in names}
        return [names[name] for name, own in sources.items() if own and own.name == "COMMANDLINE"]

    problem = None
    if not is_run and ctx.params["out"] is None:
        problem = "give a file with -o, or a folder with --run"
    elif not is_run and given(OF_RUNS):
        problem = f"{given(OF_RUNS)[0]} is about a run: name its folder with --run"
    elif is_saved and given(SHAPING):
        shaping = ", ".join(given(SHAPING))
        problem = f"{shaping} would fit a new model, and this embeds with a saved one"
    if problem is not None:
        raise typer.BadParameter(problem, ctx=ctx)


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
