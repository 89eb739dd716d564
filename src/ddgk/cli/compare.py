"""`ddgk compare`: how similar graphs are."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli import options
from ddgk.cli.commands import elapsed
from ddgk.cli.inputs import InputOptions, takes_graphs
from ddgk.errors import shown

if TYPE_CHECKING:
    from ddgk.comparison import Comparison
    from ddgk.estimator import DDGK
    from ddgk.graphs import Graph
    from ddgk.io import Dataset

FILES = ("neighbors.csv", "clusters.csv", "traits.csv", "report.txt", "summary.json")


@takes_graphs
def compare_command(
    ctx: typer.Context,
    graphs: options.Graphs,
    given: InputOptions,
    out: Annotated[
        Path | None,
        options.option("FOLDER", "Write tables and figures into this folder.", "-o", "--out"),
    ] = None,
    neighbors: Annotated[int, options.option("N", "Neighbours of every graph.", min=1)] = 10,
    clusters: Annotated[
        int | None, options.option("N", "Number of clusters.", default="by silhouette", min=1)
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    model: options.Model = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
) -> None:
    """Compare graphs: distances, nearest graphs, clusters, outliers.

    \b
    ddgk compare MUTAG
    ddgk compare graphs/ -o comparison
    """  # noqa: D301
    if out is not None:
        _check_folder(out, force=force)
    found = compared(
        given.read(graphs, quiet=quiet),
        model,
        seed=seed,
        jobs=jobs,
        quiet=quiet,
        n_neighbors=neighbors,
        n_clusters="auto" if clusters is None else clusters,
    )
    written = [] if out is None else found.to_files(out)
    if quiet:
        return
    from ddgk.tables import print_parts

    print_parts(found)
    if out is not None:
        print_parts(f"wrote {shown(str(out))}: {', '.join(sorted(path.name for path in written))}")
        if find_spec("matplotlib") is None:
            print_parts("no figure: figures need matplotlib: pip install 'ddgk[plots]'")
    print_parts(f"in {elapsed(ctx):.1f} s")


def fitted_model(
    path: Path | None, graphs: list[Graph], *, seed: int, jobs: int, quiet: bool
) -> DDGK:
    """Read a saved model, or fit one to the graphs."""
    from ddgk.estimator import DDGK

    if path is not None:
        return DDGK.load(path).set_params(n_jobs=jobs, verbose=not quiet)
    return DDGK(random_state=seed, n_jobs=jobs, verbose=not quiet).fit(graphs)


def compared(
    dataset: Dataset, model: Path | None, *, seed: int, jobs: int, quiet: bool, **how: Any
) -> Comparison:
    """Compare the graphs of a data set."""
    from ddgk.comparison import compare

    fitted = fitted_model(model, dataset.graphs, seed=seed, jobs=jobs, quiet=quiet)
    classes = None if dataset.classes is None else dataset.classes.tolist()
    how |= {"random_state": seed, "n_jobs": jobs}
    return compare(dataset.graphs, model=fitted, classes=classes, **how)


def _check_folder(folder: Path, *, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; name a folder")
    there = [name for name in FILES if (folder / name).exists()]
    if there and not force:
        raise FileExistsError(f"{folder / there[0]} exists; choose another folder, or pass --force")
