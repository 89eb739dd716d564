"""`ddgk align`: which node of one graph corresponds to which of another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddgk.cli import inputs, options
from ddgk.cli.matches import FIGURES, SUFFIXES, show, write
from ddgk.cli.outputs import check_output


def align(
    target: Annotated[
        str,
        typer.Argument(
            metavar="A", help="The target: a file with one graph, or one of many, as in MUTAG:3."
        ),
    ],
    source: Annotated[str, typer.Argument(metavar="B", help="The source, likewise.")],
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "-o",
            "--out",
            help=f"A file to write: {', '.join(SUFFIXES)}. May be given several times.",
            show_default=False,
        ),
    ] = None,
    restarts: Annotated[
        int, typer.Option(min=1, help="Starts at most; an isomorphism ends the search.")
    ] = 8,
    steps: Annotated[int, typer.Option(min=1, help="Steps of the annealing.")] = 30,
    relation: options.Views = None,
    families: options.Families = None,
    groups: Annotated[
        str | None,
        options.choice(
            "groups",
            "Match groups of nodes too: communities found by Louvain's method, or nodes of one "
            "label.",
        ),
    ] = None,
    hierarchical: Annotated[
        bool,
        typer.Option(
            "--hierarchical",
            help="Learn the attention between groups together with the one between nodes.",
        ),
    ] = False,
    detail: Annotated[
        str | None,
        options.choice(
            "detail",
            "What a figure shows; without it nodes, and groups where there are more than 60.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Fixes every draw.")] = 0,
    node_labels: options.NodeLabels = None,
    edge_labels: options.EdgeLabels = None,
    attributes: options.NodeAttributes = None,
    directed: options.Directed = None,
    self_loops: options.SelfLoops = None,
    parallel_edges: options.ParallelEdges = None,
    weights: options.Weights = None,
    jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Match the nodes of A to those of B, and say how sure each match is.

    \b
    ddgk align a.gml b.gml -o match.csv -o match.svg
    ddgk align MUTAG:3 MUTAG:7 --families none
    ddgk align karate celegans.gml --groups communities --hierarchical -o parts.png
    """  # noqa: D301
    files = out or []
    for path in files:
        check_output(path, SUFFIXES, force=force)
    policies = inputs.chosen_policies(
        directed=directed, self_loops=self_loops, parallel_edges=parallel_edges, weights=weights
    )
    pair = [
        inputs.read_graph(
            text,
            node_labels=node_labels,
            edge_labels=edge_labels,
            attributes=attributes,
            policies=policies,
        )
        for text in (target, source)
    ]
    if any(path.suffix.lower() in FIGURES for path in files):
        # A missing library should be said before the work, not after it.
        from ddgk.plots.canvas import style

        style()
    from ddgk.alignment import align as align_graphs

    parts = None if groups is None else inputs.read_groups(groups, *pair)
    if hierarchical and parts is None:
        parts = (None, None)
    found = align_graphs(
        *pair,
        restarts=restarts,
        steps=steps,
        relation=options.view_names(relation) or ("node_to_edges", "heat"),
        labels=options.family_names(families) or "auto",
        groups=parts if hierarchical else None,
        policies=policies,
        random_state=seed,
        n_jobs=jobs,
        verbose=not quiet,
    )
    coarse = None if parts is None else found.coarsen(*parts)
    for path in files:
        write(path, found, coarse, detail or "auto")
    if not quiet:
        show(found, coarse, files)
