"""How commands fail: a line on stderr and an exit code, never a traceback."""

from __future__ import annotations

import re

import typer

from ddgk.errors import DDGKError, InputError, escaped, message, shown

FAILED = 1
MISUSED = 2
INTERRUPTED = 130

# What messages call parameters, and what they are called on the command line.
OPTIONS = {
    "engine": "--engine {}",
    "device": "--device {}",
    "if_busy": "--if-busy {}",
    "attention": "--set attention={}",
    "labels": "--labels {}",
}
NAMES = {
    "n_sources": "--sources",
    "n_features": "--features",
    "n_jobs": "--jobs",
    "n_neighbors": "--neighbors",
    "n_clusters": "--clusters",
    "max_memory": "--max-memory",
    "max_seconds": "--max-seconds",
    "random_state": "--seed",
}
KEYWORD = re.compile(rf"\b({'|'.join(OPTIONS)})=(['\"])(\w+)\2")
PARAMETER = re.compile(rf"\b({'|'.join(NAMES)})\b")


def stop() -> int:
    """Say that the user stopped the command; return the exit code for it."""
    typer.echo("stopped", err=True)
    # Where the interrupt fell into code that a library had as text (dataclasses and Numba do),
    # Python remembers it as unhandled and ends by the signal; evaluating any text makes it forget.
    eval("None")  # noqa: S307
    return INTERRUPTED


def lines(error: Exception) -> str:
    r"""Return an error as a line in the words of the command line; a list has a line per entry.

    Of the system's errors it is the file and what is wrong with it.

    >>> lines(PermissionError(13, "Permission denied", "out.csv"))
    'out.csv: Permission denied'
    >>> from ddgk.errors import ParameterError
    >>> lines(ParameterError("runs on the CPU;\n pass engine='torch'"))
    'runs on the CPU; pass --engine torch'
    """
    if not isinstance(error, DDGKError) and isinstance(error, OSError) and error.filename:
        return f"{shown(str(error.filename))}: {shown(str(error.strerror))}"
    text = message(error, command_line=True) or type(error).__name__
    if not isinstance(error, InputError):
        return in_options(" ".join(text.split()))
    parts = re.split(r"\n {2}(?=\S)", text)
    return "\n  ".join(" ".join(part.split()) for part in parts)


def in_options(text: str) -> str:
    """Return a message about parameters in the words of the command line.

    >>> in_options("n_sources must be 1 or more; pass if_busy='share'")
    '--sources must be 1 or more; pass --if-busy share'
    """
    text = KEYWORD.sub(lambda found: OPTIONS[found[1]].format(found[3]), text)
    return escaped(PARAMETER.sub(lambda found: NAMES[found[1]], text))
