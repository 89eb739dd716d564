"""`ddgk config`: every field of the configuration, its values in the presets, what it does."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from dataclasses import dataclass
from difflib import get_close_matches
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli import options
from ddgk.errors import shown

if TYPE_CHECKING:
    from ddgk.config import Config

WIDEST = 100


@dataclass(frozen=True)
class Field:
    """A field of the configuration, as its documentation says.

    Parameters
    ----------
    name : str
    kind : str
        Its type or choices.
    text : str
        What it does.
    """

    name: str
    kind: str
    text: str


def config(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FIELD]...", help="Fields to explain. Default: all."),
    ] = None,
    preset: Annotated[
        str | None, options.choice("preset", "Print the values of this preset as JSON.")
    ] = None,
) -> None:
    """Explain the fields that --set of `ddgk embed` changes.

    \b
    ddgk config
    ddgk config learning_rate checkpoints
    ddgk config --preset paper
    ddgk embed MUTAG -o mutag.csv --set learning_rate=0.2 --set checkpoints=0,1,2
    """  # noqa: D301
    from ddgk.config import PRESETS

    known = {field.name: field for field in documented()}
    for name in names or ():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise typer.BadParameter(f"there is no field {shown(name)!r}{meant}")
    chosen = list(dict.fromkeys(names or known))
    if preset is not None:
        values = PRESETS[preset].as_json()
        typer.echo(json.dumps({name: values[name] for name in chosen}, indent=1))
        return
    width = min(get_terminal_size().columns, WIDEST)
    typer.echo("\n\n".join(_shown(known[name], PRESETS, width) for name in chosen))


def documented() -> list[Field]:
    """Return the fields of `ddgk.Config` in order, as its docstring explains them."""
    from ddgk.config import Config

    text = inspect.getdoc(Config) or ""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    entries = re.split(r"^(?=\S)", found[1] if found else "", flags=re.MULTILINE)
    fields = []
    for entry in filter(None, entries):
        heading, _, body = entry.partition("\n")
        name, _, kind = heading.partition(" : ")
        fields.append(Field(name.strip(), kind.strip(), " ".join(body.split())))
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


def _shown(field: Field, presets: dict[str, Config], width: int) -> str:
    values = values_of(field.name, presets)
    others = "; ".join(
        f"{preset}: {text}" for preset, text in values.items() if preset != "default"
    )
    heading = f"{field.name}={values['default']}" + (f"  ({others})" if others else "")
    body = textwrap.fill(
        f"{field.kind}. {field.text}", width, initial_indent="    ", subsequent_indent="    "
    )
    return f"{heading}\n{body}"
