"""What readers of untrusted files share: options, limits on size, archives, text.

Zip archives are read in memory, within a budget, and never onto the disk.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ddgk.errors import DatasetError, DDGKError, ParameterError, shown
from ddgk.graphs import Graph, from_networkx
from ddgk.graphs.foreign import USUAL
from ddgk.graphs.policies import DEFAULT, Policies

if TYPE_CHECKING:
    import networkx

# Numbers in arrays take about as much memory as their text; parsed objects take twenty times more.
MAX_BYTES = 1 << 30
MAX_PARSED_BYTES = 1 << 28
CHUNK = 1 << 20
# More nodes than a file can name one by one; formats that state a number of nodes may lie.
MAX_NODES = 5_000_000
# Elements inside elements of an XML file; graph formats need fewer than ten.
MAX_DEPTH = 100
# Text of numbers packs 5 to 10 times; a bomb a thousand times. Small archives may exceed the ratio.
MAX_RATIO = 200
ALWAYS_ALLOWED = 1 << 24
# A number; possessive, so that hostile text cannot make the match backtrack.
REAL = re.compile(r"[-+]?+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][-+]?+[0-9]{1,3}+)?+|[nN][aA][nN]")
# What a problem begins with where a reader knows its place in the file.
PLACE = re.compile(r"(?:line|record|graph|node|link) [0-9]+[:,]")
DIRECTORY_ENTRY, MAX_MEMBERS = b"PK\x01\x02", 10_000


@dataclass(frozen=True)
class Options:
    """Parameters of `read`; skipped and notes are filled by readers, see `ReadReport`."""

    node_labels: str | None = "label"
    edge_labels: str | None = "label"
    node_attributes: str | None = "attributes"
    edge_attributes: str | None = "attributes"
    edge_weights: str | None = "weight"
    policies: Policies = DEFAULT
    edges: str | None = None
    arcs: str | None = None
    smiles: str | None = None
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def keys(self) -> tuple[str | None, ...]:
        """The five keys, in the order of `USUAL`."""
        return tuple(getattr(self, parameter) for parameter in USUAL)

    def convert(self, graph: networkx.Graph, name: str) -> Graph:
        """Convert one parsed graph."""
        keys = dict(zip(USUAL, self.keys, strict=True))
        return from_networkx(graph, **keys, name=name, policies=self.policies)


def placed(where: str, problem: str) -> str:
    """Return a problem with its place: "a.csv: it is empty", or "a.csv, line 3: ...".

    >>> placed("a.json", "node 3: the id 'x' is taken")
    "a.json, node 3: the id 'x' is taken"
    """
    return f"{where}{', ' if PLACE.match(problem) else ': '}{problem}"


def decode(data: bytes) -> str:
    """Return the text of a file, which must be UTF-8."""
    wrong = data.find(b"\0")  # UTF-16 looks like UTF-8 with NUL in it: every name would be another
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong >= 0:
        line = data.count(b"\n", 0, wrong) + 1
        raise DatasetError(f"line {line}: not UTF-8 text; save it as UTF-8")
    return text


class ByteBudget:
    """Bytes that may still be read; what is really read counts, not what a header states.

    rule: what set the limit, for the message; None: the parameter `max_bytes`.
    """

    def __init__(self, n_bytes: int, rule: str | None = None) -> None:
        if n_bytes < 1:
            raise ParameterError(f"max_bytes must be at least 1, not {n_bytes!r}")
        self.left = n_bytes
        self.rule = f"max_bytes={n_bytes}" if rule is None else rule

    def read(self, stream: IO[bytes], where: str) -> bytes:
        """Read a stream to its end, in chunks, so that an oversized one is stopped early."""
        chunks = []
        while chunk := stream.read(min(CHUNK, self.left + 1)):
            self.left -= len(chunk)
            if self.left < 0:
                raise DatasetError(f"{where}: too large, more than is allowed in all ({self.rule})")
            chunks.append(chunk)
        return b"".join(chunks)

    def read_file(self, path: Path) -> bytes:
        """Read an ordinary file; a pipe or a device might never end, so those are refused."""
        if not path.is_file():
            raise DatasetError(f"{shown(str(path))}: there is no such file, or not an ordinary one")
        try:
            with path.open("rb") as stream:
                return self.read(stream, str(path))
        except OSError as error:
            raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error


def check_n_nodes(n_nodes: int) -> None:
    """Refuse a number of nodes that only a damaged or hostile file states."""
    if not 0 <= n_nodes <= MAX_NODES:
        raise DatasetError(f"it states {n_nodes} nodes; at most {MAX_NODES} are read")


def read_archive(
    data: bytes, where: str, wanted: Callable[[str], bool], max_bytes: int
) -> dict[str, bytes]:
    """Return the content of the wanted members of a zip file, by member name.

    Nothing is extracted, so that no path in the archive can reach the disk.
    """
    # Before zipfile makes an object of every member of the directory.
    if data.count(DIRECTORY_ENTRY) > MAX_MEMBERS:
        raise DatasetError(f"{where}: the archive lists far more members than a data set has")
    by_ratio = max(ALWAYS_ALLOWED, MAX_RATIO * len(data))
    allowed = ByteBudget(max_bytes)
    if max_bytes > by_ratio:
        allowed = ByteBudget(by_ratio, f"it unpacks to over {MAX_RATIO} times its size")
    try:
        found = {}
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                if not wanted(entry.filename):
                    continue
                called = f"{where}: {shown(entry.filename)}"
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    # zipfile unpacks the other methods in steps of any size.
                    raise DatasetError(f"{called}: packed by a method other than deflate")
                with archive.open(entry) as member:
                    found[entry.filename] = allowed.read(member, called)
        return found
    except DDGKError:
        raise
    # zipfile meets hostile bytes with a dozen kinds of error; all of them mean the same here.
    except Exception as error:
        raise DatasetError(
            f"{where}: not a complete zip archive "
            f"({shown(str(error)) or type(error).__name__}); fetch it again"
        ) from error
