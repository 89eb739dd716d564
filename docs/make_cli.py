"""The page docs/cli.md, made from the commands: `python docs/make_cli.py > docs/cli.md`."""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer
import typer.main

HEAD = """# Command line

<!-- Made by: python docs/make_cli.py > docs/cli.md -->

`ddgk COMMAND --help` shows what stands here. Results go to files and to standard output; progress,
warnings and errors go to standard error. A command that fails prints one line that says what to do,
with exit code 1; a mistake in usage has exit code 2, an interrupt (Ctrl-C) 130. Files are written
completely or not at all, and none is replaced without `--force`.

`ddgk --install-completion` sets up completion for your shell; `ddgk --version` shows the version.
"""


def commands(command: Any = None, name: str = "ddgk") -> dict[str, Any]:
    """Return all commands by their full names."""
    if command is None:
        from ddgk.cli import app

        command = typer.main.get_command(app)
    if not hasattr(command, "commands"):
        return {name: command}
    found: dict[str, Any] = {}
    for word, inner in command.commands.items():
        found |= commands(inner, f"{name} {word}")
    return found


def page() -> str:
    """Return the page: a section for each command, then the fields of the configuration."""
    every = commands()
    listed = "\n".join(
        f"- [`{name}`](#{name.replace(' ', '-')}): {_summary(command)}"
        for name, command in every.items()
    )
    parts = [HEAD, listed + "\n", *(_section(*item) for item in every.items())]
    reading = _shared_section(every["ddgk embed"])
    return "\n".join([*parts, reading, _configuration()])


def _section(name: str, command: Any) -> str:
    from ddgk.cli.commands import sections
    from ddgk.cli.inputs import PANEL

    text, examples = _split(command)
    lines = [f"## {name}\n", f"{text}\n"]
    if examples:
        lines.append(f"```\n{examples}\n```\n")
    for title, rows in sections(command.params).items():
        if title == PANEL:
            lines.append(f"[Options for {title.lower()}](#{_anchor(title)}) apply too.\n")
            continue
        lines += [f"| {title} | |", "|---|---|", *map(_row, rows), ""]
    return "\n".join(lines)


def _shared_section(command: Any) -> str:
    from ddgk.cli.commands import sections
    from ddgk.cli.inputs import PANEL

    lines = [
        f"## {PANEL}\n",
        "These options are taken by every command that reads graphs. The first choice is the "
        "default.\n",
        "| Options | |",
        "|---|---|",
    ]
    return "\n".join([*lines, *map(_row, sections(command.params)[PANEL]), ""])


def _configuration() -> str:
    from ddgk.cli.config import documented, values_of
    from ddgk.config import PRESETS

    lines = [
        "## Configuration\n",
        "Fields that `--set NAME=VALUE` of `ddgk embed` changes, and `ddgk config` explains.\n",
        "| field | default | presets | |",
        "|---|---|---|---|",
    ]
    for name, (kind, text) in documented().items():
        values = values_of(name, PRESETS)
        others = ", ".join(f"{key}: `{text}`" for key, text in values.items() if key != "default")
        cells = (f"`{name}`", f"`{values['default']}`", others, f"{kind}. {text}")
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join([*lines, ""])


def _split(command: Any) -> tuple[str, str]:
    r"""Return the description of a command, and its examples, which stand after \b."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    examples = [part.strip("\b\n") for part in paragraphs if part.startswith("\b")]
    described = [" ".join(part.split()) for part in paragraphs if not part.startswith("\b")]
    return "\n\n".join(described), "\n".join(examples)


def _summary(command: Any) -> str:
    return re.split(r"(?<=\.)\s", _split(command)[0])[0]


def _row(row: tuple[str, str]) -> str:
    return f"| `{_cell(row[0])}` | {_cell(row[1])} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


if __name__ == "__main__":
    typer.echo(page(), nl=False)
