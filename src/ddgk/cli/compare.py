"""`ddgk compare`: how similar graphs are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddgk.cli import inputs, options

FILES = ("neighbors.csv", "clusters.csv", "traits.csv", "report.txt", "summary.json")


def compare(
    graphs: Annotated[
        str, typer.Argument(metavar="GRAPHS", help="A data set's name, a file, folder or pattern.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FOLDER",
            help="Write tables and figures into this folder.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A saved model. Default: one is fitted to the graphs.", metavar="FILE"),
    ] = None,
    neighbors: Annotated[int, typer.Option(min=1, help="Neighbours of every graph.")] = 10,
    clusters: Annotated[
        int | None, typer.Option(min=1, help="Number of clusters.", show_default="by silhouette")
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare graphs: distances, nearest graphs, clusters, outliers.

    \b
    ddgk compare MUTAG
    ddgk compare graphs/ -o comparison
    """  # noqa: D301
    if out is not None:
        _check_folder(out, force=force)
    from ddgk.comparison import compare as compare_graphs

    dataset = inputs.read_graphs(graphs)
    found = compare_graphs(
        dataset.graphs,
        model=None if model is None else load_model(model),
        classes=None if dataset.classes is None else dataset.classes.tolist(),
        n_neighbors=neighbors,
        n_clusters="auto" if clusters is None else clusters,
        random_state=seed,
        n_jobs=jobs,
    )
    written = [] if out is None else found.to_files(out)
    if quiet:
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    console.print(found)
    for path in written:
        console.print(f"wrote {path}", soft_wrap=True)


def load_model(path: Path) -> object:
    """Read a saved model."""
    from ddgk.estimator import DDGK

    return DDGK.load(path)


def _check_folder(folder: Path, *, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; name a folder")
    there = [name for name in FILES if (folder / name).exists()]
    if there and not force:
        raise FileExistsError(f"{folder / there[0]} exists; choose another folder, or pass --force")
