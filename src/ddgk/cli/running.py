"""What `ddgk embed --run` needs: checks of its options, a cluster, and how to continue."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import typer


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


def connected(cluster: str | None) -> AbstractContextManager[Any]:
    """Connect to a Dask scheduler while the block runs; yields its client, or None."""
    from ddgk.embedding.workers import connected as connect

    return connect(cluster)


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
        typer.echo(f"{kept}; to continue:\n{command()}", err=True)
        raise KeyboardInterrupt from None


def command() -> str:
    """Return the command that started this process, for a shell."""
    program = Path(sys.argv[0])
    by_module = program.name == "__main__.py"
    words = [sys.executable, "-m", "ddgk"] if by_module else [os.fspath(program.name)]
    return shlex.join([*words, *sys.argv[1:]])
