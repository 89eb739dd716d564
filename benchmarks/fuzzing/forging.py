"""Spoil archives and model files so that they still look sound: lengths and checksums fit."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import warnings
import zipfile
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np

from ddgk.store.sealed import checksum
from fuzzing.mutations import TOKENS, dump_tree, mutate_bytes, mutate_tree

DTYPES_OF_SIZE = {
    8: ("F64", "I64", "U64", "C64"),
    4: ("F32", "I32", "U32"),
    2: ("F16", "BF16", "I16", "U16"),
    1: ("U8", "I8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0"),
}
SHAPES: tuple[list[Any], ...] = (
    *([], [0], [10**12, 0], [0, 10**12], [2**63, 0], [1], [-1], [2**64], [1, 1], [3, 2], ["x"]),
    *([4], [4, 4], [2**32, 2**32], [0] * 70),
)
SIZES = (10**12, 2**63, 2**64 - 1, 2**31, 0, 1, 5)


class Escape:
    """What a pickle runs when it is read: the guard hears it, whichever way it goes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch escaped",)


def forge_archive(rng: Random, members: dict[str, bytes]) -> bytes:
    """Write an archive with entries that lie, climb, link, or come twice."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # a name that comes twice is meant
        for name, data in members.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = rng.choice((zipfile.ZIP_DEFLATED,) * 9 + (zipfile.ZIP_BZIP2,))
            if rng.random() < 0.1:
                entry.filename = _hostile_name(rng, name)
            if rng.random() < 0.05:
                entry.external_attr = rng.choice((0o120777, 0o040755, 0o010644)) << 16
            if rng.random() < 0.03:
                data *= rng.choice((2, 100, 3000))
            archive.writestr(entry, data)
    data = buffer.getvalue()
    if rng.random() < 0.3:
        data = _change_record(rng, data)
    return mutate_bytes(rng, data) if rng.random() < 0.3 else data


def _hostile_name(rng: Random, name: str) -> str:
    token = rng.choice(TOKENS).encode("utf-8", "replace").decode()[:200]
    return rng.choice(
        (
            "../" + name,
            "/" + name,
            name + "/",
            name.replace("/", "\\"),
            token,
            name + token,
            "._" + name,
        )
    )


def _change_record(rng: Random, data: bytes) -> bytes:
    """Overwrite a field of a local header, a directory entry or the end of the directory."""
    signature, fields = rng.choice(
        (
            (b"PK\x03\x04", (4, 6, 8, 14, 18, 22, 26, 28)),
            (b"PK\x01\x02", (6, 8, 10, 16, 20, 24, 28, 30, 32, 38, 42)),
            (b"PK\x05\x06", (4, 6, 8, 10, 12, 16, 20)),
        )
    )
    places = [at for at in range(len(data)) if data.startswith(signature, at)]
    if not places:
        return data
    at = rng.choice(places) + rng.choice(fields)
    value = struct.pack("<L", rng.choice((0, 1, 2, 9, 0xFFFF, 0xFFFFFFFF, 0x7FFFFFFF, len(data))))
    width = rng.choice((2, 4))
    return data[:at] + value[:width] + data[at + width :]


def forge_model(rng: Random, data: bytes) -> bytes:
    """Change a model file in one of five ways, all but the first with lengths that fit."""
    way = rng.randrange(10)
    if way == 0:
        return rng.choice(_impostors(rng, data))
    if way <= 3:
        return change_header(rng, data)
    header, content = _opened(data)
    description = json.loads(header["__metadata__"]["ddgk"])
    arrays = _arrays(header, content)
    if way <= 5:
        for _ in range(rng.choice((1, 1, 2))):
            change_array(rng, arrays)
    if way >= 5:
        description = mutate_tree(rng, description)
        metadata = description.get("content") if isinstance(description, dict) else None
        if isinstance(metadata, dict) and rng.random() < 0.2:
            metadata["n_powers"] = rng.choice((10**9, 10**12, 10**18, [0] * 10**5))
    if isinstance(description, dict):
        said = {name: value for name, value in description.items() if name != "sha256"}
        with suppress(TypeError, ValueError, RecursionError):  # no checksum could be true
            description["sha256"] = checksum("", said, arrays)
    return _packed(arrays, dump_tree(rng, description))


def change_header(rng: Random, data: bytes) -> bytes:
    """Change what a safetensors file says of its arrays, or anything else in its header."""
    header, content = _opened(data)
    if rng.random() < 0.3:
        return _closed(mutate_tree(rng, header), content, rng)
    for _ in range(rng.choice((1, 1, 3))):
        _change_entry(rng, header[rng.choice([key for key in header if key != "__metadata__"])])
    return _closed(header, content)


def _change_entry(rng: Random, entry: dict[str, Any]) -> None:
    """Call the bytes of an array by another kind that fits, or by what does not fit at all."""
    if rng.random() < 0.5:
        start, end = entry["data_offsets"]
        size, kinds = rng.choice(list(DTYPES_OF_SIZE.items()))
        entry["dtype"], entry["shape"] = rng.choice(kinds), [(end - start) // size]
        return
    kinds = tuple(kind for several in DTYPES_OF_SIZE.values() for kind in several)
    entry["dtype"] = rng.choice((entry["dtype"], "", *kinds))
    entry["shape"] = rng.choice((entry["shape"], *SHAPES))
    entry["data_offsets"] = rng.choice((entry["data_offsets"], [0, 0], [0, 2**63], [8, 0]))


def _impostors(rng: Random, data: bytes) -> list[bytes]:
    """Return what other programs call a model, and headers that promise more than there is."""
    buffer = io.BytesIO()
    np.save(buffer, np.array([Escape()], dtype=object), allow_pickle=True)
    arrays = io.BytesIO()
    np.savez(arrays, a=np.array([Escape()], dtype=object), allow_pickle=True)
    size = struct.pack("<Q", rng.choice(SIZES))
    return [
        pickle.dumps(Escape(), protocol=rng.randrange(6)),
        data[:8] + pickle.dumps(Escape()),
        struct.pack("<Q", len(pickle.dumps(Escape()))) + pickle.dumps(Escape()),
        buffer.getvalue(),
        arrays.getvalue(),
        size + data[8:],
        size + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 200_000) + b"[" * 200_000,
        b"",
    ]


def _opened(data: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def _closed(header: Any, content: bytes, rng: Random | None = None) -> bytes:
    written = json.dumps(header) if rng is None else dump_tree(rng, header)
    text = written.encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + content


def _packed(arrays: dict[str, np.ndarray], description: str) -> bytes:
    """Write safetensors by hand: the library would refuse some of what is wanted here."""
    kinds = {
        "f8": "F64",
        "f4": "F32",
        "i8": "I64",
        "i4": "I32",
        "b1": "BOOL",
        "c8": "C64",
        "f2": "F16",
        "u1": "U8",
    }
    header: dict[str, Any] = {"__metadata__": {"ddgk": description}}
    content = b""
    for name, array in arrays.items():
        raw = array.tobytes()
        span = [len(content), len(content) + len(raw)]
        kind = kinds[array.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": span}
        content += raw
    return _closed(header, content)


def _arrays(header: dict[str, Any], content: bytes) -> dict[str, np.ndarray]:
    kinds = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U8": "|u1"}
    return {
        name: np.frombuffer(content[slice(*entry["data_offsets"])], kinds[entry["dtype"]])
        .reshape(entry["shape"])
        .copy()
        for name, entry in header.items()
        if name != "__metadata__"
    }


def change_array(rng: Random, arrays: dict[str, np.ndarray]) -> None:
    """Drop, cut, double, reshape or convert an array, or put a bad number into it."""
    name = rng.choice(list(arrays))
    array = arrays[name]
    way = rng.randrange(8)
    if way == 0:
        del arrays[name]
    elif way == 1:
        arrays[name] = array.astype(rng.choice(("<f8", "<f4", "<i8", "<i4", "?", "<c8", "<f2")))
    elif way == 2 and array.size:
        values = np.array([0, -1, 1e308, np.nan, np.inf, 2.0**62, 1e-320, 7])
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = np.nan_to_num(
                values, nan=np.nan if array.dtype.kind == "f" else 0, posinf=2.0**62
            ).astype(array.dtype)[rng.randrange(len(values))]
    elif way == 3:
        arrays[name] = array.reshape(array.shape[::-1] if rng.random() < 0.5 else -1)
    elif way == 4:
        arrays[name] = array[:-1]
    elif way == 5:
        shape = rng.choice(((10**12, 0), (0,), (0, 10**9), (5 * 10**7, 0), (0, 2)))
        arrays[name] = np.empty(shape, array.dtype)
    elif way == 6:
        arrays[name] = np.concatenate([array, array]) if array.ndim else array
    else:
        arrays[rng.choice(("source.edge_weights", "source.directed", "x", ""))] = array
