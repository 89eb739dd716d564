"""`ddgk align`: which node of one graph corresponds to which of another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddgk.cli import inputs, options
from ddgk.cli.outputs import check_output, rows_as_csv

if TYPE_CHECKING:
    from ddgk.alignment import Alignment

FIGURES = (".svg", ".png", ".pdf")
SUFFIXES = (".json", ".csv", *FIGURES)


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

    found = align_graphs(
        *pair,
        restarts=restarts,
        steps=steps,
        relation=options.view_names(relation) or ("node_to_edges", "heat"),
        labels=options.family_names(families) or "auto",
        policies=policies,
        random_state=seed,
        n_jobs=jobs,
        verbose=not quiet,
    )
    for path in files:
        _write(path, found)
    if not quiet:
        _show(found, files)


def _write(path: Path, found: Alignment) -> None:
    from ddgk.store import write_atomically

    suffix = path.suffix.lower()
    if suffix in FIGURES:
        from ddgk import plots

        plots.alignment(found, path=path)
    elif suffix == ".json":
        write_atomically(path, json.dumps(found.as_json(), indent=1).encode() + b"\n")
    else:
        sure = found.confidence
        rows = [(t, s, sure[t]) for t, s in found.matching.items()]
        write_atomically(path, rows_as_csv([("target", "source", "confidence"), *rows]))


def _show(found: Alignment, files: list[Path]) -> None:
    """Print the matching as a table, then what it is worth."""
    from rich.console import Console
    from rich.table import Table

    from ddgk.graphs import Graph

    def labels(graph: Graph) -> dict[object, str]:
        return dict(zip(graph.node_names, map(str, graph.node_labels or ()), strict=False))

    mine, theirs = labels(found.target), labels(found.source)
    labelled = bool(mine and theirs)
    table = Table()
    table.add_column(found.target.name or "target")
    table.add_column(found.source.name or "source")
    table.add_column("confidence", justify="right")
    if labelled:
        table.add_column("labels")
    for t, s in found.matching.items():
        cells = [str(t), str(s), f"{found.confidence[t]:.2f}"]
        table.add_row(*cells, *([f"{mine[t]} {theirs[s]}"] if labelled else []))
    console = Console(highlight=False, markup=False)
    console.print(_title(found), style="bold", soft_wrap=True)
    console.print(table)
    for line in _verdict(found):
        console.print(line, soft_wrap=True)
    for path in files:
        console.print(f"wrote {path}", soft_wrap=True)


def _title(found: Alignment) -> str:
    sizes = [
        f"{graph.n_nodes} nodes, {graph.n_edges} edges" for graph in (found.target, found.source)
    ]
    return f"target ({sizes[0]}) onto source ({sizes[1]})"


def _verdict(found: Alignment) -> list[str]:
    n_edges = found.target.n_edges
    kept = round(found.edge_correctness * n_edges)
    read = ", ".join(name.replace("_", " ") for name in found.families) or "structure alone"
    lines = [
        f"read: {read}",
        f"edge correctness {found.edge_correctness:.2f}: {kept} of {n_edges} edges of the target "
        "fall on edges of the source",
    ]
    if found.is_isomorphism:
        verdict = "the graphs are isomorphic: this matching keeps every edge and non-edge"
        lines.append(f"{verdict}, and all that was read" if found.families else verdict)
    else:
        lines.append("no isomorphism found (which does not prove that there is none)")
    return lines
