"""Files that commands write: checked before the work begins, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from filecmp import cmp
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from ddgk.errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ddgk.store.run import Run


@dataclass(frozen=True)
class Table:
    """An embedding with everything that names its rows and columns.

    values: (n_graphs, n_columns), or a run that has them; classes: (n_graphs,), or None where they
    are not known.
    """

    values: NDArray[np.float64] | Run
    names: list[str]
    columns: list[str]
    classes: NDArray[np.int64] | None

    def heading(self) -> list[str]:
        """Name all columns, those of the names and classes included."""
        return ["name", *([] if self.classes is None else ["class"]), *self.columns]

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield the rows, as many at a time as memory should hold."""
        from ddgk.store.run import Run

        yield from self.values.blocks() if isinstance(self.values, Run) else [self.values]

    def named_blocks(self) -> Iterator[tuple[list[list[Any]], NDArray[np.float64]]]:
        """Yield the rows together with what stands before the numbers: name, and class if known."""
        classes = None if self.classes is None else self.classes.tolist()
        known = [self.names] if classes is None else [self.names, classes]
        first = 0
        for block in self.blocks():
            yield [column[first : first + len(block)] for column in known], block
            first += len(block)


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


def write_table(path: Path, table: Table, *, force: bool = True) -> None:
    """Write an embedding in the format that the ending of its name says.

    force: replace a file that is there; else it must hold the very same table.
    """
    from ddgk.store.files import replacing

    kept = path.exists() and not force
    scratch = path.with_name(f".comparing-{path.name}") if kept else path
    try:
        with replacing(scratch) as file:
            TABLES[path.suffix.lower()](table, file)
        if kept and not cmp(scratch, path, shallow=False):
            raise FileExistsError(
                f"{path} exists and holds something else; choose another name, or pass --force"
            )
    finally:
        if kept:
            scratch.unlink(missing_ok=True)


def rows_as_csv(rows: Iterable[Iterable[Any]]) -> bytes:
    """Return rows as text; numbers are written so that they read back to the same bits."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _write_npy(table: Table, file: IO[bytes]) -> None:
    import numpy as np

    shape = (len(table.names), len(table.columns))
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for block in table.blocks():
        file.write(np.ascontiguousarray(block, dtype="<f8").tobytes())


def _write_npz(table: Table, file: IO[bytes]) -> None:
    import numpy as np

    others: dict[str, Any] = {"names": np.array(table.names), "columns": np.array(table.columns)}
    if table.classes is not None:
        others["classes"] = table.classes
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        # Named this way an entry has no date, so the same table is the same file.
        with archive.open(zipfile.ZipInfo("embedding.npy"), "w", force_zip64=True) as entry:
            _write_npy(table, entry)
        for name, array in others.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _write_csv(table: Table, file: IO[bytes]) -> None:
    file.write(rows_as_csv([table.heading()]))
    for before, block in table.named_blocks():
        rows = zip(*before, block.tolist(), strict=True)
        file.write(rows_as_csv([*known, *numbers] for *known, numbers in rows))


def _write_parquet(table: Table, file: IO[bytes]) -> None:
    import pyarrow
    import pyarrow.parquet

    heading, writer = table.heading(), None
    for before, block in table.named_blocks():
        arrays = [pyarrow.array(column) for column in (*before, *block.T)]
        part = pyarrow.table(arrays, names=heading)
        if writer is None:
            writer = pyarrow.parquet.ParquetWriter(file, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


TABLES: dict[str, Callable[[Table, IO[bytes]], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
