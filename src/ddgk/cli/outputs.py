"""Files that commands write: checked before the work begins, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ddgk.errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """An embedding with everything that names its rows and columns.

    values: (n_graphs, n_columns); classes: (n_graphs,), or None where they are not known.
    """

    values: NDArray[np.float64]
    names: list[str]
    columns: list[str]
    classes: NDArray[np.int64] | None

    def heading(self) -> list[str]:
        """Name all columns, those of the names and classes included."""
        return ["name", *([] if self.classes is None else ["class"]), *self.columns]


def check_output(path: Path, suffixes: Iterable[str], *, force: bool) -> None:
    """Refuse a file that could not be written after minutes of work, or that exists."""
    known = tuple(suffixes)
    if known and path.suffix.lower() not in known:
        raise typer.BadParameter(f"{str(path)!r} must end in one of {', '.join(known)}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"files cannot be written into the folder {path.parent}")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; choose another name, or pass --force")
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise MissingExtraError("writing .parquet needs pyarrow: pip install 'ddgk[parquet]'")


def write_table(path: Path, table: Table) -> None:
    """Write an embedding in the format that the ending of its name says."""
    from ddgk.store import write_atomically

    write_atomically(path, TABLES[path.suffix.lower()](table))


def rows_as_csv(rows: Iterable[Iterable[Any]]) -> bytes:
    """Return rows as text; numbers are written so that they read back to the same bits."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _as_npy(table: Table) -> bytes:
    import numpy as np

    content = io.BytesIO()
    np.save(content, table.values)
    return content.getvalue()


def _as_npz(table: Table) -> bytes:
    import numpy as np

    content = io.BytesIO()
    arrays: dict[str, Any] = {
        "embedding": table.values,
        "names": np.array(table.names),
        "columns": np.array(table.columns),
    }
    if table.classes is not None:
        arrays["classes"] = table.classes
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def _as_csv(table: Table) -> bytes:
    known = (
        [[]] * len(table.names) if table.classes is None else [[c] for c in table.classes.tolist()]
    )
    rows = zip(table.names, known, table.values.tolist(), strict=True)
    return rows_as_csv([table.heading(), *([name, *c, *numbers] for name, c, numbers in rows)])


def _as_parquet(table: Table) -> bytes:
    import pyarrow
    import pyarrow.parquet

    known = [] if table.classes is None else [table.classes]
    arrays = [pyarrow.array(column) for column in (table.names, *known, *table.values.T)]
    content = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays, names=table.heading()), content)
    return content.getvalue()


TABLES: dict[str, Callable[[Table], bytes]] = {
    ".npy": _as_npy,
    ".npz": _as_npz,
    ".csv": _as_csv,
    ".parquet": _as_parquet,
}
