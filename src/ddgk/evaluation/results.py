"""What an experiment found, in one file: tables, what they were made with, and how long it took.

Any experiment writes this, and `render` makes a page of any of them. What differs from one run of
the same command to the next, the times, stands apart from the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ddgk.errors import ResultsError, shown
from ddgk.store import write_atomically

FORMAT = "ddgk results 1"
MOST_BYTES = 64 * 2**20
LIBRARIES = ("ddgk", "numpy", "scipy", "numba", "scikit-learn")


@dataclass(frozen=True)
class Table:
    """Cells as text, as they are shown; the numbers behind them are in `Results.measured`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return the table for a page.

        >>> print(Table("t", ("a", "b"), (("1", "x"),)).markdown())
        | a | b |
        |---|---|
        | 1 | x |
        """
        lines = [self.columns, ("---",) * len(self.columns), *self.rows]
        return "\n".join(_line(line, ruled=number == 1) for number, line in enumerate(lines))


@dataclass(frozen=True)
class Results:
    """What an experiment found.

    configuration: everything that decides the tables; measured: the numbers behind them; times:
    what it took, which is another table since it differs from run to run.
    """

    experiment: str
    command: str
    configuration: Mapping[str, Any]
    tables: Sequence[Table]
    measured: Mapping[str, Any]
    times: Sequence[Table] = ()
    versions: Mapping[str, str] = field(default_factory=lambda: installed_versions())

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        content = {"format": FORMAT, **asdict(self)}
        write_atomically(path, (json.dumps(content, indent=1, sort_keys=True) + "\n").encode())

    def markdown(self) -> str:
        """Return a section of a page: the command, then every table."""
        setting = ", ".join(
            f"{_text(name)} {_text(value)}" for name, value in self.configuration.items()
        )
        made = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        command = " ".join(self.command.replace("`", "'").split())
        parts = [f"```\n{command}\n```", f"{setting}; {_text(made)}."]
        for table in (*self.tables, *self.times):
            parts += [f"**{_text(table.title)}**", table.markdown()]
        return "\n\n".join(parts) + "\n"


def load(path: Path) -> Results:
    """Read a file that `Results.save` wrote; nothing in it is trusted."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.stat().st_size > MOST_BYTES:
        raise ResultsError(f"{path} is larger than any file of results ({MOST_BYTES} bytes)")
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ResultsError(f"{path} does not say that it is {FORMAT!r}")
        found = Results(
            experiment=_checked(content["experiment"], str),
            command=_checked(content["command"], str),
            configuration=_checked(content["configuration"], dict),
            tables=[_table(table) for table in _checked(content["tables"], list)],
            measured=_checked(content["measured"], dict),
            times=[_table(table) for table in _checked(content["times"], list)],
            versions={
                name: _checked(number, str)
                for name, number in _checked(content["versions"], dict).items()
            },
        )
        render([found]).encode()  # what cannot be shown is found here, and not by who shows it
        return found
    except ResultsError:
        raise
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise ResultsError(f"{path} is damaged: {shown(str(error))}") from error


def render(results: Iterable[Results]) -> str:
    """Return a page with a section per file: its command, configuration and tables."""
    sections = []
    for one in results:
        title = f"{_text(one.experiment)}: {_text(one.configuration.get('dataset', ''))}"
        sections.append(f"## {title}\n\n{one.markdown()}")
    head = "# Results\n\nWritten by `ddgk experiment report`; each section begins with its command."
    return "\n\n".join([head, *sections])


def installed_versions() -> dict[str, str]:
    """Return the versions of what computes."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _table(content: Any) -> Table:
    title = _checked(content["title"], str)
    columns = tuple(_checked(cell, str) for cell in _checked(content["columns"], list))
    rows = tuple(
        tuple(_checked(cell, str) for cell in _checked(row, list))
        for row in _checked(content["rows"], list)
    )
    if any(len(row) != len(columns) for row in rows):
        raise ValueError(f"a row of table {title!r} has not {len(columns)} cells")
    return Table(title, columns, rows)


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{value!r} should be a {kind.__name__}")
    return value


def _line(cells: Iterable[str], *, ruled: bool) -> str:
    if ruled:
        return "|" + "|".join(cells) + "|"
    return "| " + " | ".join(_text(cell).replace("|", "\\|") for cell in cells) + " |"


def _text(value: Any) -> str:
    """Return a value on one line, which no reader of a page takes for more than text."""
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{_text(k)} {_text(v)}" for k, v in value.items()) + ")"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(map(_text, value)) + ")"
    return " ".join(str(value).replace("<", "&lt;").split())
