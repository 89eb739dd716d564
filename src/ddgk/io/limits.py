"""Limits on what is read from files, so that hostile ones are refused early."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from ddgk.errors import DatasetError, ParameterError, shown

# Numbers in arrays take about as much memory as their text; parsed objects take twenty times more.
MAX_BYTES = 1 << 30
MAX_PARSED_BYTES = 1 << 28
CHUNK = 1 << 20
# More nodes than a file can name one by one; formats that state a number of nodes may lie.
MAX_NODES = 5_000_000
# Elements inside elements of an XML file; graph formats need fewer than ten.
MAX_DEPTH = 100


class Budget:
    """Bytes that may still be read; what is really read counts, not what a header states.

    Parameters
    ----------
    n_bytes : int
    rule : str
        What set the limit, for the message: "max_bytes" says which parameter to raise.

    Examples
    --------
    >>> import io
    >>> budget = Budget(10, "max_bytes=10")
    >>> budget.read(io.BytesIO(b"12345678"), "a.txt")
    b'12345678'
    >>> budget.read(io.BytesIO(b"12345678"), "b.txt")
    Traceback (most recent call last):
    ...
    ddgk.errors.DatasetError: b.txt: too large, more than is allowed in all (max_bytes=10)
    """

    def __init__(self, n_bytes: int, rule: str) -> None:
        self.left = n_bytes
        self.rule = rule

    def read(self, stream: IO[bytes], where: str) -> bytes:
        """Read a stream to its end, in chunks, so that an oversized one is stopped early."""
        chunks = []
        while chunk := stream.read(min(CHUNK, self.left + 1)):
            self.left -= len(chunk)
            if self.left < 0:
                raise DatasetError(f"{where}: too large, more than is allowed in all ({self.rule})")
            chunks.append(chunk)
        return b"".join(chunks)


def budget(max_bytes: int) -> Budget:
    """Return the budget that a caller's `max_bytes` stands for."""
    if max_bytes < 1:
        raise ParameterError(f"max_bytes must be at least 1, not {max_bytes!r}")
    return Budget(max_bytes, f"max_bytes={max_bytes}")


def read_file(path: Path, allowed: Budget) -> bytes:
    """Read an ordinary file whole; a pipe or a device might never end, so those are refused."""
    if not path.is_file():
        raise DatasetError(f"{shown(str(path))}: there is no such file, or not an ordinary one")
    try:
        with path.open("rb") as stream:
            return allowed.read(stream, str(path))
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error


def check_n_nodes(n_nodes: int, where: str) -> None:
    """Refuse a number of nodes that only a damaged or hostile file states."""
    if not 0 <= n_nodes <= MAX_NODES:
        raise DatasetError(f"{where}: it states {n_nodes} nodes; at most {MAX_NODES} are read")
