"""The one place where Numba is asked to compile, and how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.extending import intrinsic as numba_intrinsic

from ddgk.compiling import without_literals

_STAMP = tuple(
    (file.name, file.stat().st_mtime, file.stat().st_size)
    for file in sorted(Path(__file__).parent.glob("*.py"))
)

Function = TypeVar("Function", bound=Callable[..., Any])

# Numba's own memory is switched off: no kernel allocates, and counting references to arrays that
# threads share cost a tenth of the time of one thread and half of what a second one brings.
EXACTLY = {"error_model": "numpy", "boundscheck": False, "_nrt": False}


def entrance(function: Function) -> Function:
    """Compile a kernel that Python calls: it holds no lock meanwhile, and is kept on disk.

    Rounding is exactly as written, without fast-math: a result must not depend on how the compiler
    regroups a sum. The error model is numpy's, since Python's check for division by zero would keep
    loops from being vectorised.
    """
    try:
        result = numba.njit(**EXACTLY, nogil=True, cache=True)(function)
    except RuntimeError:  # no folder on this machine can be written: compile in every process
        result = numba.njit(**EXACTLY, nogil=True)(function)
    _date_by_all_files(result)
    return cast(Function, result)


def compiled(function: Function) -> Function:
    """Compile a kernel that only other kernels call, the same way."""
    result = numba.njit(**EXACTLY, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return cast(Function, without_literals(result))


def inlined(function: Function) -> Function:
    """Compile a function that becomes part of every kernel that calls it."""
    options = {**EXACTLY, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(Function, without_literals(numba.njit(**options, forceinline=True)(function)))


def _date_by_all_files(kernel: Any) -> None:
    """Make code on disk outdated when any file of the engine changes.

    Numba looks at the file of the kernel alone, and would miss a change in what the kernel calls.
    """
    stored: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if hasattr(stored, "_source_stamp"):
        stored._source_stamp = _STAMP


def intrinsic(function: Callable[..., Any]) -> Any:
    """Make a function that writes LLVM instructions callable in kernels."""
    return numba_intrinsic(function)
