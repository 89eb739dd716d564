"""Tables: rows of numbers with names as files, written atomically, and tables in the terminal."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from filecmp import cmp
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddgk.plain import csv_bytes, csv_field, writable
from ddgk.store.files import replacing

if TYPE_CHECKING:
    from ddgk.store.run import Run

LONGEST_NAME = 1000  # characters, in .npz


@dataclass(frozen=True)
class Table:
    """Rows of numbers with everything that names rows and columns.

    values: (n_graphs, n_columns), or a run that has them; classes: (n_graphs,), or None where they
    are not known; what: the name of the values in .npz.
    """

    values: NDArray[np.floating[Any]] | Run
    names: list[str]
    columns: list[str]
    classes: NDArray[np.int64] | None = None
    what: str = "embedding"

    @property
    def dtype(self) -> str:
        """Return the type of the numbers."""
        held = self.values
        return str(held.dtype) if isinstance(held, np.ndarray) else held.manifest.dtype

    def heading(self) -> list[str]:
        """Name all columns, those of the names and classes included."""
        return ["name", *([] if self.classes is None else ["class"]), *self.columns]

    def blocks(self) -> Iterator[NDArray[np.floating[Any]]]:
        """Yield the rows, as many at a time as memory should hold."""
        held = self.values
        yield from [held] if isinstance(held, np.ndarray) else held.blocks()

    def named_blocks(self) -> Iterator[tuple[list[list[Any]], NDArray[np.floating[Any]]]]:
        """Yield the rows together with what stands before the numbers: name, and class if known."""
        known = [self.names] if self.classes is None else [self.names, self.classes.tolist()]
        first = 0
        for block in self.blocks():
            yield [column[first : first + len(block)] for column in known], block
            first += len(block)


def write_table(path: Path, table: Table, *, force: bool = True) -> None:
    """Write a table in the format that the ending of the file's name says.

    force: replace a file that exists; else it must hold the very same table.
    """
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


def _write_npy(table: Table, file: IO[bytes]) -> None:
    shape = (len(table.names), len(table.columns))
    kind = np.dtype(table.dtype).newbyteorder("<")
    header = {"descr": kind.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for block in table.blocks():
        file.write(np.ascontiguousarray(block, dtype=kind).tobytes())


def _write_npz(table: Table, file: IO[bytes]) -> None:
    # numpy gives every name the space of the longest.
    others: dict[str, Any] = {
        key: np.array([_shortened(writable(text)) for text in values], dtype=str)
        for key, values in (("names", table.names), ("columns", table.columns))
    }
    if table.classes is not None:
        others["classes"] = table.classes
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (table.what, *others):
            # Named this way an entry has no date, so the same table is the same file.
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as content:
                if name == table.what:
                    _write_npy(table, content)
                else:
                    np.lib.format.write_array(content, others[name], allow_pickle=False)


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_NAME:
        return text
    return f"{text[: LONGEST_NAME - 17]}#{sha256(text.encode()).hexdigest()[:16]}"


def _write_csv(table: Table, file: IO[bytes]) -> None:
    file.write(csv_bytes([table.heading()]))
    for before, block in table.named_blocks():
        # numpy writes the shortest text that reads back to the same number.
        for *known, numbers in zip(*before, block.astype(str).tolist(), strict=True):
            fields = [*map(csv_field, known), *numbers]
            file.write(f"{','.join(fields)}\n".encode())


def _write_parquet(table: Table, file: IO[bytes]) -> None:
    import pyarrow
    import pyarrow.parquet

    heading, writer = list(map(writable, table.heading())), None
    for (names, *classes), block in table.named_blocks():
        columns = [list(map(writable, names)), *classes, *block.T]
        part = pyarrow.table([pyarrow.array(column) for column in columns], names=heading)
        if writer is None:
            writer = pyarrow.parquet.ParquetWriter(file, part.schema, compression="zstd")
        writer.write_table(part)
    if writer is not None:
        writer.close()


TABLES: dict[str, Callable[[Table, IO[bytes]], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}


def text_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Collection[str] = (),
    title: str | None = None,
    caption: str | None = None,
) -> Any:
    """Return a table that `rich` prints; cells are text, never markup.

    right: headings of the columns that are aligned to the right. Without names in the headings
    there is no line for them.
    """
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(title_justify="left", caption=caption, show_header=any(headings))
    drawn.title = None if title is None else Text(title, style="bold")
    for heading in headings:
        drawn.add_column(heading, justify="right" if heading in right else "left")
    for row in rows:
        drawn.add_row(*(Text(str(cell)) for cell in row))
    return drawn


def print_parts(*parts: Any) -> None:
    """Print tables, and texts without breaking their lines."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))
