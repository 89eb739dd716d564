"""`ddgk embed`: graphs in, one row of numbers per graph out."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli import inputs, options, running
from ddgk.cli.options import at_least, choice
from ddgk.cli.outputs import TABLES, Table, check_output, write_table

if TYPE_CHECKING:
    from ddgk.estimator import DDGK

POLICIES = ("directed", "self_loops", "parallel_edges", "weights")


def embed(
    ctx: typer.Context,
    graphs: Annotated[
        str,
        typer.Argument(
            metavar="GRAPHS",
            help="A data set's name, a TU folder or zip, a file (.gml, .graphml, .json, a list of "
            "edges), a folder of files, or a pattern in quotes.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help=f"The file to write: {', '.join(TABLES)}. Not needed with --run.",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Keep what is finished in this folder, or at an address such as s3://bucket/run; "
            "the same command continues.",
        ),
    ] = None,
    add: Annotated[
        bool, typer.Option("--add", help="With --run: add these graphs to a run that exists.")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --run: compute on the Dask cluster of this scheduler, such as "
            "tcp://scheduler:8786.",
        ),
    ] = None,
    if_busy: Annotated[
        str | None,
        choice("if_busy", "With --run: what to do when another process is at it.", default="wait"),
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="With --run: what each worker may take for a tile.",
            show_default="1GB",
        ),
    ] = None,
    sources: Annotated[
        int | None, typer.Option(min=1, help="How many graphs become sources.", show_default="32")
    ] = None,
    choose: Annotated[
        str | None, choice("choose", "Which graphs become sources.", default="random")
    ] = None,
    preset: Annotated[
        str | None, choice("preset", "What the options of the method are, unless given.")
    ] = None,
    relation: options.Relations = None,
    scores: Annotated[str | None, choice("scores", "What encoders put out.")] = None,
    reverse: Annotated[str | None, choice("reverse", "The reverse attention.")] = None,
    start: Annotated[str | None, choice("start", "Where training starts.")] = None,
    encoder_epochs: Annotated[int | None, at_least(0, "Steps that train an encoder.")] = None,
    encoder_drop: Annotated[
        float | None, at_least(0, "Share of the edges that an encoder does not see in a step.")
    ] = None,
    encoder_decay: Annotated[float | None, at_least(0, "Decay of an encoder's weights.")] = None,
    encoder_patience: Annotated[
        int | None,
        at_least(0, "After how many steps without gain an encoder's training ends; 0: never."),
    ] = None,
    curve: Annotated[
        str | None,
        typer.Option(
            metavar="STEPS",
            callback=options.checked(options.numbers),
            help="After which steps divergences are reported, such as 1,5,20,60.",
            show_default=False,
        ),
    ] = None,
    regions: Annotated[
        int | None, at_least(0, "How many regions of a source are told apart.")
    ] = None,
    images: Annotated[
        int | None,
        at_least(0, "How often it is read what nodes of a graph see in a source."),
    ] = None,
    attention_size: Annotated[
        int | None,
        at_least(0, "Size of attention as a product of two matrices; 0: one whole matrix."),
    ] = None,
    sampled_above: Annotated[
        int | None,
        at_least(0, "Graphs of more nodes are reconstructed by their edges and samples."),
    ] = None,
    samples: Annotated[
        int | None, at_least(1, "How many other entries of each node they are reconstructed by.")
    ] = None,
    families: options.Families = None,
    reduction: Annotated[str | None, choice("reduction", "How losses are put together.")] = None,
    output: Annotated[
        str | None, choice("output", "Which columns there are (the file is -o).")
    ] = None,
    baseline: Annotated[str | None, choice("baseline", "What divergences are less of.")] = None,
    symmetric: Annotated[
        bool | None, typer.Option("--symmetric", help="Add the divergence the other way round.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Fixes every draw.", show_default="0")
    ] = None,
    node_labels: options.NodeLabels = None,
    edge_labels: options.EdgeLabels = None,
    attributes: options.NodeAttributes = None,
    directed: options.Directed = None,
    self_loops: options.SelfLoops = None,
    parallel_edges: options.ParallelEdges = None,
    weights: options.Weights = None,
    unseen_labels: Annotated[
        str | None,
        choice("unseen_labels", "With --model: labels that it never saw.", default="error"),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Embed with this saved model, and fit none.")
    ] = None,
    save_model: Annotated[Path | None, typer.Option(help="Keep the fitted model here.")] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda for a GPU.")] = "cpu",
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe every graph by its divergence from a few source graphs.

    The sources are drawn from the graphs themselves, unless a saved model brings its own. Options
    of the method that are not given are as the preset says.

    \b
    ddgk embed MUTAG -o mutag.npz --sources 32
    ddgk embed "runs/*.gml" -o runs.csv --save-model runs.ddgk
    ddgk embed new/ -o new.csv --model runs.ddgk
    ddgk embed NCI1 --run nci1-run --jobs 2 -o nci1.npy
    """  # noqa: D301
    fitting = {
        "n_sources": sources,
        "sources": choose,
        "preset": preset,
        "relation": options.relation_names(relation),
        "scores": scores,
        "reverse": reverse,
        "start": start,
        "encoder_epochs": encoder_epochs,
        "encoder_drop": encoder_drop,
        "encoder_decay": encoder_decay,
        "encoder_patience": encoder_patience,
        "curve": options.numbers(curve),
        "regions": regions,
        "images": images,
        "attention_size": attention_size,
        "sampled_above": sampled_above,
        "samples": samples,
        "families": options.family_names(families),
        "reduction": reduction,
        "output": output,
        "baseline": baseline,
        "symmetric": symmetric,
        "random_state": seed,
    }
    reading = {
        "directed": directed,
        "self_loops": self_loops,
        "parallel_edges": parallel_edges,
        "weights": weights,
        "unseen_labels": unseen_labels,
    }
    given = {name: value for name, value in fitting.items() if value is not None}
    policies = {name: value for name, value in reading.items() if value is not None}
    running.check(ctx, run, out, add=add, cluster=cluster, if_busy=if_busy, max_memory=max_memory)
    if out is not None:
        # Of a run the table can be written again, if it is the same; that is seen at the end.
        check_output(out, TABLES, force=force or run is not None)
    if save_model is not None:
        check_output(save_model, (), force=force or run is not None)

    show_progress = not quiet and sys.stderr.isatty()
    how = {"n_jobs": jobs, "device": device, "verbose": show_progress, "max_memory": max_memory}
    saved = run if add and model is None else model
    if saved is None:
        estimator = _new_estimator(given | policies | how)
    else:
        _refuse_with_model(ctx, given, save_model)
        estimator = _saved_estimator(saved, policies | how)
    asked = {name: _stated(estimator, name) for name in POLICIES}
    found = inputs.read_graphs(
        graphs,
        node_labels=node_labels,
        edge_labels=edge_labels,
        attributes=attributes,
        policies=inputs.chosen_policies(**asked),
    )

    _wake_the_engine(device)
    began = time.perf_counter()
    busy = if_busy or "wait"
    with running.resumable(run), running.connected(cluster):
        if saved is None:
            estimator.fit(found.graphs, run=run, if_busy=busy)
        fitted = time.perf_counter()
        values = (
            estimator.transform(found.graphs)
            if run is None
            else estimator.embed_into(run, found.graphs, add=add, if_busy=busy)
        )
    ended = time.perf_counter()
    names = [graph.name or f"graph-{place}" for place, graph in enumerate(found.graphs)]
    columns = [str(name) for name in estimator.get_feature_names_out()]
    if out is not None:
        write_table(out, Table(values, names, columns, found.classes), force=force or run is None)
    if save_model is not None:
        estimator.save(save_model)
    if not quiet:
        n_pairs = len(names) * len(estimator.sources_)
        speed = f"{n_pairs / max(ended - fitted, 1e-9):.0f} pairs/s"
        typer.echo(
            f"{run if out is None else out}: {len(names)} graphs x {len(columns)} columns, "
            f"in {ended - began:.1f} s, {speed if run is None else f'kept in {run}'}"
        )


def _new_estimator(parameters: dict[str, Any]) -> DDGK:
    from ddgk.estimator import DDGK

    return DDGK(**({"random_state": 0} | parameters))


def _saved_estimator(path: Path | str, parameters: dict[str, Any]) -> DDGK:
    from ddgk.estimator import DDGK

    estimator = DDGK.load(path)
    estimator.set_params(**parameters)
    return estimator


def _wake_the_engine(device: str) -> None:
    """Import what trains, so that the time that is told is the time of the work."""
    from ddgk.engine import make_engine

    make_engine(device=device)


def _stated(estimator: DDGK, name: str) -> str | None:
    """Return a policy that differs from "error", so that networks keep policies of their own."""
    policy = str(getattr(estimator, name))
    return None if policy == "error" else policy


def _refuse_with_model(ctx: typer.Context, given: dict[str, Any], save_model: Path | None) -> None:
    """Refuse options that shape a new model, since a saved one is what it is."""
    spelled = {"n_sources": "--sources", "sources": "--choose", "random_state": "--seed"}
    names = [spelled.get(name, "--" + name.replace("_", "-")) for name in given]
    names += [] if save_model is None else ["--save-model"]
    if names:
        raise typer.BadParameter(
            f"{', '.join(names)} would fit a new model, and --model embeds with a saved one",
            ctx=ctx,
        )
