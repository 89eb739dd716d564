"""Compilation of Numba kernels: how, where they are kept, and what a first use says about it.

Rounding is exactly as written, without fast-math: a result must not depend on how the compiler
regroups a sum. The error model is numpy's, since Python's check for division by zero would keep
loops from being vectorised.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from time import perf_counter, sleep
from typing import Any, NamedTuple, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


class Part(NamedTuple):
    """Kernels that `ddgk.warmup` compiles in one process.

    kernel: the one that compiles last. seconds: how long a process of its own takes, relative to
    `PROBE_SECONDS`; both were measured by ``python benchmarks/first_use.py``.
    """

    module: str
    kernel: str
    seconds: float


PROBE_SECONDS = 0.45  # of `_probe`
PARTS = {
    "refinement": Part("ddgk.symmetry", "_refine", 4.0),
    "encoders": Part("ddgk.engine.fused.encoders", "train_network", 5.6),
    "attention": Part("ddgk.features", "_product", 8.1),
    "pairs": Part("ddgk.engine.fused.pairs", "train_group", 14.6),
    "alignment": Part("ddgk.alignment.search", "weigh", 7.4),
}

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


def is_stored(kernel: Any) -> bool:
    """Return whether a kernel is loaded, or compiled for this version of its file on disk."""
    file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    return bool(kernel.signatures) or (file is not None and bool(file._load_index()))


_guard = Lock()
_ready: set[str] = set()


def prepare(*names: str) -> None:
    """Compile the parts that are not on disk yet, each in a process of its own.

    Says on stderr what happens and how long it will take. Where processes cannot share a cache, and
    for a single part, it only says so: kernels are compiled when they are called.
    """
    with _guard:
        missing = [name for name in names if name not in _ready and not _is_compiled(PARTS[name])]
        _ready.update(names)
        if not missing:
            return
        cores = _cores()
        alone = len(missing) == 1 or cores == 1 or not sys.executable
        # A worker of a pool has neighbours that need the same kernels.
        alone = alone or multiprocessing.parent_process() is not None or not _can_store(missing[0])
        speed = _probe() / PROBE_SECONDS
        work = [PARTS[name].seconds * speed for name in missing]
        expected = sum(work) if alone else max(max(work), sum(work) / cores)
        with _announced(expected, waits=not alone) as tick:
            if not alone:
                _compile(missing, cores, tick)


def _is_compiled(part: Part) -> bool:
    kernel = getattr(import_module(part.module), part.kernel, None)
    return not hasattr(kernel, "signatures") or is_stored(kernel)


def _can_store(name: str) -> bool:
    part = PARTS[name]
    kernel = getattr(import_module(part.module), part.kernel)
    return hasattr(getattr(kernel, "_cache", None), "_cache_file")


def _cores() -> int:
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def _probe() -> float:
    """Return the seconds that Numba takes to start up and compile one line."""
    began = perf_counter()
    numba.njit(_add_one)(1)
    return perf_counter() - began


def _add_one(number: int) -> int:
    return number + 1


def _compile(names: Sequence[str], cores: int, tick: Callable[[], None]) -> None:
    """Run examples of `ddgk.warmup`, the longest first; one that fails is left to its caller."""
    waiting = sorted(names, key=lambda name: PARTS[name].seconds)
    running: list[subprocess.Popen[bytes]] = []
    here = str(Path(__file__).resolve().parents[1])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    try:
        while waiting or running:
            while waiting and len(running) < cores:
                command = [sys.executable, "-P", "-m", "ddgk.warmup", waiting.pop()]
                running.append(
                    subprocess.Popen(  # noqa: S603
                        command,
                        env=environment,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                    )
                )
            sleep(0.05)
            running = [process for process in running if process.poll() is None]
            tick()
    finally:
        for process in running:
            process.kill()
            process.wait()


@contextmanager
def _announced(expected: float, *, waits: bool) -> Iterator[Callable[[], None]]:
    """Say that kernels are compiled; if the block waits for it, with a bar and how long it took."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    text = "ddgk: compiling for this computer, once"
    if not (waits and console.is_terminal):
        began = perf_counter()
        print(f"{text}; about {expected:.0f} s", file=sys.stderr, flush=True)  # noqa: T201
        yield lambda: None
        if waits:
            done = f"ddgk: compiled in {perf_counter() - began:.0f} s"
            print(done, file=sys.stderr, flush=True)  # noqa: T201
        return
    about = TextColumn(f"of about {expected:.0f} s")
    with Progress(
        TextColumn(text), BarColumn(), TimeElapsedColumn(), about, console=console
    ) as bar:
        task = bar.add_task("", total=expected)

        def tick() -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            bar.update(task, completed=min(elapsed, 0.98 * expected))

        yield tick
        bar.update(task, completed=expected)
