"""Model files: the tensors and the metadata of a fitted model in one sealed file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from ddgk.errors import ModelFileError, ModelNotFoundError, RunError, shown
from ddgk.store.files import open_folder, write_atomically
from ddgk.store.sealed import DAMAGE, Arrays, pack, unpack

MODEL = "model.safetensors"  # its name in a run
MOST_BYTES = 1 << 33
KIND = "model"

Model = TypeVar("Model")


def save_parts(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> None:
    """Write a model file atomically; a file of that name is replaced.

    Parameters
    ----------
    path : str or path
    tensors : mapping of str to array
    metadata : JSON object
        Without NaN or infinity.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from ddgk.store import load_parts, save_parts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_parts(f"{folder}/m.ddgk", {"weights": np.ones(2)}, {"seed": 7})
    ...     load_parts(f"{folder}/m.ddgk")
    ({'weights': array([1., 1.])}, {'seed': 7})
    """
    write_atomically(Path(path), pack(KIND, tensors, metadata))


def load_parts(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Read a model file, or the model in a run folder or bucket.

    Raises
    ------
    ModelNotFoundError
        If there is no such file, or it is a folder, a pipe or a device.
    ModelFileError
        If it is damaged, too large, of another kind, or from a newer version.
    """
    return load_model(path, lambda tensors, metadata: (tensors, metadata))


def load_model(
    path: str | os.PathLike[str], build: Callable[[Arrays, dict[str, Any]], Model]
) -> Model:
    """Read a model file and build the model from its tensors and metadata.

    Whatever `build` raises because the content does not fit together becomes a `ModelFileError`
    that names the file.
    """
    where = os.fspath(path)
    try:
        return model_from(_content(where), build)
    except ValueError as error:
        raise ModelFileError(
            f"{shown(where)} is not a model file, or it is damaged: {error}; save it again"
        ) from error


def model_from(content: bytes, build: Callable[[Arrays, dict[str, Any]], Model]) -> Model:
    """Build a model from the content of a model file; raise ValueError for any damage."""
    tensors, metadata = unpack(KIND, content)
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
        folder = open_folder(where)
        try:
            return folder.read(MODEL, MOST_BYTES)
        except FileNotFoundError:
            raise ModelNotFoundError(f"{shown(where)} is a folder without {MODEL}") from None
        except RunError as error:
            raise ModelFileError(str(error)) from error
    # Opening a pipe would wait for a writer.
    if not os.path.isfile(where):
        raise ModelNotFoundError(f"there is no model file {shown(where)!r}")
    if os.path.getsize(where) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    return Path(where).read_bytes()
