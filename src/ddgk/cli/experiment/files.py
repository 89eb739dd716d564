"""The files that an experiment is asked for: refused before the work, written after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli.experiment.showing import FIGURES, FILES, PAGES, show, write
from ddgk.cli.outputs import check_output

if TYPE_CHECKING:
    from ddgk.evaluation.results import Results


def _option(suffixes: Sequence[str]) -> Any:
    return typer.Option(
        "-o",
        "--out",
        help=f"A file to write: {', '.join(suffixes)}. May be given several times.",
        show_default=False,
    )


Out = Annotated[list[Path] | None, _option(FILES)]
Pages = Annotated[list[Path] | None, _option(PAGES)]
KeptIn = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="DIR",
        help="Keep what is finished in this folder; the same command continues.",
    ),
]


def check(files: Sequence[Path], suffixes: Sequence[str] = FILES, *, force: bool) -> None:
    """Refuse what could not be written, and figures that could not be drawn."""
    for path in files:
        check_output(path, suffixes, force=force)
    if any(path.suffix.lower() in FIGURES for path in files):
        from ddgk.plots.canvas import style

        style()


def publish(
    results: Results, files: Sequence[Path], draw: Callable[[Path], Any] | None, *, quiet: bool
) -> None:
    """Write results, page and figure to the files that ask for them, and show the tables."""
    for path in files:
        if draw is not None and path.suffix.lower() in FIGURES:
            draw(path)
        else:
            write(results, path)
    if not quiet:
        show(results)
        for path in files:
            typer.echo(f"wrote {path}")
