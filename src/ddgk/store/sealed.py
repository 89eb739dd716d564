"""Sealed files: arrays and a JSON description in one safetensors file, with a checksum.

Models and all data files of a run have this form. The checksum covers the arrays, the description
and a context that is not in the file: for a file of a run, which run and which tile it belongs to.
Everything is bounded before it is built; nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import DDGKError, shown

Arrays = dict[str, NDArray[Any]]

FORMAT = 1
KEY = "ddgk"  # of the safetensors metadata
MOST_TEXT = 1 << 24  # characters of a description
MOST_VALUES = 500_000  # values in a description
DEEPEST = 32  # nesting of a description
MOST_DIGITS = 20  # of a whole number
LONGEST_EMPTY = 1 << 20  # length of an array without content, which takes no space in a file

DAMAGE = (
    *(ArithmeticError, AssertionError, AttributeError, DDGKError, LookupError, MemoryError),
    *(RuntimeError, TypeError, ValueError),
)
"""What content that was damaged or forged raises while something is built from it."""


@cache
def ddgk_version() -> str:
    """Return the version of ddgk that is installed."""
    return version("ddgk")


def canonical(value: Any) -> str:
    """Return JSON that is the same text for the same content.

    >>> canonical({"b": (1, 2), "a": None})
    '{"a":null,"b":[1,2]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_json(
    text: str | bytes, most_text: int = MOST_TEXT, most_values: int = MOST_VALUES
) -> Any:
    """Parse JSON from outside; raise ValueError for what is too long, too deep or too large.

    >>> parse_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse_json("[" * 1000 + "]" * 1000)
    Traceback (most recent call last):
    ...
    ValueError: its description is nested more than 32 deep
    """
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
        level = [inner for outer in level for inner in _members(outer)]
        if not level:
            return value
    raise too_deep


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number in its description has {len(digits)} digits")
    return int(digits)


def _refuse(name: str) -> None:
    raise ValueError(f"its description holds {name}, which is not JSON")


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

    Parameters
    ----------
    kind : str
        What the file is: "model", "rows", ...
    arrays : mapping of str to array
    content : JSON value
    context : str
        Not stored; `unpack` must be given the same.

    Examples
    --------
    >>> import numpy as np
    >>> from ddgk.store.sealed import pack, unpack
    >>> file = pack("rows", {"x": np.arange(3)}, {"a": 1}, context="tile 7")
    >>> unpack("rows", file, context="tile 7")
    ({'x': array([0, 1, 2])}, {'a': 1})
    >>> unpack("rows", file, context="tile 8")
    Traceback (most recent call last):
    ...
    ValueError: its checksum does not match: it was changed, or belongs elsewhere
    """
    from safetensors.numpy import save

    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    # Through JSON once, so that what is sealed is what will be read.
    described = json.loads(canonical({"kind": kind, "format": FORMAT, "content": content}))
    described["version"] = ddgk_version()
    described["sha256"] = checksum(context, described, whole)
    return save(whole, {KEY: canonical(described)})


def unpack(kind: str, file: bytes, context: str = "") -> tuple[Arrays, Any]:
    """Return the arrays and the description in a sealed file; raise ValueError for any damage."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(file)
        text = _metadata(file)
    # safetensors looks for types of numbers that numpy may lack, and fails in any of these ways.
    except (SafetensorError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"it is not a safetensors file ({shown(str(error))})") from error
    if text is None:
        raise ValueError("it is a safetensors file, but not one of ddgk")
    described = parse_json(text)
    check_format(described, kind)
    found = described.pop("sha256", None)
    if found != checksum(context, described, arrays):
        raise ValueError("its checksum does not match: it was changed, or belongs elsewhere")
    for name, array in arrays.items():
        if array.size == 0 and max(array.shape) > LONGEST_EMPTY:
            raise ValueError(f"its array {shown(name)!r} has the shape {array.shape}")
    return arrays, described["content"]


def seal_json(kind: str, content: Mapping[str, Any]) -> bytes:
    """Return a JSON object as the content of a sealed text file.

    >>> unseal_json("settings", seal_json("settings", {"seed": 7}))
    {'seed': 7}
    """
    values = {"kind": kind, "format": FORMAT, "version": ddgk_version(), "content": dict(content)}
    values = json.loads(canonical(values))
    values["sha256"] = hashlib.sha256(canonical(values).encode()).hexdigest()
    return json.dumps(values, indent=1).encode() + b"\n"


def unseal_json(kind: str, file: bytes) -> dict[str, Any]:
    """Return the object in a sealed text file; raise ValueError for any damage."""
    values = parse_json(file)
    check_format(values, kind)
    found = values.pop("sha256", None)
    if found != hashlib.sha256(canonical(values).encode()).hexdigest():
        raise ValueError("its checksum does not match: it was changed")
    content = values["content"]
    if not isinstance(content, dict):
        raise ValueError("it holds no object")
    return content


def check_format(described: Any, kind: str) -> None:
    """Raise ValueError for a description of another kind of file, or of a newer format."""
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


def _metadata(file: bytes) -> str | None:
    """Return our part of the header, which the safetensors library has accepted before."""
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    found = header.get("__metadata__", {}).get(KEY)
    return None if found is None else str(found)
