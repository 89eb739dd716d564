"""How commands fail: one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from ddgk.errors import DDGKError

FAILED = 1
INTERRUPTED = 130


class Commands(TyperGroup):
    """A group of commands whose errors end in a line that says what to do."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(stop()) from None
        except BrokenPipeError:
            raise  # whoever reads our output has seen enough
        except (DDGKError, OSError) as error:
            typer.echo(f"error: {one_line(error)}", err=True)
            raise typer.Exit(FAILED) from None


def stop() -> int:
    """Say that the user stopped the command; return the exit code for it."""
    typer.echo("stopped", err=True)
    # Where the interrupt fell into code that a library had as text (dataclasses and Numba do),
    # Python remembers it as unhandled and ends by the signal; evaluating any text makes it forget.
    eval("None")  # noqa: S307
    return INTERRUPTED


def one_line(error: Exception) -> str:
    """Return an error as a line: of the system's errors the file and what is wrong with it.

    >>> one_line(PermissionError(13, "Permission denied", "out.csv"))
    'out.csv: Permission denied'
    """
    if not isinstance(error, DDGKError) and isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
