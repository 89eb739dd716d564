"""`ddgk experiment attention`: the paper's barbells and the karate club, matched with copies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli import options
from ddgk.cli.experiment import files
from ddgk.cli.experiment.showing import stated_command

if TYPE_CHECKING:
    from ddgk.evaluation.attention import Attention


def attention(
    out: files.Out = None,
    restarts: Annotated[
        int, typer.Option(min=1, help="Starts at most; an isomorphism ends the search.")
    ] = 8,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Fixes every draw.")] = 0,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Match barbells and the karate club with shuffled copies, and draw the attention.

    The barbell is matched without labels, with labels of nodes, and with labels of nodes and edges:
    the more they say, the fewer of its symmetries are left. The karate club is matched with a copy,
    and with one of which a tenth of the edges is rewired.

    \b
    ddgk experiment attention -o attention.json -o attention.png
    """  # noqa: D301
    files.check(out or [], force=force)
    from ddgk import plots
    from ddgk.evaluation.attention import REWIRED, attend
    from ddgk.evaluation.results import Results, Table

    began = time.perf_counter()
    measured = attend(restarts, seed)
    took = time.perf_counter() - began
    table = Table(
        "Graphs matched with shuffled copies",
        (
            "graph",
            "symmetries",
            "edges kept",
            "isomorphism",
            "nodes right",
            "confidence",
            "in ring",
        ),
        tuple(_cells(one) for one in measured),
    )
    times = Table("Seconds (they differ from run to run)", ("in all",), ((f"{took:.1f}",),))
    results = Results(
        "attention",
        stated_command(),
        {
            "dataset": "barbells, karate",
            "restarts": restarts,
            "seed": seed,
            "rewired": list(REWIRED),
        },
        [table],
        {"pairs": [one.as_json() for one in measured]},
        [times],
    )

    def draw(path: Path) -> None:
        titles = [one.name for one in measured]
        pairs = [one.found for one in measured]
        plots.alignments(pairs, layout="own", titles=titles, path=path)

    files.publish(results, out or [], draw, quiet=quiet)


def _cells(one: Attention) -> tuple[str, ...]:
    found: Any = one.found
    return (
        one.name,
        "" if one.symmetries is None else str(one.symmetries),
        f"{one.kept} of {found.target.n_edges}",
        "yes" if found.is_isomorphism else "no",
        f"{one.right} of {found.target.n_nodes}",
        f"{one.confidence:.2f}",
        "" if one.own_part is None else f"{one.own_part:.1%}",
    )
