"""Options that several commands share, and how their text becomes a value.

The choices are spelled out here, since the modules that hold them are slow to import; a test
compares them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.errors import MissingExtraError

if TYPE_CHECKING:
    from ddgk.config import Config

MODEL = "Model"
RUNNING = "Execution"
LONG = "Long runs"
TABLES = (".npy", ".npz", ".csv", ".parquet")  # endings of tables

CHOICES: dict[str, tuple[str, ...]] = {
    "preset": ("default", "paper", "authors"),
    "unseen_labels": ("warn", "ignore", "error"),
    "engine": ("auto", "fused", "torch"),
    "if_busy": ("wait", "share", "fail"),
    "labels": ("soft", "strict", "ignore"),
    "projection": ("auto", "umap", "pca"),
    "directed": ("keep", "undirected", "error"),
    "self_loops": ("keep", "drop", "error"),
    "parallel_edges": ("error", "merge"),
    "weights": ("scale", "log", "rank", "ignore"),
    "negative_weights": ("error", "absolute", "sign", "threshold"),
    "missing": ("error", "mask"),
    "empty": ("error", "skip", "keep"),
    "hydrogens": ("drop", "add"),
    "invalid_smiles": ("error", "skip"),
}


def option(
    metavar: str | None,
    text: str,
    *names: str,
    default: str | None = None,
    panel: str | None = None,
    **how: Any,
) -> Any:
    """Return an option; metavar: what its value is called; default: what holds without it."""
    stated = how.pop("show_default", True if default is None else default)
    return typer.Option(
        *names, metavar=metavar, help=text, show_default=stated, rich_help_panel=panel, **how
    )


def meant(name: str, known: Iterable[str]) -> str:
    """Return the question whether a word like this one was meant, or nothing."""
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def choice(name: str, text: str, *, default: str | None = None, panel: str | None = None) -> Any:
    """Return an option that takes one of a few words; default: what holds without it."""
    allowed = CHOICES[name]

    def check(value: str | None) -> str | None:
        if value is not None and value not in allowed:
            raise typer.BadParameter(f"must be one of {', '.join(allowed)}, not {value!r}")
        return value

    return option(
        "|".join(allowed),
        text,
        callback=check,
        autocompletion=lambda incomplete: [w for w in allowed if w.startswith(incomplete)],
        show_default=False if default is None else default,
        panel=panel,
    )


def settings(given: list[str] | None) -> dict[str, Any]:
    """Read NAME=VALUE: a value is a number, true, false, a word, or several with commas.

    >>> settings(["depth=2", "checkpoints=5,20", "reduction=mean", "symmetric=true"])
    {'depth': 2, 'checkpoints': (5, 20), 'reduction': 'mean', 'symmetric': True}
    >>> settings(['coefficients={"node_labels": 0.5}', "checkpoints=[4]"])
    {'coefficients': {'node_labels': 0.5}, 'checkpoints': (4,)}
    """
    found: dict[str, Any] = {}
    for text in given or ():
        name, sign, word = (part.strip() for part in text.partition("="))
        if not sign or not name or not word:
            raise typer.BadParameter(
                f"--set takes NAME=VALUE, such as learning_rate=0.2, not {text!r}"
            )
        if name in found:
            raise typer.BadParameter(f"--set gives {name} twice")
        found[name] = _value(word)
    return found


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        parts = [part.strip() for part in text.split(",")]
        return tuple(map(_value, parts)) if len(parts) > 1 and all(parts) else text
    return tuple(value) if isinstance(value, list) else value


def configured(preset: str, changes: dict[str, Any]) -> Config:
    """Return a preset with some fields changed."""
    from ddgk.config import Config
    from ddgk.errors import ParameterError

    config = Config.preset(preset)
    known = config.get_params()
    for name in changes:
        if name not in known:
            raise typer.BadParameter(
                f"--set {name}: there is no such field{meant(name, known)} (ddgk config lists all)"
            )
        if changes[name] == "none" and "None" in str(Config.__dataclass_fields__[name].type):
            changes = changes | {name: None}
    try:
        return config.replace(**changes)
    except ParameterError as error:
        raise typer.BadParameter(f"--set: {error} (ddgk config explains all fields)") from None


def check_output(path: Path, suffixes: Iterable[str], *, force: bool) -> None:
    """Refuse a file that could not be written after minutes of work, or that exists."""
    known = tuple(suffixes)
    if known and path.suffix.lower() not in known:
        endings = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
        raise typer.BadParameter(f"{str(path)!r} must end in {endings}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"files cannot be written into the folder {path.parent}")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; choose another name, or pass --force")
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise MissingExtraError("writing .parquet needs pyarrow: pip install 'ddgk[parquet]'")


def _threads(jobs: int) -> int:
    """Return a number of threads; -1 is all cores that this process may use."""
    if jobs == 0 or jobs < -1:
        raise typer.BadParameter(f"must be a number of threads, or -1 for all cores, not {jobs}")
    return jobs if jobs > 0 else usable_cores()


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


GRAPHS = (
    "A data set's name (ddgk datasets list), a file, a folder of files, a pattern in quotes, or "
    "one graph of many as in MUTAG:3."
)
Graphs = Annotated[str, typer.Argument(metavar="GRAPHS", help=GRAPHS)]
Force = Annotated[bool, option(None, "Overwrite files that exist.", "--force")]
Quiet = Annotated[bool, option(None, "Print nothing but warnings and errors.", "--quiet", "-q")]
Jobs = Annotated[
    int,
    option(
        "N",
        "Threads; -1 for all cores. Results do not depend on it.",
        "--jobs",
        "-j",
        callback=_threads,
        default="all cores",
        panel=RUNNING,
    ),
]
Seed = Annotated[int, option("N", "Seed of every random draw.", min=0, max=2**32 - 1, panel=MODEL)]
SAVED = "Use a model that `ddgk embed --save-model` wrote, in place of fitting one."
Model = Annotated[Path | None, option("FILE", SAVED, panel=MODEL)]
