"""Files that commands write: checked before the work begins, and written atomically."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from filecmp import cmp
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from ddgk.errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ddgk.store.run import Run


LONGEST_NAME = 1000  # characters, in .npz


@dataclass(frozen=True)
class Table:
    """An embedding with everything that names its rows and columns.

    values: (n_graphs, n_columns), or a run that has them; classes: (n_graphs,), or None where they
    are not known.
    """

    values: NDArray[np.floating] | Run
    names: list[str]
    columns: list[str]
    classes: NDArray[np.int64] | None

    @property
    def dtype(self) -> str:
        """Return the type of the numbers."""
        from ddgk.store.run import Run

        held = self.values
        return held.manifest.dtype if isinstance(held, Run) else str(held.dtype)

    def heading(self) -> list[str]:
        """Name all columns, those of the names and classes included."""
        return ["name", *([] if self.classes is None else ["class"]), *self.columns]

    def blocks(self) -> Iterator[NDArray[np.floating]]:
        """Yield the rows, as many at a time as memory should hold."""
        from ddgk.store.run import Run

        yield from self.values.blocks() if isinstance(self.values, Run) else [self.values]

    def named_blocks(self) -> Iterator[tuple[list[list[Any]], NDArray[np.floating]]]:
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


def write_table(path: Path, table: Table, *, force: bool = True, formulas: bool = False) -> None:
    """Write an embedding in the format that the ending of its name says.

    Parameters
    ----------
    path : Path
    table : Table
    force : bool
        Replace a file that exists; else it must hold the very same table.
    formulas : bool
        Of .csv: leave names that a spreadsheet would compute, such as "=1+1", as they are. By
        default they begin with an apostrophe there.
    """
    from ddgk.store.files import replacing

    kept = path.exists() and not force
    scratch = path.with_name(f".comparing-{path.name}") if kept else path
    suffix = path.suffix.lower()
    try:
        with replacing(scratch) as file:
            if suffix == ".csv":
                _write_csv(table, file, formulas)
            else:
                TABLES[suffix](table, file)
        if kept and not cmp(scratch, path, shallow=False):
            raise FileExistsError(
                f"{path} exists and holds something else; choose another name, or pass --force"
            )
    finally:
        if kept:
            scratch.unlink(missing_ok=True)


def _write_npy(table: Table, file: IO[bytes]) -> None:
    import numpy as np

    shape = (len(table.names), len(table.columns))
    kind = np.dtype(table.dtype).newbyteorder("<")
    header = {"descr": kind.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for block in table.blocks():
        file.write(np.ascontiguousarray(block, dtype=kind).tobytes())


def _write_npz(table: Table, file: IO[bytes]) -> None:
    import numpy as np

    from ddgk.plain import writable

    # numpy gives every name the space of the longest.
    texts = {"names": table.names, "columns": table.columns}
    others: dict[str, Any] = {
        key: np.array([_shortened(writable(text)) for text in values], dtype=str)
        for key, values in texts.items()
    }
    if table.classes is not None:
        others["classes"] = table.classes
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("embedding", *others):
            # Named this way an entry has no date, so the same table is the same file.
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as content:
                if name == "embedding":
                    _write_npy(table, content)
                else:
                    np.lib.format.write_array(content, others[name], allow_pickle=False)


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_NAME:
        return text
    return f"{text[: LONGEST_NAME - 17]}#{sha256(text.encode()).hexdigest()[:16]}"


def _write_csv(table: Table, file: IO[bytes], formulas: bool = False) -> None:
    from ddgk.plain import csv_bytes, csv_field

    file.write(csv_bytes([table.heading()], formulas=formulas))
    for before, block in table.named_blocks():
        # numpy writes the shortest text that reads back to the same number.
        for *known, numbers in zip(*before, block.astype(str).tolist(), strict=True):
            fields = [*(csv_field(value, formulas) for value in known), *numbers]
            file.write(f"{','.join(fields)}\n".encode())


def _write_parquet(table: Table, file: IO[bytes]) -> None:
    import pyarrow
    import pyarrow.parquet

    from ddgk.plain import writable

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
