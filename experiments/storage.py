"""Results files (kept in the repository) and cached parts (kept locally)."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
RESULTS = HERE / "results"
CACHE = HERE / "cache"
FORMAT = "ddgk experiments 1"
LIBRARIES = (
    "ddgk",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "torch",
    "torch_geometric",
    "gensim",
)


def versions() -> dict[str, str]:
    """Return the versions of the libraries that compute."""
    found = {"python": sys.version.split()[0]}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def command() -> str:
    """Return the command line as a user would type it."""
    return " ".join(["python -m experiments", *sys.argv[1:]])


def say(text: str) -> None:
    """Tell the user how far it is."""
    sys.stderr.write(text + "\n")


def write_results(path: Path, content: Mapping[str, Any]) -> None:
    """Write one results file, whole or not at all."""
    text = json.dumps({"format": FORMAT, **content}, indent=1, allow_nan=False)
    _write(path, (text + "\n").encode())


def read_results(path: Path) -> dict[str, Any] | None:
    """Return a results file's content, or None where there is no such file."""
    if not path.is_file():
        return None
    content = json.loads(path.read_bytes())
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not a results file of this version; delete it and run again")
    return content


def publish(
    name: str,
    measured: Any,
    *,
    protocol: str,
    seed: Any,
    seconds: float,
    folder: Path = RESULTS,
) -> Path:
    """Write what an experiment measured, with everything needed to repeat it."""
    path = folder / f"{name}.json"
    about = {"experiment": name.partition("-")[0], "command": command(), "versions": versions()}
    measured = json.loads(json.dumps(measured))
    given = {"protocol": protocol, "seed": seed, "seconds": round(seconds, 1), "measured": measured}
    write_results(path, {**about, **given})
    return path


class Cache:
    """Values and arrays computed once. folder: None caches nothing.

    A key is a mapping of everything the value depends on.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = Cache(Path(folder)).value({"fold": 1}, lambda: [1.5])
    ...     again = Cache(Path(folder)).value({"fold": 1}, lambda: [2.5])
    >>> first, again
    ([1.5], [1.5])
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def value(self, key: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
        """Return a cached value, or compute and cache it; it must be representable in JSON."""
        path = self._path(key, "json")
        if path is not None and path.is_file():
            try:
                return json.loads(path.read_bytes())["value"]
            except (ValueError, LookupError, TypeError):
                path.unlink()  # damaged
        value = json.loads(json.dumps(compute(), allow_nan=False))
        if path is not None:
            _write(path, json.dumps({"key": key, "value": value}).encode())
        return value

    def array(self, key: Mapping[str, Any], compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return a cached array, or compute and cache it."""
        path = self._path(key, "npy")
        if path is not None and path.is_file():
            try:
                return np.load(path, allow_pickle=False)
            except (ValueError, OSError, EOFError):
                path.unlink()  # damaged
        found = np.asarray(compute())
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}.part")
            with part.open("wb") as file:
                np.save(file, found, allow_pickle=False)
            part.replace(path)
        return found

    def _path(self, key: Mapping[str, Any], ending: str) -> Path | None:
        if self.folder is None:
            return None
        digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()
        return self.folder / digest[:2] / f"{digest[:24]}.{ending}"


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".part")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(part).chmod(0o644)
    os.replace(part, path)
