"""What `ddgk embed --run` needs around the work: a cluster, and a way back in after a stop."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from ddgk.errors import ClusterError, MissingExtraError

CONNECTING = 15  # seconds


def check(
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
def connected(cluster: str | None) -> Iterator[None]:
    """Let a Dask cluster compute what is asked for in the block."""
    if cluster is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError(
            "--cluster needs dask.distributed: pip install 'ddgk[cluster]'"
        ) from error
    from joblib import parallel_config

    try:
        client = Client(cluster, timeout=CONNECTING, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(f"no scheduler answers at {cluster}: {error}") from error
    try:
        with parallel_config("dask", client=client):
            yield
    finally:
        client.close(timeout=2)


@contextmanager
def resumable(run: str | None) -> Iterator[None]:
    """Say, when the user stops a run, what is kept and what continues it."""
    if run is None:
        yield
        return
    from ddgk.embedding.runs import RunStopped

    try:
        yield
    except KeyboardInterrupt as stopped:
        kept = str(stopped) if isinstance(stopped, RunStopped) else f"nothing was computed in {run}"
        typer.echo(f"{kept}; to continue:\n{command()}", err=True)
        raise KeyboardInterrupt from None


def command() -> str:
    """Return the command that this process was started with, for a shell."""
    program = Path(sys.argv[0])
    by_module = program.name == "__main__.py"
    words = [sys.executable, "-m", "ddgk"] if by_module else [os.fspath(program.name)]
    return shlex.join([*words, *sys.argv[1:]])
