"""`ddgk experiment families`: big graphs of five kinds, and whether each finds its own."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ddgk.cli import options
from ddgk.cli.experiment import files
from ddgk.cli.experiment.showing import continued, stated_command


def families(
    out: files.Out = None,
    run: files.KeptIn = None,
    nodes: Annotated[
        int, typer.Option(min=56, help="About how many nodes a graph has, a tenth more or less.")
    ] = 20_000,
    graphs: Annotated[int, typer.Option(min=2, help="How many graphs of each family.")] = 10,
    sources: Annotated[int, typer.Option(min=1, help="How many small graphs become sources.")] = 10,
    pieces: Annotated[
        int, typer.Option(min=1, help="How many pieces of a graph are embedded.")
    ] = 64,
    piece_nodes: Annotated[int, typer.Option(min=2, help="How many nodes a piece has.")] = 100,
    whole: Annotated[
        bool, typer.Option("--whole", help="Embed whole graphs too; takes many times as long.")
    ] = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Make big graphs of five kinds, and see whether the nearest neighbour is of the same kind.

    Barabasi-Albert, Watts-Strogatz, stochastic blocks, random geometric, and a configuration model
    of a real network's degrees; all with about as many edges. Connected pieces of them are embedded
    against graphs of 100 to 200 nodes of the same kinds, by structure alone, and averaged; beside
    NetLSD, degrees and (n, m).

    \b
    ddgk experiment families --run families -o families.json -o families.png
    ddgk experiment families --nodes 1000 --graphs 5
    """  # noqa: D301
    files.check(out or [], force=force or run is not None)
    from ddgk import plots
    from ddgk.embedding.progress import progress
    from ddgk.evaluation import families as experiment

    setting = experiment.Setting(nodes, graphs, sources, seed, pieces, piece_nodes, whole)
    n_graphs = graphs * experiment.N_FAMILIES
    watched = not quiet and sys.stderr.isatty()
    began = time.perf_counter()
    with progress("Making graphs", n_graphs, "graphs", watched, patience=2.0) as advance:
        universe = experiment.make_universe(setting, advance)
    making = time.perf_counter() - began
    if universe.network != experiment.NETWORK and not quiet:
        typer.echo(
            f"network {experiment.NETWORK} is not on this machine (see DDGK_DATA); "
            f"degrees are drawn from {universe.network}",
            err=True,
        )
    with continued(run):
        found = experiment.compare(universe, setting, folder=run, n_jobs=jobs, verbose=watched)
    results = experiment.summarise(found, universe, setting, stated_command(), making)

    def draw(path: Path) -> None:
        panels = {experiment.WAYS[way]: found[way].columns for way in ("ddgk", "netlsd")}
        title = f"{n_graphs} graphs of about {nodes} nodes"
        plots.projections(panels, universe.families, title=title, path=path)

    files.publish(results, out or [], draw, quiet=quiet)
