"""Commands and groups of commands: how their help is laid out, and how they fail.

A command fails with a line on stderr and an exit code, never a traceback.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

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


UsageError: Any = typer.BadParameter.__bases__[0]
BEGAN = "began"  # when the command started, in the object of a context


class Command(TyperCommand):
    """A command whose help shows options in groups, in the order in which they are declared."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for every group of parameters."""
        write_parameters(self, ctx, formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return what follows the name of the command in its usage."""
        arguments = [own for own in self.params if own.param_type_name == "argument"]
        words = [written(own) if own.required else f"[{written(own)}]" for own in arguments]
        return [*words, "[OPTIONS]"]


class Commands(TyperGroup):
    """A group of commands whose errors end in a line that says what to do."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Read the words of the command line."""
        if parent is None and not isinstance(extra.get("obj"), dict):
            extra["obj"] = {BEGAN: perf_counter()}
        try:
            return super().make_context(info_name, args, parent=parent, **extra)
        except UsageError as error:
            raise _misuse(error) from None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands first, then the options."""
        rows = [
            (name, self.commands[name].get_short_help_str(limit=200))
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        write_parameters(self, ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            with _short_warnings():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(stop()) from None
        except BrokenPipeError:
            raise  # whoever reads our output has seen enough
        except UsageError as error:
            raise _misuse(error) from None
        except (DDGKError, OSError) as error:
            typer.echo(f"error: {lines(error)}", err=True)
            raise typer.Exit(FAILED) from None


def elapsed(ctx: Any) -> float:
    """Return the seconds since the command started, with what it imported."""
    return perf_counter() - float(ctx.find_root().obj[BEGAN])


def write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the parameters of a command, group by group."""
    for title, rows in sections(command.get_params(ctx)).items():
        with formatter.section(title):
            formatter.write_dl(rows, col_max=26)


def sections(parameters: list[Any]) -> dict[str, list[tuple[str, str]]]:
    """Return the parameters of a command by the title of their group."""
    found: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in parameters:
        if getattr(parameter, "hidden", False):
            continue
        argument = parameter.param_type_name == "argument"
        panel = getattr(parameter, "rich_help_panel", None)
        title = panel or ("Arguments" if argument else "Options")
        found.setdefault(title, []).append((written(parameter), described(parameter)))
    return {title: rows for title, rows in found.items() if rows}


def written(parameter: Any) -> str:
    """Return a parameter as it is written on the command line."""
    name = str(parameter.metavar or parameter.name.upper())
    if parameter.param_type_name == "argument":
        return name
    words = ", ".join(sorted(parameter.opts, key=len))
    return words if parameter.is_flag else f"{words} {name}"


def described(parameter: Any) -> str:
    """Return the help of a parameter, with its default."""
    text = str(parameter.help or "")
    stated, default = getattr(parameter, "show_default", True), parameter.default
    if isinstance(stated, str):
        default = stated
    elif stated is False or default is None or isinstance(default, bool) or callable(default):
        return text
    return f"{text} Default: {default}."


def _misuse(error: Any) -> Exception:
    """Print a mistake in usage as one line; return what ends the command."""
    ctx = error.ctx
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(ctx.get_help(), err=True)
        return typer.Exit(MISUSED)
    text = " ".join(error.format_message().split()).removeprefix("Invalid value: ")
    said = shown(text.rstrip("."), 1000)
    if "unexpected extra argument" in text and any(
        parameter.metavar == "GRAPHS" for parameter in ctx.command.params
    ):  # the shell has replaced a pattern by the names of files
        said += "; name one folder, or put a pattern in quotes, as in 'graphs/*.gml'"
    where = "ddgk" if ctx is None else ctx.command_path
    typer.echo(f"error: {said}; see {where} --help", err=True)
    return typer.Exit(MISUSED)


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Print warnings as one line, without the place in the code."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        typer.echo(f"warning: {shown(' '.join(str(message).split()), 1000)}", err=True)

    before = warnings.showwarning
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
