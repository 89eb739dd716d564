"""Compilation of Numba kernels: how, where they are kept, and what a first use says about it.

Rounding is exactly as written, without fast-math: a result must not depend on how the compiler
regroups a sum. The error model is numpy's, since Python's check for division by zero would keep
loops from being vectorised.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])
_PROCESS = f"{os.getpid():x}{secrets.token_hex(4)}"


class Part(NamedTuple):
    """Kernels that are compiled together: the one that comes last, and how long all take."""

    module: str
    kernel: str
    seconds: float  # where `_probe` takes `PROBE_SECONDS`


PROBE_SECONDS = 0.45
PARTS = {
    "encoders": Part("ddgk.engine.fused.encoders", "train_network", 4.0),
    "attention": Part("ddgk.features", "_project", 7.0),
    "pairs": Part("ddgk.engine.fused.pairs", "train_group", 10.0),
    "alignment": Part("ddgk.alignment.search", "weigh", 7.4),
}

# For kernels that only other kernels call. Without an entrance for Python they compile several
# times as fast.
INNER = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Function) -> Function:
    """Compile a kernel that Python calls: it holds no lock meanwhile, and is kept on disk."""
    return cast(Function, without_literals(kept()(function)))


def lean(function: Function) -> Function:
    """Compile a kernel that Python calls and that allocates nothing.

    Numba's own memory is switched off: counting references to arrays that threads share costs a
    tenth of the time of one thread and half of what a second one brings. What is on disk is
    outdated when any file of the kernel's package changes; Numba looks at the kernel's file alone.
    """
    result: Any = kept(_nrt=False)(function)
    stored: Any = getattr(getattr(result, "_cache", None), "_cache_file", None)
    if hasattr(stored, "_source_stamp"):
        stored._source_stamp = _package_stamp(Path(function.__code__.co_filename).parent)
    return cast(Function, result)


def inner(function: Function) -> Function:
    """Compile a kernel that other kernels call, Python does not, and that allocates nothing.

    It is stored as a part of its callers, and code from several processes meets by name: different
    functions of one name would take each other's place.
    """
    if "<locals>" in function.__qualname__:
        raise ValueError(f"give {function.__qualname__} a __qualname__ that no other function has")
    return cast(Function, without_literals(numba.njit(**INNER, _nrt=False)(function)))


def inlined(function: Function) -> Function:
    """Compile a function that becomes part of every kernel that calls it."""
    result = numba.njit(**INNER, _nrt=False, forceinline=True)(function)
    return cast(Function, without_literals(result))


def once(function: Function) -> Function:
    """Compile a function within the kernel that calls it, at one place: it passes no arguments.

    That saves much of the time for functions that take tuples of many arrays.
    """
    return cast(Function, numba.njit(**INNER, _nrt=False, inline="always")(function))


def without_literals(kernel: Any) -> Any:
    """Keep Numba from compiling a kernel once more for every constant that it is called with."""
    with_literals = kernel.get_call_template

    def template(args: Any, kws: Any) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in dict(kws).items()}
        return with_literals(tuple(map(numba.types.unliteral, args)), plain)

    kernel.get_call_template = template
    return kernel


def kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel with these options and keep it on disk, where that is possible."""
    options = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True, **options}

    def compile_kept(function: Callable[..., Any]) -> Any:
        try:
            result: Any = numba.njit(**options, cache=True)(function)
        except RuntimeError:  # no folder on this computer can be written: compile in every process
            return numba.njit(**options)(function)
        # Numba numbers the files of a kernel. Two processes that compile it for different types at
        # the same time would take the same number, and one would load the other's code.
        stored: Any = getattr(getattr(result, "_cache", None), "_cache_file", None)
        if hasattr(stored, "_data_name_pattern"):
            stored._data_name_pattern = stored._data_name_pattern.replace(
                "{number", f"{_PROCESS}.{{number"
            )
            stored._load_index = partial(_read_index, stored._load_index)
        return result

    return compile_kept


def _read_index(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """Read which kernels are on disk; none, where another version of ddgk wrote what is there."""
    try:
        return load()
    except Exception:  # whatever unpickling names that are gone may raise
        return {}


@cache
def _package_stamp(folder: Path) -> tuple[tuple[str, float, int], ...]:
    files = sorted(folder.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime, file.stat().st_size) for file in files)


def is_stored(kernel: Any) -> bool:
    """Return whether a kernel is loaded, or compiled for this version of its file on disk."""
    file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    return bool(kernel.signatures) or (file is not None and bool(file._load_index()))


_guard = Lock()
_ready: set[str] = set()


def prepare(*names: str) -> None:
    """Say on stderr that parts will be compiled, and about how long that takes.

    Kernels are compiled when they are called.
    """
    with _guard:
        missing = [name for name in names if name not in _ready and not _is_compiled(PARTS[name])]
        _ready.update(names)
        if missing:
            seconds = sum(PARTS[name].seconds for name in missing) * _probe() / PROBE_SECONDS
            text = f"ddgk: compiling for this computer, once; about {seconds:.0f} s"
            print(text, file=sys.stderr, flush=True)  # noqa: T201


def _is_compiled(part: Part) -> bool:
    kernel = getattr(import_module(part.module), part.kernel, None)
    return not hasattr(kernel, "signatures") or is_stored(kernel)


def _probe() -> float:
    """Return the seconds that Numba takes to start up and compile one line."""
    began = perf_counter()
    numba.njit(_add_one)(1)
    return perf_counter() - began


def _add_one(number: int) -> int:
    return number + 1
