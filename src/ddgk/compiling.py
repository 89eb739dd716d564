"""Compilation of Numba kernels outside the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a kernel without reordering floating point operations, and cache it on disk."""
    try:
        result = numba.njit(error_model="numpy", nogil=True, cache=True)(function)
    except RuntimeError:  # no folder on this computer can be written: compile in every process
        result = numba.njit(error_model="numpy", nogil=True)(function)
    return cast(Function, result)
