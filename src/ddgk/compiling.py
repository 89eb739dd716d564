"""Compilation of Numba kernels, and what a compilation costs."""

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
    return cast(Function, without_literals(result))


def inner(function: Function) -> Function:
    """Compile a kernel that other kernels call, Python does not, and that allocates nothing.

    It is stored as a part of its callers. Without an entrance for Python, and without counting
    references to arrays that its callers hold, it compiles several times as fast.
    """
    result = numba.njit(
        error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False
    )(function)
    return cast(Function, without_literals(result))


def without_literals(kernel: Any) -> Any:
    """Keep Numba from compiling a kernel once more for every constant that it is called with."""
    with_literals = kernel.get_call_template

    def template(args: Any, kws: Any) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in dict(kws).items()}
        return with_literals(tuple(map(numba.types.unliteral, args)), plain)

    kernel.get_call_template = template
    return kernel
