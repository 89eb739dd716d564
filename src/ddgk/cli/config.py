"""`ddgk config`: every field of the configuration, its values in the presets, what it does."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli import options
from ddgk.errors import shown

if TYPE_CHECKING:
    from ddgk.config import Config

WIDEST, INDENT = 100, " " * 4


def config(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIELD...", help="Fields to explain. Default: all."),
    ] = None,
) -> None:
    """Explain the fields that --set of `ddgk embed` changes.

    \b
    ddgk config
    ddgk config learning_rate checkpoints
    ddgk embed MUTAG -o mutag.csv --set learning_rate=0.2 --set checkpoints=0,1,2
    """  # noqa: D301
    from ddgk.config import PRESETS

    known = documented()
    for name in names or ():
        if name not in known:
            meant = options.meant(name, known)
            raise typer.BadParameter(f"there is no field {shown(name)!r}{meant}")
    chosen = dict.fromkeys(names or known)
    width = min(get_terminal_size().columns, WIDEST)
    typer.echo("\n\n".join(_explained(name, known[name], PRESETS, width) for name in chosen))


def documented() -> dict[str, tuple[str, str]]:
    """Return type and meaning of the fields of `ddgk.Config`, as its docstring says."""
    from ddgk.config import Config

    text = inspect.getdoc(Config) or ""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    entries = re.split(r"^(?=\S)", found[1] if found else "", flags=re.MULTILINE)
    fields = {}
    for entry in filter(None, entries):
        heading, _, body = entry.partition("\n")
        name, _, kind = heading.partition(" : ")
        fields[name.strip()] = (kind.strip(), " ".join(body.split()))
    return fields


def values_of(name: str, presets: dict[str, Config]) -> dict[str, str]:
    """Return a field's value in every preset, as --set takes it; equal ones only once.

    >>> from ddgk.config import PRESETS
    >>> values_of("checkpoints", PRESETS)
    {'default': '0,1,2,3,4', 'paper': '600', 'authors': '599'}
    >>> values_of("depth", PRESETS)
    {'default': '4'}
    """
    texts = {preset: _as_word(getattr(own, name)) for preset, own in presets.items()}
    return {
        preset: text
        for preset, text in texts.items()
        if preset == "default" or text != texts["default"]
    }


def _as_word(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "[]"
    return value if isinstance(value, str) else json.dumps(value).replace("null", "none")


def _explained(name: str, about: tuple[str, str], presets: dict[str, Config], width: int) -> str:
    values = values_of(name, presets)
    default = values.pop("default")
    others = "; ".join(f"{preset}: {value}" for preset, value in values.items())
    heading = f"{name}={default}" + (f"  ({others})" if others else "")
    body = textwrap.fill(". ".join(about), width, initial_indent=INDENT, subsequent_indent=INDENT)
    return f"{heading}\n{body}"
