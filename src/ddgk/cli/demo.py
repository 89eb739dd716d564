"""`ddgk demo`: similar graphs and corresponding nodes, from graphs made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli.commands import elapsed
from ddgk.errors import MissingExtraError, shown

if TYPE_CHECKING:
    from ddgk.alignment import Alignment
    from ddgk.comparison import Comparison
    from ddgk.graphs import Graph

KINDS = ("ring", "star", "grid", "random_tree", "barabasi_albert", "caveman")
SIZES = (20, 25, 30, 35)
N_REWIRED = 8  # edges of the karate club that are moved


def demo(
    ctx: typer.Context,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="The folder for the figures.")
    ] = Path("ddgk-demo"),
) -> None:
    """Show what ddgk does, without any data: similar graphs, and corresponding nodes.

    It takes a few seconds; the first time on a computer kernels are compiled before.

    \b
    ddgk demo
    ddgk demo --out pictures
    """  # noqa: D301
    from rich.console import Console

    from ddgk.compiling import prepare
    from ddgk.embedding import progress

    out.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    console.print("[bold]1. Which graphs are alike?[/]")
    console.print(
        f"{len(KINDS)} kinds of graphs in {len(SIZES)} sizes, embedded by their structure alone. "
        "Graphs of one kind should be near each other, whatever their size."
    )
    prepare("refinement", "encoders", "attention", "alignment")  # at once is faster
    with progress("Embedding", 1, "collection", True, patience=2.0) as advance:
        found = compare_kinds()
        advance(1)
    console.print(_neighbor_table(found))
    console.print(_cluster_table(found))
    console.print("[bold]2. Which node corresponds to which?[/]")
    console.print(
        "Two rings joined by an edge, against a copy with shuffled nodes: the more the labels say, "
        "the fewer ways there are to map one onto the other (nodes in ties could change places). "
        f"Then the karate club against a copy with {N_REWIRED} of 78 edges moved."
    )
    with progress("Aligning", 4, "pairs", True, patience=2.0) as advance:
        pairs = align_copies()
        advance(len(pairs))
    console.print(_alignment_table(pairs))
    try:
        for path in draw_figures(pairs, found, out):
            console.print(f"wrote {shown(str(path))}", markup=False, soft_wrap=True)
    except MissingExtraError as error:
        console.print(f"figures were skipped: {error}", markup=False, soft_wrap=True)
    console.print(f"in {elapsed(ctx):.1f} s")


def make_kinds() -> list[Graph]:
    """Return graphs of several kinds in several sizes, named after both."""
    from ddgk.io import FAMILIES

    return [
        FAMILIES[kind](size, seed=seed).replace(name=f"{kind}-{size}")
        for kind in KINDS
        for seed, size in enumerate(SIZES)
    ]


def compare_kinds(**changes: Any) -> Comparison:
    """Embed the graphs with the default configuration, and compare them."""
    from ddgk.comparison import compare
    from ddgk.estimator import DDGK

    graphs = make_kinds()
    model = DDGK(random_state=0, n_jobs=-1).set_params(**changes).fit(graphs)
    kinds = [str(graph.name).rpartition("-")[0] for graph in graphs]
    return compare(graphs, model=model, classes=kinds, n_neighbors=3, n_clusters=len(KINDS))


def align_copies() -> dict[str, Alignment]:
    """Align barbells and the karate club with shuffled copies of themselves."""
    import numpy as np

    from ddgk.alignment import align
    from ddgk.io import barbell, karate_club, mutate

    club = karate_club().replace(node_labels=None, edge_labels=None)
    fewer = mutate(club, N_REWIRED, p_add=0.0, seed=1)
    copies = {
        "rings, no labels": (barbell(), barbell()),
        "rings, node labels": (barbell(node_labels=True), barbell(node_labels=True)),
        "rings, node and edge labels": (
            barbell(node_labels=True, edge_labels=True),
            barbell(node_labels=True, edge_labels=True),
        ),
        "karate club, rewired": (club, mutate(fewer, N_REWIRED, p_add=1.0, seed=2)),
    }
    found = {}
    for name, (graph, copy) in copies.items():
        shuffled = copy.permuted(np.random.default_rng(1).permutation(copy.n_nodes))
        found[name] = align(graph, shuffled, random_state=0, n_jobs=-1)
    return found


def draw_figures(pairs: dict[str, Alignment], found: Comparison, folder: Path) -> list[Path]:
    """Save the figures; their names are ours, so that earlier ones may be replaced."""
    from ddgk import plots

    paths = [
        folder / "ddgk-demo-kinds.png",
        folder / "ddgk-demo-rings.png",
        folder / "ddgk-demo-karate.png",
    ]
    *rings, club = pairs.items()
    kinds = [name.rpartition("-")[0] for name in found.names]
    assert found.distances is not None  # so few graphs always have them
    plots.clusters(
        found.distances,
        found.names,
        kinds,
        tree=found.tree,
        linkage=found.linkage,
        title="Six kinds of graphs, clustered by structure alone",
        path=paths[0],
    )
    titles = [name for name, _ in rings]
    plots.alignments([own for _, own in rings], layout="own", titles=titles, path=paths[1])
    plots.alignment(club[1], title=club[0], path=paths[2])
    return paths


def _neighbor_table(found: Comparison) -> Any:
    from rich.table import Table

    table = Table(title="nearest graphs", title_justify="left")
    table.add_column("graph")
    table.add_column("nearest, with distance")
    for place in range(0, len(found.names), len(SIZES)):
        near = ", ".join(f"{name} {apart:.3f}" for name, apart in found.nearest(place))
        table.add_row(found.names[place], near)
    return table


def _cluster_table(found: Comparison) -> Any:
    from rich.table import Table

    table = Table(title="clusters", title_justify="left")
    table.add_column("cluster", justify="right")
    table.add_column("graphs")
    for own in found.clusters:
        members = ", ".join(f"{count} {kind}" for kind, count in own.classes.items())
        table.add_row(str(own.label), members)
    return table


def _alignment_table(pairs: dict[str, Alignment]) -> Any:
    from rich.table import Table

    table = Table()
    table.add_column("pair")
    for title in ("edges kept", "nodes in ties", "matched with their own copy"):
        table.add_column(title, justify="right")
    for name, found in pairs.items():
        itself = sum(node == partner for node, partner in found.matching.items())
        table.add_row(
            name,
            f"{found.n_kept_edges} of {found.target.n_edges}",
            str(sum(len(orbit.nodes) for orbit in found.orbits)),
            f"{itself} of {found.target.n_nodes}",
        )
    return table
