"""Validation of the parameters that say how rows are computed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ddgk.errors import ParameterError, shown

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
MEMORY = "1GB"
IF_BUSY = ("wait", "share", "fail")


def check_count(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return a parameter that must be a whole number."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)
    if not whole or value < least or (most is not None and value > most):
        bound = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name} must be a whole number {bound}, not {shown(repr(value))}")
    return int(value)


def check_n_jobs(n_jobs: Any) -> int:
    """Return the number of threads that n_jobs asks for, as in scikit-learn.

    None: 1, or what joblib's setting says. -1: all processors.
    """
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool | np.bool_)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise ParameterError(
            f"n_jobs must be a whole number other than 0, or None, not {shown(repr(n_jobs))}"
        )
    from joblib import effective_n_jobs, parallel_config

    # Of joblib's backends only the number of its threads is asked for, never a cluster's workers.
    if n_jobs is None:
        return max(1, int(effective_n_jobs(None)))
    with parallel_config("threading"):
        return max(1, int(effective_n_jobs(int(n_jobs))))


def parse_memory(amount: Any) -> int:
    """Return an amount of memory in bytes; None: 1 GB.

    >>> parse_memory("1.5GB"), parse_memory(2000), parse_memory(None)
    (1500000000, 2000, 1000000000)
    """
    text = MEMORY if amount is None else str(amount)
    found = re.fullmatch(
        r"\s*([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([KMGT]?)B?\s*", text, re.IGNORECASE | re.ASCII
    )
    n_bytes = 0 if found is None else int(float(found[1]) * UNITS[found[2].upper()])
    if isinstance(amount, bool) or n_bytes < 1:
        raise ParameterError(
            f"max_memory must be an amount such as '500MB', not {shown(repr(amount))}"
        )
    return n_bytes


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return a parameter that must be one of some words."""
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ParameterError(f"{name} must be one of {listed}, not {shown(repr(value))}")
    return str(value)
