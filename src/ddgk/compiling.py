"""Compilation of Numba kernels: how, where they are kept, and what it costs.

Rounding is exactly as written, without fast-math: a result must not depend on how the compiler
regroups a sum. The error model is numpy's, since Python's check for division by zero would keep
loops from being vectorised.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# For kernels that only other kernels call. Without an entrance for Python they compile several
# times as fast.
INNER = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Function) -> Function:
    """Compile a kernel that Python calls: it holds no lock meanwhile, and is kept on disk."""
    return cast(Function, without_literals(_kept(function)))


def lean(function: Function) -> Function:
    """Compile a kernel that Python calls and that allocates nothing.

    Numba's own memory is switched off: counting references to arrays that threads share costs a
    tenth of the time of one thread and half of what a second one brings. What is on disk is
    outdated when any file of the kernel's package changes; Numba looks at the kernel's file alone.
    """
    result: Any = _kept(function, _nrt=False)
    stored: Any = getattr(getattr(result, "_cache", None), "_cache_file", None)
    if hasattr(stored, "_source_stamp"):
        stored._source_stamp = _package_stamp(Path(function.__code__.co_filename).parent)
    return cast(Function, result)


def inner(function: Function) -> Function:
    """Compile a kernel that other kernels call, Python does not, and that allocates nothing.

    It is stored as a part of its callers.
    """
    return cast(Function, without_literals(numba.njit(**INNER, _nrt=False)(function)))


def inlined(function: Function) -> Function:
    """Compile a function that becomes part of every kernel that calls it."""
    result = numba.njit(**INNER, _nrt=False, forceinline=True)(function)
    return cast(Function, without_literals(result))


def announce(kernel: Any) -> None:
    """Say on stderr that a kernel is being compiled, unless it is loaded or on disk."""
    name = f"{kernel.__module__.rsplit('.', 1)[-1]}.{kernel.__name__}-*.nbi"
    if not kernel.signatures and not any(Path(kernel.stats.cache_path).glob(name)):
        text = "ddgk: compiling the fused engine, once on this machine"
        print(text, file=sys.stderr, flush=True)  # noqa: T201


def without_literals(kernel: Any) -> Any:
    """Keep Numba from compiling a kernel once more for every constant that it is called with."""
    with_literals = kernel.get_call_template

    def template(args: Any, kws: Any) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in dict(kws).items()}
        return with_literals(tuple(map(numba.types.unliteral, args)), plain)

    kernel.get_call_template = template
    return kernel


def _kept(function: Function, **options: Any) -> Any:
    options |= {"error_model": "numpy", "nogil": True}
    try:
        return numba.njit(**options, cache=True)(function)
    except RuntimeError:  # no folder on this computer can be written: compile in every process
        return numba.njit(**options)(function)


@cache
def _package_stamp(folder: Path) -> tuple[tuple[str, float, int], ...]:
    files = sorted(folder.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime, file.stat().st_size) for file in files)
