"""`ddgk doctor`: what is installed, compiled and stored on this computer, for reports of errors."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import typer

from ddgk.cli.options import usable_cores
from ddgk.errors import shown

# What each extra of the package is for.
EXTRAS = {
    "plots": (("matplotlib",), "figures"),
    "chem": (("rdkit",), "SMILES and SDF files"),
    "explore": (("starlette", "uvicorn", "umap-learn"), "ddgk explore --serve, maps by UMAP"),
    "search": (("usearch",), "fast search among many graphs"),
    "parquet": (("pyarrow",), ".parquet files"),
    "torch": (("torch",), "GPUs, and options that only this engine has"),
    "cluster": (("distributed",), "runs on a Dask cluster"),
    "cloud": (("fsspec",), "runs in a bucket"),
}
VARIABLES = ("DDGK_DATA", "DDGK_CACHE", "DDGK_MIRROR", "NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")


def doctor() -> None:
    """Show what is installed, compiled and stored, where it lies, and what is missing.

    \b
    ddgk doctor
    """  # noqa: D301
    for title, rows in (
        ("program", _program()),
        ("libraries", _libraries()),
        ("extras", _extras()),
        ("compiled kernels", _compiled()),
        ("data", _data()),
        ("environment", [(name, os.environ.get(name, "not set")) for name in VARIABLES]),
    ):
        typer.echo(title)
        width = max((len(name) for name, _ in rows), default=0)
        for name, text in rows:
            typer.echo(f"  {name:<{width}}  {shown(text, 1000)}")


def _program() -> list[tuple[str, str]]:
    import ddgk

    return [
        ("ddgk", f"{ddgk.__version__} in {Path(ddgk.__file__).parent}"),
        ("python", f"{platform.python_version()} ({sys.executable})"),
        ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
        ("cores", str(usable_cores())),
    ]


def _libraries() -> list[tuple[str, str]]:
    """Return the versions of what the package depends on."""
    try:
        declared = requires("ddgk") or []
    except PackageNotFoundError:
        declared = []
    names = [re.split(r"[^\w.-]", text)[0] for text in declared if "extra ==" not in text]
    return [(name, _version(name) or "missing: pip install ddgk") for name in names]


def _extras() -> list[tuple[str, str]]:
    rows = []
    for extra, (packages, what) in EXTRAS.items():
        there = {package: _version(package) for package in packages}
        state = ", ".join(f"{package} {found or 'missing'}" for package, found in there.items())
        fix = "" if all(there.values()) else f"; pip install 'ddgk[{extra}]'"
        rows.append((extra, f"{state} ({what}){fix}"))
    return rows


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _compiled() -> list[tuple[str, str]]:
    """Return which groups of kernels are on disk; the others compile at their first use."""
    from ddgk.compiling import PARTS, is_stored

    rows, folders = [], set()
    for name, part in PARTS.items():
        kernel: Any = getattr(import_module(part.module), part.kernel)
        rows.append((name, "stored" if is_stored(kernel) else "compiled at their first use"))
        folders.add(str(kernel.stats.cache_path))
    return [*rows, *(("folder", folder) for folder in sorted(folders))]


def _data() -> list[tuple[str, str]]:
    from ddgk.io import cache_folder, data_folder, list_datasets

    own = data_folder()
    there = [row.name for row in list_datasets() if row.path is not None]
    return [
        ("own folder", "none: set DDGK_DATA to one" if own is None else _folder(own)),
        ("downloads", _folder(cache_folder())),
        ("stored", f"{len(there)}: {', '.join(there[:12])}" + (", ..." if len(there) > 12 else "")),
    ]


def _folder(path: Path) -> str:
    return f"{path}" if path.is_dir() else f"{path} (does not exist)"
