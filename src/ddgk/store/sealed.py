"""Sealed files: arrays and a JSON description in one safetensors file, with a checksum; models.

Models, search indices and all data files of a run have this form; a file without arrays is JSON
text. The checksum covers the arrays, the description and a context that is not in the file: for a
file of a run, which run and which tile it belongs to. Everything is bounded before it is built;
nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ddgk import __version__
from ddgk.errors import DDGKError, ModelFileError, ModelNotFoundError, RunError, shown
from ddgk.store.files import check_size, open_folder, replacing

Arrays = dict[str, NDArray[Any]]
Model = TypeVar("Model")

FORMAT = 1
KEY = "ddgk"  # of the safetensors metadata
MOST_TEXT = 1 << 24  # characters of a description
MOST_VALUES = 500_000  # values in a description
DEEPEST = 32  # nesting of a description
MOST_DIGITS = 20  # of a whole number
LONGEST_EMPTY = 1 << 20  # length of an array without content, which takes no space in a file
MODEL = "model.safetensors"  # its name in a run
MODEL_KIND = "model"
# Types of numbers by their names in safetensors: "F32", "I64", ...
DTYPES = {
    f"{kind.upper()}{8 * size}": np.dtype(f"{kind}{size}").str
    for kind, sizes in {"f": (2, 4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8)}.items()
    for size in sizes
} | {"BOOL": "|b1", "C64": "<c8"}
KINDS = {dtype: kind for kind, dtype in DTYPES.items()}

DAMAGE = (
    *(ArithmeticError, AssertionError, AttributeError, DDGKError, LookupError, MemoryError),
    *(RuntimeError, TypeError, ValueError),
)
"""What content that was damaged or forged raises while something is built from it."""


@contextmanager
def damage_named(where: str, fix: str) -> Iterator[None]:
    """Turn what is raised while a file of a run is read into an error that names it and the fix."""
    try:
        yield
    except RunError:
        raise
    except FileNotFoundError:
        raise RunError(f"{where} is missing; {fix}") from None
    except DAMAGE as error:
        raise RunError(f"{where} is damaged: {shown(error)}; {fix}") from error


def canonical(value: Any) -> str:
    """Return JSON that is the same text for the same content.

    >>> canonical({"b": (1, 2), "a": None})
    '{"a":null,"b":[1,2]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_json(
    text: str | bytes, most_text: int = MOST_TEXT, most_values: int = MOST_VALUES
) -> Any:
    """Parse JSON from outside; raise ValueError for what is too long, too deep or too large."""
    if len(text) > most_text:
        raise ValueError(f"its description has {len(text)} characters, more than {most_text}")
    decoded = text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")
    # Each value follows a comma, a bracket or a brace, so this bounds them before they are built.
    n_values = sum(map(decoded.count, ",[{"))
    if n_values > most_values:
        raise ValueError(f"its description has more than {most_values} values")
    too_deep = ValueError(f"its description is nested more than {DEEPEST} deep")
    try:
        value = json.loads(decoded, parse_int=_whole, parse_constant=_refuse)
    except RecursionError:
        raise too_deep from None
    level = [value]
    for _ in range(DEEPEST):
        holders = [outer for outer in level if isinstance(outer, dict | list)]
        if not holders:
            return value
        level = [*chain(*(own.values() if isinstance(own, dict) else own for own in holders))]
    raise too_deep


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number in its description has {len(digits)} digits")
    return int(digits)


def _refuse(name: str) -> None:
    raise ValueError(f"its description holds {name}, which is not JSON")


def model_identity(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> str:
    """Return the hash of everything that a model file holds, but for the version that wrote it."""
    return checksum(MODEL_KIND, metadata, tensors)


def checksum(context: str, described: Any, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of a description and arrays, in the context they belong to."""
    content = hashlib.sha256(f"{canonical([context, described])}\n".encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        content.update(f"{canonical([name, array.dtype.str, array.shape])}\n".encode())
        content.update(array.reshape(-1).view(np.uint8).data)
    return content.hexdigest()


def pack(
    kind: str, arrays: Mapping[str, NDArray[Any]], content: Any = None, context: str = ""
) -> bytes:
    """Return arrays and a description as the content of a sealed file.

    kind: what the file is, such as "rows". content: a JSON value. context: not stored; `unpack`
    must be given the same.

    >>> file = pack("rows", {"x": np.arange(3)}, {"a": 1}, context="tile 7")
    >>> unpack("rows", file, context="tile 7")
    ({'x': array([0, 1, 2])}, {'a': 1})
    """
    return b"".join(_chunks(kind, arrays, content, context))


def save_sealed(
    path: Path, kind: str, arrays: Mapping[str, NDArray[Any]], content: Any = None
) -> None:
    """Write a sealed file atomically, without a copy of the arrays in memory."""
    with replacing(path) as file:
        for chunk in _chunks(kind, arrays, content, ""):
            file.write(chunk)


def _chunks(
    kind: str, arrays: Mapping[str, NDArray[Any]], content: Any, context: str
) -> Iterator[bytes | memoryview]:
    """Yield a safetensors file: the length of the header, the header, the arrays end to end."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header: dict[str, Any] = {
        "__metadata__": {KEY: canonical(_seal(kind, content, whole, context))}
    }
    end = 0
    # Large items first, so that each array begins at a multiple of the size of its items.
    order = sorted(whole, key=lambda name: (-whole[name].itemsize, name))
    for name in order:
        array, start = whole[name], end
        end += array.nbytes
        header[name] = {
            "dtype": KINDS[array.dtype.str],
            "shape": array.shape,
            "data_offsets": (start, end),
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        yield whole[name].reshape(-1).view(np.uint8).data


def unpack(kind: str, file: bytes, context: str = "") -> tuple[Arrays, Any]:
    """Return the arrays and the description in a sealed file; raise ValueError for any damage."""
    from safetensors import SafetensorError, deserialize

    try:
        deserialize(file)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ValueError(f"it is not a safetensors file ({shown(str(error))})") from error
    return _opened(kind, np.frombuffer(file, np.uint8), context)


def map_sealed(kind: str, path: str, *, verify: bool = True) -> tuple[Arrays, Any]:
    """Do as `unpack`, but leave the arrays on the disk; verify: compare the checksum."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy"):
            pass
    except (SafetensorError, OSError) as error:
        raise ValueError(f"it is not a safetensors file ({shown(str(error))})") from error
    return _opened(kind, np.memmap(path, np.uint8, "r"), verify=verify)


def _opened(
    kind: str, file: NDArray[np.uint8], context: str = "", *, verify: bool = True
) -> tuple[Arrays, Any]:
    """Return views of the arrays in a file whose header safetensors has accepted, and its JSON."""
    begin = 8 + int.from_bytes(file[:8].tobytes(), "little")
    header = json.loads(file[8:begin].tobytes())
    text = header.pop("__metadata__", {}).get(KEY)
    if text is None:
        raise ValueError("it is a safetensors file, but not one of ddgk")
    arrays = {}
    for name, entry in header.items():
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"its array {shown(name)!r} holds {shown(entry['dtype'])}")
        first, last = entry["data_offsets"]
        part = np.asarray(file[begin + first : begin + last])
        arrays[name] = part.view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays, _unseal(kind, parse_json(text), arrays, context, verify=verify)


def seal_json(kind: str, content: Mapping[str, Any]) -> bytes:
    """Return a JSON object as the content of a sealed text file.

    >>> unseal_json("settings", seal_json("settings", {"seed": 7}))
    {'seed': 7}
    """
    return json.dumps(_seal(kind, dict(content), {}, ""), indent=1).encode() + b"\n"


def unseal_json(kind: str, file: bytes) -> dict[str, Any]:
    """Return the object in a sealed text file; raise ValueError for any damage."""
    content = _unseal(kind, parse_json(file), {}, "")
    if not isinstance(content, dict):
        raise ValueError("it holds no object")
    return content


def _seal(
    kind: str, content: Any, arrays: Mapping[str, NDArray[Any]], context: str
) -> dict[str, Any]:
    """Return the description of a file, with the checksum over all that it holds."""
    described = {"kind": kind, "format": FORMAT, "version": __version__, "content": content}
    # Through JSON once, so that what is sealed is what will be read.
    found: dict[str, Any] = json.loads(canonical(described))
    found["sha256"] = checksum(context, found, arrays)
    return found


def _unseal(kind: str, described: Any, arrays: Arrays, context: str, *, verify: bool = True) -> Any:
    """Return the content of a description; raise ValueError if it is not what was sealed."""
    whole = isinstance(described, dict) and "content" in described
    if not whole or described.get("kind") != kind:
        raise ValueError(f"it is not a ddgk {kind}")
    number = described.get("format")
    if type(number) is not int or number < 1:
        raise ValueError(f"it is not a ddgk {kind}: it names no format")
    if number != FORMAT:
        by = shown(str(described.get("version")))
        raise ValueError(
            f"it was written by ddgk {by} in format {number}, and this version reads {FORMAT}; "
            f"{'upgrade ddgk' if number > FORMAT else 'make it again'}"
        )
    found = described.pop("sha256", None)
    if verify and found != checksum(context, described, arrays):
        raise ValueError("its checksum does not match: it was changed, or belongs elsewhere")
    for name, array in arrays.items():
        if array.size == 0 and max(array.shape) > LONGEST_EMPTY:
            raise ValueError(f"its array {shown(name)!r} has the shape {array.shape}")
    return described["content"]


def save_parts(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> None:
    """Write a model file atomically; a file of that name is replaced. No NaN in the metadata."""
    save_sealed(Path(path), MODEL_KIND, tensors, metadata)


def load_model(
    path: str | os.PathLike[str], build: Callable[[Arrays, dict[str, Any]], Model]
) -> Model:
    """Read a model file, or that of a run, and build the model from its tensors and metadata."""
    where = os.fspath(path)
    try:
        return model_from(_content(where), build)
    except ValueError as error:
        raise ModelFileError(
            f"{shown(where)} is not a model file, or it is damaged: {error}; save it again"
        ) from error


def model_from(content: bytes, build: Callable[[Arrays, dict[str, Any]], Model]) -> Model:
    """Build a model from the content of a model file; raise ValueError for any damage."""
    tensors, metadata = unpack(MODEL_KIND, content)
    if not isinstance(metadata, dict):
        raise ValueError("its metadata is not an object")
    try:
        return build(tensors, metadata)
    except DAMAGE as error:
        raise ValueError(
            f"its parts do not fit together ({type(error).__name__}: {shown(str(error))})"
        ) from error


def _content(where: str) -> bytes:
    # os.path answers False where pathlib raises, for names that no system has.
    if "://" in where or os.path.isdir(where):
        try:
            return open_folder(where).read(MODEL)
        except FileNotFoundError:
            raise ModelNotFoundError(f"{shown(where)} is a folder without {MODEL}") from None
    # Opening a pipe would wait for a writer.
    if not os.path.isfile(where):
        raise ModelNotFoundError(f"there is no model file {shown(where)!r}")
    check_size(where, os.path.getsize(where))
    return Path(where).read_bytes()
