"""`ddgk demo`: the paper's two pictures, from graphs made on the spot."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.errors import MissingExtraError

if TYPE_CHECKING:
    from ddgk.alignment import Alignment
    from ddgk.evaluation.clustering import Clustering
    from ddgk.graphs import Graph

GENERATED = {
    "barabasi_albert": 34,
    "watts_strogatz": 34,
    "erdos_renyi": 34,
    "wheel": 34,
    "caveman": 35,
}

# The paper takes 50 steps; of its larger networks that is 2 % and 12 % of the edges, of the graphs
# here it would be two thirds, after which hardly anything of a family is left.
N_STEPS = 4


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the figures.")] = Path("ddgk-demo"),
) -> None:
    """Show what ddgk does: no data, no network, ten seconds.

    The first time on a machine kernels are compiled before, which takes a minute or two.

    A barbell is matched with a shuffled copy of itself, first by its structure alone, then with
    labels. Then graphs of six families are clustered without being told what they are.

    \b
    ddgk demo --out pictures
    """  # noqa: D301
    from rich.console import Console

    from ddgk.evaluation.attention import align_barbells

    began = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    console.print("[bold]1. Which node corresponds to which?[/]")
    console.print(
        "Two rings of five nodes, joined by an edge, against a shuffled copy: the more the labels "
        "say, the fewer ways of laying one onto the other are left."
    )
    with console.status("aligning"):
        pairs = align_barbells()
    console.print(_alignment_table(pairs))
    console.print(
        "symmetries: ways to map the barbell onto itself; in own ring: attention that stays in the "
        "same ring; itself: nodes matched with their own copy"
    )
    console.print("[bold]2. Which graphs are alike?[/]")
    console.print(
        "Six families of five: a network and four mutants of it. All graphs have about 78 edges, "
        "so counting does not tell them apart. Embedded by structure alone, then clustered."
    )
    with console.status("embedding"):
        found, by_counting = cluster_families()
    console.print(_cluster_table(found))
    console.print(
        "together: members in the family's largest cluster; strangers: others in that cluster"
    )
    console.print(
        f"adjusted Rand index {found.agreement:.2f} (1: the families exactly, 0: chance); "
        f"from numbers of nodes and edges {by_counting:.2f}"
    )
    try:
        for path in draw(pairs, found, out):
            console.print(f"wrote {path}", markup=False, soft_wrap=True)
    except MissingExtraError as error:
        console.print(f"figures were skipped: {error}", markup=False, soft_wrap=True)
    console.print(f"[dim]{time.perf_counter() - began:.0f} s[/]")


def cluster_families(**changes: Any) -> tuple[Clustering, float]:
    """Embed families of mutants, cluster them, and compare the clusters with the families.

    As in the paper every graph is a source too. The number beside is the index that counting nodes
    and edges would give.
    """
    from ddgk.estimator import DDGK
    from ddgk.evaluation.clustering import cluster, describe_by_counts
    from ddgk.kernel import Statistics, distances

    graphs, families = make_families()
    chosen: dict[str, Any] = {"n_sources": len(graphs), "families": "none"}
    model = DDGK(random_state=0, **(chosen | changes))
    embedding = model.fit_transform(graphs)
    apart = distances(Statistics.of(embedding).standardise(embedding))
    by_counting = distances(describe_by_counts(graphs, logarithms=False))
    names = [str(graph.name) for graph in graphs]
    return cluster(apart, names, families), cluster(by_counting, names, families).agreement


def make_families() -> tuple[list[Graph], list[str]]:
    """Return the karate club, generated networks, and mutants of each; and which is which."""
    from ddgk.io import FAMILIES, family, karate_club, mutate

    club = karate_club()
    seeds = [club]
    for name, size in GENERATED.items():
        plain = FAMILIES[name](size)
        lacking = club.n_edges - plain.n_edges
        level = mutate(plain, abs(lacking), p_add=float(lacking > 0))
        seeds.append(level.replace(name=name))
    members = [
        member
        for place, seed in enumerate(seeds)
        for member in family(seed, steps=N_STEPS, seed=place)
    ]
    return members, [str(member.name).rpartition("-")[0] for member in members]


def draw(pairs: dict[str, Alignment], found: Clustering, folder: Path) -> list[Path]:
    """Save the figures; their names are ours, so that earlier ones may be replaced."""
    from ddgk import plots

    paths = [folder / "ddgk-demo-barbells.png", folder / "ddgk-demo-families.png"]
    titles = ["No labels", "Node labels", "Node and edge labels"]
    plots.alignments(list(pairs.values()), layout="own", titles=titles, path=paths[0])
    plots.clusters(
        found.distances,
        found.names,
        found.families,
        linkage="ward",
        title="Six families of graphs, clustered by structure alone",
        path=paths[1],
    )
    return paths


def _alignment_table(pairs: dict[str, Alignment]) -> Any:
    from rich.table import Table

    from ddgk.evaluation.attention import count_symmetries

    table = Table()
    table.add_column("labels")
    for title in ("symmetries", "edges kept", "confidence", "in own ring", "itself"):
        table.add_column(title, justify="right")
    for kind, found in pairs.items():
        attention = found.attention
        own_ring = (attention[:5, :5].sum() + attention[5:, 5:].sum()) / attention.sum()
        itself = sum(int(t == s) for t, s in found.pairs.tolist())
        confidence = sum(found.confidence.values()) / len(found.confidence)
        table.add_row(
            kind,
            str(count_symmetries(found.target)),
            f"{found.edge_correctness * found.target.n_edges:.0f} of {found.target.n_edges}",
            f"{confidence:.2f}",
            f"{own_ring:.1%}",
            f"{itself} of {found.target.n_nodes}",
        )
    return table


def _cluster_table(found: Clustering) -> Any:
    from rich.table import Table

    table = Table()
    table.add_column("family")
    for title in ("graphs", "together", "strangers"):
        table.add_column(title, justify="right")
    table.add_column("recovered")
    for family in dict.fromkeys(found.families):
        n_graphs = found.families.count(family)
        together, strangers = found.recovered(family)
        exactly = together == n_graphs and not strangers
        cells = [str(n_graphs), str(together), str(strangers), "yes" if exactly else "no"]
        table.add_row(family, *cells)
    return table
