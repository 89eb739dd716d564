"""`ddgk demo`: similar graphs and corresponding nodes, from graphs made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli.commands import elapsed
from ddgk.cli.options import option
from ddgk.errors import MissingExtraError, shown

if TYPE_CHECKING:
    from ddgk.alignment import Alignment
    from ddgk.comparison import Comparison
    from ddgk.graphs import Graph

KINDS: dict[str, Callable[[Any, int, int], Any]] = {
    "ring": lambda nx, size, _: nx.cycle_graph(size),
    "star": lambda nx, size, _: nx.star_graph(size - 1),
    "grid": lambda nx, size, _: nx.grid_2d_graph(5, size // 5),
    "random_tree": lambda nx, size, seed: nx.random_labeled_tree(size, seed=seed),
    "barabasi_albert": lambda nx, size, seed: nx.barabasi_albert_graph(size, 2, seed=seed),
    "caveman": lambda nx, size, _: nx.connected_caveman_graph(size // 5, 5),
}
SIZES = (20, 25, 30, 35)
N_REWIRED = 8  # edges of the karate club that are moved


def demo(
    ctx: typer.Context,
    out: Annotated[Path, option("DIR", "The folder for the figures.", "-o", "--out")] = Path(
        "ddgk-demo"
    ),
) -> None:
    """Show what ddgk does, without any data: similar graphs, and corresponding nodes.

    It takes a few seconds; the first time on a computer kernels are compiled before.

    \b
    ddgk demo
    ddgk demo --out pictures
    """  # noqa: D301
    from rich.console import Console

    from ddgk.compiling import prepare
    from ddgk.tables import text_table

    out.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    console.print("[bold]1. Which graphs are alike?[/]")
    console.print(
        f"{len(KINDS)} kinds of graphs in {len(SIZES)} sizes, embedded by their structure alone. "
        "Graphs of one kind should be near each other, whatever their size."
    )
    prepare("encoders", "attention", "alignment")
    found = compare_kinds()
    near = []
    for place in range(0, len(found.names), len(SIZES)):
        listed = ", ".join(f"{name} {apart:.3f}" for name, apart in found.nearest(place))
        near.append((found.names[place], listed))
    console.print(text_table(("graph", "nearest, with distance"), near))
    counts = [own.classes.items() for own in found.clusters]
    members = [" and ".join(f"{count} {kind}" for kind, count in own) for own in counts]
    console.print(f"clusters: {', '.join(members)}")
    console.print("[bold]2. Which node corresponds to which?[/]")
    console.print(
        "Two rings joined by an edge, against a copy with shuffled nodes: the more the labels say, "
        "the fewer ways there are to map one onto the other (nodes in ties could change places). "
        f"Then the karate club against a copy with {N_REWIRED} of 78 edges moved."
    )
    pairs = align_copies()
    rows = []
    for name, own in pairs.items():
        kept = f"{own.n_kept_edges} of {own.target.n_edges}"
        ties = sum(len(orbit.nodes) for orbit in own.orbits)
        itself = sum(node == partner for node, partner in own.matching.items())
        rows.append((name, kept, ties, f"{itself} of {own.target.n_nodes}"))
    headings = ("pair", "edges kept", "nodes in ties", "matched with their own copy")
    console.print(text_table(headings, rows, right=headings[1:]))
    try:
        for path in draw_figures(pairs, found, out):
            console.print(f"wrote {shown(str(path))}", markup=False, soft_wrap=True)
    except MissingExtraError as error:
        console.print(f"figures were skipped: {error}", markup=False, soft_wrap=True)
    console.print(f"in {elapsed(ctx):.1f} s")


def make_kinds() -> list[Graph]:
    """Return graphs of several kinds in several sizes, named after both."""
    import networkx

    from ddgk.graphs import from_networkx

    return [
        from_networkx(make(networkx, size, seed), name=f"{kind}-{size}")
        for kind, make in KINDS.items()
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
    """Align two joined rings and the karate club with shuffled copies of themselves."""
    import numpy as np

    from ddgk.alignment import align
    from ddgk.graphs import Graph
    from ddgk.io import karate_club

    ring = [(i, (i + 1) % 5) for i in range(5)]
    rings = Graph(10, [*ring, *((u + 5, v + 5) for u, v in ring), (0, 5)])
    labelled = rings.replace(node_labels=[0] * 5 + [1] * 5)
    numbered = labelled.replace(edge_labels=range(rings.n_edges))
    graphs = {
        "rings, no labels": rings,
        "rings, node labels": labelled,
        "rings, node and edge labels": numbered,
        "karate club, rewired": karate_club(),
    }
    found = {}
    for name, graph in graphs.items():
        copy = _rewired(graph) if "rewired" in name else graph
        shuffled = copy.permuted(np.random.default_rng(1).permutation(copy.n_nodes))
        found[name] = align(graph, shuffled, random_state=0, n_jobs=-1)
    return found


def _rewired(graph: Graph) -> Graph:
    """Return a graph with some of its edges moved to other pairs of nodes, at random."""
    import numpy as np

    rng = np.random.default_rng(0)
    joined = np.zeros((graph.n_nodes, graph.n_nodes), dtype=bool)
    joined[tuple(graph.edges.T)] = True
    free = np.argwhere(~joined & np.triu(np.ones_like(joined), k=1))
    kept = rng.permutation(graph.edges)[N_REWIRED:]
    return graph.replace(edges=np.concatenate([kept, rng.permutation(free)[:N_REWIRED]]))


def draw_figures(pairs: dict[str, Alignment], found: Comparison, folder: Path) -> list[Path]:
    """Save the figures; their names are ours, so that earlier ones may be replaced."""
    from ddgk import plots

    kinds, rings, karate = (
        folder / f"ddgk-demo-{what}.png" for what in ("kinds", "rings", "karate")
    )
    assert found.distances is not None  # so few graphs always have them
    title = "Six kinds of graphs, clustered by structure alone"
    plots.clusters(
        found.distances, found.names, found.classes, tree=found.tree, title=title, path=kinds
    )
    *titles, last = pairs
    plots.alignments([pairs[name] for name in titles], layout="own", titles=titles, path=rings)
    plots.alignment(pairs[last], title=last, path=karate)
    return [kinds, rings, karate]
